/* What ordinary programs do, and must go on doing. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/landlock.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- processes and threads ---- */

static int wait_for(pid_t pid)
{
	return pid < 0 ? -errno : wait_answer(pid);
}

static int spawn_shell(const struct stage *s, const long *arg)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)TEXT_OF(arg[0]), NULL };
	pid_t pid;
	int r = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);

	(void)s;
	return r ? -r : wait_for(pid);
}

static int spawn_by_fork(const struct stage *s, const long *arg)
{
	pid_t pid = fork();

	(void)arg;
	if (pid == 0)
		_exit(answer_code(exec_do(path_at(s, BUNDLE, "attacker"), "true")));
	return wait_for(pid);
}

static int new_session(const struct stage *s, const long *arg)
{
	pid_t pid = fork();

	(void)s;
	(void)arg;
	if (pid == 0)
		_exit(setsid() < 0 ? errno : 0);
	return wait_for(pid);
}

static void *be_thread(void *arg)
{
	*(int *)arg = prctl(PR_SET_NAME, "thread", 0, 0, 0);
	return NULL;
}

static int run_thread(const struct stage *s, const long *arg)
{
	pthread_t thread;
	int result = -1;
	int r = pthread_create(&thread, NULL, be_thread, &result);

	(void)s;
	(void)arg;
	if (r)
		return -r;
	pthread_join(thread, NULL);
	return result;
}

static int affinity(const struct stage *s, const long *arg)
{
	cpu_set_t set;

	(void)s;
	(void)arg;
	return answer_zero(sched_getaffinity(0, sizeof(set), &set));
}

static int pin_thread(const struct stage *s, const long *arg)
{
	cpu_set_t set;

	(void)s;
	(void)arg;
	if (pthread_getaffinity_np(pthread_self(), sizeof(set), &set) != 0)
		return broken("pthread_getaffinity_np");
	return -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* ---- descriptors ---- */

static int wait_for_events(const struct stage *s, const long *arg)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int events = eventfd(1, EFD_CLOEXEC);

	(void)s;
	(void)arg;
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, events, &event) < 0)
		return -errno;
	return epoll_wait(epoll, &event, 1, 0) == 1 ? 0 : -ETIME;
}

static int timer_descriptor(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
}

static int signal_descriptor(const struct stage *s, const long *arg)
{
	sigset_t set;

	(void)s;
	(void)arg;
	sigemptyset(&set);
	return answer_fd(signalfd(-1, &set, SFD_CLOEXEC));
}

/* A descriptor goes through a pair, as multiprocessing does it. */
static int pass_descriptor(const struct stage *s, const long *arg)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	int fds[2];

	(void)s;
	(void)arg;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return -errno;
	memcpy(CMSG_DATA(&control.head), &fds[0], sizeof(int));
	if (sendmsg(fds[0], &msg, 0) < 0)
		return -errno;
	return answer_zero(recvmsg(fds[1], &msg, MSG_CMSG_CLOEXEC));
}

static int fifo(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, WORK, "job-server");
	char byte;
	int fd;

	(void)arg;
	if (mkfifo(path, 0600) < 0)
		return -errno;
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (write(fd, "+", 1) != 1 || read(fd, &byte, 1) != 1)
		return -errno;
	return 0;
}

/* ---- files and memory ---- */

static int copy_within(const struct stage *s, const long *arg)
{
	int in = open(path_at(s, BUNDLE, "read"), O_RDONLY | O_CLOEXEC);
	int out = open(path_at(s, WORK, "copy"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (in < 0 || out < 0)
		return -errno;
	if (arg[0])
		return answer_zero(sendfile(out, in, NULL, 8));
	return answer_zero(copy_file_range(in, NULL, out, NULL, 8, 0));
}

static int map_shared(const struct stage *s, const long *arg)
{
	int fd = open(path_at(s, WORK, "write"), O_RDWR | O_CLOEXEC);
	char *at;

	(void)arg;
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return -errno;
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	at[0] = 'x';
	return answer_zero(msync(at, 4096, MS_SYNC));
}

static int allocate(const struct stage *s, const long *arg)
{
	int fd = open(path_at(s, WORK, "append"), O_RDWR | O_CLOEXEC);

	(void)arg;
	return fd < 0 ? -errno : answer_zero(fallocate(fd, 0, 0, 8192));
}

static int lock_record(const struct stage *s, const long *arg)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	int fd = open(path_at(s, WORK, "write"), O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : answer_zero(fcntl(fd, (int)arg[0], &lock));
}

static int write_device(const struct stage *s, const long *arg)
{
	int fd = open(TEXT_OF(arg[0]), (int)arg[1] | O_CLOEXEC, 0644);
	char byte = 'x';

	(void)s;
	if (fd < 0)
		return -errno;
	return answer_zero(arg[1] == O_RDONLY ? read(fd, &byte, 1) : write(fd, &byte, 1));
}

static int random_bytes(const struct stage *s, const long *arg)
{
	char buf[16];

	(void)s;
	(void)arg;
	return answer_zero(getrandom(buf, sizeof(buf), 0));
}

static int advise(const struct stage *s, const long *arg)
{
	void *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)s;
	(void)arg;
	if (at == MAP_FAILED || mlock(at, 4096) < 0)
		return -errno;
	return munlock(at, 4096) < 0 ? -errno : answer_zero(madvise(at, 8192, MADV_DONTNEED));
}

/* ---- asking ---- */

static int names(const struct stage *s, const long *arg)
{
	struct utsname name;
	struct sysinfo info;

	(void)s;
	(void)arg;
	return uname(&name) < 0 || sysinfo(&info) < 0 ? -errno : 0;
}

static int statx_file(const struct stage *s, const long *arg)
{
	uint64_t stx[32]; /* struct statx, which not every C library has: 256 bytes */

	(void)arg;
	return answer_zero(syscall(SYS_statx, AT_FDCWD, path_at(s, WORK, "read"), 0,
				   0x7ff /* STATX_BASIC_STATS */, stx));
}

/* A module may confine its own children further. */
static int nest_landlock(const struct stage *s, const long *arg)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs = 1 };
	int fd = (int)syscall(SYS_landlock_create_ruleset, &attr, 8, 0);

	(void)s;
	(void)arg;
	if (fd < 0)
		return -errno;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return answer_zero(syscall(SYS_landlock_restrict_self, fd, 0));
}

static const struct row table[] = {
	{ ALLOW("shell_pipeline", spawn_shell, TEXT("echo x | cat | grep -q x")) },
	{ ALLOW("shell_background", spawn_shell, TEXT("true & wait $!")) },
	{ ALLOW("shell_here", spawn_shell, TEXT("cat <<e >/dev/null\nx\ne\n")) },
	{ ALLOW("shell_limit", spawn_shell, TEXT("ulimit -n 64")) },
	{ ALLOW("fork_and_exec", spawn_by_fork) },
	{ ALLOW("new_session", new_session) },
	{ ALLOW("thread", run_thread) },
	{ ALLOW("affinity_read", affinity) },
	/* The C library passes a thread's own number, which no filter can tell from another's. */
	{ DENY("affinity_of_thread", EPERM, pin_thread) },
	{ ALLOW("epoll", wait_for_events) },
	{ ALLOW("timerfd", timer_descriptor) },
	{ ALLOW("signalfd", signal_descriptor) },
	{ ALLOW("pass_descriptor", pass_descriptor) },
	{ ALLOW("fifo_job_server", fifo) },
	{ ALLOW("copy_file_range", copy_within) },
	{ ALLOW("sendfile", copy_within, true) },
	{ ALLOW("map_shared", map_shared) },
	{ ALLOW("fallocate", allocate) },
	{ ALLOW("lock_record", lock_record, F_SETLK) },
	{ ALLOW("lock_open_file", lock_record, F_OFD_SETLK) },
	{ ALLOW("null_write", write_device, TEXT("/dev/null"), O_WRONLY) },
	{ ALLOW("null_create", write_device, TEXT("/dev/null"), O_WRONLY | O_CREAT) },
	{ ALLOW("urandom_read", write_device, TEXT("/dev/urandom"), O_RDONLY) },
	{ ALLOW("zero_read", write_device, TEXT("/dev/zero"), O_RDONLY) },
	{ ALLOW("getrandom", random_bytes) },
	{ ALLOW("mlock_and_madvise", advise) },
	{ ALLOW("uname_and_sysinfo", names) },
	{ ALLOW("statx", statx_file) },
	{ ALLOW("nested_landlock", nest_landlock), .own = true },
	{ ALLOW("getcpu", try_syscall, SYS_getcpu, 0, 0, 0) },
	{ ALLOW("membarrier", try_syscall, SYS_membarrier, 0, 0, 0) },
	{ ALLOW("sched_yield", try_syscall, SYS_sched_yield) },
};

ROWS_TOGETHER(allow_rows, table);
