#include "probe/trial/trial.h"

#include <errno.h>
#include <string.h>

#include "kabi/fault.h"
#include "probe/trial/tables.h"

static const struct trial_table *const tables[] = {
	&trials_file,	 &trials_road,	 &trials_exec, &trials_ipc,    &trials_process,
	&trials_network, &trials_egress, &trials_call, &trials_device, &trials_container,
};
#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

size_t trial_count(void)
{
	size_t count = 0;

	for (size_t i = 0; i < TABLE_COUNT; i++)
		count += tables[i]->count;
	return count < TRIALS_MAX ? count : TRIALS_MAX;
}

const struct trial *trial_at(size_t number)
{
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		if (number < tables[i]->count)
			return &tables[i]->rows[number];
		number -= tables[i]->count;
	}
	return NULL;
}

int trial_find(const char *id)
{
	size_t count = trial_count();

	for (size_t i = 0; i < count; i++)
		if (strcmp(trial_at(i)->id, id) == 0)
			return (int)i;
	return -1;
}

static bool is_denial(const struct trial *trial, const struct trial_run *run)
{
	for (size_t i = 0; i < TRIAL_ERRORS_MAX && trial->errors[i]; i++)
		if (run->value == -(int)trial->errors[i])
			return true;
	return false;
}

static bool control_counts(const struct trial *trial, const struct trial_run *control)
{
	if (control->end != TRIAL_RETURNED)
		return false;
	if (control->value >= 0)
		return true;
	return trial->any_answer && control->value != -ENOSYS && !is_denial(trial, control);
}

static enum trial_verdict judge_confined(const struct trial *trial, enum trial_expect expect,
					 const struct trial_fact *fact)
{
	const struct trial_run *run = &fact->confined;
	bool denied = is_denial(trial, run);

	switch (expect) {
	case TRIAL_DENIED:
		return denied ? TRIAL_HELD : TRIAL_BROKEN;
	case TRIAL_ALLOWED:
		if (trial->any_answer && run->value == fact->control.value)
			return TRIAL_HELD;
		return run->value >= 0 ? TRIAL_HELD : TRIAL_BROKEN;
	case TRIAL_TOLD:
		if (run->value >= 0)
			return TRIAL_OPEN;
		return denied ? TRIAL_HELD : TRIAL_BROKEN;
	}
	return TRIAL_BROKEN;
}

/* What succeeds in the sandbox says all by itself. */
bool trial_needs_control(const struct trial *trial, const struct trial_run *confined)
{
	return trial->expect == TRIAL_DENIED || confined->end != TRIAL_RETURNED ||
	       confined->value < 0;
}

enum trial_verdict trial_judge(const struct trial *trial, const struct trial_fact *fact,
			       uint32_t abi)
{
	bool below = abi < trial->since_abi;
	bool succeeded = fact->confined.end == TRIAL_RETURNED && fact->confined.value >= 0;

	if (fact->confined.end == TRIAL_NEVER && fact->control.end == TRIAL_NEVER)
		return TRIAL_NOT_RUN;
	if (below && !trial->told_below)
		return TRIAL_TOO_OLD;
	if (!succeeded && fact->control.end == TRIAL_NEVER)
		return TRIAL_NOT_RUN;
	if (!succeeded && !control_counts(trial, &fact->control))
		return TRIAL_NO_CONTROL;
	if (fact->confined.end == TRIAL_NEVER)
		return TRIAL_NOT_RUN;
	if (fact->confined.end != TRIAL_RETURNED)
		return TRIAL_LOST;
	return judge_confined(trial, below ? TRIAL_TOLD : trial->expect, fact);
}

enum trial_verdict trial_verdict_on(const struct facts *facts, const char *id)
{
	int number = trial_find(id);

	if (number < 0 || facts->trials.state != TRIALS_DONE)
		return TRIAL_NOT_RUN;
	return trial_judge(trial_at((size_t)number), &facts->trials.of[number],
			   (uint32_t)facts->landlock.abi.value);
}

const char *trial_verdict_name(enum trial_verdict verdict)
{
	switch (verdict) {
	case TRIAL_NOT_RUN:
		return "not run";
	case TRIAL_TOO_OLD:
		return "not in this kernel";
	case TRIAL_NO_CONTROL:
		return "no control";
	case TRIAL_LOST:
		return "lost";
	case TRIAL_HELD:
		return "held";
	case TRIAL_OPEN:
		return "open";
	case TRIAL_BROKEN:
		return "broken";
	}
	return "not run";
}

const char *trial_expect_name(enum trial_expect expect)
{
	switch (expect) {
	case TRIAL_DENIED:
		return "denied";
	case TRIAL_ALLOWED:
		return "allowed";
	case TRIAL_TOLD:
		return "told";
	}
	return "denied";
}

void trial_add_run(struct text *t, const struct trial_run *run)
{
	char name[ERRNO_NAME_MAX];

	switch (run->end) {
	case TRIAL_NEVER:
		text_add(t, "not run");
		return;
	case TRIAL_RETURNED:
		text_add(t, run->value < 0 ? errno_name(-run->value, name) : "success");
		return;
	case TRIAL_KILLED:
		text_add(t, "killed by signal ");
		text_add_int(t, run->value);
		return;
	case TRIAL_HUNG:
		text_add(t, "no answer in time");
		return;
	}
}
