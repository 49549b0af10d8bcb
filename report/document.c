#include <stdlib.h>

#include "report/report.h"

#include "kabi/text.h"
#include "report/facts_json.h"
#include "report/json.h"
#include "report/kernel_json.h"
#include "report/verdict_json.h"

#define SCHEMA_VERSION 1

static const char *outcome_name(enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_NOT_RUN:
		return "not-run";
	case OUTCOME_DONE:
		return "done";
	case OUTCOME_LOST:
		return "lost";
	}
	return "lost";
}

static void micros_json(cJSON *object, const struct report *report, uint32_t micros)
{
	if (report->duration_ms < 0)
		json_null(object, "micros");
	else
		json_number(object, "micros", micros);
}

static void probes_json(cJSON *object, const struct report *report)
{
	cJSON *probes = json_object(object, "probes");

	for (int id = 0; id < PROBE_COUNT; id++) {
		const struct probe_outcome *outcome = &report->facts->outcomes[id];
		cJSON *item = json_object(probes, probe_name((enum probe_id)id));

		json_text(item, "outcome", outcome_name(outcome->outcome));
		json_text_or_null(item, "why", outcome->why);
		if (outcome->outcome == OUTCOME_DONE)
			micros_json(item, report, outcome->micros);
		else
			json_null(item, "micros");
	}
}

static const char *trials_state_name(enum trials_state state)
{
	switch (state) {
	case TRIALS_NOT_ASKED:
		return "not-asked";
	case TRIALS_IMPOSSIBLE:
		return "impossible";
	case TRIALS_DONE:
		return "done";
	}
	return "not-asked";
}

static void trials_json(cJSON *object, const struct report *report)
{
	const struct trial_facts *trials = &report->facts->trials;
	cJSON *item = json_object(object, "trials");

	json_text(item, "state", trials_state_name(trials->state));
	json_text_or_null(item, "why", trials->why);
	json_text_or_null(item, "parent", trials->supervised ? "run" : "");
	micros_json(item, report, trials->micros);
}

static void assumed_json(cJSON *object, const struct assumption *a)
{
	char text[ASSUMPTION_TEXT_MAX];
	cJSON *item;

	if (!a) {
		json_null(object, "assumed");
		return;
	}
	item = json_object(object, "assumed");
	json_text_or_null(item, "kernel", a->kernel);
	assumption_text(a, text);
	json_text(item, "text", text);
}

static void about_json(cJSON *object, const struct report *report)
{
	cJSON *about = json_object(object, "report");

	json_number(about, "schema", SCHEMA_VERSION);
	json_text(about, "generator", "oarbank-probe " OARBANK_VERSION);
	json_text(about, "time", report->time);
	if (report->duration_ms < 0)
		json_null(about, "duration_ms");
	else
		json_number(about, "duration_ms",
			    (double)(long)(report->duration_ms * 1000) / 1000);
	json_bool(about, "recorded", report->root != NULL);
	assumed_json(about, report->assumption);
	probes_json(about, report);
	trials_json(about, report);
}

static void trial_json(cJSON *array, const struct report *report, size_t number)
{
	const struct trial *trial = trial_at(number);
	const struct trial_fact *fact = &report->facts->trials.of[number];
	cJSON *item = json_add_object(array);
	char run[FACTS_WORD_MAX];
	struct text t = TEXT_BUF(run);

	json_text(item, "trial", trial->id);
	json_text(item, "what", trial->what);
	json_text(item, "expected", trial_expect_name(trial->expect));
	json_text(item, "verdict",
		  trial_verdict_name(trial_judge(trial, fact, report->capabilities.backend.abi)));
	trial_add_run(&t, &fact->control);
	json_text(item, "control", run);
	t = TEXT_BUF(run);
	trial_add_run(&t, &fact->confined);
	json_text(item, "confined", run);
	micros_json(item, report, fact->control.micros + fact->confined.micros);
}

static void capability_json(cJSON *array, const struct report *report, enum capability_id id)
{
	const struct capability_row *row = &capability_rows[id];
	const struct capability *c = &report->capabilities.of[id];
	cJSON *item = json_add_object(array);
	cJSON *evidence;

	json_text(item, "name", row->name);
	json_text(item, "status", status_name(c->status));
	json_text(item, "why", c->why);
	evidence = json_array(item, "evidence");
	for (uint32_t i = 0; i < c->evidence_count; i++)
		fact_fill_json(json_add_object(evidence), c->evidence[i]);
	for (size_t i = 0; report->facts->trials.state == TRIALS_DONE && i < trial_count(); i++)
		if (trial_at(i)->capability == id)
			trial_json(evidence, report, i);
	json_text_or_null(item, "limit", row->limit);
	json_text_or_null(item, "remedy", c->remedy);
	json_text_or_null(item, "kernel", c->kernel);
}

static void finding_json(cJSON *array, const struct finding *f)
{
	cJSON *item = json_add_object(array);

	json_text(item, "id", f->id);
	json_text(item, "severity", severity_name(f->severity));
	json_text_or_null(item, "capability", f->capability);
	json_text(item, "text", f->text);
	json_text(item, "remedy", f->remedy);
}

/* Print `root`, which is freed. */
static char *print_and_free(cJSON *root)
{
	char *text = json_failed() ? NULL : cJSON_PrintUnformatted(root);

	cJSON_Delete(root);
	return text;
}

char *report_document(const struct report *report)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *array;

	facts_json(root, report->facts, &report->capabilities);
	about_json(root, report);
	kernel_json(root, report->facts);
	array = json_array(root, "capabilities");
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		capability_json(array, report, (enum capability_id)i);
	array = json_array(root, "modules");
	for (size_t i = 0; i < report->modules->count; i++)
		verdict_fill_json(json_add_object(array), &report->modules->entries[i],
				  &report->verdicts[i]);
	array = json_array(root, "findings");
	for (uint32_t i = 0; i < report->findings.count; i++)
		finding_json(array, &report->findings.of[i]);
	return print_and_free(root);
}

char *report_sandbox_line(const struct report *report)
{
	cJSON *root = cJSON_CreateObject();

	sandbox_fill_json(root, &report->capabilities);
	return print_and_free(root);
}
