/* Is another process confined? What a parent asks after every spawn (contract.md "Verification").
 */
#ifndef LAUNCH_CHECK_H
#define LAUNCH_CHECK_H

#include "kabi/fault.h"
#include "kabi/kernel.h"

enum check {
	CHECK_UNKNOWN,	    /* /proc does not tell, or is not ours */
	CHECK_GONE,	    /* no such process */
	CHECK_NO_NEW_PRIVS, /* not set */
	CHECK_UNFILTERED,   /* no seccomp filter */
	CHECK_INHERITED,    /* no more filters than we have ourselves, so none of its own */
	CHECK_CONFINED,
};

/* The answer in one word. */
const char *check_word(enum check check);

/* Whether /proc can be asked: it is the kernel's, of this process's own pid namespace, and has the
 * lines that tell. Anything else mounted there may show whatever it likes, or other processes under
 * our numbers. Without it nothing may be started, as it could neither be verified nor found again.
 * Returns 0, or -ENOTSUP with `why`.
 */
int check_proc(const struct kernel *k, struct fault *why);

/* Look at process `pid`: NoNewPrivs 1, Seccomp 2, and more Seccomp_filters than this process has.
 * The first two alone are inherited from a service manager or a container engine, and prove nothing
 * (spec/wire.md §14.14). A kernel that does not count filters (before Linux 5.9) cannot tell.
 */
enum check check_process(const struct kernel *k, int pid);

#endif
