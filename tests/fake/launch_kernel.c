#include "tests/fake/launch_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "kabi/text.h"

#define CAPABILITY_COUNT 41
#define STATUS_FILE "/proc/self/status"
#define OOM_FILE "/proc/self/oom_score_adj"

static struct fake_process *self(const struct kernel *k)
{
	return k->state;
}

/* Note a call. Returns the error it is to fail with, negative, or 0. */
static int called(const struct kernel *k, const char *name, const char *detail)
{
	struct fake_process *p = self(k);
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

static int called_with(const struct kernel *k, const char *name, int64_t number)
{
	char buf[24];
	struct text t = TEXT_BUF(buf);

	text_add_int(&t, number);
	return called(k, name, buf);
}

/* ---- files ---- */

static const struct fake_file *find(const struct fake_process *p, const char *path)
{
	static const struct fake_file dir = { "", NODE_DIR, NULL, 0, 0 };
	size_t len = strlen(path);

	for (const struct fake_file *f = p->files; f && f->path; f++)
		if (strcmp(f->path, path) == 0)
			return f;
	for (const struct fake_file *f = p->files; f && f->path; f++)
		if (strncmp(f->path, path, len) == 0 && f->path[len] == '/')
			return &dir;
	return strcmp(path, "/") == 0 ? &dir : NULL;
}

/* Put what the link `f` at path[0..len) points to into its place. */
static void replace_link(char path[FAKE_CALL_TEXT], size_t len, const struct fake_file *f)
{
	char old[FAKE_CALL_TEXT];
	struct text t;
	size_t dir = len;

	memcpy(old, path, sizeof(old));
	t = text_start(path, FAKE_CALL_TEXT);
	while (old[dir - 1] != '/')
		dir--;
	if (f->text[0] != '/')
		text_add_bytes(&t, old, dir);
	text_add(&t, f->text);
	text_add(&t, old + len);
	if (t.cut)
		abort();
}

/* Follow the first link among the components of `path`: 1 when there was one, 0 when there was
 * none. */
static int follow_one(const struct fake_process *p, char path[FAKE_CALL_TEXT], bool last_too)
{
	for (size_t len = 1;; len++) {
		const struct fake_file *f;
		char saved = path[len];

		if (saved != '/' && saved != '\0')
			continue;
		if (saved == '\0' && !last_too)
			return 0;
		path[len] = '\0';
		f = find(p, path);
		path[len] = saved;
		if (!f)
			return -ENOENT;
		if (f->type == NODE_LINK) {
			replace_link(path, len, f);
			return 1;
		}
		if (saved == '\0')
			return 0;
	}
}

static int lowest_free(struct fake_process *p)
{
	for (int fd = 0; fd < FAKE_FDS; fd++)
		if (!p->fds[fd].open)
			return fd;
	return -EMFILE;
}

static int open_at(struct fake_process *p, const char *path, const struct fake_file *f)
{
	int fd = lowest_free(p);

	if (fd < 0)
		return fd;
	p->fds[fd] = (struct fake_fd){
		.open = true,
		.type = f->type,
		.major = f->major,
		.minor = f->minor,
		.text = f->text,
	};
	text_copy(p->fds[fd].path, FAKE_CALL_TEXT, path);
	return fd;
}

static int fake_open(const struct kernel *k, const char *path, int flags)
{
	struct fake_process *p = self(k);
	char real[FAKE_CALL_TEXT];
	int r = called(k, "open", path);

	(void)flags;
	if (r < 0)
		return r;
	if (strcmp(path, OOM_FILE) == 0 && p->oom_score)
		return open_at(p, path, &(struct fake_file){ path, NODE_FILE, p->oom_score, 0, 0 });
	if (strcmp(path, STATUS_FILE) == 0 && p->proc_status)
		return open_at(p, path,
			       &(struct fake_file){ path, NODE_FILE, p->proc_status, 0, 0 });
	text_copy(real, sizeof(real), path);
	do
		r = follow_one(p, real, true);
	while (r == 1);
	if (r < 0)
		return r;
	return open_at(p, real, find(p, real));
}

static int fake_open_nolinks(const struct kernel *k, const char *path, int flags)
{
	struct fake_process *p = self(k);
	char real[FAKE_CALL_TEXT];
	int r = called(k, "open_nolinks", path);

	(void)flags;
	if (r < 0)
		return r;
	text_copy(real, sizeof(real), path);
	r = follow_one(p, real, true);
	if (r != 0)
		return r < 0 ? r : -ELOOP;
	return open_at(p, path, find(p, path));
}

static struct fake_fd *fd_of(struct fake_process *p, int fd)
{
	return fd >= 0 && fd < FAKE_FDS && p->fds[fd].open ? &p->fds[fd] : NULL;
}

static ssize_t fake_read(const struct kernel *k, int fd, void *buf, size_t size)
{
	struct fake_fd *f = fd_of(self(k), fd);
	int r = called(k, "read", f ? f->path : "closed");
	size_t len;

	if (r < 0)
		return r;
	if (!f || !f->text)
		return -EBADF;
	len = strlen(f->text);
	len = len < size ? len : size;
	memcpy(buf, f->text, len);
	f->text += len;
	return (ssize_t)len;
}

static ssize_t fake_write(const struct kernel *k, int fd, const void *buf, size_t size)
{
	struct fake_process *p = self(k);
	struct fake_fd *f = fd_of(p, fd);
	int r = called(k, "write", f ? f->path : "closed");
	char *to;

	if (r < 0)
		return r;
	if (!f || f->ruleset)
		return -EBADF;
	to = strcmp(f->path, OOM_FILE) == 0 ? p->oom_written : p->told;
	if (strlen(to) + size >= sizeof(p->told))
		abort();
	memcpy(to + strlen(to), buf, size);
	return (ssize_t)size;
}

static int fake_close(const struct kernel *k, int fd)
{
	struct fake_fd *f = fd_of(self(k), fd);
	int r = called_with(k, "close", fd);

	if (!f)
		return -EBADF;
	/* Linux lets go of the descriptor whatever it answers. */
	f->open = false;
	return r;
}

static int fake_close_range(const struct kernel *k, unsigned first, unsigned last, unsigned flags)
{
	struct fake_process *p = self(k);
	char buf[64];
	int r;

	(void)flags;
	snprintf(buf, sizeof(buf), "%u-%u", first, last);
	r = called(k, "close_range", buf);
	if (r < 0)
		return r;
	for (unsigned fd = first; fd <= last && fd < FAKE_FDS; fd++)
		p->fds[fd].open = false;
	return 0;
}

static int fake_fstat(const struct kernel *k, int fd, struct node *ret)
{
	struct fake_fd *f = fd_of(self(k), fd);
	int r = called_with(k, "fstat", fd);

	if (r < 0)
		return r;
	if (!f)
		return -EBADF;
	*ret = (struct node){ .type = f->type, .major = f->major, .minor = f->minor };
	return 0;
}

static int fake_stat(const struct kernel *k, const char *path, struct node *ret)
{
	const struct fake_file *f = find(self(k), path);
	int r = called(k, "stat", path);

	if (r < 0)
		return r;
	if (!f)
		return -ENOENT;
	*ret = (struct node){ .type = f->type, .major = f->major, .minor = f->minor };
	return 0;
}

static ssize_t fake_readlink(const struct kernel *k, const char *path, char *buf, size_t size)
{
	const struct fake_file *f = find(self(k), path);
	int r = called(k, "readlink", path);

	if (r < 0)
		return r;
	if (!f)
		return -ENOENT;
	if (f->type != NODE_LINK)
		return -EINVAL;
	return text_copy(buf, size, f->text) ? (ssize_t)strlen(buf) : -ENAMETOOLONG;
}

/* The rows stand in the order of their names. */
static ssize_t fake_list(const struct kernel *k, const char *path, char *buf, size_t size)
{
	struct fake_process *p = self(k);
	size_t len = strlen(path);
	struct text t = text_start(buf, size);
	ssize_t count = 0;
	int r = called(k, "list", path);

	if (r < 0)
		return r;
	if (!find(p, path))
		return -ENOENT;
	for (const struct fake_file *f = p->files; f && f->path; f++) {
		if (strncmp(f->path, path, len) != 0 || f->path[len] != '/' ||
		    strchr(f->path + len + 1, '/'))
			continue;
		text_add_bytes(&t, f->path + len + 1, strlen(f->path + len + 1) + 1);
		count++;
	}
	return t.cut ? -ENOSPC : count;
}

static int fake_isatty(const struct kernel *k, int fd)
{
	struct fake_fd *f = fd_of(self(k), fd);

	return called_with(k, "isatty", fd) == 0 && f && f->terminal;
}

/* ---- confinement ---- */

static int fake_ll_create(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
			  uint32_t flags)
{
	static const struct fake_file ruleset = { "", NODE_OTHER, NULL, 0, 0 };
	struct fake_process *p = self(k);
	int r = called_with(k, "ll_create", flags);

	(void)size;
	if (r < 0)
		return r;
	if (flags == LL_CREATE_VERSION)
		return p->abi;
	p->ruleset = *attr;
	r = open_at(p, "ruleset", &ruleset);
	if (r >= 0)
		p->fds[r].ruleset = true;
	return r;
}

static int fake_ll_add_path(const struct kernel *k, int ruleset,
			    const struct ll_path_beneath_attr *rule)
{
	struct fake_process *p = self(k);
	struct fake_fd *f = fd_of(p, rule->parent_fd);
	int r = called(k, "ll_add_path", f ? f->path : "closed");

	if (r < 0)
		return r;
	if (!f || !fd_of(p, ruleset) || !p->fds[ruleset].ruleset)
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
	struct fake_process *p = self(k);
	int r = called_with(k, "ll_add_port", (int64_t)rule->port);

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
	struct fake_process *p = self(k);
	int r = called_with(k, "ll_restrict", flags);

	if (r < 0)
		return r;
	if (!fd_of(p, ruleset) || !p->fds[ruleset].ruleset)
		return -EBADF;
	if (!p->no_new_privs)
		return -EPERM;
	p->restrict_flags = flags;
	p->restricted = true;
	return 0;
}

static int fake_seccomp(const struct kernel *k, unsigned operation, unsigned flags, const void *arg)
{
	struct fake_process *p = self(k);
	int r = called_with(k, "seccomp", operation);

	(void)flags;
	if (r < 0)
		return r;
	if (!p->no_new_privs)
		return -EACCES;
	p->filter = arg;
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
	struct fake_process *p = self(k);
	char buf[64];
	int r;

	(void)b;
	(void)c;
	(void)d;
	snprintf(buf, sizeof(buf), "%d %lu", option, a);
	r = called(k, "prctl", buf);
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
	struct fake_process *p = self(k);
	int r = called(k, "capget", NULL);

	if (r == 0)
		*ret = (struct cap_sets){ .effective = p->effective, .permitted = p->effective };
	return r;
}

static int fake_capset(const struct kernel *k, const struct cap_sets *sets)
{
	struct fake_process *p = self(k);
	int r = called(k, "capset", NULL);

	if (r == 0)
		p->effective = sets->effective | sets->permitted | sets->inheritable;
	return r;
}

static int fake_signal_default(const struct kernel *k, int number)
{
	int r = called_with(k, "signal_default", number);

	if (r == 0)
		self(k)->ignored &= ~(1ULL << (number - 1));
	return r;
}

static int fake_signal_ignore(const struct kernel *k, int number)
{
	int r = called_with(k, "signal_ignore", number);

	if (r == 0)
		self(k)->ignored |= 1ULL << (number - 1);
	return r;
}

static int fake_signal_unblock_all(const struct kernel *k)
{
	int r = called(k, "signal_unblock_all", NULL);

	if (r == 0)
		self(k)->mask_empty = true;
	return r;
}

static int fake_rlimit(const struct kernel *k, int resource, uint64_t soft, uint64_t hard)
{
	struct fake_process *p = self(k);
	int r = called_with(k, "rlimit", resource);

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
	struct fake_process *p = self(k);
	int r = called(k, "execve", path);

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
	p->core_limit = UINT64_MAX;
	p->ignored = UINT64_MAX & ~(1ULL << (SIGKILL - 1)) & ~(1ULL << (SIGSTOP - 1));
	p->fds[0] = (struct fake_fd){ .open = true, .type = NODE_CHAR, .major = 1, .minor = 3 };
	p->fds[1] = (struct fake_fd){ .open = true, .type = NODE_FIFO };
	p->fds[2] = (struct fake_fd){ .open = true, .type = NODE_FIFO };
	p->kernel = (struct kernel){
		.open = fake_open,
		.open_nolinks = fake_open_nolinks,
		.read = fake_read,
		.write = fake_write,
		.close = fake_close,
		.fstat = fake_fstat,
		.stat = fake_stat,
		.readlink = fake_readlink,
		.list = fake_list,
		.ll_create = fake_ll_create,
		.ll_add_path = fake_ll_add_path,
		.ll_add_port = fake_ll_add_port,
		.ll_restrict = fake_ll_restrict,
		.seccomp = fake_seccomp,
		.prctl = fake_prctl,
		.capget = fake_capget,
		.capset = fake_capset,
		.close_range = fake_close_range,
		.isatty = fake_isatty,
		.signal_default = fake_signal_default,
		.signal_ignore = fake_signal_ignore,
		.signal_unblock_all = fake_signal_unblock_all,
		.rlimit = fake_rlimit,
		.execve = fake_execve,
		.state = p,
	};
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
