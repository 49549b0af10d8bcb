/* The processes below another one, as /proc shows them: what a container without a cgroup is made
 * of. A process that has left its group or session is still below its keeper, which is a subreaper.
 * Inside this folder only.
 */
#ifndef LAUNCH_RUN_TREE_H
#define LAUNCH_RUN_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/kernel.h"

#define TREE_MAX 4096

struct tree_process {
	pid_t pid;
	uint64_t start; /* as struct proc_stat */
	char state;
};

struct tree {
	unsigned count;
	bool cut; /* there were more than fit */
	struct tree_process process[TREE_MAX];
};

/* Find everything below process `top`, without `top` itself and without what has ended, parents
 * before their children. By /proc/PID/task/TID/children, or where the kernel has no such file by
 * looking at every process. What comes and goes meanwhile may be missed. Returns 0, or -errno of
 * reading /proc; *ret is what was found until then.
 */
int tree_find(const struct kernel *k, pid_t top, struct tree *ret);

/* Signal that very process: not another one that got its pid since it was found. Returns 0, -ESRCH
 * when it is gone, or -errno.
 */
int tree_signal(const struct kernel *k, const struct tree_process *p, int signal);

/* SIGKILL to every child of the calling process, which has one thread. A child that nobody has
 * reaped keeps its number, so /proc is not asked about it: that may hide a process (hidepid, where
 * it is not dumpable). What such a child leaves comes to the subreaper, for the next round. Returns
 * 0, or -errno: -ENOENT where the kernel has no list of children.
 */
int tree_kill_own(const struct kernel *k);

#endif
