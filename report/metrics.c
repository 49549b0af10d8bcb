#include "report/report.h"

#include "kabi/text.h"

struct metrics {
	FILE *out;
	const struct report *report;
};

/* OpenMetrics is UTF-8 and escapes three characters in a label; control characters are no use to
 * anybody.
 */
static void put_value(FILE *out, const char *s)
{
	while (*s) {
		struct utf8 next = utf8_next(s);

		if (*s == '\\' || *s == '"')
			putc('\\', out);
		if ((unsigned char)*s < 0x20)
			putc(' ', out);
		else
			fwrite(next.bytes, 1, next.len, out);
		s += next.taken;
	}
}

static void put_label(FILE *out, bool first, const char *name, const char *value)
{
	fprintf(out, "%s%s=\"", first ? "{" : ",", name);
	put_value(out, value);
	putc('"', out);
}

static void describe(FILE *out, const char *name, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void put_plain(FILE *out, const char *name, const char *help, double value)
{
	describe(out, name, help);
	fprintf(out, "%s %.15g\n", name, value);
}

static void put_info(const struct metrics *m)
{
	const struct host_facts *h = &m->report->facts->host;

	describe(m->out, "oarbank_node_info", "What the node is; always 1.");
	fputs("oarbank_node_info", m->out);
	put_label(m->out, true, "kernel", h->uts.release);
	put_label(m->out, false, "machine", h->uts.machine);
	put_label(m->out, false, "os", h->os_id);
	put_label(m->out, false, "os_version", h->os_version);
	put_label(m->out, false, "version", OARBANK_VERSION);
	fputs("} 1\n", m->out);
}

static void put_capabilities(const struct metrics *m)
{
	describe(m->out, "oarbank_capability_status",
		 "What a capability is here: 2 enforced, 1 cooperative, 0 unavailable or unknown.");
	for (int i = 0; i < CAPABILITY_COUNT; i++) {
		fputs("oarbank_capability_status", m->out);
		put_label(m->out, true, "capability", capability_rows[i].name);
		fprintf(m->out, "} %d\n", (int)m->report->capabilities.of[i].status);
	}
}
_Static_assert(STATUS_UNAVAILABLE == 0 && STATUS_COOPERATIVE == 1 && STATUS_ENFORCED == 2,
	       "as the metric's help says");

static void put_findings(const struct metrics *m)
{
	const struct findings *findings = &m->report->findings;

	describe(m->out, "oarbank_finding", "A finding that holds on this node; always 1.");
	for (uint32_t i = 0; i < findings->count; i++) {
		fputs("oarbank_finding", m->out);
		put_label(m->out, true, "id", findings->of[i].id);
		put_label(m->out, false, "severity", severity_name(findings->of[i].severity));
		fputs("} 1\n", m->out);
	}
}

static void put_probes(const struct metrics *m)
{
	describe(m->out, "oarbank_probe_lost", "1 when a probe crashed or hung.");
	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct probe_outcome *outcome = &m->report->facts->outcomes[i];

		if (outcome->outcome == OUTCOME_NOT_RUN)
			continue;
		fputs("oarbank_probe_lost", m->out);
		put_label(m->out, true, "probe", probe_name((enum probe_id)i));
		fprintf(m->out, "} %d\n", outcome->outcome == OUTCOME_LOST);
	}
}

static void put_gpus(const struct metrics *m)
{
	const struct gpu_facts *g = &m->report->facts->gpu;
	int usable = 0;
	int unknown = 0;

	if (m->report->facts->outcomes[PROBE_GPU].outcome != OUTCOME_DONE)
		return;
	for (uint32_t i = 0; i < g->gpu_count; i++) {
		usable += g->gpus[i].usable == ANSWER_YES;
		unknown += g->gpus[i].usable == ANSWER_UNKNOWN;
	}
	put_plain(m->out, "oarbank_gpus", "GPUs found.", g->gpu_count);
	put_plain(m->out, "oarbank_gpus_usable", "GPUs whose compute node this user can open.",
		  usable);
	put_plain(m->out, "oarbank_gpus_unknown", "GPUs of which that could not be found out.",
		  unknown);
}

static void put_modules(const struct metrics *m)
{
	if (m->report->modules->count == 0)
		return;
	describe(m->out, "oarbank_module_runs", "1 when the module runs on this node.");
	for (size_t i = 0; i < m->report->modules->count; i++) {
		const struct module_entry *entry = &m->report->modules->entries[i];
		const struct verdict *v = &m->report->verdicts[i];
		const char *code = verdict_code_name(v->code);

		if (entry->refused)
			continue;
		fputs("oarbank_module_runs", m->out);
		put_label(m->out, true, "module", entry->module.name);
		put_label(m->out, false, "module_version",
			  entry->module.version ? entry->module.version : "");
		put_label(m->out, false, "code", code ? code : "");
		fprintf(m->out, "} %d\n", v->code == VERDICT_RUNS);
	}
}

static void put_time(const struct metrics *m)
{
	if (m->report->duration_ms >= 0)
		put_plain(m->out, "oarbank_report_duration_seconds", "What the report took.",
			  m->report->duration_ms / 1000);
	put_plain(m->out, "oarbank_report_timestamp_seconds", "When the report was made.",
		  (double)m->report->epoch);
}

void report_openmetrics(const struct report *report, FILE *out)
{
	const struct backend *backend = &report->capabilities.backend;
	const struct metrics m = { .out = out, .report = report };

	put_info(&m);
	put_plain(m.out, "oarbank_sandbox_backend", "1 when the node has a sandbox at all.",
		  backend->present);
	if (report->facts->landlock.abi.answer != ANSWER_UNKNOWN)
		put_plain(m.out, "oarbank_landlock_abi", "The kernel's Landlock ABI, 0 without.",
			  backend->abi);
	put_capabilities(&m);
	put_findings(&m);
	put_probes(&m);
	put_gpus(&m);
	put_modules(&m);
	put_time(&m);
	fputs("# EOF\n", m.out);
}
