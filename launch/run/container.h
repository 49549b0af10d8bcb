/* A module's container, whatever it is made of. What is asked of it works from any process of the
 * same user: the keeper, the parent, and a later `oarbank-run kill`.
 */
#ifndef LAUNCH_RUN_CONTAINER_H
#define LAUNCH_RUN_CONTAINER_H

#include <stdbool.h>
#include <sys/types.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/run/leaf.h"
#include "launch/run/outcome.h"

struct container {
	enum container_kind kind;
	struct leaf leaf; /* of CONTAINER_LEAF */
	pid_t keeper;	  /* the module's parent, below which all of it is */
	pid_t leader;	  /* the module's own process and the number of its group; 0: not yet */
};

/* Stop all of it where it is, or let it go on. */
int container_freeze(const struct kernel *k, const struct container *c, bool freeze,
		     struct fault *why);

/* SIGTERM to the module's process group, and let it go on if it was stopped. The leader must not be
 * reaped yet, or its number may be another's.
 */
int container_terminate(const struct kernel *k, const struct container *c, struct fault *why);

/* SIGKILL to all of it. Does not wait. A group's processes may fork meanwhile: call it until there
 * is nothing left. With a leader, which must not be reaped yet, its process group is ended at one
 * blow; without (0), only what is found below the keeper.
 */
int container_kill(const struct kernel *k, const struct container *c, struct fault *why);

/* How many processes are in it, or -errno. */
int container_count(const struct kernel *k, const struct container *c);

#endif
