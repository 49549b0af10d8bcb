/* What one change would bring a fleet: a kernel from some release on, or one remedy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/audit/audit.h"

#include "kabi/text.h"

/* ---- the list ---- */

static struct audit_change *add_change(struct audit *audit, const char *text, const char *kernel)
{
	struct audit_change *grown;
	struct audit_change *c;

	for (uint32_t i = 0; i < audit->change_count; i++)
		if (strcmp(audit->changes[i].text, text) == 0)
			return &audit->changes[i];
	grown = reallocarray(audit->changes, audit->change_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	audit->changes = grown;
	c = &grown[audit->change_count];
	*c = (struct audit_change){ .modules = calloc(audit->modules.count + 1, sizeof(uint32_t)) };
	if (!c->modules)
		return NULL;
	audit->change_count++;
	text_copy(c->text, sizeof(c->text), text);
	text_copy(c->kernel, sizeof(c->kernel), kernel);
	return c;
}

/* ---- kernels ---- */

static bool at_most(const struct version *needed, const char *kernel)
{
	struct version v;

	return version_read(kernel, &v) == 0 && version_compare(needed, &v) <= 0;
}

/* Is there a release from which on it would be better? */
static bool helping_kernel(const struct audit_status *s, struct version *ret)
{
	return *s->kernel && version_read(s->kernel, ret) == 0;
}

static struct audit_change *add_kernel(struct audit *audit, const struct version *v)
{
	char kernel[VERSION_TEXT_MAX];
	char line[AUDIT_LINE_MAX];
	struct text t = TEXT_BUF(line);

	version_text(v, kernel);
	text_add(&t, "Linux ");
	text_add(&t, kernel);
	text_add(&t, " or later");
	return add_change(audit, line, kernel);
}

static void module_kernels(const struct audit *audit, const struct audit_profile *p,
			   struct version *ret)
{
	struct node_capability capabilities[AUDIT_CAPABILITIES_MAX];
	char platform[AUDIT_WORD_MAX * 2];
	struct verdict verdict;
	struct node_view view;

	audit_view(p, capabilities, platform, &view);
	for (size_t i = 0; i < audit->modules.count; i++) {
		const struct module_entry *entry = &audit->modules.entries[i];

		ret[i] = (struct version){ 0 };
		if (entry->refused)
			continue;
		verdict_decide(&entry->module, &view, &verdict);
		if (verdict.kernel[0])
			version_read(verdict.kernel, &ret[i]);
	}
}

/* cgroup.kill is all that a container leaf lacks. */
static const struct version leaf_kernel = { { 5, 14 } };

static bool leaf_wants_kernel(const struct audit_profile *p)
{
	return p->obstacles == 1U << LEAF_OLD_KERNEL;
}

static int list_kernels(struct audit *audit, const struct audit_profile *p,
			const struct version *modules)
{
	struct version v;

	for (unsigned i = 0; i < p->capability_count; i++)
		if (p->capabilities[i].status != STATUS_ENFORCED &&
		    helping_kernel(&p->capabilities[i], &v) && !at_most(&v, p->kernel) &&
		    !add_kernel(audit, &v))
			return -ENOMEM;
	if (leaf_wants_kernel(p) && !add_kernel(audit, &leaf_kernel))
		return -ENOMEM;
	for (size_t i = 0; i < audit->modules.count; i++)
		if (modules[i].part[0] > 0 && !add_kernel(audit, &modules[i]))
			return -ENOMEM;
	return 0;
}

/* Count what the kernel of `c` brings the nodes of a profile. */
static void gain_kernel(const struct audit *audit, const struct audit_profile *p,
			const struct version *modules, struct audit_change *c)
{
	bool any = false;
	struct version v;

	if (version_read(c->kernel, &v) == 0 && at_most(&v, p->kernel))
		return; /* it has that kernel */
	for (unsigned i = 0; i < audit->column_count; i++) {
		const struct audit_status *s = audit_status_of(audit, p, i);

		if (!s || s->status == STATUS_ENFORCED || !helping_kernel(s, &v) ||
		    !at_most(&v, c->kernel))
			continue;
		c->capabilities[i] += p->nodes;
		any = true;
	}
	for (size_t i = 0; i < audit->modules.count; i++) {
		if (modules[i].part[0] == 0 || !at_most(&modules[i], c->kernel))
			continue;
		c->modules[i] += p->nodes;
		any = true;
	}
	if (leaf_wants_kernel(p) && at_most(&leaf_kernel, c->kernel)) {
		c->leaf += p->nodes;
		any = true;
	}
	c->nodes += any ? p->nodes : 0;
}

static int compare_changes(const void *a, const void *b)
{
	return version_compare_texts(((const struct audit_change *)a)->kernel,
				     ((const struct audit_change *)b)->kernel);
}

static int find_kernels(struct audit *audit)
{
	const struct audit_table *table = &audit->table;
	size_t width = audit->modules.count + 1;
	struct version *needed = calloc(table->profile_count + 1, width * sizeof(*needed));
	int r = needed ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < table->profile_count; i++) {
		module_kernels(audit, &table->profiles[i], &needed[i * width]);
		r = list_kernels(audit, &table->profiles[i], &needed[i * width]);
	}
	if (audit->change_count > 0)
		qsort(audit->changes, audit->change_count, sizeof(*audit->changes),
		      compare_changes);
	for (uint32_t i = 0; r == 0 && i < table->profile_count; i++)
		for (uint32_t j = 0; j < audit->change_count; j++)
			gain_kernel(audit, &table->profiles[i], &needed[i * width],
				    &audit->changes[j]);
	free(needed);
	return r;
}

/* ---- other remedies ---- */

/* Count what `remedy` brings the nodes of a profile, when it takes away all it is named for. */
static int gain_remedy(struct audit *audit, uint32_t profile, const char *remedy)
{
	const struct audit_profile *p = &audit->table.profiles[profile];
	const uint8_t *codes = &audit->codes[profile * audit->modules.count];
	struct node_capability capabilities[AUDIT_CAPABILITIES_MAX];
	struct audit_change *c = add_change(audit, remedy, "");
	char platform[AUDIT_WORD_MAX * 2];
	struct verdict verdict;
	struct node_view view;

	if (!c)
		return -ENOMEM;
	audit_view(p, capabilities, platform, &view);
	for (unsigned i = 0; i < p->capability_count; i++)
		if (strcmp(p->capabilities[i].remedy, remedy) == 0)
			capabilities[i].status = STATUS_ENFORCED;
	for (unsigned i = 0; i < audit->column_count; i++) {
		const struct audit_status *s = audit_status_of(audit, p, i);

		if (s && s->status != STATUS_ENFORCED && strcmp(s->remedy, remedy) == 0)
			c->capabilities[i] += p->nodes;
	}
	c->at_most |= !p->backend;
	view.backend = true;
	for (size_t i = 0; i < audit->modules.count; i++) {
		const struct module_entry *entry = &audit->modules.entries[i];

		if (entry->refused || codes[i] == VERDICT_RUNS)
			continue;
		verdict_decide(&entry->module, &view, &verdict);
		c->modules[i] += verdict.code == VERDICT_RUNS ? p->nodes : 0;
	}
	c->nodes += p->nodes;
	return 0;
}

/* Is it named for an earlier capability of the profile? */
static bool named_before(const struct audit_profile *p, unsigned at)
{
	for (unsigned i = 0; i < at; i++)
		if (p->capabilities[i].status != STATUS_ENFORCED &&
		    strcmp(p->capabilities[i].remedy, p->capabilities[at].remedy) == 0)
			return true;
	return false;
}

static int find_remedies(struct audit *audit)
{
	for (uint32_t i = 0; i < audit->table.profile_count; i++) {
		const struct audit_profile *p = &audit->table.profiles[i];

		for (unsigned j = 0; j < p->capability_count; j++) {
			const struct audit_status *s = &p->capabilities[j];
			struct version v;

			if (s->status == STATUS_ENFORCED || !*s->remedy || helping_kernel(s, &v) ||
			    named_before(p, j))
				continue;
			if (gain_remedy(audit, i, s->remedy) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Is `c` among the remedies the profile has counted already? */
static bool counted(const struct audit_profile *p, const char *text)
{
	for (unsigned i = 0; i < p->capability_count; i++)
		if (p->capabilities[i].status != STATUS_ENFORCED &&
		    strcmp(p->capabilities[i].remedy, text) == 0)
			return true;
	return false;
}

static int find_leaves_and_gpus(struct audit *audit)
{
	for (uint32_t i = 0; i < audit->table.profile_count; i++) {
		const struct audit_profile *p = &audit->table.profiles[i];
		struct audit_change *c;

		if (p->obstacles && !leaf_wants_kernel(p)) {
			char remedy[FACTS_LINE_MAX];

			leaf_remedy(p->obstacles, remedy);
			c = add_change(audit, remedy, "");
			if (!c)
				return -ENOMEM;
			c->leaf += p->nodes;
			c->nodes += counted(p, remedy) ? 0 : p->nodes;
		}
		for (unsigned j = 0; j < p->group_count; j++) {
			char line[AUDIT_LINE_MAX];
			struct text t = TEXT_BUF(line);

			text_add(&t, "the agent's account in group ");
			text_add(&t, p->groups[j]);
			c = add_change(audit, line, "");
			if (!c)
				return -ENOMEM;
			c->gpu += p->nodes;
			c->nodes += p->nodes;
		}
	}
	return 0;
}

static int compare_others(const void *a, const void *b)
{
	const struct audit_change *x = a;
	const struct audit_change *y = b;

	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return strcmp(x->text, y->text);
}

int audit_find_changes(struct audit *audit)
{
	uint32_t kernels;

	if (find_kernels(audit) < 0)
		return -ENOMEM;
	kernels = audit->change_count;
	if (find_remedies(audit) < 0 || find_leaves_and_gpus(audit) < 0)
		return -ENOMEM;
	if (audit->change_count > kernels)
		qsort(audit->changes + kernels, audit->change_count - kernels,
		      sizeof(*audit->changes), compare_others);
	return 0;
}
