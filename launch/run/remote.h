/* A run that another process of ours looks after: found again by its result, or by a process id.
 * Inside this folder only.
 */
#ifndef LAUNCH_RUN_REMOTE_H
#define LAUNCH_RUN_REMOTE_H

#include <stdbool.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/run/container.h"

struct remote {
	bool running; /* else the result says that it ended, or its keeper is gone */
	struct container container;
};

/* Find the run that `what` names: the file of a result, or the id of a process, that of the parent
 * (oarbank-run) or of any process in the container. A result names its run for good, by the
 * keeper's pid and start. Returns 0, or -errno with `why`.
 */
int remote_find(const struct kernel *k, const char *what, struct remote *ret, struct fault *why);

#endif
