#include "report/audit/audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/text.h"

/* ---- columns ---- */

static int compare_columns(const void *a, const void *b)
{
	const char *x = ((const struct audit_column *)a)->name;
	const char *y = ((const struct audit_column *)b)->name;
	int i = capability_find(x);
	int j = capability_find(y);

	if (i >= 0 && j >= 0)
		return i - j;
	if (i >= 0 || j >= 0)
		return i >= 0 ? -1 : 1;
	return strcmp(x, y);
}

/* Reports of later versions may know capabilities that we do not: they get columns too. */
static void add_column(struct audit *audit, const char *name)
{
	for (unsigned i = 0; i < audit->column_count; i++)
		if (strcmp(audit->columns[i].name, name) == 0)
			return;
	if (audit->column_count < AUDIT_COLUMNS_MAX)
		audit->columns[audit->column_count++] = (struct audit_column){ .name = name };
}

const struct audit_status *audit_status_of(const struct audit *audit,
					   const struct audit_profile *profile, unsigned column)
{
	return audit_profile_find(profile, audit->columns[column].name);
}

static void count_columns(struct audit *audit)
{
	const struct audit_table *table = &audit->table;

	for (uint32_t i = 0; i < table->profile_count; i++)
		for (unsigned j = 0; j < table->profiles[i].capability_count; j++)
			add_column(audit, table->profiles[i].capabilities[j].name);
	qsort(audit->columns, audit->column_count, sizeof(audit->columns[0]), compare_columns);
	for (uint32_t i = 0; i < table->profile_count; i++) {
		const struct audit_profile *p = &table->profiles[i];

		for (unsigned j = 0; j < audit->column_count; j++) {
			const struct audit_status *s = audit_status_of(audit, p, j);
			struct audit_column *c = &audit->columns[j];

			if (!s)
				c->untold += p->nodes;
			else if (s->status == STATUS_ENFORCED)
				c->enforced += p->nodes;
			else if (s->status == STATUS_COOPERATIVE)
				c->cooperative += p->nodes;
			else
				c->unavailable += p->nodes;
		}
	}
}

/* ---- kernels ---- */

static int compare_kernels(const void *a, const void *b)
{
	const struct audit_kernel *x = a;
	const struct audit_kernel *y = b;
	int r = version_compare_texts(x->release, y->release);

	if (r == 0)
		r = strcmp(x->release, y->release);
	return r ? r : (x->abi > y->abi) - (x->abi < y->abi);
}

static int count_kernels(struct audit *audit)
{
	const struct audit_table *table = &audit->table;
	uint32_t kept = 0;

	audit->kernels = calloc(table->profile_count + 1, sizeof(*audit->kernels));
	if (!audit->kernels)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->profile_count; i++) {
		const struct audit_profile *p = &table->profiles[i];
		struct audit_kernel *k = &audit->kernels[i];

		*k = (struct audit_kernel){ p->kernel, p->abi, p->nodes, { 0 }, { 0 } };
		for (unsigned j = 0; j < audit->column_count; j++) {
			const struct audit_status *s = audit_status_of(audit, p, j);

			k->enforced[j] = s && s->status == STATUS_ENFORCED ? p->nodes : 0;
			k->told[j] = s ? p->nodes : 0;
		}
	}
	qsort(audit->kernels, table->profile_count, sizeof(*audit->kernels), compare_kernels);
	for (uint32_t i = 0; i < table->profile_count; i++) {
		struct audit_kernel *k = &audit->kernels[i];
		struct audit_kernel *last = &audit->kernels[kept ? kept - 1 : 0];

		if (kept == 0 || compare_kernels(last, k) != 0) {
			audit->kernels[kept++] = *k;
			continue;
		}
		last->nodes += k->nodes;
		for (unsigned j = 0; j < audit->column_count; j++) {
			last->enforced[j] += k->enforced[j];
			last->told[j] += k->told[j];
		}
	}
	audit->kernel_count = kept;
	return 0;
}

/* ---- reasons and findings: collected, sorted, equal ones added up ---- */

static int compare_reasons(const void *a, const void *b)
{
	const struct audit_reason *x = a;
	const struct audit_reason *y = b;
	int r = (x->column > y->column) - (x->column < y->column);

	r = r ? r : strcmp(x->why, y->why);
	return r ? r : strcmp(x->remedy, y->remedy);
}

static int compare_reason_counts(const void *a, const void *b)
{
	const struct audit_reason *x = a;
	const struct audit_reason *y = b;

	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return compare_reasons(a, b);
}

static int count_reasons(struct audit *audit)
{
	const struct audit_table *table = &audit->table;
	size_t room = (size_t)table->profile_count * audit->column_count + 1;
	struct audit_reason *all = calloc(room, sizeof(*all));
	uint32_t count = 0;
	uint32_t kept = 0;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->profile_count; i++)
		for (unsigned j = 0; j < audit->column_count; j++) {
			const struct audit_profile *p = &table->profiles[i];
			const struct audit_status *s = audit_status_of(audit, p, j);

			if (s && s->status != STATUS_ENFORCED)
				all[count++] = (struct audit_reason){ j, s->why, s->remedy,
								      p->nodes };
		}
	qsort(all, count, sizeof(*all), compare_reasons);
	for (uint32_t i = 0; i < count; i++) {
		if (kept > 0 && compare_reasons(&all[kept - 1], &all[i]) == 0)
			all[kept - 1].nodes += all[i].nodes;
		else
			all[kept++] = all[i];
	}
	qsort(all, kept, sizeof(*all), compare_reason_counts);
	audit->reasons = all;
	audit->reason_count = kept;
	return 0;
}

static int compare_findings(const void *a, const void *b)
{
	const struct audit_finding_count *x = a;
	const struct audit_finding_count *y = b;
	int r = strcmp(x->id, y->id);

	return r ? r : strcmp(x->remedy, y->remedy);
}

static int compare_finding_counts(const void *a, const void *b)
{
	const struct audit_finding_count *x = a;
	const struct audit_finding_count *y = b;

	if (x->warning != y->warning)
		return x->warning ? -1 : 1;
	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return compare_findings(a, b);
}

static int count_findings(struct audit *audit)
{
	const struct audit_table *table = &audit->table;
	struct audit_finding_count *all;
	size_t room = 1;
	uint32_t count = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < table->profile_count; i++)
		room += table->profiles[i].finding_count;
	all = calloc(room, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->profile_count; i++) {
		const struct audit_profile *p = &table->profiles[i];

		for (unsigned j = 0; j < p->finding_count; j++) {
			const struct audit_remark *f = &p->findings[j];

			all[count++] = (struct audit_finding_count){ f->id, f->remedy, f->warning,
								     p->nodes };
		}
	}
	qsort(all, count, sizeof(*all), compare_findings);
	for (uint32_t i = 0; i < count; i++) {
		if (kept > 0 && compare_findings(&all[kept - 1], &all[i]) == 0)
			all[kept - 1].nodes += all[i].nodes;
		else
			all[kept++] = all[i];
	}
	qsort(all, kept, sizeof(*all), compare_finding_counts);
	audit->findings = all;
	audit->finding_count = kept;
	return 0;
}

/* ---- modules ---- */

/* The Landlock ABI that would bring a backend; 0 when the kernel is not what keeps it away. */
static unsigned backend_abi(const struct audit_profile *p)
{
	bool kernel = strcmp(p->landlock_state, "not-built") == 0 ||
		      strcmp(p->landlock_state, "present") == 0;

	return kernel && strcmp(p->seccomp, "yes") == 0 ? LL_ABI_NEEDED : 0;
}

static const char *or_null(const char *s)
{
	return *s ? s : NULL;
}

void audit_view(const struct audit_profile *p, struct node_capability *capabilities,
		char platform[AUDIT_WORD_MAX * 2], struct node_view *ret)
{
	struct text t = text_start(platform, AUDIT_WORD_MAX * 2);

	text_add(&t, p->os);
	text_add(&t, "-");
	text_add(&t, p->arch);
	for (unsigned i = 0; i < p->capability_count; i++) {
		const struct audit_status *s = &p->capabilities[i];
		int id = capability_find(s->name);

		capabilities[i] = (struct node_capability){
			.name = s->name,
			.status = s->status,
			.needed_abi = id < 0 ? 0 : capability_rows[id].needed_abi,
			.why = or_null(s->why),
		};
	}
	*ret = (struct node_view){
		.backend = p->backend,
		.backend_why = NULL,
		.backend_abi = backend_abi(p),
		.abi = p->abi,
		.platform = *p->os && *p->arch ? platform : NULL,
		.os_version = or_null(p->os_version),
		.kernel = or_null(p->kernel),
		.glibc = strcmp(p->libc, "glibc") == 0 ? or_null(p->libc_version) : NULL,
		.capabilities = capabilities,
		.capability_count = p->capability_count,
	};
}

static int decide_modules(struct audit *audit)
{
	const struct audit_table *table = &audit->table;
	size_t modules = audit->modules.count;
	struct node_capability capabilities[AUDIT_CAPABILITIES_MAX];
	char platform[AUDIT_WORD_MAX * 2];
	struct node_view view;
	struct verdict verdict;

	audit->module_counts = calloc(modules + 1, sizeof(*audit->module_counts));
	audit->codes = calloc(table->profile_count + 1, modules + 1);
	if (!audit->module_counts || !audit->codes)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->profile_count; i++) {
		audit_view(&table->profiles[i], capabilities, platform, &view);
		for (size_t j = 0; j < modules; j++) {
			const struct module_entry *entry = &audit->modules.entries[j];

			if (entry->refused)
				continue;
			verdict_decide(&entry->module, &view, &verdict);
			audit->codes[i * modules + j] = verdict.code;
			audit->module_counts[j].codes[verdict.code] += table->profiles[i].nodes;
		}
	}
	return 0;
}

int audit_judge(struct audit *audit)
{
	count_columns(audit);
	if (count_kernels(audit) < 0 || count_reasons(audit) < 0 || count_findings(audit) < 0 ||
	    decide_modules(audit) < 0 || audit_find_changes(audit) < 0)
		return -ENOMEM;
	return 0;
}

void audit_free(struct audit *audit)
{
	for (uint32_t i = 0; i < audit->change_count; i++)
		free(audit->changes[i].modules);
	for (uint32_t i = 0; i < AUDIT_DAMAGED_KEPT && i < audit->damaged; i++)
		free(audit->damaged_texts[i]);
	free(audit->changes);
	free(audit->codes);
	free(audit->module_counts);
	free(audit->findings);
	free(audit->reasons);
	free(audit->kernels);
	modules_free(&audit->modules);
	audit_table_free(&audit->table);
}
