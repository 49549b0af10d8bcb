#include <stdlib.h>
#include <string.h>

#include "report/report.h"

#include "kabi/text.h"
#include "report/layout.h"
#include "report/marks.h"

#define NAME_WIDTH 26
#define FINDINGS_HEADING "Findings (! somebody should act, · good to know)"

static void add_all(struct text *t, const char *a, const char *b, const char *c)
{
	text_add(t, a);
	text_add(t, b);
	text_add(t, c);
}

static void put_title(const struct layout *l, const struct report *report)
{
	const struct host_facts *h = &report->facts->host;
	char line[512];
	struct text t = TEXT_BUF(line);

	text_add(&t, h->hostname[0] ? h->hostname : "this node");
	if (h->os_pretty[0])
		add_all(&t, ", ", h->os_pretty, "");
	if (h->uts.release[0])
		add_all(&t, ", Linux ", h->uts.release, "");
	if (h->uts.machine[0])
		add_all(&t, " ", h->uts.machine, "");
	if (h->container[0] && strcmp(h->container, "none") != 0)
		add_all(&t, ", in a container (", h->container, ")");
	if (report->root)
		add_all(&t, ", as recorded in ", report->root, "");
	if (report->assumption) {
		char assumed[ASSUMPTION_TEXT_MAX];

		assumption_text(report->assumption, assumed);
		add_all(&t, ", ASSUMING ", assumed, " instead of its own kernel");
	}
	layout_text(l, INK_BOLD, 0, line);
}

static void put_backend(const struct layout *l, const struct backend *backend)
{
	char line[FACTS_LINE_MAX];
	struct text t = TEXT_BUF(line);

	layout_heading(l, "Sandbox");
	if (backend->present) {
		text_add(&t, "Landlock ABI ");
		text_add_int(&t, backend->abi);
		text_add(&t, " and seccomp filters");
		layout_row(l, INK_GREEN, "✓", "backend", NAME_WIDTH, line);
		return;
	}
	layout_row(l, INK_RED, "✗", "SANDBOX_BACKEND_MISSING", NAME_WIDTH, backend->why);
	layout_fix(l, NAME_WIDTH, backend->remedy);
}

static void put_capabilities(const struct layout *l, const struct capabilities *all)
{
	layout_heading(l, "Capabilities (✓ enforced, ~ cooperative, ✗ unavailable)");
	for (int i = 0; i < CAPABILITY_COUNT; i++) {
		const struct capability *c = &all->of[i];
		bool same = !all->backend.present && capability_rows[i].needed_abi > 0;

		layout_row(l, status_ink(c->status), status_mark(c->status),
			   capability_rows[i].name, NAME_WIDTH,
			   same ? "no sandbox backend, see above" : c->why);
		if (!same)
			layout_fix(l, NAME_WIDTH, c->remedy);
	}
}

static enum ink usable_ink(enum answer usable)
{
	switch (usable) {
	case ANSWER_UNKNOWN:
		return INK_YELLOW;
	case ANSWER_NO:
		return INK_RED;
	case ANSWER_YES:
		return INK_GREEN;
	}
	return INK_YELLOW;
}

static const char *usable_mark(enum answer usable)
{
	switch (usable) {
	case ANSWER_UNKNOWN:
		return "?";
	case ANSWER_NO:
		return "✗";
	case ANSWER_YES:
		return "✓";
	}
	return "?";
}

static const char *usable_words(enum answer usable)
{
	switch (usable) {
	case ANSWER_UNKNOWN:
		return ", not known whether it can be opened";
	case ANSWER_NO:
		return ", not openable";
	case ANSWER_YES:
		return "";
	}
	return "";
}

static void put_gpu(const struct layout *l, const struct gpu *gpu)
{
	char label[FACTS_LINE_MAX];
	char line[FACTS_LINE_MAX * 2];
	struct text name = TEXT_BUF(label);
	struct text t = TEXT_BUF(line);

	add_all(&name, gpu->vendor, gpu->node[0] ? " " : "", gpu->node);
	text_add(&t, gpu->model[0] ? gpu->model : "model unknown");
	if (gpu->vram_bytes) {
		text_add(&t, ", ");
		text_add_int(&t, (int64_t)(gpu->vram_bytes >> 20));
		text_add(&t, " MiB");
	}
	if (gpu->driver[0])
		add_all(&t, ", driver ", gpu->driver, "");
	text_add(&t, usable_words(gpu->usable));
	layout_row(l, usable_ink(gpu->usable), usable_mark(gpu->usable), label, NAME_WIDTH, line);
}

static void put_unsearched(const struct layout *l, const struct fact *searched)
{
	char line[FACTS_LINE_MAX];
	struct text t = TEXT_BUF(line);

	add_all(&t,
		"not all could be looked for: ", searched->call[0] ? searched->call : "not asked",
		"");
	if (searched->got[0])
		add_all(&t, ": ", searched->got, "");
	layout_text(l, INK_PLAIN, 2, line);
}

static void put_gpus(const struct layout *l, const struct report *report)
{
	const struct gpu_facts *g = &report->facts->gpu;

	if (report->facts->outcomes[PROBE_GPU].outcome != OUTCOME_DONE)
		return;
	layout_heading(l, "GPUs");
	for (uint32_t i = 0; i < g->gpu_count; i++)
		put_gpu(l, &g->gpus[i]);
	if (g->searched.answer != ANSWER_YES)
		put_unsearched(l, &g->searched);
	else if (g->gpu_count == 0 && !g->truncated)
		layout_text(l, INK_PLAIN, 2, "none found");
	if (g->truncated)
		layout_text(l, INK_PLAIN, 2, "there are more devices, that could not be looked at");
	for (uint32_t i = 0; i < g->node_count; i++) {
		const struct gpu_node *n = &g->nodes[i];
		char line[FACTS_LINE_MAX];
		struct text t = TEXT_BUF(line);

		if (!n->device || n->openable.answer != ANSWER_NO)
			continue;
		add_all(&t, "not openable by this user: ", n->openable.got, "");
		layout_row(l, INK_RED, "✗", n->path, NAME_WIDTH, line);
		if (n->group[0]) {
			t = TEXT_BUF(line);
			add_all(&t, "add the agent's account to group ", n->group, "");
			layout_fix(l, NAME_WIDTH, line);
		}
	}
}

static const char *layout_words(enum cgroup_layout layout)
{
	switch (layout) {
	case CGROUP_UNKNOWN:
		return "unknown";
	case CGROUP_NONE:
		return "no cgroup hierarchy";
	case CGROUP_V1:
		return "version 1 only";
	case CGROUP_HYBRID:
		return "hybrid: version 2 beside version 1";
	case CGROUP_UNIFIED:
		return "unified, version 2";
	}
	return "unknown";
}

static const char *delegation_words(enum cgroup_delegation delegation)
{
	switch (delegation) {
	case DELEGATION_UNKNOWN:
		return "unknown";
	case DELEGATION_NONE:
		return "not delegated to this user";
	case DELEGATION_WRITABLE:
		return "writable for uid 0, delegated by nobody";
	case DELEGATION_DELEGATED:
		return "delegated";
	}
	return "unknown";
}

static void put_cgroup(const struct layout *l, const struct report *report)
{
	const struct cgroup_facts *c = &report->facts->cgroup;
	char line[FACTS_LINE_MAX];
	struct text t = TEXT_BUF(line);
	bool unsure = false;

	if (report->facts->outcomes[PROBE_CGROUP].outcome != OUTCOME_DONE)
		return;
	layout_heading(l, "Control groups");
	layout_row(l, INK_PLAIN, "", "hierarchy", NAME_WIDTH, layout_words(c->layout));
	if (c->dir[0])
		layout_row(l, INK_PLAIN, "", "own group", NAME_WIDTH, c->dir);
	layout_row(l, INK_PLAIN, "", "delegation", NAME_WIDTH, delegation_words(c->delegation));
	for (int i = 0; i < CONTROLLER_COUNT; i++) {
		enum answer answer = c->controllers[i].enableable.answer;

		unsure |= answer == ANSWER_UNKNOWN && c->delegation != DELEGATION_NONE;
		if (answer == ANSWER_YES)
			add_all(&t, t.len ? " " : "", controller_names[i], "");
	}
	layout_row(l, INK_PLAIN, "", "limits for modules", NAME_WIDTH,
		   t.len    ? line
		   : unsure ? "unknown"
			    : "none");
	for (uint32_t i = 0; i < c->missing_count; i++)
		layout_row(l, INK_YELLOW, "!", "missing", NAME_WIDTH, c->missing[i].text);
}

static void put_verdict(const struct layout *l, const struct verdict *v, const char *label)
{
	char line[FACTS_LINE_MAX];
	struct text t = TEXT_BUF(line);

	if (v->code == VERDICT_RUNS) {
		layout_row(l, INK_GREEN, "✓", label, NAME_WIDTH, "runs here");
		return;
	}
	layout_row(l, INK_RED, "✗", label, NAME_WIDTH, verdict_code_name(v->code));
	layout_text(l, INK_PLAIN, NAME_WIDTH, v->message);
	for (unsigned i = 0; i < v->missing_count; i++)
		add_all(&t, i ? ", " : "missing: ", v->missing[i].need->name, "");
	if (t.len)
		layout_text(l, INK_PLAIN, NAME_WIDTH, line);
	if (v->kernel[0]) {
		t = TEXT_BUF(line);
		add_all(&t, "Linux ", v->kernel, " or later");
		layout_fix(l, NAME_WIDTH, line);
	}
}

static void put_modules(const struct layout *l, const struct report *report)
{
	if (report->modules->count == 0)
		return;
	layout_heading(l, "Modules");
	for (size_t i = 0; i < report->modules->count; i++) {
		const struct module_entry *entry = &report->modules->entries[i];
		char label[FACTS_LINE_MAX];
		struct text t = TEXT_BUF(label);

		if (entry->refused) {
			layout_row(l, INK_RED, "✗", entry->file, NAME_WIDTH, "manifest refused");
			layout_text(l, INK_PLAIN, NAME_WIDTH, entry->error.text);
			continue;
		}
		text_add(&t, entry->module.name);
		if (entry->module.version)
			add_all(&t, " ", entry->module.version, "");
		put_verdict(l, &report->verdicts[i], label);
	}
}

static void put_finding(const struct layout *l, const struct finding *f)
{
	bool warning = f->severity == SEVERITY_WARNING;

	layout_row(l, warning ? INK_YELLOW : INK_DIM, warning ? "!" : "·", f->id, NAME_WIDTH,
		   f->text);
	layout_fix(l, NAME_WIDTH, f->remedy);
}

static void put_findings(const struct layout *l, const struct findings *findings)
{
	if (findings->count == 0)
		return;
	layout_heading(l, FINDINGS_HEADING);
	for (uint32_t i = 0; i < findings->count; i++)
		put_finding(l, &findings->of[i]);
}

static enum ink trial_ink(enum trial_verdict verdict)
{
	switch (verdict) {
	case TRIAL_NOT_RUN:
	case TRIAL_TOO_OLD:
	case TRIAL_NO_CONTROL:
		return INK_DIM;
	case TRIAL_OPEN:
		return INK_YELLOW;
	case TRIAL_HELD:
		return INK_GREEN;
	case TRIAL_LOST:
	case TRIAL_BROKEN:
		return INK_RED;
	}
	return INK_RED;
}

static const char *trial_mark(enum trial_verdict verdict)
{
	switch (verdict) {
	case TRIAL_NOT_RUN:
	case TRIAL_TOO_OLD:
	case TRIAL_NO_CONTROL:
	case TRIAL_LOST:
		return "-";
	case TRIAL_OPEN:
		return "~";
	case TRIAL_HELD:
		return "✓";
	case TRIAL_BROKEN:
		return "✗";
	}
	return "✗";
}

void report_page(const struct report *report, bool colour, FILE *out)
{
	const struct layout l = { out, colour };

	put_title(&l, report);
	put_backend(&l, &report->capabilities.backend);
	put_capabilities(&l, &report->capabilities);
	put_gpus(&l, report);
	put_cgroup(&l, report);
	put_modules(&l, report);
	put_findings(&l, &report->findings);
}

/* ---- one capability in full ---- */

/* Several questions may have had one call for an answer. */
static bool was_told(const struct capability *c, uint32_t before)
{
	const struct fact *fact = c->evidence[before];

	for (uint32_t i = 0; i < before; i++)
		if (strcmp(c->evidence[i]->call, fact->call) == 0 &&
		    strcmp(c->evidence[i]->got, fact->got) == 0 &&
		    c->evidence[i]->basis == fact->basis)
			return true;
	return false;
}

static void put_evidence(const struct layout *l, const struct fact *fact)
{
	char line[FACTS_LINE_MAX];
	struct text t = TEXT_BUF(line);

	add_all(&t, fact->call[0] ? fact->call : "(not asked)", " = ",
		fact->got[0] ? fact->got : "?");
	add_all(&t, " (", basis_name(fact->basis), ")");
	layout_text(l, INK_PLAIN, 4, line);
}

static void put_trial(const struct layout *l, const struct report *report, size_t number)
{
	const struct trial *trial = trial_at(number);
	const struct trial_fact *fact = &report->facts->trials.of[number];
	enum trial_verdict verdict = trial_judge(trial, fact, report->capabilities.backend.abi);
	char line[FACTS_LINE_MAX * 2];
	struct text t = TEXT_BUF(line);

	add_all(&t, trial->what, ": ", "");
	trial_add_run(&t, &fact->confined);
	text_add(&t, " in the sandbox");
	if (fact->control.end != TRIAL_NEVER) {
		text_add(&t, ", ");
		trial_add_run(&t, &fact->control);
		text_add(&t, " without it");
	}
	add_all(&t, " (", trial->id, ")");
	layout_row(l, trial_ink(verdict), trial_mark(verdict), trial_verdict_name(verdict),
		   NAME_WIDTH, line);
}

static void put_trials(const struct layout *l, const struct report *report, enum capability_id id)
{
	bool any = false;

	for (size_t i = 0; report->facts->trials.state == TRIALS_DONE && i < trial_count(); i++) {
		if (trial_at(i)->capability != id)
			continue;
		if (!any)
			layout_heading(l,
				       "Tried (✓ held, ~ open as known, ✗ broken, - not observed)");
		any = true;
		put_trial(l, report, i);
	}
}

void report_explain(const struct report *report, enum capability_id id, bool colour, FILE *out)
{
	const struct capability_row *row = &capability_rows[id];
	const struct capability *c = &report->capabilities.of[id];
	const struct layout l = { out, colour };
	bool any = false;

	layout_row(&l, status_ink(c->status), status_mark(c->status), row->name, NAME_WIDTH,
		   status_name(c->status));
	layout_heading(&l, "What it promises");
	layout_text(&l, INK_PLAIN, 2, row->promise);
	layout_heading(&l, "How");
	layout_text(&l, INK_PLAIN, 2, row->means);
	layout_heading(&l, "On this node");
	layout_text(&l, INK_PLAIN, 2, c->why);
	for (uint32_t i = 0; i < c->evidence_count; i++)
		if (!was_told(c, i))
			put_evidence(&l, c->evidence[i]);
	put_trials(&l, report, id);
	if (c->remedy[0]) {
		layout_heading(&l, "What would change it");
		layout_text(&l, INK_PLAIN, 2, c->remedy);
	}
	if (row->limit) {
		layout_heading(&l, "What stays open even when it is enforced");
		layout_text(&l, INK_PLAIN, 2, row->limit);
	}
	for (uint32_t i = 0; i < report->findings.count; i++) {
		const struct finding *f = &report->findings.of[i];

		if (!f->capability || strcmp(f->capability, row->name) != 0)
			continue;
		if (!any)
			layout_heading(&l, FINDINGS_HEADING);
		any = true;
		put_finding(&l, f);
	}
}
