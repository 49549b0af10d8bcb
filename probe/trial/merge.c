#include "probe/trial/trial.h"

#include <string.h>

#include "probe/capability_parts.h"

/* ---- without trials ---- */

/* The kernel's word is all there is; what is assumed says so itself. */
static void claim(const struct facts *facts, struct capability *c)
{
	char why[FACTS_LINE_MAX];

	if (c->status == STATUS_UNAVAILABLE || facts->assumed)
		return;
	memcpy(why, c->why, sizeof(why));
	set(c->why, "claimed, not tried: ", why, "");
}

static void unobserved(struct capability *c, const char *reason, const char *remedy,
		       const char *more)
{
	set(c->why, "could not be observed here: ", reason, "");
	set(c->remedy, remedy, more, "");
	c->kernel = NULL;
	c->status = STATUS_UNAVAILABLE;
}

/* ---- with trials ---- */

struct view {
	const struct facts *facts;
	const struct trial *first_failure;
	const struct trial *first_lost;
	const struct trial *first_unseen_core;
};

static void count(const struct trial *trial, enum trial_verdict verdict, struct view *v,
		  struct trial_tally *tally)
{
	switch (verdict) {
	case TRIAL_NOT_RUN:
	case TRIAL_NO_CONTROL:
		if (trial->core && !v->first_unseen_core)
			v->first_unseen_core = trial;
		tally->unseen++;
		return;
	case TRIAL_TOO_OLD:
		tally->unseen++;
		return;
	case TRIAL_LOST:
		if (!v->first_lost)
			v->first_lost = trial;
		tally->unseen++;
		return;
	case TRIAL_OPEN:
		tally->open++;
		return;
	case TRIAL_BROKEN:
		if (!v->first_failure)
			v->first_failure = trial;
		tally->failures++;
		return;
	case TRIAL_HELD:
		if (trial->expect == TRIAL_ALLOWED)
			tally->allowed++;
		else
			tally->denied++;
		return;
	}
}

static const struct trial_fact *fact_of(const struct view *v, const struct trial *trial)
{
	return &v->facts->trials.of[trial_find(trial->id)];
}

/* "the trial signal.kill was not denied as it must be (signal another process: success)" */
static void say_failure(const struct view *v, const struct trial *trial, char buf[FACTS_LINE_MAX])
{
	struct text t = text_start(buf, FACTS_LINE_MAX);

	text_add(&t, "the trial ");
	text_add(&t, trial->id);
	text_add(&t, trial->expect == TRIAL_ALLOWED ? " was refused what is granted ("
						    : " was not denied as it must be (");
	text_add(&t, trial->what);
	text_add(&t, ": ");
	trial_add_run(&t, &fact_of(v, trial)->confined);
	text_add(&t, ")");
}

/* Why the trial could not be observed. */
static void say_unseen(const struct view *v, const struct trial *trial, char buf[FACTS_LINE_MAX])
{
	const struct trial_fact *fact = fact_of(v, trial);
	const char *refused = v->facts->trials.refused[trial->group];
	struct text t = text_start(buf, FACTS_LINE_MAX);

	if (fact->confined.end == TRIAL_NEVER && refused[0]) {
		text_add(&t, "the sandbox could not be entered: ");
		text_add(&t, refused);
		return;
	}
	text_add(&t, "the trial ");
	text_add(&t, trial->id);
	text_add(&t, " (");
	text_add(&t, trial->what);
	text_add(&t, fact->confined.end == TRIAL_KILLED || fact->confined.end == TRIAL_HUNG
			     ? "), in the sandbox: "
			     : "), without the sandbox: ");
	trial_add_run(&t, fact->confined.end == TRIAL_KILLED || fact->confined.end == TRIAL_HUNG
				  ? &fact->confined
				  : &fact->control);
}

static void add_count(struct text *t, uint32_t n, const char *one, const char *many)
{
	if (n == 0)
		return;
	text_add(t, t->len ? ", " : "");
	text_add_int(t, n);
	text_add(t, n == 1 ? one : many);
}

/* "96 attempts denied, each with its control, 14 allowed as granted, 2 not observed here" */
static void say_tally(const struct capability *c, char buf[FACTS_LINE_MAX])
{
	struct text t = text_start(buf, FACTS_LINE_MAX);

	add_count(&t, c->tally.denied, " attempt denied, with its control",
		  " attempts denied, each with its control");
	add_count(&t, c->tally.allowed, " allowed as granted", " allowed as granted");
	add_count(&t, c->tally.open, " known gap seen", " known gaps seen");
	add_count(&t, c->tally.unseen, " not observed here", " not observed here");
}

static bool has_trials(enum capability_id id)
{
	for (size_t i = 0; i < trial_count(); i++)
		if (trial_at(i)->capability == id)
			return true;
	return false;
}

static void merge_one(const struct facts *facts, enum capability_id id, uint32_t abi,
		      struct capability *c)
{
	struct view v = { .facts = facts };
	char reason[FACTS_LINE_MAX];

	for (size_t i = 0; i < trial_count(); i++) {
		const struct trial *trial = trial_at(i);

		if (trial->capability != id)
			continue;
		count(trial, trial_judge(trial, &facts->trials.of[i], abi), &v, &c->tally);
	}
	if (c->status == STATUS_UNAVAILABLE)
		return;
	if (v.first_failure) {
		say_failure(&v, v.first_failure, c->why);
		set(c->remedy,
		    "report it with the output of --json; until then nothing that needs "
		    "this can run here",
		    "", "");
		c->status = STATUS_UNAVAILABLE;
	} else if (c->status == STATUS_ENFORCED && (v.first_lost || v.first_unseen_core)) {
		say_unseen(&v, v.first_lost ? v.first_lost : v.first_unseen_core, reason);
		unobserved(c, reason, "see its trials: oarbank-probe --explain ",
			   capability_rows[id].name);
	} else if (c->status == STATUS_ENFORCED) {
		say_tally(c, c->why);
	}
}

void trials_merge(const struct facts *facts, struct capabilities *all)
{
	const struct trial_facts *trials = &facts->trials;

	for (int i = 0; i < CAPABILITY_COUNT; i++) {
		enum capability_id id = (enum capability_id)i;

		if (trials->state == TRIALS_NOT_ASKED || !has_trials(id))
			claim(facts, &all->of[i]);
		else if (trials->state == TRIALS_DONE)
			merge_one(facts, id, all->backend.abi, &all->of[i]);
		else if (all->of[i].status == STATUS_ENFORCED)
			unobserved(&all->of[i], trials->why, TRIALS_REMEDY, "");
		else
			claim(facts, &all->of[i]);
	}
}
