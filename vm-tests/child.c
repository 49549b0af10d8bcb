#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"

static const char *cgroup_dir;

void child_cgroup(const char *dir)
{
	cgroup_dir = dir;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void refuse(const char *what)
{
	dprintf(2, "%s: %s\n", what, strerror(errno));
	_exit(125);
}

static void enter_cgroup(void)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup_dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		refuse(path);
	close(fd);
}

static void become(const struct child *child, int out, int err)
{
	static char *const root[] = {
		"PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root", "LANG=C.UTF-8", "BUILD=/build",
		"CMOCKA_MESSAGE_OUTPUT=TAP",	      NULL
	};
	static char *const user[] = { "PATH=/usr/bin:/bin:/usr/sbin:/sbin",
				      "HOME=/home/user",
				      "LANG=C.UTF-8",
				      "BUILD=/build",
				      "CMOCKA_MESSAGE_OUTPUT=TAP",
				      NULL };
	sigset_t none;
	int null = open("/dev/null", O_RDONLY);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	dup2(null, 0);
	dup2(out, 1);
	dup2(err, 2);
	if (null > 2)
		close(null);
	if (cgroup_dir)
		enter_cgroup();
	if (child->uid != (uid_t)-1) {
		if (setgroups(0, NULL) < 0 || setgid(child->uid) < 0 || setuid(child->uid) < 0)
			refuse("become the user");
	}
	if (chdir("/src") < 0 && chdir("/") < 0)
		refuse("chdir");
	execve(child->argv[0], child->argv, child->uid == 0 ? root : user);
	refuse(child->argv[0]);
}

/* Pass on what is there to read. Returns 0 at its end. */
static int relay(int fd, const char *word, const char *name)
{
	static char buf[32768];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n > 0)
		channel_send(word, name, buf, (size_t)n);
	return n > 0;
}

/* Relay both pipes until the child is gone, then what is left in them. Returns its wait status, or
 * -1 when its time was up.
 */
static int follow(pid_t pid, const struct child *child, int out, int err)
{
	struct pollfd fds[2] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN } };
	static const char *const words[2] = { "out", "err" };
	long end = now_ms() + child->seconds * 1000L;
	int status = 0;
	int gone = 0;

	for (;;) {
		int ready = poll(fds, 2, gone ? 0 : 20);

		for (int i = 0; ready > 0 && i < 2; i++)
			if (fds[i].revents && !relay(fds[i].fd, words[i], child->name))
				fds[i].fd = -1;
		if (gone && ready <= 0)
			return status;
		if (!gone && waitpid(pid, &status, WNOHANG) == pid)
			gone = 1;
		if (!gone && now_ms() > end)
			return -1;
	}
}

/* Kill whatever is still there; returns how many died of it. */
static int sweep(void)
{
	int left = 0;
	int status;

	if (kill(-1, SIGKILL) < 0)
		return 0;
	while (waitpid(-1, &status, 0) > 0 || errno == EINTR)
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			left++;
	return left;
}

void child_run(const struct child *child)
{
	long start = now_ms();
	const char *how = "exit";
	int out[2], err[2];
	int status, code = 0;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
		channel_say("problem", child->name, "pipe: %s", strerror(errno));
		return;
	}
	channel_send("begin", child->name, "", 0);
	pid = fork();
	if (pid == 0)
		become(child, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	if (pid < 0) {
		channel_say("problem", child->name, "fork: %s", strerror(errno));
	} else {
		int left;

		status = follow(pid, child, out[0], err[0]);
		left = sweep() - (status == -1);
		if (status == -1) {
			how = "timeout";
		} else if (WIFSIGNALED(status)) {
			how = "signal";
			code = WTERMSIG(status);
		} else {
			code = WEXITSTATUS(status);
		}
		channel_say("end", child->name, "%s %d %ld %d", how, code, now_ms() - start, left);
	}
	close(out[0]);
	close(err[0]);
}
