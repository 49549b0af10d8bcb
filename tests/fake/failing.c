#include "tests/fake/failing.h"

static bool fails(const struct kernel *k)
{
	struct failing *f = k->state;

	return ++f->calls == f->fail_at;
}

static const struct kernel *inner(const struct kernel *k)
{
	return ((struct failing *)k->state)->inner;
}

static int error(const struct kernel *k)
{
	return -((struct failing *)k->state)->error;
}

static int note_opened(const struct kernel *k, int fd)
{
	((struct failing *)k->state)->open += fd >= 0;
	return fd;
}

static int fail_close(const struct kernel *k, int fd)
{
	((struct failing *)k->state)->open--;
	return inner(k)->close(inner(k), fd);
}

static int fail_open(const struct kernel *k, const char *path, int flags)
{
	return fails(k) ? error(k) : note_opened(k, inner(k)->open(inner(k), path, flags));
}

static int fail_ll_create(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
			  uint32_t flags)
{
	int r;

	if (fails(k))
		return error(k);
	r = inner(k)->ll_create(inner(k), attr, size, flags);
	return flags ? r : note_opened(k, r);
}

#define FORWARD(type, name, parameters, ...)                                          \
	static type fail_##name parameters                                            \
	{                                                                             \
		return fails(k) ? error(k) : inner(k)->name(inner(k), ##__VA_ARGS__); \
	}

#define K const struct kernel *k
FORWARD(ssize_t, read, (K, int fd, void *buf, size_t size), fd, buf, size)
FORWARD(int, fstat, (K, int fd, struct node *ret), fd, ret)
FORWARD(int, stat, (K, const char *path, struct node *ret), path, ret)
FORWARD(ssize_t, readlink, (K, const char *path, char *buf, size_t size), path, buf, size)
FORWARD(ssize_t, list, (K, const char *path, char *buf, size_t size), path, buf, size)
FORWARD(int, access, (K, const char *path, int mode), path, mode)
FORWARD(int, statfs, (K, const char *path, struct fs_info *ret), path, ret)
FORWARD(ssize_t, getxattr, (K, const char *path, const char *name, char *buf, size_t size), path,
	name, buf, size)
FORWARD(int, ll_restrict, (K, int ruleset, uint32_t flags), ruleset, flags)
FORWARD(int, seccomp, (K, unsigned operation, unsigned flags, const void *arg), operation, flags,
	arg)
FORWARD(int, prctl,
	(K, int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d), option,
	a, b, c, d)
FORWARD(int, capget, (K, struct cap_sets *ret), ret)
FORWARD(int, ids, (K, struct ids *ret), ret)
FORWARD(int, fcntl, (K, int fd, int command, long arg), fd, command, arg)
FORWARD(int, uname, (K, struct uts *ret), ret)
FORWARD(int, cpu_count, (K))
FORWARD(int, io_uring_setup, (K, unsigned entries, void *params), entries, params)
FORWARD(int, try_unshare, (K, unsigned long flags), flags)
FORWARD(int, try_foreign, (K, enum foreign_entry entry), entry)
FORWARD(ssize_t, route_dump,
	(K, unsigned type, const void *request, size_t request_size, void *buf, size_t size), type,
	request, request_size, buf, size)
FORWARD(long, library, (K, const char *question, long (*ask)(void *arg), void *arg), question, ask,
	arg)

void failing_start(struct failing *f, const struct kernel *answers, unsigned fail_at, int err)
{
	*f = (struct failing){
		.kernel = {
			.open = fail_open,
			.read = fail_read,
			.close = fail_close,
			.fstat = fail_fstat,
			.stat = fail_stat,
			.readlink = fail_readlink,
			.list = fail_list,
			.access = fail_access,
			.statfs = fail_statfs,
			.getxattr = fail_getxattr,
			.ll_create = fail_ll_create,
			.ll_restrict = fail_ll_restrict,
			.seccomp = fail_seccomp,
			.prctl = fail_prctl,
			.capget = fail_capget,
			.ids = fail_ids,
			.fcntl = fail_fcntl,
			.uname = fail_uname,
			.cpu_count = fail_cpu_count,
			.io_uring_setup = fail_io_uring_setup,
			.try_unshare = fail_try_unshare,
			.try_foreign = fail_try_foreign,
			.route_dump = fail_route_dump,
			.library = fail_library,
			.state = f,
		},
		.inner = answers,
		.fail_at = fail_at,
		.error = err,
	};
}
