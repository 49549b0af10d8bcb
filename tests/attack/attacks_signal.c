/* Signals to a process outside, by every call that sends one or arranges for one. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP 4
#endif

/* Does nothing to who does not ask for it. */
#define HARMLESS SIGURG
#define HIGH (1L << 32) /* the kernel reads an unsigned int */

enum target {
	VICTIM,
	AGENT, /* the parent */
	GROUP, /* the victim's process group */
	OWN,
	NOBODY, /* a number that is no process's and no signal's */
};

static pid_t pid_of(const struct stage *s, long target)
{
	const pid_t pids[] = { s->victim, s->agent, -s->victim, getpid(), INT_MAX };

	return pids[target];
}

static siginfo_t queued(int code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = HARMLESS;
	info.si_code = code;
	info.si_pid = getpid();
	info.si_uid = getuid();
	return info;
}

/* ---- calls that send ---- */

static int send_kill(const struct stage *s, const long *arg)
{
	return answer_zero(kill(pid_of(s, arg[0]), (int)arg[1]));
}

static int send_tkill(const struct stage *s, const long *arg)
{
	return answer_zero(syscall(SYS_tkill, pid_of(s, arg[0]), HARMLESS));
}

static int send_tgkill(const struct stage *s, const long *arg)
{
	pid_t pid = pid_of(s, arg[0]);

	return answer_zero(syscall(SYS_tgkill, pid, pid, HARMLESS));
}

static int send_queued(const struct stage *s, const long *arg)
{
	siginfo_t info = queued(SI_QUEUE);

	return answer_zero(syscall(SYS_rt_sigqueueinfo, pid_of(s, arg[0]), HARMLESS, &info));
}

static int send_queued_thread(const struct stage *s, const long *arg)
{
	siginfo_t info = queued(SI_QUEUE);
	pid_t pid = pid_of(s, arg[0]);

	return answer_zero(syscall(SYS_rt_tgsigqueueinfo, pid, pid, HARMLESS, &info));
}

/* arg: target, flags */
static int send_pidfd(const struct stage *s, const long *arg)
{
	int fd = (int)syscall(SYS_pidfd_open, pid_of(s, arg[0]), 0);

	if (fd < 0)
		return broken("pidfd_open");
	return answer_zero(syscall(SYS_pidfd_send_signal, fd, HARMLESS, NULL, arg[1]));
}

/* The directory of a process is a pidfd too. */
static int send_pidfd_proc(const struct stage *s, const long *arg)
{
	char path[32];
	char *end = path + sizeof(path) - 1;
	pid_t pid = pid_of(s, arg[0]);
	int fd;

	*end = '\0';
	for (; pid > 0; pid /= 10)
		*--end = (char)('0' + pid % 10);
	fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(fd, end, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return broken("open the process's directory");
	return answer_zero(syscall(SYS_pidfd_send_signal, fd, HARMLESS, NULL, 0));
}

/* ---- calls that arrange for a signal ---- */

/* arg: whose, command */
static int set_owner(const struct stage *s, const long *arg)
{
	struct {
		int type;
		pid_t pid;
	} owner = { 1, pid_of(s, arg[0]) }; /* F_OWNER_PID */
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return broken("make a pair");
	if (arg[1] == F_SETOWN_EX)
		return answer_zero(fcntl(fds[0], F_SETOWN_EX, &owner));
	return answer_zero(syscall(SYS_fcntl, fds[0], arg[1], owner.pid));
}

static int set_owner_ioctl(const struct stage *s, const long *arg)
{
	int value = arg[1] == FIOASYNC ? 1 : pid_of(s, arg[0]);
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return broken("make a pair");
	return answer_zero(ioctl(fds[0], (unsigned long)arg[1], &value));
}

/* arg: flags */
static int set_async(const struct stage *s, const long *arg)
{
	int fds[2];

	(void)s;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return broken("make a pair");
	return answer_zero(syscall(SYS_fcntl, fds[0], F_SETFL, arg[0]));
}

/* A child that the parent has to wait for. */
static int child_of_parent(const struct stage *s, const long *arg)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | arg[0], 0, 0, 0, 0);

	(void)s;
	if (pid == 0)
		_exit(0);
	return answer_zero(pid);
}

/* A timer that signals a thread of another process. */
static int timer_thread(const struct stage *s, const long *arg)
{
	/* The kernel's struct sigevent: C libraries call its last member differently. */
	struct {
		union sigval value;
		int signo;
		int notify;
		int tid;
		int rest[11];
	} event = {
		.signo = HARMLESS,
		.notify = SIGEV_SIGNAL | 4, /* SIGEV_THREAD_ID */
		.tid = s->victim,
	};
	int id;

	(void)arg;
	return answer_zero(syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id));
}

/* ---- to oneself and one's own ---- */

static int signal_child(const struct stage *s, const long *arg)
{
	pid_t pid = fork();

	(void)s;
	(void)arg;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	if (kill(pid, SIGTERM) < 0)
		return -errno;
	return wait_answer(pid) == KILLED(SIGTERM) ? 0 : -ECHILD;
}

/* Landlock's scope of signals. */
#define SCOPED .since_abi = 6

static const struct row table[] = {
	{ DENY("kill", EPERM, send_kill, VICTIM, HARMLESS), SCOPED },
	{ DENY("kill_null_signal", EPERM, send_kill, VICTIM, 0), SCOPED },
	{ DENY("kill_continue", EPERM, send_kill, VICTIM, SIGCONT), SCOPED },
	{ DENY("kill_parent", EPERM, send_kill, AGENT, HARMLESS), SCOPED },
	{ DENY("kill_group", EPERM, send_kill, GROUP, HARMLESS), SCOPED },
	{ DENY("tkill", EPERM, send_tkill, VICTIM), SCOPED },
	{ DENY("tgkill", EPERM, send_tgkill, VICTIM), SCOPED },
	{ DENY("sigqueue", EPERM, send_queued, VICTIM), SCOPED },
	{ DENY("sigqueue_thread", EPERM, send_queued_thread, VICTIM), SCOPED },
	{ DENY("pidfd_signal", EPERM, send_pidfd, VICTIM), SCOPED },
	{ DENY("pidfd_signal_group", EPERM, send_pidfd, VICTIM, PIDFD_SIGNAL_PROCESS_GROUP),
	  SCOPED },
	{ DENY("pidfd_signal_proc", EPERM, send_pidfd_proc, VICTIM), SCOPED },

	{ DENY("owner_fcntl", EPERM, set_owner, VICTIM, F_SETOWN) },
	{ DENY("owner_fcntl_group", EPERM, set_owner, GROUP, F_SETOWN) },
	{ DENY("owner_fcntl_ex", EPERM, set_owner, VICTIM, F_SETOWN_EX) },
	{ DENY("owner_fcntl_high_half", EPERM, set_owner, VICTIM, HIGH | F_SETOWN) },
	{ DENY("owner_signal", EPERM, set_owner, NOBODY, F_SETSIG), .control = -EINVAL },
	{ DENY("owner_ioctl", EPERM, set_owner_ioctl, VICTIM, FIOSETOWN) },
	{ DENY("owner_ioctl_group", EPERM, set_owner_ioctl, VICTIM, SIOCSPGRP) },
	{ DENY("async_ioctl", EPERM, set_owner_ioctl, OWN, FIOASYNC) },
	{ DENY("async_fcntl", EPERM, set_async, O_ASYNC | O_RDWR) },
	{ DENY("async_fcntl_high_half", EPERM, set_async, HIGH | O_ASYNC) },
	{ DENY("child_of_parent", EPERM, child_of_parent, SIGCHLD) },
	{ DENY("timer_thread", EINVAL, timer_thread), .control = -EINVAL },

	{ ALLOW("kill_oneself", send_kill, OWN, HARMLESS) },
	{ ALLOW("tgkill_oneself", send_tgkill, OWN) },
	{ ALLOW("sigqueue_oneself", send_queued, OWN) },
	{ ALLOW("pidfd_oneself", send_pidfd, OWN) },
	{ ALLOW("signal_child", signal_child) },
	{ ALLOW("nonblock_fcntl", set_async, O_NONBLOCK | O_RDWR) },
};

ROWS_TOGETHER(signal_rows, table);
