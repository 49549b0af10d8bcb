#include "report/needs.h"

#include <string.h>

#include "kabi/text.h"

static void add(struct needs *needs, bool always_on, const char *kind, const char *word)
{
	struct need *need = &needs->need[needs->count++];
	struct text t = TEXT_BUF(need->name);

	text_add(&t, kind);
	text_add(&t, word);
	need->always_on = always_on;
}

void needs_of(const struct module *m, struct needs *ret)
{
	const struct grants *g = &m->grants;
	bool network = strcmp(g->net_mode, "none") != 0;
	struct needs needs = { 0 };

	add(&needs, false, "filesystem", "");
	add(&needs, false, "ipc", "");
	add(&needs, false, "net.", g->net_mode);
	if (network)
		add(&needs, false, "no_loopback", "");
	if (strcmp(g->gpu, "none") != 0)
		add(&needs, false, "gpu.", g->gpu);
	if (m->endpoint)
		add(&needs, false, "endpoints", "");
	if (g->folders_read)
		add(&needs, false, "folders.", "read");
	if (g->folders_write)
		add(&needs, false, "folders.", "write");

	if (network)
		add(&needs, true, "no_link_local", "");
	if (!g->exec_writable)
		add(&needs, true, "exec_writable_deny", "");
	*ret = needs;
}
