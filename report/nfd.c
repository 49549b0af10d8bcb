#include <ctype.h>
#include <string.h>

#include "report/report.h"

#include "kabi/text.h"

/* A label's value, or its name: at most 63 letters, digits, '-', '_' and '.', a letter or digit at
 * both ends.
 */
#define LABEL_MAX 63
#define NAME_MAX (LABEL_MAX - (sizeof("oarbank-") - 1))

static void trim(struct text *t)
{
	while (t->len > 0 && !isalnum((unsigned char)t->buf[t->len - 1]))
		t->buf[--t->len] = '\0';
}

static void put_label(FILE *out, const char *name, const char *value)
{
	char buf[LABEL_MAX + 1];
	struct text t = TEXT_BUF(buf);

	for (const char *c = value; *c; c++) {
		bool plain = isalnum((unsigned char)*c);

		if (plain || t.len > 0)
			text_add_bytes(&t, plain || strchr("-_.", *c) ? c : "_", 1);
	}
	trim(&t);
	fprintf(out, "oarbank-%s=%s\n", name, buf);
}

static void put_number(FILE *out, const char *name, int64_t number)
{
	char buf[24];
	struct text t = TEXT_BUF(buf);

	text_add_int(&t, number);
	put_label(out, name, buf);
}

static void put_modules(FILE *out, const struct report *report)
{
	for (size_t i = 0; i < report->modules->count; i++) {
		const struct module_entry *entry = &report->modules->entries[i];
		char name[NAME_MAX + 1];
		struct text t = TEXT_BUF(name);

		if (entry->refused)
			continue;
		text_add(&t, "module.");
		for (const char *c = entry->module.name; *c; c++)
			text_add_bytes(&t, isalnum((unsigned char)*c) || *c == '-' ? c : "-", 1);
		trim(&t);
		put_label(out, name, report->verdicts[i].code == VERDICT_RUNS ? "true" : "false");
	}
}

void report_nfd(const struct report *report, FILE *out)
{
	const struct backend *backend = &report->capabilities.backend;
	const struct gpu_facts *g = &report->facts->gpu;
	uint32_t usable = 0;

	put_label(out, "sandbox", backend->present ? "landlock" : "none");
	if (report->facts->landlock.abi.answer != ANSWER_UNKNOWN)
		put_number(out, "landlock-abi", backend->abi);
	for (int i = 0; i < CAPABILITY_COUNT; i++) {
		char name[NAME_MAX + 1];
		struct text t = TEXT_BUF(name);

		text_add(&t, "capability.");
		text_add(&t, capability_rows[i].name);
		put_label(out, name, status_name(report->capabilities.of[i].status));
	}
	for (uint32_t i = 0; i < g->gpu_count; i++)
		usable += g->gpus[i].usable == ANSWER_YES;
	if (report->facts->outcomes[PROBE_GPU].outcome == OUTCOME_DONE)
		put_number(out, "gpus-usable", usable);
	put_modules(out, report);
}
