#include "launch/plan.h"

#include "kabi/text.h"
#include "launch/ask.h"

#define LINE_MAX_BYTES 8192

struct printer {
	void (*line)(void *arg, const char *text);
	void *arg;
	struct text text;
	char buf[LINE_MAX_BYTES];
};

static void start(struct printer *p, const char *head)
{
	p->text = TEXT_BUF(p->buf);
	text_add(&p->text, head);
}

static void finish(struct printer *p)
{
	p->line(p->arg, p->buf);
}

static void add_rights(struct printer *p, enum ll_kind kind, uint64_t mask)
{
	if (mask == 0)
		text_add(&p->text, " nothing");
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++) {
		if (ll_rights[i].kind != kind || !(mask & 1ULL << ll_rights[i].bit))
			continue;
		text_add(&p->text, " ");
		text_add(&p->text, ll_rights[i].name);
	}
}

static void print_mask(struct printer *p, const char *head, enum ll_kind kind, uint64_t mask)
{
	start(p, head);
	add_rights(p, kind, mask);
	finish(p);
}

static void print_abi(struct printer *p, const struct plan *plan)
{
	const char *linux_release = plan->abi > 0 ? ll_abi_linux((unsigned)plan->abi) : NULL;
	char name[ERRNO_NAME_MAX];

	start(p, "landlock: ");
	if (plan->abi > 0) {
		text_add(&p->text, "ABI ");
		text_add_int(&p->text, plan->abi);
		text_add(&p->text, linux_release ? ", Linux " : ", newer than this build");
		text_add(&p->text, linux_release ? linux_release : "");
	} else {
		text_add(&p->text, "none");
		text_add(&p->text, plan->abi < 0 ? ", " : "");
		text_add(&p->text, plan->abi < 0 ? errno_name(-plan->abi, name) : "");
	}
	finish(p);
}

static void print_rule(struct printer *p, const struct rule *rule)
{
	const struct rule_kind *kind = &rule_kinds[rule->source];
	struct fault shown;

	/* A path is shown as an error message would. */
	fault_join(&shown, rule->path, NULL);
	start(p, "rule: ");
	text_add(&p->text, kind->name);
	text_add(&p->text, " '");
	text_add(&p->text, shown.text);
	text_add(&p->text, kind->may_miss ? "', if there:" : "':");
	add_rights(p, LL_KIND_FS, rule->rights);
	finish(p);
}

static void print_port(struct printer *p, const struct plan *plan)
{
	if (plan->port == 0)
		return;
	start(p, "rule: port ");
	text_add_int(&p->text, plan->port);
	text_add(&p->text, ", any address:");
	add_rights(p, LL_KIND_NET, plan->handled_net & LL_NET_CONNECT_TCP);
	finish(p);
}

/* ---- what the parent does instead of the module ---- */

static void print_connect(struct printer *p, const struct plan *plan)
{
	struct fault shown;

	if (plan->proxy_port) {
		start(p, "parent: connect: to port ");
		text_add_int(&p->text, plan->proxy_port);
		text_add(&p->text, " of 127.0.0.1, of IPv6 sockets to ::ffff:127.0.0.1");
		finish(p);
	}
	if (plan->broker) {
		fault_join(&shown, plan->broker, NULL);
		start(p, "parent: connect: to broker_socket '");
		text_add(&p->text, shown.text);
		text_add(&p->text, "'");
		finish(p);
	}
	start(p, "parent: connect: to anything else EACCES");
	finish(p);
}

static void print_metadata(struct printer *p, const struct plan *plan)
{
	struct fault shown;

	for (size_t i = 0; i < plan->rule_count; i++) {
		const struct rule *rule = &plan->rules[i];

		if (rule->source != RULE_RW && rule->source != RULE_WO)
			continue;
		fault_join(&shown, rule->path, NULL);
		start(p, "parent: modes, owners, times: beneath ");
		text_add(&p->text, rule_kinds[rule->source].name);
		text_add(&p->text, " '");
		text_add(&p->text, shown.text);
		text_add(&p->text, "'");
		finish(p);
	}
	start(p, "parent: modes, owners, times: anywhere else EACCES");
	finish(p);
}

static void print_parent(struct printer *p, const struct plan *plan)
{
	if (plan->asked & ASK_CONNECT)
		print_connect(p, plan);
	if (plan->asked & ASK_METADATA)
		print_metadata(p, plan);
}

static void print_filter_line(void *arg, const char *text)
{
	struct printer *p = arg;

	start(p, "filter: ");
	text_add(&p->text, text);
	finish(p);
}

static void print_shortfalls(struct printer *p, const struct plan *plan)
{
	for (unsigned i = 0; i < SHORTFALL_COUNT; i++) {
		const struct shortfall_kind *kind = &shortfall_kinds[i];

		if (!(plan->shortfalls & 1U << i))
			continue;
		start(p, kind->fatal ? "shortfall: " : "gap: ");
		text_add(&p->text, kind->text);
		if (kind->since_abi > 0) {
			text_add(&p->text, " (before Landlock ABI ");
			text_add_int(&p->text, kind->since_abi);
			text_add(&p->text, ", Linux ");
			text_add(&p->text, ll_abi_linux(kind->since_abi));
			text_add(&p->text, ")");
		}
		finish(p);
	}
}

void plan_print(const struct plan *plan, void (*line)(void *arg, const char *text), void *arg)
{
	struct printer p = { .line = line, .arg = arg };

	print_abi(&p, plan);
	print_mask(&p, "handled files:", LL_KIND_FS, plan->handled_fs);
	print_mask(&p, "handled network:", LL_KIND_NET, plan->handled_net);
	print_mask(&p, "scoped:", LL_KIND_SCOPE, plan->scoped);
	print_mask(&p, "restrict flags:", LL_KIND_RESTRICT, plan->restrict_flags);
	for (size_t i = 0; i < plan->rule_count; i++)
		print_rule(&p, &plan->rules[i]);
	print_port(&p, plan);
	filter_print(plan->filter, print_filter_line, &p);
	print_parent(&p, plan);
	print_shortfalls(&p, plan);
}
