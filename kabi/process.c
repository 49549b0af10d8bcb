#include "kabi/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The same numbers on every architecture; old headers lack them. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#define INTO_CGROUP 0x200000000ULL /* CLONE_INTO_CGROUP */

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

/* ---- making and removing ---- */

int process_create(const struct kernel *k, const char *path, int flags, unsigned mode)
{
	(void)k;
	return result(open(path, flags | O_CREAT | O_CLOEXEC, mode));
}

int process_rename(const struct kernel *k, const char *from, const char *to)
{
	(void)k;
	return result(rename(from, to));
}

int process_unlink(const struct kernel *k, const char *path)
{
	(void)k;
	return result(unlink(path));
}

int process_mkdir(const struct kernel *k, const char *path, unsigned mode)
{
	(void)k;
	return result(mkdir(path, mode));
}

int process_rmdir(const struct kernel *k, const char *path)
{
	(void)k;
	return result(rmdir(path));
}

int process_lock(const struct kernel *k, int fd)
{
	(void)k;
	return result(flock(fd, LOCK_EX | LOCK_NB));
}

int process_chdir(const struct kernel *k, const char *path)
{
	(void)k;
	return result(chdir(path));
}

int process_dup_onto(const struct kernel *k, int from, int to)
{
	(void)k;
	return result(dup2(from, to));
}

int process_pipe(const struct kernel *k, int ret[2])
{
	(void)k;
	return result(pipe2(ret, O_CLOEXEC));
}

int process_channel(const struct kernel *k, int ret[2])
{
	(void)k;
	return result(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret));
}

ssize_t process_send(const struct kernel *k, int fd, const void *buf, size_t size)
{
	ssize_t n = send(fd, buf, size, MSG_NOSIGNAL);

	(void)k;
	return n < 0 ? -errno : n;
}

/* ---- other processes ---- */

/* struct clone_args as of Linux 5.7: eleven numbers, of which we need three. */
struct clone_request {
	uint64_t flags;
	uint64_t pidfd;
	uint64_t child_tid;
	uint64_t parent_tid;
	uint64_t exit_signal;
	uint64_t stack;
	uint64_t stack_size;
	uint64_t tls;
	uint64_t set_tid;
	uint64_t set_tid_size;
	uint64_t cgroup;
};

int process_clone(const struct kernel *k, int cgroup)
{
	struct clone_request request = { .exit_signal = SIGCHLD };

	(void)k;
	/* With no flag set the arguments stand in the same places on every architecture. */
	if (cgroup < 0)
		return result(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
	request.flags = INTO_CGROUP;
	request.cgroup = (uint64_t)cgroup;
	return result(syscall(SYS_clone3, &request, sizeof(request)));
}

int process_pidfd_open(const struct kernel *k, pid_t pid)
{
	(void)k;
	return result(syscall(SYS_pidfd_open, pid, 0));
}

int process_pidfd_signal(const struct kernel *k, int pidfd, int signal)
{
	(void)k;
	return result(syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0));
}

int process_kill(const struct kernel *k, pid_t pid, int signal)
{
	(void)k;
	return result(kill(pid, signal));
}

int process_wait(const struct kernel *k, pid_t pid, int options, struct ended *ret)
{
	siginfo_t info = { .si_pid = 0 };

	(void)k;
	if (waitid(pid ? P_PID : P_ALL, (id_t)pid, &info, options) < 0)
		return -errno;
	if (info.si_pid == 0)
		return 0;
	*ret = (struct ended){
		.pid = info.si_pid,
		.code = info.si_code == CLD_EXITED ? info.si_status : -1,
		.signal = info.si_code == CLD_EXITED ? 0 : info.si_status,
	};
	return 1;
}

static uint64_t micros(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

int process_children_usage(const struct kernel *k, struct usage *ret)
{
	struct rusage usage;

	(void)k;
	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return -errno;
	*ret = (struct usage){
		.cpu_us = micros(usage.ru_utime) + micros(usage.ru_stime),
		.peak_bytes = (uint64_t)usage.ru_maxrss * 1024,
	};
	return 0;
}

int process_poll(const struct kernel *k, struct pollfd *fds, unsigned count, int timeout_ms)
{
	(void)k;
	return result(poll(fds, count, timeout_ms));
}

/* The kernel's own call: a C library keeps signals of its own out of the set it is given. */
int process_signal_fd(const struct kernel *k, uint64_t signals)
{
	(void)k;
	return result(syscall(SYS_signalfd4, -1, &signals, sizeof(signals), O_CLOEXEC));
}

int process_signal_mask(const struct kernel *k, uint64_t signals, uint64_t *ret)
{
	(void)k;
	return result(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals, ret, sizeof(signals)));
}

pid_t process_setsid(const struct kernel *k)
{
	(void)k;
	return result(setsid());
}

/* Not from a C library that remembers them: process_clone() goes past it. */
pid_t process_getpid(const struct kernel *k)
{
	(void)k;
	return (pid_t)syscall(SYS_getpid);
}

pid_t process_getppid(const struct kernel *k)
{
	(void)k;
	return (pid_t)syscall(SYS_getppid);
}

int64_t process_now_us(const struct kernel *k)
{
	struct timespec t;

	(void)k;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void process_exit(const struct kernel *k, int code)
{
	(void)k;
	_exit(code);
}
