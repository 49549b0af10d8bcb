/* Trials: attempts to break a promise, each made twice, without the sandbox (the control) and in
 * it. Rows of data; what came back is in struct trial_facts, and what that means is decided here.
 * Pure.
 *
 * What counts:
 * - A denial counts when the control succeeded and the confined attempt failed with one of the
 * errors expected. Any other error is no denial: it may be the kernel's own word on other grounds.
 * - What succeeds in the sandbox needs no control: it is open, or as granted.
 * - A control that failed (no IPv6, no privilege, a filter around this process) leaves nothing to
 *   compare. The trial is listed as not observed, with the error.
 * - A trial below its Landlock ABI is listed as well: the kernel never promised it.
 * - Each capability has core trials. One of them not observed: the capability could not be observed
 *   here, and is not enforced; what was derived as cooperative stays so. The others may be missing.
 * - One attempt that succeeded where it must not, failed where it must not, failed oddly, or gave
 * no answer in the sandbox: the capability is not enforced.
 */
#ifndef PROBE_TRIAL_TRIAL_H
#define PROBE_TRIAL_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/text.h"
#include "probe/capability.h"

enum trial_expect {
	TRIAL_DENIED,
	TRIAL_ALLOWED, /* a denial here means a broken module, or a denial that proves nothing */
	TRIAL_TOLD,    /* known not to be stopped everywhere: what happens is a finding */
};

struct stage;
struct trial;

/* Make the attempt. Returns 0 when it had its effect, which is undone where that can be done; else
 * -errno.
 */
typedef int trial_attempt(const struct stage *stage, const struct trial *trial);

#define TRIAL_ERRORS_MAX 3
#define TRIAL_ARGS_MAX 6

struct trial {
	const char *id; /* stable: "file.outside.read" */
	const char *what;
	enum capability_id capability;
	enum trial_group group;
	enum trial_expect expect;
	uint16_t errors[TRIAL_ERRORS_MAX]; /* that count as a denial; 0 ends them */
	uint8_t since_abi; /* of Landlock; below it: not tried, or only told if `told_below` */
	bool told_below;
	bool core;
	/* The attempt is a call with arguments that cannot do harm. Any error of the control but
	 * ENOSYS and the expected ones then shows that the kernel looked at the call; where it is
	 * allowed, the sandbox must see the same.
	 */
	bool any_answer;
	trial_attempt *attempt;
	long number; /* what attempt() makes of these is its own */
	long args[TRIAL_ARGS_MAX];
};

enum trial_verdict {
	TRIAL_NOT_RUN,
	TRIAL_TOO_OLD,	  /* this kernel's Landlock does not have it */
	TRIAL_NO_CONTROL, /* failed without the sandbox too */
	TRIAL_LOST,	  /* gave no answer in the sandbox */
	TRIAL_HELD,	  /* denied, or allowed, as expected; of what is told: it was denied */
	TRIAL_OPEN,	  /* what is told: it succeeded */
	TRIAL_BROKEN,	  /* not as expected */
};

/* All trials have a number, in the order of the report: 0 to trial_count() - 1. */
size_t trial_count(void);
const struct trial *trial_at(size_t number);

/* The number of the trial with that id, or -1. */
int trial_find(const char *id);

/* Whether what came of it in the sandbox has to be compared with a control. */
bool trial_needs_control(const struct trial *trial, const struct trial_run *confined);

/* What came of it on a kernel with Landlock `abi`. */
enum trial_verdict trial_judge(const struct trial *trial, const struct trial_fact *fact,
			       uint32_t abi);

/* "held", "broken"; "denied"; and what one attempt gave: "success", "EACCES", "killed by signal
 * 31". */
const char *trial_verdict_name(enum trial_verdict verdict);
const char *trial_expect_name(enum trial_expect expect);
void trial_add_run(struct text *t, const struct trial_run *run);

/* The verdict on the trial with that id. TRIAL_NOT_RUN when there is none. */
enum trial_verdict trial_verdict_on(const struct facts *facts, const char *id);

/* What helps where not one trial could be made. */
#define TRIALS_REMEDY                                                                  \
	"a directory for temporary files in TMPDIR, room for some processes and open " \
	"files, and no filter around this that refuses what they need"

/* Merge what the trials showed into what was derived from the kernel's answers. */
void trials_merge(const struct facts *facts, struct capabilities *all);

#endif
