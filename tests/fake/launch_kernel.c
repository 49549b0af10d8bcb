#include "tests/fake/launch_kernel.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "kabi/text.h"
#include "tests/fake/launch_calls.h"

#define CAPABILITY_COUNT 41

struct fake_process *fake_self(const struct kernel *k)
{
	return k->state;
}

int fake_called(const struct kernel *k, const char *name, const char *detail)
{
	struct fake_process *p = fake_self(k);
	struct text t;

	if (p->call_count == FAKE_CALLS)
		abort();
	t = text_start(p->calls[p->call_count++], FAKE_CALL_TEXT);
	text_add(&t, name);
	if (detail) {
		text_add(&t, " ");
		text_add(&t, detail);
	}
	return p->call_count == p->fail_call ? -p->fail_error : 0;
}

int fake_called_with(const struct kernel *k, const char *name, int64_t number)
{
	char buf[24];
	struct text t = TEXT_BUF(buf);

	text_add_int(&t, number);
	return fake_called(k, name, buf);
}

/* ---- confinement ---- */

static int fake_ll_create(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
			  uint32_t flags)
{
	static const struct fake_file ruleset = { "", NODE_OTHER, NULL, 0, 0 };
	struct fake_process *p = fake_self(k);
	int r = fake_called_with(k, "ll_create", flags);

	(void)size;
	if (r < 0)
		return r;
	if (flags == LL_CREATE_VERSION)
		return p->abi;
	p->ruleset = *attr;
	r = fake_open_at(p, "ruleset", &ruleset);
	if (r >= 0)
		p->fds[r].ruleset = true;
	return r;
}

static int fake_ll_add_path(const struct kernel *k, int ruleset,
			    const struct ll_path_beneath_attr *rule)
{
	struct fake_process *p = fake_self(k);
	struct fake_fd *f = fake_fd_of(p, rule->parent_fd);
	int r = fake_called(k, "ll_add_path", f ? f->path : "closed");

	if (r < 0)
		return r;
	if (!f || !fake_fd_of(p, ruleset) || !p->fds[ruleset].ruleset)
		return -EBADF;
	if (rule->allowed_access == 0)
		return -ENOMSG;
	if (rule->allowed_access & ~p->ruleset.handled_fs ||
	    (f->type != NODE_DIR &&
	     rule->allowed_access & ~ll_mask(LL_KIND_FS, LL_ABI_KNOWN, true)))
		return -EINVAL;
	if (p->rule_count == FAKE_RULES)
		abort();
	text_copy(p->rules[p->rule_count].path, FAKE_CALL_TEXT, f->path);
	p->rules[p->rule_count++].rights = rule->allowed_access;
	return 0;
}

static int fake_ll_add_port(const struct kernel *k, int ruleset,
			    const struct ll_net_port_attr *rule)
{
	struct fake_process *p = fake_self(k);
	int r = fake_called_with(k, "ll_add_port", (int64_t)rule->port);

	(void)ruleset;
	if (r < 0)
		return r;
	if (rule->allowed_access & ~p->ruleset.handled_net)
		return -EINVAL;
	p->port = rule->port;
	return 0;
}

static int fake_ll_restrict(const struct kernel *k, int ruleset, uint32_t flags)
{
	struct fake_process *p = fake_self(k);
	int r = fake_called_with(k, "ll_restrict", flags);

	if (r < 0)
		return r;
	if (!fake_fd_of(p, ruleset) || !p->fds[ruleset].ruleset)
		return -EBADF;
	if (!p->no_new_privs)
		return -EPERM;
	p->restrict_flags = flags;
	p->restricted = true;
	return 0;
}

static int fake_seccomp(const struct kernel *k, unsigned operation, unsigned flags, const void *arg)
{
	struct fake_process *p = fake_self(k);
	int r = fake_called_with(k, "seccomp", operation);

	if (r < 0)
		return r;
	if (!p->no_new_privs)
		return -EACCES;
	if (flags & SC_FLAG_NEW_LISTENER) {
		static const struct fake_file listener = { .type = NODE_OTHER };
		static struct sc_insn insns[64];
		const struct sc_program *program = arg;

		if (p->old_seccomp && flags & SC_FLAG_WAIT_KILLABLE_RECV)
			return -EINVAL;
		memcpy(insns, program->insns, program->len * sizeof(*insns));
		p->asking = (struct sc_program){ program->len, insns };
		p->killable = flags & SC_FLAG_WAIT_KILLABLE_RECV;
		p->listener = fake_open_at(p, "listener", &listener);
		return p->listener;
	}
	p->filter = arg;
	return 0;
}

static int fake_send_descriptor(const struct kernel *k, int socket, int fd)
{
	struct fake_process *p = fake_self(k);
	int r = fake_called_with(k, "send_descriptor", socket);

	if (r < 0)
		return r;
	if (!fake_fd_of(p, socket) || fd != p->listener)
		return -EBADF;
	p->given_to = socket;
	return 0;
}

/* ---- the process ---- */

static bool may_set_capabilities(const struct fake_process *p)
{
	return p->effective & 1ULL << 8; /* CAP_SETPCAP */
}

static int drop_bounding(struct fake_process *p, unsigned long cap)
{
	if (!may_set_capabilities(p))
		return -EPERM;
	if (cap >= CAPABILITY_COUNT)
		return -EINVAL;
	p->bounding &= ~(1ULL << cap);
	return 0;
}

static int fake_prctl(const struct kernel *k, int option, unsigned long a, unsigned long b,
		      unsigned long c, unsigned long d)
{
	struct fake_process *p = fake_self(k);
	char buf[64];
	int r;

	(void)b;
	(void)c;
	(void)d;
	snprintf(buf, sizeof(buf), "%d %lu", option, a);
	r = fake_called(k, "prctl", buf);
	if (r < 0)
		return r;
	switch (option) {
	case PR_SET_NO_NEW_PRIVS:
		p->no_new_privs = a == 1;
		return 0;
	case PR_CAPBSET_DROP:
		return drop_bounding(p, a);
	case PR_GET_SECUREBITS:
		return (int)p->securebits;
	case PR_SET_SECUREBITS:
		if (!may_set_capabilities(p))
			return -EPERM;
		p->securebits = (unsigned)a;
		return 0;
	case PR_CAP_AMBIENT:
		p->ambient_cleared = a == PR_CAP_AMBIENT_CLEAR_ALL;
		return 0;
	default:
		return -EINVAL;
	}
}

static int fake_capget(const struct kernel *k, struct cap_sets *ret)
{
	struct fake_process *p = fake_self(k);
	int r = fake_called(k, "capget", NULL);

	if (r == 0)
		*ret = (struct cap_sets){ .effective = p->effective, .permitted = p->effective };
	return r;
}

static int fake_capset(const struct kernel *k, const struct cap_sets *sets)
{
	struct fake_process *p = fake_self(k);
	int r = fake_called(k, "capset", NULL);

	if (r == 0)
		p->effective = sets->effective | sets->permitted | sets->inheritable;
	return r;
}

static int fake_signal_default(const struct kernel *k, int number)
{
	int r = fake_called_with(k, "signal_default", number);

	if (r == 0)
		fake_self(k)->ignored &= ~(1ULL << (number - 1));
	return r;
}

static int fake_signal_ignore(const struct kernel *k, int number)
{
	int r = fake_called_with(k, "signal_ignore", number);

	if (r == 0)
		fake_self(k)->ignored |= 1ULL << (number - 1);
	return r;
}

static int fake_signal_unblock_all(const struct kernel *k)
{
	int r = fake_called(k, "signal_unblock_all", NULL);

	if (r == 0)
		fake_self(k)->mask_empty = true;
	return r;
}

static int fake_rlimit(const struct kernel *k, int resource, uint64_t soft, uint64_t hard)
{
	struct fake_process *p = fake_self(k);
	int r = fake_called_with(k, "rlimit", resource);

	if (r < 0)
		return r;
	if (soft > hard || resource != RLIMIT_CORE)
		return -EINVAL;
	if (p->hard_core_limit_is_0 && hard > 0)
		return -EPERM;
	p->core_limit = hard;
	return 0;
}

static int fake_execve(const struct kernel *k, const char *path, char *const argv[],
		       char *const envp[])
{
	struct fake_process *p = fake_self(k);
	int r = fake_called(k, "execve", path);

	if (r < 0)
		return r;
	p->executed = true;
	p->exec_argv = argv;
	p->exec_envp = envp;
	return -ENOEXEC;
}

/* ---- public ---- */

void fake_process(struct fake_process *p, const struct fake_file *files, int abi)
{
	memset(p, 0, sizeof(*p));
	p->files = files;
	p->abi = abi;
	p->effective = p->bounding = (1ULL << CAPABILITY_COUNT) - 1;
	p->oom_score = "0\n";
	p->proc_magic = 0x9fa0;
	p->core_limit = UINT64_MAX;
	p->ignored = UINT64_MAX & ~(1ULL << (SIGKILL - 1)) & ~(1ULL << (SIGSTOP - 1));
	p->fds[0] = (struct fake_fd){ .open = true, .type = NODE_CHAR, .major = 1, .minor = 3 };
	p->fds[1] = (struct fake_fd){ .open = true, .type = NODE_FIFO };
	p->fds[2] = (struct fake_fd){ .open = true, .type = NODE_FIFO };
	p->kernel = (struct kernel){
		.ll_create = fake_ll_create,
		.ll_add_path = fake_ll_add_path,
		.ll_add_port = fake_ll_add_port,
		.ll_restrict = fake_ll_restrict,
		.seccomp = fake_seccomp,
		.send_descriptor = fake_send_descriptor,
		.prctl = fake_prctl,
		.capget = fake_capget,
		.capset = fake_capset,
		.signal_default = fake_signal_default,
		.signal_ignore = fake_signal_ignore,
		.signal_unblock_all = fake_signal_unblock_all,
		.rlimit = fake_rlimit,
		.execve = fake_execve,
		.state = p,
	};
	fake_files(&p->kernel);
}

void fake_inherit(struct fake_process *p, int fd, enum node_type type)
{
	p->fds[fd] = (struct fake_fd){ .open = true, .type = type };
}

unsigned fake_open_count(const struct fake_process *p)
{
	unsigned count = 0;

	for (int fd = 3; fd < FAKE_FDS; fd++)
		count += p->fds[fd].open;
	return count;
}

unsigned fake_call(const struct fake_process *p, const char *prefix)
{
	for (unsigned i = 0; i < p->call_count; i++)
		if (text_starts(p->calls[i], prefix))
			return i + 1;
	return 0;
}

uint64_t fake_rights(const struct fake_process *p, const char *path)
{
	uint64_t rights = 0;

	for (unsigned i = 0; i < p->rule_count; i++)
		if (strcmp(p->rules[i].path, path) == 0)
			rights |= p->rules[i].rights;
	return rights;
}
