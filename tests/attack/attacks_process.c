/* Other processes: what can be changed in them, read of them, or taken from them. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/kcmp.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

/* Whose pid an attempt uses: arg[0]. */
enum target {
	VICTIM,
	AGENT,
	OWN,  /* by its number */
	SELF, /* 0 */
};

static pid_t pid_of(const struct stage *s, long target)
{
	const pid_t pids[] = { s->victim, s->agent, getpid(), 0 };

	return pids[target];
}

/* ---- changing ---- */

static int set_limit(const struct stage *s, const long *arg)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return broken("getrlimit");
	return answer_zero(syscall(SYS_prlimit64, pid_of(s, arg[0]), RLIMIT_NOFILE, &limit, NULL));
}

static int get_limit(const struct stage *s, const long *arg)
{
	struct rlimit limit;

	return answer_zero(syscall(SYS_prlimit64, pid_of(s, arg[0]), RLIMIT_NOFILE, NULL, &limit));
}

/* arg: target, which */
static int set_nice(const struct stage *s, const long *arg)
{
	/* glibc's own type for the first argument is not everyone's. */
	return answer_zero(
		syscall(SYS_setpriority, arg[1], pid_of(s, arg[0]), getpriority(PRIO_PROCESS, 0)));
}

static int set_nice_user(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(setpriority(PRIO_USER, getuid() ? getuid() : 61007, 0));
}

/* arg: target, which */
static int set_io_priority(const struct stage *s, const long *arg)
{
	return answer_zero(syscall(SYS_ioprio_set, arg[1], pid_of(s, arg[0]),
				   IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4)));
}

static int set_affinity(const struct stage *s, const long *arg)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return broken("sched_getaffinity");
	return answer_zero(sched_setaffinity(pid_of(s, arg[0]), sizeof(set), &set));
}

static int set_scheduler(const struct stage *s, const long *arg)
{
	struct sched_param param = { .sched_priority = 0 };

	return answer_zero(syscall(SYS_sched_setscheduler, pid_of(s, arg[0]), SCHED_OTHER, &param));
}

static int set_param(const struct stage *s, const long *arg)
{
	struct sched_param param = { .sched_priority = 0 };

	return answer_zero(syscall(SYS_sched_setparam, pid_of(s, arg[0]), &param));
}

static int set_attr(const struct stage *s, const long *arg)
{
	struct {
		uint32_t size;
		uint32_t policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t times[3];
	} attr = { .size = 48, .nice = getpriority(PRIO_PROCESS, 0) };

	/* As it is, since to become less nice takes a privilege. */
	return answer_zero(syscall(SYS_sched_setattr, pid_of(s, arg[0]), &attr, 0));
}

/* Sharing a core's cookie with another process. */
static int share_core(const struct stage *s, const long *arg)
{
	return answer_zero(prctl(PR_SCHED_CORE, 2, pid_of(s, arg[0]), 0, 0));
}

/* ---- memory and descriptors ---- */

static int trace(const struct stage *s, const long *arg)
{
	pid_t pid = pid_of(s, arg[0]);

	if (syscall(SYS_ptrace, arg[1], pid, NULL, NULL) < 0)
		return -errno;
	if (arg[1] == PTRACE_ATTACH)
		waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return 0;
}

static int trace_me(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

/* arg: target, the call */
static int copy_memory(const struct stage *s, const long *arg)
{
	uint64_t word = 0x6f61726b;
	struct iovec ours = { &word, sizeof(word) };
	struct iovec theirs = { (void *)(uintptr_t)s->victim_word, sizeof(word) };

	return answer_zero(syscall(arg[1], pid_of(s, arg[0]), &ours, 1, &theirs, 1, 0));
}

static int pidfd(const struct stage *s, long target)
{
	return (int)syscall(SYS_pidfd_open, pid_of(s, target), 0);
}

static int take_descriptor(const struct stage *s, const long *arg)
{
	int fd = pidfd(s, arg[0]);

	if (fd < 0)
		return broken("pidfd_open");
	return answer_fd((int)syscall(SYS_pidfd_getfd, fd, s->victim_fd, 0));
}

static int advise_memory(const struct stage *s, const long *arg)
{
	struct iovec theirs = { (void *)(uintptr_t)(s->victim_word & ~4095UL), 4096 };
	int fd = pidfd(s, arg[0]);

	if (fd < 0)
		return broken("pidfd_open");
	return answer_zero(syscall(SYS_process_madvise, fd, &theirs, 1, MADV_COLD, 0));
}

static int release_memory(const struct stage *s, const long *arg)
{
	int fd = pidfd(s, arg[0]);

	if (fd < 0)
		return broken("pidfd_open");
	return answer_zero(syscall(SYS_process_mrelease, fd, 0));
}

static int compare(const struct stage *s, const long *arg)
{
	long r = syscall(SYS_kcmp, getpid(), pid_of(s, arg[0]), KCMP_VM, 0, 0);

	return answer_zero(r);
}

static int move_memory(const struct stage *s, const long *arg)
{
	void *pages[] = { (void *)(uintptr_t)(s->victim_word & ~4095UL) };
	int status[1];

	return answer_zero(syscall(SYS_move_pages, pid_of(s, arg[0]), 1, pages, NULL, status, 0));
}

static int migrate(const struct stage *s, const long *arg)
{
	unsigned long nodes = 1;

	return answer_zero(syscall(SYS_migrate_pages, pid_of(s, arg[0]), 64, &nodes, &nodes));
}

static int robust_list(const struct stage *s, const long *arg)
{
	void *head;
	size_t size;

	return answer_zero(syscall(SYS_get_robust_list, pid_of(s, arg[0]), &head, &size));
}

static int count_events(const struct stage *s, const long *arg)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	return answer_fd((int)syscall(SYS_perf_event_open, &attr, pid_of(s, arg[0]), -1, -1, 0));
}

/* arg: target, file in its directory in /proc, flags of open */
static int open_proc(const struct stage *s, const long *arg)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid_of(s, arg[0]), TEXT_OF(arg[1]));
	return answer_fd(open(path, (int)arg[2] | O_CLOEXEC));
}

static int read_link(const struct stage *s, const long *arg)
{
	char path[96];
	char target[256];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid_of(s, arg[0]), TEXT_OF(arg[1]));
	return answer_zero(readlink(path, target, sizeof(target)));
}

/* ---- leaving the group: only a leaf of cgroup v2, or a sweep, holds it ---- */

static int leave_group(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	if (setpgid(0, 0) < 0)
		return -errno;
	if (fork() == 0)
		_exit(setsid() < 0 ? errno : 0);
	return 0;
}

/* Among the parent's processes a kill of our own group passes us by. */
static int join_parent(const struct stage *s, const long *arg)
{
	(void)arg;
	return answer_zero(setpgid(0, getpgid(s->agent)));
}

static int leave_parent(const struct stage *s, const long *arg)
{
	pid_t pid = fork();

	(void)s;
	(void)arg;
	if (pid == 0) {
		if (fork() == 0)
			usleep(20000);
		_exit(0);
	}
	return wait_answer(pid);
}

static const struct row table[] = {
	{ DENY("limit_victim", EPERM, set_limit, VICTIM) },
	{ DENY("limit_parent", EPERM, set_limit, AGENT) },
	{ DENY("limit_read_victim", EPERM, get_limit, VICTIM) },
	{ DENY("nice_victim", EPERM, set_nice, VICTIM, PRIO_PROCESS) },
	{ DENY("nice_victim_group", EPERM, set_nice, VICTIM, PRIO_PGRP) },
	{ DENY("nice_own_group", EPERM, set_nice, SELF, PRIO_PGRP) },
	{ DENY("nice_user", EPERM, set_nice_user), .who = USER_ONLY },
	{ DENY("ioprio_victim", EPERM, set_io_priority, VICTIM, 1) },
	{ DENY("ioprio_victim_group", EPERM, set_io_priority, VICTIM, 2) },
	{ DENY("ioprio_own_group", EPERM, set_io_priority, SELF, 2) },
	{ DENY("affinity_victim", EPERM, set_affinity, VICTIM) },
	{ DENY("scheduler_victim", EPERM, set_scheduler, VICTIM) },
	{ DENY("sched_param_victim", EPERM, set_param, VICTIM) },
	{ DENY("sched_attr_victim", EPERM, set_attr, VICTIM) },
	{ DENY("core_cookie_victim", EPERM, share_core, VICTIM), .absent = -EINVAL },

	{ ALLOW("limit_self", set_limit, SELF) },
	{ ALLOW("limit_read_self", get_limit, SELF) },
	{ ALLOW("nice_self", set_nice, SELF, PRIO_PROCESS) },
	{ ALLOW("ioprio_self", set_io_priority, SELF, 1) },
	{ ALLOW("affinity_self", set_affinity, SELF) },
	{ ALLOW("scheduler_self", set_scheduler, SELF) },
	{ ALLOW("sched_param_self", set_param, SELF) },
	{ ALLOW("sched_attr_self", set_attr, SELF) },
	/* A filter cannot tell one's own number from another's. */
	{ DENY("limit_own_number", EPERM, set_limit, OWN) },
	{ DENY("affinity_own_number", EPERM, set_affinity, OWN) },

	/* Who seizes stays the tracer until it ends. */
	{ DENY("ptrace_seize", EPERM, trace, VICTIM, PTRACE_SEIZE), .own = true },
	{ DENY("ptrace_attach", EPERM, trace, VICTIM, PTRACE_ATTACH) },
	{ DENY("ptrace_me", EPERM, trace_me), .own = true },
	{ DENY("memory_read", EPERM, copy_memory, VICTIM, SYS_process_vm_readv) },
	{ DENY("memory_write", EPERM, copy_memory, VICTIM, SYS_process_vm_writev) },
	{ DENY("memory_advise", EPERM, advise_memory, VICTIM) },
	{ DENY("memory_release", ENOSYS, release_memory, VICTIM), .control = -EINVAL },
	{ DENY("memory_move", EPERM, move_memory, VICTIM) },
	{ DENY("memory_migrate", EPERM, migrate, VICTIM) },
	{ DENY("descriptor_take", EPERM, take_descriptor, VICTIM) },
	{ DENY("compare", EPERM, compare, VICTIM) },
	{ DENY("robust_list", EPERM, robust_list, VICTIM) },
	{ DENY("perf_victim", EPERM, count_events, VICTIM) },
	{ DENY("perf_self", EPERM, count_events, SELF) },

	{ DENY("proc_mem", EACCES, open_proc, VICTIM, TEXT("mem"), O_RDONLY) },
	{ DENY("proc_mem_write", EACCES, open_proc, VICTIM, TEXT("mem"), O_RDWR) },
	{ DENY("proc_mem_parent", EACCES, open_proc, AGENT, TEXT("mem"), O_RDONLY) },
	{ DENY("proc_environ", EACCES, open_proc, VICTIM, TEXT("environ"), O_RDONLY) },
	{ DENY("proc_environ_parent", EACCES, open_proc, AGENT, TEXT("environ"), O_RDONLY) },
	{ DENY("proc_maps", EACCES, open_proc, VICTIM, TEXT("maps"), O_RDONLY) },
	{ DENY("proc_fd", EACCES, open_proc, VICTIM, TEXT("fd/200"), O_RDONLY) },
	{ DENY("proc_fd_parent", EACCES, open_proc, AGENT, TEXT("fd/0"), O_RDONLY) },
	{ KNOWN("proc_fd_list", open_proc, VICTIM, TEXT("fd"), O_RDONLY | O_DIRECTORY) },
	{ DENY("proc_root", EACCES, open_proc, VICTIM, TEXT("root"), O_RDONLY) },
	{ DENY("proc_cwd", EACCES, open_proc, AGENT, TEXT("cwd"), O_RDONLY) },
	{ DENY("proc_exe_link", EACCES, read_link, VICTIM, TEXT("exe")) },
	{ DENY("proc_ns", EACCES, open_proc, VICTIM, TEXT("ns/mnt"), O_RDONLY) },
	{ DENY("proc_oom_write", EACCES, open_proc, VICTIM, TEXT("oom_score_adj"), O_WRONLY) },
	{ KNOWN("proc_cmdline", open_proc, VICTIM, TEXT("cmdline"), O_RDONLY) },
	{ KNOWN("proc_status", open_proc, VICTIM, TEXT("status"), O_RDONLY) },

	{ KNOWN("leave_group", leave_group), .own = true },
	{ KNOWN("leave_parent", leave_parent) },
	{ KNOWN("join_parent_group", join_parent), .own = true },
};

ROWS_TOGETHER(process_rows, table);
