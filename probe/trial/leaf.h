/* The launcher's containers, as trials use them: one at a time. Inside this folder only. */
#ifndef PROBE_TRIAL_LEAF_H
#define PROBE_TRIAL_LEAF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/cgroup.h"
#include "kabi/kernel.h"

struct trial_limits {
	uint64_t memory_bytes; /* 0: none, in all three */
	uint32_t cpu_milli;
	uint32_t pids;
};

/* Where a cgroup was given to us and its controllers are not handed down yet, limits can be tried
 * when nobody else stands in it: the report and its helper step aside into a leaf, as an agent does
 * (launch/run/delegation.h), and back. What has to be undone is written down where both can read
 * it.
 */
struct leaf_aside {
	bool active;
	char dir[CGROUP_PATH_MAX];
	unsigned before; /* controllers that were handed down, bits 1 << enum controller */
	bool moved;	 /* they stood in it */
	bool own_leaf;	 /* was there before */
	pid_t report;
	pid_t host; /* who called */
};
void leaf_step_aside(const struct kernel *k, pid_t report, struct leaf_aside *ret);
void leaf_step_back(const struct kernel *k, struct leaf_aside *aside);

/* Can a leaf be made here? Returns bits 1 << enum controller that it would have, or -errno. Nothing
 * is changed: controllers that are not handed down yet stay so.
 */
int leaf_controllers(const struct kernel *k);

/* Make a leaf. `ret_dir` is its directory, for whoever has to remove it. Returns 0 or -errno. */
int leaf_begin(const struct kernel *k, const struct trial_limits *limits,
	       char ret_dir[CGROUP_PATH_MAX]);

/* As fork(2), with the child in the leaf. Moving one there later takes the kernel 10 ms. */
pid_t leaf_fork(const struct kernel *k);

/* Stop it or let it go on; end all of it. */
int leaf_stop(const struct kernel *k, bool stop);
int leaf_end_all(const struct kernel *k);

/* End all of it and remove it. */
void leaf_finish(const struct kernel *k);

/* End everything below process `keeper`, the way it is done without a leaf. */
int group_end_all(const struct kernel *k, pid_t keeper, pid_t leader);

#endif
