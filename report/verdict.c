#include "report/verdict.h"

#include <string.h>

#include "kabi/landlock.h"
#include "kabi/text.h"

static const char *const code_names[] = {
	[VERDICT_SANDBOX_BACKEND_MISSING] = "SANDBOX_BACKEND_MISSING",
	[VERDICT_PLATFORM_UNSUPPORTED] = "PLATFORM_UNSUPPORTED",
	[VERDICT_OS_VERSION_UNSUPPORTED] = "OS_VERSION_UNSUPPORTED",
	[VERDICT_CAPABILITY_NOT_ENFORCED] = "CAPABILITY_NOT_ENFORCED",
	[VERDICT_RUNS] = NULL,
};

static const struct node_capability *find(const struct node_view *node, const char *name)
{
	for (size_t i = 0; i < node->capability_count; i++)
		if (strcmp(node->capabilities[i].name, name) == 0)
			return &node->capabilities[i];
	return NULL;
}

/* `abi`, when a kernel newer than this one is the first to have it; else 0. */
static unsigned helping_abi(const struct node_view *node, unsigned abi)
{
	const char *release = ll_abi_linux(abi);
	struct version first;
	struct version here;

	if (abi <= node->abi || !release || version_read(release, &first) < 0)
		return 0;
	if (node->kernel && version_read(node->kernel, &here) == 0 &&
	    version_compare(&first, &here) <= 0)
		return 0;
	return abi;
}

static void collect_missing(const struct node_view *node, struct verdict *v)
{
	v->placed = true;
	for (unsigned i = 0; i < v->needs.count; i++) {
		const struct need *need = &v->needs.need[i];
		const struct node_capability *found = find(node, need->name);
		struct missing *missing = &v->missing[v->missing_count];

		if (found && found->status == STATUS_ENFORCED)
			continue;
		*missing = (struct missing){
			.need = need, .why = "it is not among the capabilities of a report"
		};
		if (found) {
			missing->status = found->status;
			missing->needed_abi = helping_abi(node, found->needed_abi);
			missing->why = found->why;
		}
		v->missing_count++;
		if (!need->always_on)
			v->placed = false;
	}
}

static bool platform_fits(const struct module *m, const struct node_view *node)
{
	return node->platform && module_lists(m, node->platform);
}

static bool os_fits(const struct module *m, const struct node_view *node)
{
	return version_in(&m->kernel.range, node->kernel) &&
	       version_in(&m->glibc.range, node->glibc);
}

static enum verdict_code first_reason(const struct module *m, const struct node_view *node,
				      const struct verdict *v)
{
	if (!node->backend)
		return VERDICT_SANDBOX_BACKEND_MISSING;
	if (!platform_fits(m, node))
		return VERDICT_PLATFORM_UNSUPPORTED;
	if (!os_fits(m, node))
		return VERDICT_OS_VERSION_UNSUPPORTED;
	if (v->missing_count > 0)
		return VERDICT_CAPABILITY_NOT_ENFORCED;
	return VERDICT_RUNS;
}

/* The oldest ABI with which the backend is there and nothing is missing. False: there is none. */
static bool abi_needed(const struct node_view *node, const struct verdict *v, unsigned *ret)
{
	unsigned abi = node->backend ? 0 : helping_abi(node, node->backend_abi);

	if (!node->backend && abi == 0)
		return false;
	for (unsigned i = 0; i < v->missing_count; i++) {
		if (v->missing[i].needed_abi == 0)
			return false;
		if (v->missing[i].needed_abi > abi)
			abi = v->missing[i].needed_abi;
	}
	*ret = abi;
	return true;
}

static void find_kernel(const struct module *m, const struct node_view *node, struct verdict *v)
{
	struct version needed = { 0 };
	struct version floor;
	unsigned abi;

	if (v->code == VERDICT_RUNS || !node->kernel || !platform_fits(m, node) ||
	    !version_in(&m->glibc.range, node->glibc) || !abi_needed(node, v, &abi))
		return;
	if (abi > 0 && version_read(ll_abi_linux(abi), &needed) < 0)
		return;
	if (version_range_floor(&m->kernel.range, &floor) && version_compare(&floor, &needed) > 0)
		needed = floor;
	/* A kernel range may end before the release with that ABI. */
	version_text(&needed, v->kernel);
	if (needed.part[0] == 0 || !version_in(&m->kernel.range, v->kernel)) {
		v->kernel[0] = '\0';
		return;
	}
	v->kernel_abi = abi;
}

static const char *or_unknown(const char *s)
{
	return s ? s : "unknown";
}

static void say_reason(struct text *t, const char *why)
{
	if (why) {
		text_add(t, ": ");
		text_add(t, why);
	}
}

static void say_os(struct text *t, const struct module *m, const struct node_view *node)
{
	text_add(t, m->name);
	text_add(t, " does not run on this system's version (");
	text_add(t, or_unknown(node->os_version));
	text_add(t, "): ");
	if (!version_in(&m->kernel.range, node->kernel)) {
		text_add(t, "it asks for a kernel ");
		text_add(t, m->kernel.text);
		text_add(t, ", this one is ");
		text_add(t, or_unknown(node->kernel));
		return;
	}
	text_add(t, "it asks for glibc ");
	text_add(t, m->glibc.text);
	text_add(t, ", this one is ");
	text_add(t, or_unknown(node->glibc));
}

static void say_missing(struct text *t, const struct module *m, const struct verdict *v)
{
	const struct missing *first = &v->missing[0];

	text_add(t, m->name);
	text_add(t, " needs ");
	text_add(t, first->need->name);
	text_add(t, ", which this node does not enforce (");
	text_add(t, status_name(first->status));
	text_add(t, ")");
	if (v->missing_count > 1) {
		text_add(t, ", nor ");
		text_add_int(t, v->missing_count - 1);
		text_add(t, v->missing_count == 2 ? " other thing it needs"
						  : " other things it needs");
	}
	say_reason(t, first->why);
}

static void say(const struct module *m, const struct node_view *node, struct verdict *v)
{
	struct text t = TEXT_BUF(v->message);

	switch (v->code) {
	case VERDICT_SANDBOX_BACKEND_MISSING:
		text_add(&t, "this node has no sandbox, so no module runs here");
		say_reason(&t, node->backend_why);
		break;
	case VERDICT_PLATFORM_UNSUPPORTED:
		text_add(&t, m->name);
		text_add(&t, " is not made for ");
		text_add(&t, node->platform ? node->platform : "this node's platform");
		break;
	case VERDICT_OS_VERSION_UNSUPPORTED:
		say_os(&t, m, node);
		break;
	case VERDICT_CAPABILITY_NOT_ENFORCED:
		say_missing(&t, m, v);
		break;
	case VERDICT_RUNS:
		text_add(&t, m->name);
		text_add(&t, " runs here");
		break;
	}
}

const char *verdict_code_name(enum verdict_code code)
{
	return code_names[code];
}

void verdict_decide(const struct module *m, const struct node_view *node, struct verdict *ret)
{
	*ret = (struct verdict){ 0 };
	needs_of(m, &ret->needs);
	collect_missing(node, ret);
	ret->code = first_reason(m, node, ret);
	ret->placed = ret->placed && node->backend && platform_fits(m, node) && os_fits(m, node);
	find_kernel(m, node, ret);
	say(m, node, ret);
}
