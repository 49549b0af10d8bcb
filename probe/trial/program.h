/* Run a program to see whether it may. Inside this folder only. */
#ifndef PROBE_TRIAL_PROGRAM_H
#define PROBE_TRIAL_PROGRAM_H

#include <sys/types.h>

/* Run the program at `path` without arguments, or the one that is open as `fd`. Returns 0 when it
 * ran and ended with 0, -errno of execve(2), or -EIO when it ran and ended otherwise.
 */
int run_program(const char *path);
int run_descriptor(int fd);

/* The same with an argument list; argv[0] is the path. Its output goes nowhere. */
int run_arguments(char *const argv[]);

/* Call f(arg) in a process of its own, which then ends. Returns what it returned: 0 or -errno above
 * -255; or -EINTR when a signal ended it.
 */
int in_process(int (*f)(void *arg), void *arg);

#endif
