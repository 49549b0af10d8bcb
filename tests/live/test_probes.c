/* Each probe on this kernel, as we are and as nobody, against what other means of asking say. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/bpf_common.h>

#include "probe/probes.h"

#define NOBODY 65534
#define FDS 64

/* What a child finds out, and what of itself it can tell. */
struct report {
	struct seccomp_facts seccomp;
	struct landlock_facts landlock;
	struct host_facts host;
	struct settings_facts settings;
	struct net_facts net;
	struct bpf_facts bpf;
	int fds_before, fds_after;
	int seccomp_after, no_new_privs_before, no_new_privs_after;
};

static struct report *shared; /* one page range that children write */

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < FDS; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void run_probes(struct report *r)
{
	const struct kernel *k = &kernel_live;

	r->fds_before = open_descriptors();
	r->no_new_privs_before = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	probe_seccomp(k, &r->seccomp);
	r->seccomp_after = prctl(PR_GET_SECCOMP);
	probe_landlock(k, &r->landlock);
	r->no_new_privs_after = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	probe_host(k, NULL, &r->host);
	probe_settings(k, &r->settings);
	probe_net(k, &r->net);
	probe_bpf(k, &r->bpf);
	r->fds_after = open_descriptors();
}

static int become_nobody(void)
{
	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return -1;
	/* Else /proc/self is root's. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

/* A filter that allows everything. */
static int install_filter(void)
{
	static const struct sc_insn insns[] = { { BPF_RET | BPF_K, 0, 0, SC_RET_ALLOW } };
	const struct sc_program program = { 1, insns };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SC_SET_MODE_FILTER, 0, &program);
}

/* Run the probes in a child that does `before` first. Returns false when `before` failed. */
static bool report_of(int (*before)(void), struct report *ret)
{
	int status;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (before && before() < 0)
			_exit(9);
		run_probes(shared);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9);
	*ret = *shared;
	return WEXITSTATUS(status) == 0;
}

static struct report own;
static struct report nobody;

static void nothing_is_left_behind(void **state)
{
	(void)state;
	assert_true(report_of(NULL, &own));
	assert_int_equal(own.fds_before, own.fds_after);
	assert_int_equal(own.seccomp_after, prctl(PR_GET_SECCOMP));
	/* Only who may not ask otherwise sets it. */
	if (geteuid() == 0 && own.landlock.state == LANDLOCK_PRESENT &&
	    own.host.caps.effective >> 21 & 1)
		assert_int_equal(own.no_new_privs_after, own.no_new_privs_before);
	/* Nor is anything of it ours. */
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), own.no_new_privs_before);
}

static int raw_create(const uint64_t *words, size_t size, unsigned flags)
{
	long r = syscall(444 /* landlock_create_ruleset */, words, size, flags);

	return r < 0 ? -errno : (int)r;
}

static void landlock_by_other_means(void **state)
{
	const struct landlock_facts *f = &own.landlock;
	int abi = raw_create(NULL, 0, 1);

	(void)state;
	if (abi < 0) {
		assert_int_not_equal(f->state, LANDLOCK_PRESENT);
		assert_int_not_equal(f->abi.answer, ANSWER_YES);
		return;
	}
	assert_int_equal(f->state, LANDLOCK_PRESENT);
	assert_int_equal(f->abi.value, abi);
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++) {
		uint64_t words[3] = { 0 };
		int fd;

		if (ll_rights[i].kind == LL_KIND_RESTRICT) {
			assert_int_not_equal(f->rights[i].answer, ANSWER_UNKNOWN);
			continue;
		}
		words[ll_rights[i].kind] = 1ULL << ll_rights[i].bit;
		fd = raw_create(words, 8 * ((size_t)ll_rights[i].kind + 1), 0);
		assert_int_equal(f->rights[i].answer, fd >= 0 ? ANSWER_YES : ANSWER_NO);
		if (fd >= 0)
			close(fd);
	}
}

/* The number and the rights of a kernel that nobody tampers with agree. */
static void landlock_number_and_rights_agree(void **state)
{
	const struct landlock_facts *f = &own.landlock;

	(void)state;
	if (f->state != LANDLOCK_PRESENT || own.seccomp.mode.value != 0) {
		print_message("# no Landlock, or a filter around us: nothing to compare\n");
		skip();
	}
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++)
		assert_int_equal(f->rights[i].answer,
				 ll_rights[i].since_abi <= f->abi.value ? ANSWER_YES : ANSWER_NO);
}

static void seccomp_by_other_means(void **state)
{
	const struct seccomp_facts *f = &own.seccomp;

	(void)state;
	assert_int_equal(f->mode.answer, ANSWER_YES);
	assert_int_equal(f->mode.value, prctl(PR_GET_SECCOMP));
	assert_int_equal(f->no_new_privs.value, own.no_new_privs_before);
	for (size_t i = 0; i < SC_ACTION_COUNT; i++) {
		uint32_t value = sc_actions[i].value;
		long r = syscall(SYS_seccomp, SC_GET_ACTION_AVAIL, 0, &value);

		assert_int_equal(f->actions[i].answer, r == 0 ? ANSWER_YES : ANSWER_NO);
	}
	assert_int_not_equal(f->entry_i386.answer, ANSWER_UNKNOWN);
	assert_int_not_equal(f->entry_x32.answer, ANSWER_UNKNOWN);
}

static void a_filter_around_us_shows(void **state)
{
	struct report r;

	(void)state;
	if (!report_of(install_filter, &r)) {
		print_message("# no filter can be installed here\n");
		skip();
	}
	assert_int_equal(r.seccomp.mode.value, 2);
	assert_int_equal(r.seccomp.no_new_privs.answer, ANSWER_YES);
	if (own.seccomp.filters.answer != ANSWER_UNKNOWN) {
		assert_int_equal(r.seccomp.filters.answer, ANSWER_YES);
		assert_int_equal(r.seccomp.filters.value, own.seccomp.filters.value + 1);
	}
}

static void the_host_by_other_means(void **state)
{
	const struct host_facts *h = &own.host;
	struct statvfs fs;
	struct sysinfo info;
	char text[256];
	char name[65];

	(void)state;
	assert_int_equal(gethostname(name, sizeof(name)), 0);
	if (!getenv("OARBANK_NODE_NAME"))
		assert_string_equal(h->hostname, name);
	assert_int_equal(sysinfo(&info), 0);
	assert_true(h->memory_bytes == (uint64_t)info.totalram * info.mem_unit);
	assert_true(h->logical >= 1 && h->logical <= sysconf(_SC_NPROCESSORS_ONLN));
	if (h->perf_cores >= 0)
		assert_in_range(h->perf_cores + h->eff_cores, 1, sysconf(_SC_NPROCESSORS_ONLN));
	if (confstr(_CS_GNU_LIBC_VERSION, text, sizeof(text)) > 0) {
		assert_string_equal(h->libc, "glibc");
		assert_string_equal(h->libc_version, text + strlen("glibc "));
	}
	assert_int_equal(statvfs("/", &fs), 0);
	assert_int_equal(h->disk.answer, ANSWER_YES);
	/* Other tests write meanwhile. */
	assert_true(llabs((long long)h->disk.value - (long long)(fs.f_bavail * fs.f_frsize)) <
		    1LL << 30);
	assert_int_equal(h->ids.uid, geteuid());
	assert_int_equal(h->caps_asked.answer, ANSWER_YES);
	assert_string_not_equal(h->os_id, "");
}

static bool reported(const struct net_facts *f, const char *name, unsigned up)
{
	for (uint32_t i = 0; i < f->link_count; i++)
		if (strcmp(f->links[i].name, name) == 0)
			return f->links[i].up == up;
	return false;
}

static void the_network_by_other_means(void **state)
{
	const struct net_facts *f = &own.net;
	struct ifaddrs *list;
	uint32_t addresses = 0;

	(void)state;
	if (getifaddrs(&list) < 0 || f->truncated) {
		print_message("# getifaddrs does not work here, or there are too many links\n");
		skip();
	}
	assert_int_equal(f->asked.answer, ANSWER_YES);
	for (struct ifaddrs *a = list; a; a = a->ifa_next) {
		assert_true(reported(f, a->ifa_name, (a->ifa_flags & 1) != 0));
		addresses += a->ifa_addr && (a->ifa_addr->sa_family == AF_INET ||
					     a->ifa_addr->sa_family == AF_INET6);
	}
	freeifaddrs(list);
	assert_int_equal(f->address_count, addresses);
}

static void settings_are_read_as_they_are(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(syscall(SYS_unshare, 0x10000000) == 0 ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(own.settings.user_namespace.answer,
			 WEXITSTATUS(status) == 0 ? ANSWER_YES : ANSWER_NO);
	if (own.settings.io_uring_disabled.answer == ANSWER_NO && own.seccomp.mode.value == 0)
		assert_int_equal(own.settings.io_uring.answer, ANSWER_YES);
	if (own.settings.io_uring_disabled.value == 2)
		assert_int_equal(own.settings.io_uring.answer, ANSWER_NO);
}

/* An unprivileged process learns the same of Landlock and seccomp, and no untruth about BPF. */
static void nobody_asks_the_same(void **state)
{
	(void)state;
	if (geteuid() != 0 || !report_of(become_nobody, &nobody)) {
		print_message("# we are not root, who can become nobody\n");
		skip();
	}
	assert_int_equal(nobody.host.ids.uid, NOBODY);
	assert_int_equal(nobody.host.ids.group_count, 0);
	assert_int_equal(nobody.fds_before, nobody.fds_after);
	assert_memory_equal(&nobody.landlock.rights, &own.landlock.rights,
			    sizeof(own.landlock.rights));
	assert_memory_equal(&nobody.seccomp.actions, &own.seccomp.actions,
			    sizeof(own.seccomp.actions));
	assert_memory_equal(&nobody.seccomp.flags, &own.seccomp.flags, sizeof(own.seccomp.flags));
	for (uint32_t i = 0; i < nobody.bpf.program_count; i++)
		if (own.bpf.programs[i].usable.answer == ANSWER_YES)
			assert_int_not_equal(nobody.bpf.programs[i].usable.answer, ANSWER_NO);
	if (nobody.bpf.unprivileged.answer == ANSWER_YES)
		assert_int_equal(nobody.bpf.may_ask.answer, ANSWER_NO);
}

static void bpf_says_no_only_when_it_may_ask(void **state)
{
	static const struct report *const reports[] = { &own, &nobody };

	(void)state;
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		const struct bpf_facts *f = &reports[i]->bpf;

		for (uint32_t j = 0; j < f->program_count; j++)
			if (f->may_ask.answer != ANSWER_YES)
				assert_int_equal(f->programs[j].usable.answer, ANSWER_UNKNOWN);
		for (uint32_t j = 0; j < f->attach_count; j++)
			if (f->may_ask.answer != ANSWER_YES)
				assert_int_equal(f->attaches[j].usable.answer, ANSWER_UNKNOWN);
		/* It is what was loaded to find out. */
		if (f->may_ask.answer == ANSWER_YES)
			assert_int_equal(f->programs[0].usable.answer, ANSWER_YES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_left_behind),
		cmocka_unit_test(landlock_by_other_means),
		cmocka_unit_test(landlock_number_and_rights_agree),
		cmocka_unit_test(seccomp_by_other_means),
		cmocka_unit_test(a_filter_around_us_shows),
		cmocka_unit_test(the_host_by_other_means),
		cmocka_unit_test(the_network_by_other_means),
		cmocka_unit_test(settings_are_read_as_they_are),
		cmocka_unit_test(nobody_asks_the_same),
		cmocka_unit_test(bpf_says_no_only_when_it_may_ask),
	};

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
