/* One program of a row: started as a user, its output relayed, held to its time, cleaned up after.
 */
#ifndef VM_TESTS_CHILD_H
#define VM_TESTS_CHILD_H

#include <sys/types.h>

/* uid -1: stay who we are. */
struct child {
	const char *name;
	uid_t uid;
	unsigned seconds;
	char **argv; /* ends with NULL; argv[0] is a path */
};

/* Start everything that runs below the cgroup directory `dir` from now on; NULL: where we are. */
void child_cgroup(const char *dir);

/* Run it to its end. Frames: "begin", "out" and "err" as it writes, and "end" with the text
 * "exit N MS LEFT" or "signal N MS LEFT" or "timeout 0 MS LEFT": how it ended, milliseconds, and
 * how many processes it left behind, which are killed.
 */
void child_run(const struct child *child);

#endif
