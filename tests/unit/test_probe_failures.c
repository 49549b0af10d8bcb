/* Every probe again and again on a whole machine, each time with one request failing as requests
 * can at any time: no descriptor is left open, and no answer turns into its opposite.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "probe/probes.h"
#include "tests/fake/tree.h"

/* ---- a kernel whose request number `fail_at` fails ---- */

static struct kernel inner; /* the recorded one */
static int requests;
static int fail_at;
static int fail_with;
static int open_now;

static bool fails(void)
{
	return ++requests == fail_at;
}

/* `declared` are the parameters after k, `passed` the arguments. */
#define FAILING(result, name, declared, passed)                          \
	static result failing_##name declared                            \
	{                                                                \
		(void)k;                                                 \
		return fails() ? (result)-fail_with : inner.name passed; \
	}

FAILING(ssize_t, read, (const struct kernel *k, int fd, void *buf, size_t size),
	(&inner, fd, buf, size))
FAILING(int, stat, (const struct kernel *k, const char *path, struct node *ret),
	(&inner, path, ret))
FAILING(ssize_t, readlink, (const struct kernel *k, const char *path, char *buf, size_t size),
	(&inner, path, buf, size))
FAILING(ssize_t, list, (const struct kernel *k, const char *path, char *buf, size_t size),
	(&inner, path, buf, size))
FAILING(int, statfs, (const struct kernel *k, const char *path, struct fs_info *ret),
	(&inner, path, ret))
FAILING(int, ll_restrict, (const struct kernel *k, int ruleset, uint32_t flags),
	(&inner, ruleset, flags))
FAILING(int, seccomp, (const struct kernel *k, unsigned operation, unsigned flags, const void *arg),
	(&inner, operation, flags, arg))
FAILING(int, prctl,
	(const struct kernel *k, int option, unsigned long a, unsigned long b, unsigned long c,
	 unsigned long d),
	(&inner, option, a, b, c, d))
FAILING(int, capget, (const struct kernel *k, struct cap_sets *ret), (&inner, ret))
FAILING(int, ids, (const struct kernel *k, struct ids *ret), (&inner, ret))
FAILING(int, uname, (const struct kernel *k, struct uts *ret), (&inner, ret))
FAILING(int, cpu_count, (const struct kernel *k), (&inner))
FAILING(int, io_uring_setup, (const struct kernel *k, unsigned entries, void *params),
	(&inner, entries, params))
FAILING(int, try_unshare, (const struct kernel *k, unsigned long flags), (&inner, flags))
FAILING(int, try_foreign, (const struct kernel *k, enum foreign_entry entry), (&inner, entry))
FAILING(ssize_t, route_dump,
	(const struct kernel *k, unsigned type, const void *request, size_t request_size, void *buf,
	 size_t size),
	(&inner, type, request, request_size, buf, size))
FAILING(long, library,
	(const struct kernel *k, const char *question, long (*ask)(void *arg), void *arg),
	(&inner, question, ask, arg))

static int failing_open(const struct kernel *k, const char *path, int flags)
{
	int fd = fails() ? -fail_with : inner.open(&inner, path, flags);

	(void)k;
	open_now += fd >= 0;
	return fd;
}

static int failing_ll_create(const struct kernel *k, const struct ll_ruleset_attr *attr,
			     size_t size, uint32_t flags)
{
	int fd = fails() ? -fail_with : inner.ll_create(&inner, attr, size, flags);

	(void)k;
	open_now += attr && fd >= 0;
	return fd;
}

static int counting_close(const struct kernel *k, int fd)
{
	(void)k;
	open_now--;
	return inner.close(&inner, fd);
}

static const struct kernel failing = {
	.open = failing_open,
	.read = failing_read,
	.close = counting_close,
	.stat = failing_stat,
	.readlink = failing_readlink,
	.list = failing_list,
	.statfs = failing_statfs,
	.ll_create = failing_ll_create,
	.ll_restrict = failing_ll_restrict,
	.seccomp = failing_seccomp,
	.prctl = failing_prctl,
	.capget = failing_capget,
	.ids = failing_ids,
	.uname = failing_uname,
	.cpu_count = failing_cpu_count,
	.io_uring_setup = failing_io_uring_setup,
	.try_unshare = failing_try_unshare,
	.try_foreign = failing_try_foreign,
	.route_dump = failing_route_dump,
	.library = failing_library,
};

/* ---- the machine ---- */

static const struct tree_file files[] = {
	{ "/proc/self/status", "Seccomp:\t2\nSeccomp_filters:\t1\n" },
	{ "/sys/kernel/security/lsm", "capability,landlock\n" },
	{ "/proc/config", "CONFIG_SECURITY_LANDLOCK=y\n" },
	{ "/.dockerenv", "" },
	{ "/etc/os-release", "ID=debian\n" },
	{ "/usr/lib/os-release", "ID=debian\n" },
	{ "/proc/cpuinfo", "model name\t: x\nflags\t: hypervisor\n\n" },
	{ "/sys/devices/system/cpu/online", "0\n" },
	{ "/sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0\n" },
	{ "/sys/class/power_supply/BAT0/type", "Battery\n" },
	{ "/proc/meminfo", "MemTotal: 4 kB\n" },
	{ "/proc/sys/kernel/yama/ptrace_scope", "1\n" },
	{ "/proc/sys/kernel/kptr_restrict", "0\n" },
	{ "/proc/sys/kernel/core_pattern", "|x\n" },
	{ "/proc/sys/kernel/unprivileged_bpf_disabled", "2\n" },
	{ "/sys/kernel/btf/vmlinux", "" },
	{ NULL, NULL },
};

static const char rows[] =
	"readlink /proc/self/ns/pid = pid:[4026531836]\n"
	"readlink /proc/self/ns/cgroup = cgroup:[4026531835]\n"
	"uname nodename = box\nuname release = 6.12\nuname machine = x86_64\n"
	"landlock version = 6\nlandlock errata = 7\nlandlock fs 0 = 0\nlandlock fs 16 = EINVAL\n"
	"landlock net 0 = 0\nlandlock scope 0 = 0\nlandlock restrict 0 = EINVAL\n"
	"landlock restrict 1 = EBADF\nlandlock restrict 2 = EPERM\nprctl 38 1 = 0\n"
	"prctl 21 0 = 2\nprctl 39 0 = 1\nseccomp action TRAP = 0\nseccomp action LOG = EOPNOTSUPP\n"
	"seccomp flag TSYNC = EFAULT\nseccomp flag NEW_LISTENER = EFAULT\n"
	"seccomp flag WAIT_KILLABLE_RECV = EINVAL\nforeign i386 = 0\nforeign x32 = ENOSYS\n"
	"cpu_count = 1\nstatfs / = 1 4096 10\nids = 0 0\ncapget = 0xffffffffff 0 0\n"
	"unshare 0x10000000 = EPERM\nio_uring_setup = EFAULT\nroute_dump 18 = EPERM\n"
	"library bpf load = 1\nlibrary bpf prog_type xdp = 1\nlibrary bpf prog_type lsm = 0\n"
	"library bpf attach_type cgroup_device = EINVAL\nlibrary glibc version = 2036\n";

struct all {
	struct seccomp_facts seccomp;
	struct landlock_facts landlock;
	struct host_facts host;
	struct settings_facts settings;
	struct net_facts net;
	struct bpf_facts bpf;
};

static void probe_all(struct all *ret)
{
	memset(ret, 0, sizeof(*ret));
	requests = 0;
	open_now = 0;
	probe_seccomp(&failing, &ret->seccomp);
	probe_landlock(&failing, &ret->landlock);
	probe_host(&failing, NULL, &ret->host);
	probe_settings(&failing, &ret->settings);
	probe_net(&failing, &ret->net);
	probe_bpf(&failing, &ret->bpf);
	assert_int_equal(open_now, 0);
}

/* The same, or unknown. A claim may come in where the observation is gone. */
static void check_fact(const struct fact *good, const struct fact *f)
{
	if (f->answer == good->answer || f->answer == ANSWER_UNKNOWN)
		return;
	assert_int_equal(good->answer, ANSWER_UNKNOWN);
	assert_int_equal(f->basis, BASIS_CLAIMED);
}

static void check_facts(const struct fact *good, const struct fact *f, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_fact(&good[i], &f[i]);
}

static void check_rows(const struct bpf_row *good, const struct bpf_row *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		check_fact(&good[i].usable, &f[i].usable);
}

static void check(const struct all *good, const struct all *f)
{
	check_fact(&good->landlock.abi, &f->landlock.abi);
	check_fact(&good->landlock.errata, &f->landlock.errata);
	check_fact(&good->landlock.lsm_list, &f->landlock.lsm_list);
	check_fact(&good->landlock.config, &f->landlock.config);
	check_facts(good->landlock.rights, f->landlock.rights, LL_RIGHT_COUNT);
	check_fact(&good->seccomp.mode, &f->seccomp.mode);
	check_fact(&good->seccomp.filters, &f->seccomp.filters);
	check_fact(&good->seccomp.no_new_privs, &f->seccomp.no_new_privs);
	check_facts(good->seccomp.actions, f->seccomp.actions, SC_ACTION_COUNT);
	check_facts(good->seccomp.flags, f->seccomp.flags, SC_FLAG_COUNT);
	check_fact(&good->seccomp.entry_i386, &f->seccomp.entry_i386);
	check_fact(&good->seccomp.entry_x32, &f->seccomp.entry_x32);
	_Static_assert(sizeof(struct settings_facts) % sizeof(struct fact) == 0, "facts alone");
	check_facts((const struct fact *)&good->settings, (const struct fact *)&f->settings,
		    sizeof(struct settings_facts) / sizeof(struct fact));
	check_fact(&good->net.asked, &f->net.asked);
	check_fact(&good->bpf.may_ask, &f->bpf.may_ask);
	check_fact(&good->bpf.btf, &f->bpf.btf);
	check_rows(good->bpf.programs, f->bpf.programs, good->bpf.program_count);
	check_rows(good->bpf.attaches, f->bpf.attaches, good->bpf.attach_count);
	check_fact(&good->host.disk, &f->host.disk);
	check_fact(&good->host.battery, &f->host.battery);
	check_fact(&good->host.caps_asked, &f->host.caps_asked);
	assert_true(f->host.perf_cores == 1 || f->host.perf_cores == -1);
	assert_true(f->host.logical == 1 || f->host.logical == -1);
	assert_true(f->host.ids.uid == 0 || f->host.ids.uid == UINT32_MAX);
	assert_string_not_equal(f->host.container, "none");
	assert_string_not_equal(f->host.virtualisation, "none");
	assert_true(f->host.memory_bytes == 4096 || f->host.memory_bytes == 0);
}

static void one_request_fails(void **state)
{
	static const int errors[] = { EINTR, EMFILE, ENOMEM, EIO };
	static struct all good;
	static struct all f;
	struct tree tree;
	int total;

	(void)state;
	tree_make(&tree, files, rows);
	inner = tree.kernel;
	fail_at = 0;
	probe_all(&good);
	total = requests;
	/* The machine has something to lose. */
	assert_int_equal(good.landlock.rights[0].answer, ANSWER_YES);
	assert_int_equal(good.host.battery.answer, ANSWER_YES);
	assert_int_equal(good.settings.user_namespace.answer, ANSWER_NO);
	assert_true(total > 100);
	for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++) {
		fail_with = errors[e];
		for (fail_at = 1; fail_at <= total; fail_at++) {
			probe_all(&f);
			check(&good, &f);
		}
	}
	tree_remove(&tree);
}

/* A mouse that is switched off once its type has been read: its directory is gone. */
static int mouse_reads;

static int mouse_open(const struct kernel *k, const char *path, int flags)
{
	(void)k;
	if (strstr(path, "/MOUSE/") && mouse_reads++ > 0)
		return -ENOENT;
	return inner.open(&inner, path, flags);
}

static void a_mouse_that_goes_is_no_battery(void **state)
{
	static const struct tree_file mouse[] = {
		{ "/sys/class/power_supply/MOUSE/type", "Battery\n" },
		{ "/sys/class/power_supply/MOUSE/scope", "Device\n" },
		{ NULL, NULL },
	};
	struct host_facts f = { .libc = "" };
	struct kernel kernel;
	struct tree tree;

	(void)state;
	tree_make(&tree, mouse, rows);
	inner = tree.kernel;
	kernel = tree.kernel;
	kernel.open = mouse_open;
	mouse_reads = 0;
	probe_host(&kernel, NULL, &f);
	assert_int_equal(f.battery.answer, ANSWER_UNKNOWN);
	mouse_reads = -2;
	f = (struct host_facts){ .libc = "" };
	probe_host(&kernel, NULL, &f);
	assert_int_equal(f.battery.answer, ANSWER_NO);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_request_fails),
		cmocka_unit_test(a_mouse_that_goes_is_no_battery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
