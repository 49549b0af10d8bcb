/* Trials that are one system call with numbers for arguments. Inside this folder only. */
#ifndef PROBE_TRIAL_CALL_H
#define PROBE_TRIAL_CALL_H

#include <limits.h>

#include "probe/trial/trial.h"

/* In `args` of such a row, in place of a number. */
#define ARG_BAD (-4096L)	   /* an address nobody has: EFAULT, if the kernel gets that far */
#define ARG_VICTIM (LONG_MIN + 1)  /* its process id */
#define ARG_VICTIMS (LONG_MIN + 2) /* its process group as kill(2) has it, negative */
#define ARG_HOST (LONG_MIN + 3)	   /* of our parent */
#define ARG_STREAM (LONG_MIN + 4)  /* a descriptor: one end of a stream pair */
#define ARG_FILE (LONG_MIN + 5)	   /* a descriptor: a file of the bundle, for reading */
#define ARG_VICTIM_FD (LONG_MIN + 6) /* a process descriptor of the victim, made for the call */

/* Call number `number` with `args`. A descriptor that is the answer of such a call is not closed:
 * rows are such that none is.
 */
int try_call(const struct stage *s, const struct trial *t);

/* A number that this architecture does not have. */
#define NO_CALL (-1L)

#define CALL(capability_, id_, text, error, number_, ...)                                  \
	{                                                                                  \
		.id = "call." id_, .what = text, .capability = (capability_),              \
		.group = TRIAL_GROUP_PLAIN, .expect = TRIAL_DENIED, .errors = { (error) }, \
		.any_answer = true, .attempt = try_call, .number = (number_),              \
		.args = { __VA_ARGS__ },                                                   \
	}

#endif
