/* How a module process ended: what the parent is told, and what stands in the result. */
#ifndef LAUNCH_RUN_OUTCOME_H
#define LAUNCH_RUN_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/fault.h"
#include "launch/check.h"

enum reason {
	REASON_UNKNOWN, /* it has not ended */
	REASON_LAUNCH_FAILED,
	REASON_SANDBOX_MISSING, /* the launcher said it was confined, or let go, and it was not */
	REASON_SANDBOX_HUNG,	/* it said nothing in the guard time */
	REASON_OOM,
	REASON_TIMEOUT,
	REASON_SIGNAL,
	REASON_EXIT_NONZERO,
	REASON_OK,
};

/* The word of the result: "launch_failed", … */
const char *reason_word(enum reason reason);

enum container_kind {
	CONTAINER_NONE,
	CONTAINER_GROUP, /* process group and subreaper: cooperative */
	CONTAINER_LEAF,	 /* a cgroup of its own: enforced */
};

/* "group" and "cooperative"; "leaf" and "enforced"; "none" and "unavailable". */
const char *container_word(enum container_kind kind);
const char *container_status(enum container_kind kind);

/* No pointers: it comes through a channel as it is. */
struct outcome {
	enum reason reason;
	enum check check; /* what /proc said after the launcher's signal */
	bool stopped;	  /* somebody asked for the end */
	int code;	  /* exit code, or -1 */
	int signal;	  /* that ended it, or 0 */
	uint64_t cpu_us;
	uint64_t memory_peak; /* bytes; 0: unknown */
	bool peak_of_leaf;    /* of the container together; else of its largest process */
	int64_t wall_us;
	unsigned killed; /* processes of it that were ended after the module's own end */
	/* Something is still there: a directory that cannot be removed, or a process in an
	 * uninterruptible wait. That one has its SIGKILL and runs no instruction of its own again.
	 * The next start removes a leaf that it was in.
	 */
	bool left_behind;
	struct fault why; /* "" or one sentence about the reason */
};

#endif
