#include "tests/mutants/mutant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "kabi/text.h"

static const struct mutant *active[2];

static const struct mutant *active_kind(enum mutant_kind kind)
{
	for (int i = 0; i < 2; i++)
		if (active[i] && active[i]->kind == kind)
			return active[i];
	return NULL;
}

/* ---- Landlock ---- */

static int create(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
		  uint32_t flags)
{
	const struct mutant *m = active_kind(MUTANT_UNHANDLED);
	struct ll_ruleset_attr changed;

	if (!m || flags)
		return kernel_live.ll_create(k, attr, size, flags);
	changed = *attr;
	if (m->ll_kind == LL_KIND_FS)
		changed.handled_fs &= ~m->right;
	else if (m->ll_kind == LL_KIND_NET)
		changed.handled_net &= ~m->right;
	else
		changed.scoped &= ~m->right;
	return kernel_live.ll_create(k, &changed, ll_attr_size(&changed), flags);
}

static bool is_at(int fd, const char *end)
{
	char link[64];
	char path[4096];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return kernel_live.readlink(&kernel_live, link, path, sizeof(path)) > 0 &&
	       text_ends(path, end);
}

static int add_parent(const struct kernel *k, int ruleset, struct ll_path_beneath_attr rule)
{
	char path[64];
	int fd;
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/..", rule.parent_fd);
	fd = kernel_live.open(k, path, 010000000 /* O_PATH */);
	if (fd < 0)
		return fd;
	rule.parent_fd = fd;
	r = kernel_live.ll_add_path(k, ruleset, &rule);
	kernel_live.close(k, fd);
	return r;
}

static int add_path(const struct kernel *k, int ruleset, const struct ll_path_beneath_attr *rule)
{
	struct ll_path_beneath_attr changed = *rule;
	const struct mutant *m;

	m = active_kind(MUTANT_UNHANDLED);
	if (m && m->ll_kind == LL_KIND_FS)
		changed.allowed_access &= ~m->right;
	m = active_kind(MUTANT_WIDER);
	if (m && is_at(rule->parent_fd, m->place))
		changed.allowed_access |= m->right;
	m = active_kind(MUTANT_NARROWER);
	if (m && is_at(rule->parent_fd, m->place))
		changed.allowed_access &= ~m->right;
	m = active_kind(MUTANT_PARENT);
	if (m && is_at(rule->parent_fd, m->place))
		return add_parent(k, ruleset, changed);
	/* A rule must grant something. */
	return changed.allowed_access ? kernel_live.ll_add_path(k, ruleset, &changed) : 0;
}

static int add_port(const struct kernel *k, int ruleset, const struct ll_net_port_attr *rule)
{
	struct ll_net_port_attr changed = *rule;
	const struct mutant *m = active_kind(MUTANT_UNHANDLED);
	int r = 0;

	if (m && m->ll_kind == LL_KIND_NET)
		changed.allowed_access &= ~m->right;
	if (!changed.allowed_access)
		return 0;
	if (!active_kind(MUTANT_PORTS))
		return kernel_live.ll_add_port(k, ruleset, &changed);
	for (unsigned port = 1; r == 0 && port <= 65535; port++) {
		changed.port = port;
		r = kernel_live.ll_add_port(k, ruleset, &changed);
	}
	return r;
}

static int restrict_self(const struct kernel *k, int ruleset, uint32_t flags)
{
	return active_kind(MUTANT_NO_LANDLOCK) ? 0 : kernel_live.ll_restrict(k, ruleset, flags);
}

/* ---- the filter ---- */

static int filter(const struct kernel *k, unsigned operation, unsigned flags, const void *arg)
{
	static struct sc_insn insns[1024 + 2 * MUTANT_INSNS_MAX];
	const struct sc_program *program = arg;
	struct sc_program changed = { .len = 0, .insns = insns };

	if (operation != SC_SET_MODE_FILTER)
		return kernel_live.seccomp(k, operation, flags, arg);
	if (active_kind(MUTANT_NO_FILTER))
		return 0;
	for (int i = 0; i < 2; i++) {
		if (!active[i] || active[i]->kind != MUTANT_FILTER)
			continue;
		memcpy(insns + changed.len, active[i]->insns,
		       active[i]->insn_count * sizeof(insns[0]));
		changed.len = (uint16_t)(changed.len + active[i]->insn_count);
	}
	if (program->len > 1024)
		return -E2BIG;
	memcpy(insns + changed.len, program->insns, program->len * sizeof(insns[0]));
	changed.len = (uint16_t)(changed.len + program->len);
	return kernel_live.seccomp(k, operation, flags, &changed);
}

/* ---- privilege ---- */

static int control(const struct kernel *k, int option, unsigned long a, unsigned long b,
		   unsigned long c, unsigned long d)
{
	if ((option == PR_SET_NO_NEW_PRIVS && active_kind(MUTANT_NO_PRIVS)) ||
	    (option == PR_CAPBSET_DROP && active_kind(MUTANT_BOUNDING)) ||
	    (option == PR_SET_SECUREBITS && active_kind(MUTANT_SECUREBITS)) ||
	    (option == PR_CAP_AMBIENT && active_kind(MUTANT_AMBIENT)))
		return 0;
	return kernel_live.prctl(k, option, a, b, c, d);
}

static int set_capabilities(const struct kernel *k, const struct cap_sets *sets)
{
	return active_kind(MUTANT_CAPABILITIES) ? 0 : kernel_live.capset(k, sets);
}

const struct kernel *mutant_kernel(const struct mutant *mutant, const struct mutant *second)
{
	static struct kernel k;

	active[0] = mutant;
	active[1] = second;
	k = kernel_live;
	k.ll_create = create;
	k.ll_add_path = add_path;
	k.ll_add_port = add_port;
	k.ll_restrict = restrict_self;
	k.seccomp = filter;
	k.prctl = control;
	k.capset = set_capabilities;
	return &k;
}
