/* The process that trials are made from. Inside this folder only. */
#ifndef PROBE_TRIAL_HOST_H
#define PROBE_TRIAL_HOST_H

#include "kabi/kernel.h"
#include "probe/facts.h"
#include "probe/trial/leaf.h"
#include "probe/trial/stage.h"

/* Lives in memory that the report, the host and those who try share. */
struct trial_board {
	const struct kernel *k;
	uint32_t timeout_ms;
	bool wire_only;
	uint32_t abi;	  /* of Landlock */
	pid_t report;	  /* the process that asked */
	uint32_t current; /* the trial that is running */
	char dir[STAGE_DIR_MAX];
	struct leaf_aside aside;
	char leaf[CGROUP_PATH_MAX]; /* of the trial that is running; "" none */
	struct trial_facts trials;
};

/* Remove the leaf that a trial which ended early left, when it is empty. */
void trial_remove_leaf(struct trial_board *board);

/* Set the stage, have every trial made, and take the stage down. `alive` ends when nobody wants the
 * answers any more; `done` ends when this process does, so no child may keep it.
 */
void trial_host(struct trial_board *board, int alive, int done);

#endif
