/* The keeper: a process between the parent and a module. It is the module's parent and the
 * subreaper of all that comes of it, so nothing leaves it, and it sees when its own parent ends: a
 * parent killed at any moment leaves no module running. It starts the module, has the launcher's
 * signal checked, holds the module to its time, ends all of it, and says how it ended.
 *
 * It is a copy of the parent that executes nothing: it uses no heap and no lock of the C library,
 * so the parent may have threads.
 *
 * Its end of the channel takes one-byte commands and sends struct keeper_message.
 */
#ifndef LAUNCH_RUN_KEEPER_H
#define LAUNCH_RUN_KEEPER_H

#include "kabi/kernel.h"
#include "launch/run/child.h"
#include "launch/run/container.h"
#include "launch/run/outcome.h"

/* What the process calls itself, by which a later `oarbank-run status PID` finds it. */
#define KEEPER_NAME "oarbank-keeper"

#define KEEPER_STOP 's' /* SIGTERM to the group, SIGKILL to all after the grace time */
#define KEEPER_KILL 'k'

enum keeper_event {
	KEEPER_STARTED,	 /* the leader is known */
	KEEPER_CONFINED, /* the launcher said so and /proc agrees */
	KEEPER_ENDED,	 /* the last message */
};

struct keeper_message {
	enum keeper_event event;
	pid_t leader;
	struct outcome outcome; /* of KEEPER_ENDED */
};

/* Be the keeper. `container` is of the kind wanted, with its leaf made, which the keeper removes at
 * the end. `channel` is our end, `other` the parent's, open here too. Every signal must be blocked.
 * Returns the code to exit with.
 */
int keeper_run(const struct kernel *k, const struct run_request *request,
	       struct container *container, int channel, int other);

#endif
