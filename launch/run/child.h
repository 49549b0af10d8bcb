/* The module's process from its making to the exec of the launcher. Inside this folder only. */
#ifndef LAUNCH_RUN_CHILD_H
#define LAUNCH_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/run/container.h"

#define RUN_VARIABLE_MAX 32

/* What to start, and with what. The caller's until the module has ended. */
struct run_request {
	char *const *argv; /* the launcher's: launcher, "sandbox-exec", policy, "--", module… */
	char *const *envp;
	char *variable; /* in envp, RUN_VARIABLE_MAX bytes: the keeper writes OARBANK_CONFINED=n */
	const char *directory; /* to start in; NULL: ours */
	int stdio[3];	       /* the module's 0, 1 and 2; -1: /dev/null */
	const int *keep;       /* more descriptors it inherits, under the same numbers */
	unsigned keep_count;
	bool ignore_usr1;   /* as a runner has it (spec/wire.md §2) */
	int64_t guard_ms;   /* in which the launcher must say that it is confined */
	int64_t grace_ms;   /* between SIGTERM and SIGKILL */
	int64_t timeout_ms; /* 0: none */
};

/* What a child says instead of '1' when it could not even become the launcher: this and the text
 * of a fault.
 */
#define CHILD_FAILED '!'

/* Become the launcher: own session and group, SIGKILL when `keeper` ends, `enter` (NULL: it is
 * there) as its cgroup, descriptors, empty signal mask. `confined` is the written end of the pipe
 * for the launcher's signal. Returns only when that failed, after saying why through the pipe;
 * then end with the returned code.
 */
int child_run(const struct kernel *k, const struct run_request *request, pid_t keeper,
	      const struct leaf *enter, int confined);

/* Make that child of this process, the keeper, in its container from the start. Returns 0 with
 * container->leader and the read end of the pipe set; or -errno with `why`, and no child.
 */
int child_make(const struct kernel *k, const struct run_request *request,
	       struct container *container, int *ret_confined, struct fault *why);

#endif
