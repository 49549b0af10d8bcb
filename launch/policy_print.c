#include "launch/policy_print.h"

static void add_key(struct text *t, const char *key)
{
	text_add(t, t->len > 1 ? "," : "");
	text_add_json(t, key);
	text_add(t, ":");
}

static void add_bool(struct text *t, const char *key, bool value)
{
	add_key(t, key);
	text_add(t, value ? "true" : "false");
}

static const char *net_word(enum net_mode net)
{
	switch (net) {
	case NET_NONE:
		break;
	case NET_EGRESS_ALLOWLIST:
		return "egress-allowlist";
	}
	return "none";
}

/* `exe` is one path or none; the others are lists. */
static void add_roots(struct text *t, const struct policy *p, enum root_kind kind)
{
	const char *between = "";

	add_key(t, root_kind_name(kind));
	text_add(t, "[");
	for (size_t i = 0; i < p->root_count; i++) {
		if (p->roots[i].kind != kind)
			continue;
		text_add(t, between);
		text_add_json(t, p->roots[i].path);
		between = ",";
	}
	text_add(t, "]");
}

static void add_exe(struct text *t, const struct policy *p)
{
	for (size_t i = 0; i < p->root_count; i++) {
		if (p->roots[i].kind != ROOT_EXE)
			continue;
		add_key(t, root_kind_name(ROOT_EXE));
		text_add_json(t, p->roots[i].path);
	}
}

void policy_print(const struct policy *p, struct text *t)
{
	static const enum root_kind lists[] = { ROOT_RD, ROOT_WO, ROOT_RO, ROOT_RW };

	text_add(t, "{");
	add_key(t, "module");
	text_add_json(t, p->module);
	add_key(t, "kind");
	text_add_json(t, p->kind);
	add_key(t, "net");
	text_add_json(t, net_word(p->net));
	add_key(t, "proxy_port");
	text_add_int(t, p->proxy_port);
	if (p->broker_socket) {
		add_key(t, "broker_socket");
		text_add_json(t, p->broker_socket);
	}
	add_bool(t, "gpu", p->gpu);
	add_bool(t, "exec_rw", p->exec_rw);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		add_roots(t, p, lists[i]);
	add_exe(t, p);
	text_add(t, "}");
}
