/* What the launcher is started with and the module must not get: descriptors and state. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FD 50
#define FAR_FD 1000
#define NAMED "OARBANK_SERVICE_ATTACK"

/* ---- descriptors, made before the launch ---- */

static int hold(int from)
{
	int r = from < 0 ? -errno : answer_zero(dup2(from, FD));

	if (from >= 0)
		close(from);
	return r;
}

static int hold_path(const char *path, int flags)
{
	return hold(open(path, flags));
}

static int hold_folder(const struct stage *s, const long *arg)
{
	(void)arg;
	return hold_path(place_path(s, OUTSIDE), O_RDONLY | O_DIRECTORY);
}

static int hold_root(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return hold_path("/", O_PATH | O_DIRECTORY);
}

static int hold_file(const struct stage *s, const long *arg)
{
	(void)arg;
	return hold_path(path_at(s, OUTSIDE, "write"), O_RDWR);
}

static int hold_far(const struct stage *s, const long *arg)
{
	int r = hold_file(s, arg);

	return r < 0 ? r : answer_zero(dup2(FD, FAR_FD));
}

static int hold_memory(const struct stage *s, const long *arg)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);
	char path[32];

	(void)s;
	(void)arg;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return hold_path(path, O_RDONLY);
}

static int hold_connection(const struct stage *s, const long *arg)
{
	struct address a = inet_address("127.0.0.1", s->other_port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)arg;
	return connect(fd, &a.any, a.size) < 0 ? -errno : hold(fd);
}

static int hold_udp(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return hold(socket(AF_INET, SOCK_DGRAM, 0));
}

static int hold_listener(const struct stage *s, const long *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	(void)s;
	(void)arg;
	return listen(fd, 1) < 0 ? -errno : hold(fd);
}

static int hold_pidfd(const struct stage *s, const long *arg)
{
	(void)arg;
	return hold((int)syscall(SYS_pidfd_open, s->victim, 0));
}

static int hold_namespace(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return hold_path("/proc/self/ns/mnt", O_RDONLY);
}

static int hold_epoll(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return hold(epoll_create1(0));
}

/* A listener the agent hands over, with somebody waiting. */
static int name_listener(const struct stage *s, const long *arg)
{
	struct address a = unix_address(path_in_root(s, "handed-over"));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int client = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)arg;
	unlink(a.un.sun_path);
	if (bind(fd, &a.any, a.size) < 0 || listen(fd, 1) < 0 ||
	    connect(client, &a.any, a.size) < 0)
		return -errno;
	setenv("OARBANK_LISTEN_FD_ATTACK", "fd:50", 1);
	return hold(fd);
}

static int name_channel(const struct stage *s, const long *arg)
{
	int fds[2];

	(void)s;
	(void)arg;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return -errno;
	setenv("OARBANK_ENDPOINT_CHANNEL", "fd:50", 1);
	return hold(fds[0]);
}

/* Only these names keep a descriptor. */
static int name_something_else(const struct stage *s, const long *arg)
{
	setenv("OARBANK_SERVICE", "fd:50", 1);
	setenv("OARBANK_ENDPOINT_CHANNELS", "fd:50", 1);
	setenv("XOARBANK_SERVICE_A", "fd:50", 1);
	setenv(NAMED, "50", 1);
	return hold_file(s, arg);
}

/* ---- descriptors, used by the module ---- */

static int use_folder(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_fd(openat(FD, "read", O_RDONLY | O_CLOEXEC));
}

static int use_root(const struct stage *s, const long *arg)
{
	(void)arg;
	return answer_fd(openat(FD, path_at(s, OUTSIDE, "read") + 1, O_RDONLY | O_CLOEXEC));
}

static int write_to(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_zero(write((int)arg[0], "x", 1));
}

static int reopen(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_fd(open("/proc/self/fd/50", O_RDWR | O_CLOEXEC));
}

static int send_to_port(const struct stage *s, const long *arg)
{
	struct address a = inet_address("127.0.0.1", s->udp_port);

	(void)arg;
	return answer_zero(sendto(FD, "x", 1, 0, &a.any, a.size));
}

static int accept_one(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_fd(accept4(FD, NULL, NULL, SOCK_CLOEXEC));
}

static int signal_through(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(syscall(SYS_pidfd_send_signal, FD, SIGURG, NULL, 0));
}

static int look_at(const struct stage *s, const long *arg)
{
	struct stat st;

	(void)s;
	return answer_zero(fstat((int)arg[0], &st));
}

/* ---- state ---- */

static int close_standard(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	return 0;
}

static int any_standard(const struct stage *s, const long *arg)
{
	struct stat st;

	(void)s;
	(void)arg;
	for (int fd = 0; fd < 3; fd++)
		if (fstat(fd, &st) == 0)
			return 0;
	return NOTHING;
}

static int block_signals(const struct stage *s, const long *arg)
{
	sigset_t all;

	(void)s;
	(void)arg;
	sigfillset(&all);
	return answer_zero(sigprocmask(SIG_SETMASK, &all, NULL));
}

static int any_blocked(const struct stage *s, const long *arg)
{
	sigset_t set;

	(void)s;
	(void)arg;
	sigprocmask(SIG_SETMASK, NULL, &set);
	for (int number = 1; number < 32; number++)
		if (sigismember(&set, number) == 1)
			return 0;
	return NOTHING;
}

static int ignore_signal(const struct stage *s, const long *arg)
{
	(void)s;
	signal((int)arg[0], SIG_IGN);
	return 0;
}

static int is_ignored(const struct stage *s, const long *arg)
{
	struct sigaction action;

	(void)s;
	sigaction((int)arg[0], NULL, &action);
	return action.sa_handler == SIG_IGN ? 0 : NOTHING;
}

static int unlimited_core(const struct stage *s, const long *arg)
{
	const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit now;

	(void)s;
	(void)arg;
	if (setrlimit(RLIMIT_CORE, &limit) == 0 || getrlimit(RLIMIT_CORE, &now) < 0)
		return 0;
	now.rlim_cur = now.rlim_max;
	return answer_zero(setrlimit(RLIMIT_CORE, &now));
}

static int dump_core(const struct stage *s, const long *arg)
{
	pid_t pid = fork();
	int status;

	(void)s;
	(void)arg;
	if (pid == 0)
		abort();
	if (waitpid(pid, &status, 0) != pid)
		return broken("wait");
	return WCOREDUMP(status) ? 0 : NOTHING;
}

static int raise_core_limit(const struct stage *s, const long *arg)
{
	const struct rlimit limit = { 4096, 4096 };

	(void)s;
	(void)arg;
	return answer_zero(setrlimit(RLIMIT_CORE, &limit));
}

static int equal_odds(const struct stage *s, const long *arg)
{
	FILE *f = fopen("/proc/self/oom_score_adj", "re");
	int score;

	(void)s;
	(void)arg;
	if (!f || fscanf(f, "%d", &score) != 1)
		return broken("read oom_score_adj");
	fclose(f);
	return score <= 0 ? 0 : NOTHING;
}

static int tell_parent(const struct stage *s, const long *arg)
{
	int fds[2];

	(void)s;
	(void)arg;
	if (pipe(fds) < 0)
		return -errno;
	if (dup2(fds[0], FD + 1) < 0)
		return -errno;
	setenv("OARBANK_CONFINED", "50", 1);
	setenv("OARBANK_SERVICE_READ_END", "fd:51", 1);
	return hold(fds[1]);
}

static int signal_variable(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return getenv("OARBANK_CONFINED") ? 0 : NOTHING;
}

static int stand_outside(const struct stage *s, const long *arg)
{
	(void)arg;
	return answer_zero(chdir(place_path(s, OUTSIDE)));
}

static int read_here(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_fd(open(TEXT_OF(arg[0]), O_RDONLY | O_CLOEXEC));
}

static const struct row table[] = {
	{ DENY("inherit_folder", EBADF, use_folder), .before = hold_folder },
	{ DENY("inherit_root", EBADF, use_root), .before = hold_root },
	{ DENY("inherit_file", EBADF, write_to, FD), .before = hold_file },
	{ DENY("inherit_far", EBADF, write_to, FAR_FD), .before = hold_far },
	{ DENY("inherit_memory_reopened", ENOENT, reopen), .before = hold_memory },
	{ DENY("inherit_connection", EBADF, write_to, FD), .before = hold_connection },
	{ DENY("inherit_udp", EBADF, send_to_port), .before = hold_udp },
	{ DENY("inherit_listener", EBADF, accept_one), .before = hold_listener,
	  .control = -EAGAIN },
	{ DENY("inherit_pidfd", EBADF, signal_through), .before = hold_pidfd },
	{ DENY("inherit_namespace", EBADF, look_at, FD), .before = hold_namespace },
	{ DENY("inherit_epoll", EBADF, look_at, FD), .before = hold_epoll },
	{ DENY("inherit_named_otherwise", EBADF, write_to, FD), .before = name_something_else },
	{ DENY("inherit_signal_pipe", EBADF, write_to, FD), .before = tell_parent },
	{ DENY("inherit_signal_variable", ENODATA, signal_variable), .before = tell_parent },
	{ ALLOW("named_listener", accept_one), .before = name_listener },
	{ ALLOW("named_channel", look_at, FD), .before = name_channel },
	{ DENY("stdio_stays_closed", ENODATA, any_standard), .before = close_standard,
	  .control = NOTHING },

	{ DENY("inherit_blocked_signals", ENODATA, any_blocked), .before = block_signals },
	{ DENY("inherit_ignored_term", ENODATA, is_ignored, SIGTERM), .before = ignore_signal },
	{ DENY("inherit_ignored_int", ENODATA, is_ignored, SIGINT), .before = ignore_signal },
	{ DENY("inherit_ignored_chld", ENODATA, is_ignored, SIGCHLD), .before = ignore_signal },
	{ DENY("inherit_ignored_pipe", ENODATA, is_ignored, SIGPIPE), .before = ignore_signal },
	{ DENY("inherit_ignored_realtime", ENODATA, is_ignored, 40), .before = ignore_signal },
	{ ALLOW("ignored_usr1", is_ignored, SIGUSR1), .before = ignore_signal },
	{ DENY("core_dump", ENODATA, dump_core), .before = unlimited_core },
	{ DENY("core_limit", EPERM, raise_core_limit), .before = unlimited_core },
	{ DENY("oom_equal_odds", ENODATA, equal_odds) },
	{ DENY("cwd_outside", EACCES, read_here, TEXT("read")), .before = stand_outside },
	{ DENY("cwd_outside_up", EACCES, read_here, TEXT("../outside/read")),
	  .before = stand_outside },
};

ROWS(inherit_rows, table);
