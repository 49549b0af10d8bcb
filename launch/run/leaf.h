/* A container that is a cgroup: one directory below the delegated one for one module. Its limits
 * are set before the first process enters; what is in it is frozen, ended and accounted as a whole.
 *
 * The directory is locked (flock(2)) for as long as somebody looks after it, so that another start
 * can tell what an ended one left behind. It is made new each time and never adopted: an old one
 * would bring its limits and its count of OOM kills along (spec/wire.md §14.28).
 */
#ifndef LAUNCH_RUN_LEAF_H
#define LAUNCH_RUN_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/cgroup.h"
#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/run/delegation.h"

/* What a module may use. 0: as much as there is. */
struct limits {
	uint64_t memory_bytes; /* without swap; exceeding it ends the whole container */
	uint32_t cpu_milli;    /* thousandths of a CPU */
	uint32_t pids;	       /* processes and threads together */
};

/* The start of every container's name below the delegated cgroup. */
#define LEAF_PREFIX "oarbank."

/* Is that the name of a leaf: the prefix, a process id, a dot and a number? The cgroup of a service
 * may begin like one.
 */
bool leaf_is_name(const char *name);

struct leaf {
	char dir[CGROUP_PATH_MAX];
	int fd;		   /* the directory, locked; -1 when this process does not hold it */
	bool swap_limited; /* with a memory limit: the kernel lets swap be limited too */
};

/* Make one, with its limits. A limit that cannot be set is an error, and nothing is left behind.
 * Returns 0, or -errno with `why`.
 */
int leaf_make(const struct kernel *k, const struct delegation *d, const struct limits *limits,
	      struct leaf *ret, struct fault *why);

/* Move the calling process into it: for a child on a kernel that cannot make it there. */
int leaf_enter(const struct kernel *k, const struct leaf *leaf, struct fault *why);

/* Make a copy of this process, in it. *ret_outside: the copy is not, and has to enter it: clone3 is
 * not there before Linux 5.3, CLONE_INTO_CGROUP before 5.7, and a filter around us may refuse what
 * it does not know. Returns as kernel.clone(), in both.
 */
pid_t leaf_clone(const struct kernel *k, const struct leaf *leaf, bool *ret_outside);

/* How many processes are in it, or -errno. Those that have ended do not count. */
int leaf_count(const struct kernel *k, const struct leaf *leaf);

/* Stop all of it where it is, or let it go on; waits until it has stopped, two seconds at most
 * (-ETIMEDOUT).
 */
int leaf_freeze(const struct kernel *k, const struct leaf *leaf, bool freeze, struct fault *why);

/* SIGKILL to all of it, also to what is being forked. Before Linux 5.14 by freezing it and ending
 * one after the other; so also what is there some twenty milliseconds later. Does not wait for
 * their end. A leaf that is gone has nothing to end.
 */
int leaf_kill(const struct kernel *k, const struct leaf *leaf, struct fault *why);

struct leaf_usage {
	uint64_t cpu_us;
	uint64_t memory_peak; /* bytes; 0: not known */
	uint64_t oom_kills;   /* of this container alone */
};

/* What it used until now. -errno when the CPU time is not known; the rest is 0 then or where the
 * memory controller is not enabled.
 */
int leaf_usage(const struct kernel *k, const struct leaf *leaf, struct leaf_usage *ret);

/* Remove the empty directory and let go of it. The kernel may need a moment to see that it is
 * empty; after a second of that, -EBUSY with `why`. It is gone already: no error.
 */
int leaf_remove(const struct kernel *k, struct leaf *leaf, struct fault *why);

struct reaped {
	unsigned containers;
	unsigned processes; /* ended in them */
	unsigned left;	    /* containers that could not be removed */
	struct fault why;   /* of the first of those; "" */
};

/* End and remove what ended runs left below `d`: containers that nobody holds locked. */
void leaf_reap(const struct kernel *k, const struct delegation *d, struct reaped *ret);

#endif
