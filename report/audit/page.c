#include <string.h>

#include "report/audit/audit.h"

#include "kabi/text.h"
#include "report/layout.h"
#include "report/marks.h"

#define NAME_WIDTH 26
#define MARKS_WIDTH 30
#define PROFILES_SHOWN 40
#define REASONS_SHOWN 40

/* "1 node", "2 nodes" */
static void add_nodes(struct text *t, uint32_t nodes)
{
	text_add_int(t, nodes);
	text_add(t, nodes == 1 ? " node" : " nodes");
}

static void add_share(struct text *t, uint32_t part, uint32_t all)
{
	unsigned percent = all ? (unsigned)((uint64_t)part * 100 / all) : 0;

	text_add(t, " (");
	text_add(t, part > 0 && percent == 0 ? "<1" : "");
	if (part == 0 || percent > 0)
		text_add_int(t, percent);
	text_add(t, " %)");
}

static void put_title(const struct layout *l, const struct audit *audit)
{
	char line[256];
	struct text t = TEXT_BUF(line);
	uint32_t assumed = 0;

	for (uint32_t i = 0; i < audit->table.profile_count; i++)
		if (audit->table.profiles[i].assumed)
			assumed += audit->table.profiles[i].nodes;
	add_nodes(&t, audit->table.node_count);
	text_add(&t, ", ");
	text_add_int(&t, audit->kernel_count);
	text_add(&t, audit->kernel_count == 1 ? " kernel" : " kernels");
	if (audit->superseded) {
		text_add(&t, ", ");
		text_add_int(&t, audit->superseded);
		text_add(&t, audit->superseded == 1 ? " older report" : " older reports");
		text_add(&t, " left out");
	}
	if (audit->damaged) {
		text_add(&t, ", ");
		text_add_int(&t, audit->damaged);
		text_add(&t, audit->damaged == 1 ? " damaged report" : " damaged reports");
		text_add(&t, " skipped");
	}
	if (assumed) {
		text_add(&t, ", ");
		text_add_int(&t, assumed);
		text_add(&t, " assume an upgrade");
	}
	layout_text(l, INK_BOLD, 0, line);
}

/* ---- capabilities ---- */

static void put_column(const struct layout *l, const struct audit_column *c, uint32_t all,
		       unsigned number)
{
	enum ink ink = c->enforced == all ? INK_GREEN : c->enforced ? INK_YELLOW : INK_RED;
	const char *mark = c->enforced == all ? "✓" : c->enforced ? "~" : "✗";
	char label[AUDIT_WORD_MAX + 16];
	char line[256];
	struct text name = TEXT_BUF(label);
	struct text t = TEXT_BUF(line);

	text_add_int(&name, number);
	text_add(&name, number < 10 ? "  " : " ");
	text_add(&name, c->name);
	text_add(&t, "enforced on ");
	text_add_int(&t, c->enforced);
	add_share(&t, c->enforced, all);
	if (c->cooperative) {
		text_add(&t, ", cooperative on ");
		text_add_int(&t, c->cooperative);
	}
	if (c->unavailable) {
		text_add(&t, ", unavailable on ");
		text_add_int(&t, c->unavailable);
	}
	if (c->untold) {
		text_add(&t, ", not told by ");
		text_add_int(&t, c->untold);
	}
	layout_row(l, ink, mark, label, MARKS_WIDTH, line);
}

static void put_columns(const struct layout *l, const struct audit *audit)
{
	layout_heading(l, "Capabilities (✓ enforced everywhere, ~ on some nodes, ✗ nowhere)");
	for (unsigned i = 0; i < audit->column_count; i++)
		put_column(l, &audit->columns[i], audit->table.node_count, i + 1);
}

/* ---- matrices ---- */

static void add_mark(struct text *t, const char *mark, unsigned column)
{
	text_add(t, column >= 9 ? "  " : " ");
	text_add(t, mark);
}

static void put_matrix_head(const struct layout *l, const struct audit *audit, const char *title)
{
	char line[512];
	struct text t = TEXT_BUF(line);

	layout_heading(l, title);
	for (unsigned i = 0; i < audit->column_count; i++) {
		text_add(&t, " ");
		text_add_int(&t, i + 1);
	}
	fprintf(l->out, "%*s%s\n", MARKS_WIDTH, "", line);
}

/* Marks stand in columns: they are not wrapped. */
static void put_marks(const struct layout *l, const char *label, const char *marks)
{
	char shown[64];
	struct text t = TEXT_BUF(shown);
	int width = 0;

	text_add_shown(&t, label);
	for (const char *c = shown; *c; c++)
		width += ((unsigned char)*c & 0xc0) != 0x80;
	fprintf(l->out, "  %s", shown);
	if (width + 2 > MARKS_WIDTH)
		fputc('\n', l->out);
	fprintf(l->out, "%*s%s\n", width + 2 > MARKS_WIDTH ? MARKS_WIDTH : MARKS_WIDTH - width - 2,
		"", marks);
}

static void put_kernels(const struct layout *l, const struct audit *audit)
{
	put_matrix_head(l, audit,
			"Kernels (✓ on all of its nodes, ~ on some, ✗ on none, · not told)");
	for (uint32_t i = 0; i < audit->kernel_count; i++) {
		const struct audit_kernel *k = &audit->kernels[i];
		char marks[512];
		char label[128];
		struct text m = TEXT_BUF(marks);
		struct text t = TEXT_BUF(label);

		for (unsigned j = 0; j < audit->column_count; j++)
			add_mark(&m,
				 k->enforced[j] == k->nodes ? "✓"
				 : k->enforced[j]	    ? "~"
				 : k->told[j]		    ? "✗"
							    : "·",
				 j);
		text_add_int(&t, k->nodes);
		text_add(&t, " x ");
		text_add(&t, *k->release ? k->release : "(unknown)");
		put_marks(l, label, marks);
	}
}

/* Profiles are numbered by their first node, and nodes are sorted. */
static const char *first_node(const struct audit *audit, uint32_t profile)
{
	for (uint32_t i = 0; i < audit->table.node_count; i++)
		if (audit->table.nodes[i].profile == profile)
			return audit->table.nodes[i].name;
	return "";
}

static void put_profiles(const struct layout *l, const struct audit *audit)
{
	const struct audit_table *table = &audit->table;
	uint32_t shown = table->profile_count < PROFILES_SHOWN ? table->profile_count
							       : PROFILES_SHOWN;

	put_matrix_head(l, audit,
			"Nodes, those alike together (✓ enforced, ~ cooperative, ✗ unavailable, "
			"· not told)");
	for (uint32_t i = 0; i < shown; i++) {
		const struct audit_profile *p = &table->profiles[i];
		char marks[512];
		char label[AUDIT_LINE_MAX];
		struct text m = TEXT_BUF(marks);
		struct text t = TEXT_BUF(label);

		for (unsigned j = 0; j < audit->column_count; j++) {
			const struct audit_status *s = audit_status_of(audit, p, j);

			add_mark(&m, s ? status_mark(s->status) : "·", j);
		}
		text_add(&t, first_node(audit, i));
		if (p->nodes > 1) {
			text_add(&t, " and ");
			text_add_int(&t, p->nodes - 1);
			text_add(&t, " more");
		}
		put_marks(l, label, marks);
	}
	if (shown < table->profile_count) {
		char line[128];
		struct text t = TEXT_BUF(line);

		text_add_int(&t, table->profile_count - shown);
		text_add(&t, " further kinds of node: --csv, --json and --html have them all");
		layout_text(l, INK_DIM, 2, line);
	}
}

/* ---- lists ---- */

static bool same_cause(const struct audit_reason *a, const struct audit_reason *b)
{
	return a->nodes == b->nodes && strcmp(a->why, b->why) == 0 &&
	       strcmp(a->remedy, b->remedy) == 0;
}

/* One cause with everything it keeps away: reasons with the same words and number are one. */
static void put_cause(const struct layout *l, const struct audit *audit, uint32_t first)
{
	const struct audit_reason *r = &audit->reasons[first];
	char label[32];
	char line[AUDIT_LINE_MAX * 4];
	struct text n = TEXT_BUF(label);
	struct text t = TEXT_BUF(line);

	add_nodes(&n, r->nodes);
	text_add(&t, r->why);
	layout_row(l, INK_PLAIN, "", label, NAME_WIDTH, line);
	t = TEXT_BUF(line);
	text_add(&t, "keeps away");
	for (uint32_t i = first; i < audit->reason_count; i++) {
		if (!same_cause(r, &audit->reasons[i]))
			continue;
		text_add(&t, i == first ? " " : ", ");
		text_add(&t, audit->columns[audit->reasons[i].column].name);
	}
	layout_text(l, INK_PLAIN, NAME_WIDTH, line);
	layout_fix(l, NAME_WIDTH, r->remedy);
}

static void put_reasons(const struct layout *l, const struct audit *audit)
{
	uint32_t shown = 0;

	if (audit->reason_count == 0)
		return;
	layout_heading(l, "Why not");
	for (uint32_t i = 0; i < audit->reason_count && shown < REASONS_SHOWN; i++) {
		bool before = false;

		for (uint32_t j = 0; j < i && !before; j++)
			before = same_cause(&audit->reasons[i], &audit->reasons[j]);
		if (before)
			continue;
		put_cause(l, audit, i);
		shown++;
	}
	if (shown == REASONS_SHOWN)
		layout_text(l, INK_DIM, 2, "and others: --json has them all");
}

static void put_modules(const struct layout *l, const struct audit *audit)
{
	if (audit->modules.count == 0)
		return;
	layout_heading(l, "Modules");
	for (size_t i = 0; i < audit->modules.count; i++) {
		const struct module_entry *entry = &audit->modules.entries[i];
		const uint32_t *codes = audit->module_counts[i].codes;
		bool all = codes[VERDICT_RUNS] == audit->table.node_count;
		char line[512];
		struct text t = TEXT_BUF(line);

		if (entry->refused) {
			layout_row(l, INK_RED, "✗", entry->file, NAME_WIDTH, "manifest refused");
			layout_text(l, INK_PLAIN, NAME_WIDTH, entry->error.text);
			continue;
		}
		text_add(&t, "runs on ");
		text_add_int(&t, codes[VERDICT_RUNS]);
		text_add(&t, " of ");
		add_nodes(&t, audit->table.node_count);
		for (int j = 0; j < VERDICT_RUNS; j++) {
			if (codes[j] == 0)
				continue;
			text_add(&t, "; ");
			text_add(&t, verdict_code_name((enum verdict_code)j));
			text_add(&t, " on ");
			text_add_int(&t, codes[j]);
		}
		layout_row(l,
			   all			 ? INK_GREEN
			   : codes[VERDICT_RUNS] ? INK_YELLOW
						 : INK_RED,
			   all			 ? "✓"
			   : codes[VERDICT_RUNS] ? "~"
						 : "✗",
			   entry->module.name, NAME_WIDTH, line);
	}
}

/* ---- changes ---- */

static void put_gain(const struct layout *l, const struct audit_change *c, uint32_t nodes,
		     const char *text)
{
	char label[32];
	struct text n = TEXT_BUF(label);

	if (nodes == 0)
		return;
	text_add(&n, c->at_most ? "up to +" : "+");
	add_nodes(&n, nodes);
	layout_row(l, INK_GREEN, " ", label, NAME_WIDTH, text);
}

/* Capabilities that as many nodes would gain share a line. */
static void put_capability_gains(const struct layout *l, const struct audit *audit,
				 const struct audit_change *c)
{
	for (unsigned i = 0; i < audit->column_count; i++) {
		char line[AUDIT_LINE_MAX * 4];
		struct text t = TEXT_BUF(line);
		bool before = false;

		for (unsigned j = 0; j < i && !before; j++)
			before = c->capabilities[j] == c->capabilities[i];
		if (before)
			continue;
		text_add(&t, "enforce");
		for (unsigned j = i; j < audit->column_count; j++) {
			if (c->capabilities[j] != c->capabilities[i])
				continue;
			text_add(&t, j == i ? " " : ", ");
			text_add(&t, audit->columns[j].name);
		}
		put_gain(l, c, c->capabilities[i], line);
	}
}

static void put_change(const struct layout *l, const struct audit *audit,
		       const struct audit_change *c)
{
	layout_text(l, INK_BOLD, 2, c->text);
	for (size_t i = 0; i < audit->modules.count; i++) {
		char line[AUDIT_LINE_MAX];
		struct text t = TEXT_BUF(line);

		if (c->modules[i] == 0)
			continue;
		text_add(&t, "run module ");
		text_add(&t, audit->modules.entries[i].module.name);
		put_gain(l, c, c->modules[i], line);
	}
	put_capability_gains(l, audit, c);
	put_gain(l, c, c->leaf, "have a container leaf with hard limits");
	put_gain(l, c, c->gpu, "can open a GPU they have");
}

static void put_changes(const struct layout *l, const struct audit *audit)
{
	if (audit->change_count == 0)
		return;
	layout_heading(l, "What one change would bring");
	for (uint32_t i = 0; i < audit->change_count; i++)
		put_change(l, audit, &audit->changes[i]);
}

/* Is it found with another remedy, too? */
static bool has_twin(const struct audit *audit, const struct audit_finding_count *f)
{
	for (uint32_t i = 0; i < audit->finding_count; i++)
		if (&audit->findings[i] != f && strcmp(audit->findings[i].id, f->id) == 0)
			return true;
	return false;
}

static void put_findings(const struct layout *l, const struct audit *audit)
{
	if (audit->finding_count == 0)
		return;
	layout_heading(l, "Findings (! somebody should act, · good to know)");
	for (uint32_t i = 0; i < audit->finding_count; i++) {
		const struct audit_finding_count *f = &audit->findings[i];
		char line[64];
		struct text t = TEXT_BUF(line);

		add_nodes(&t, f->nodes);
		add_share(&t, f->nodes, audit->table.node_count);
		layout_row(l, f->warning ? INK_YELLOW : INK_DIM, f->warning ? "!" : "·", f->id,
			   MARKS_WIDTH, line);
		if (f->warning || has_twin(audit, f))
			layout_fix(l, NAME_WIDTH, f->remedy);
	}
}

void audit_page(const struct audit *audit, bool colour, FILE *out)
{
	const struct layout l = { out, colour };

	put_title(&l, audit);
	if (audit->table.node_count == 0)
		return;
	put_columns(&l, audit);
	put_kernels(&l, audit);
	put_profiles(&l, audit);
	put_reasons(&l, audit);
	put_modules(&l, audit);
	put_changes(&l, audit);
	put_findings(&l, audit);
}
