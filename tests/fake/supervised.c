#include "tests/fake/supervised.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kabi/kernel.h"

#define RACE_ROUNDS 3000
#define RACE_ROUNDS_QUICK 30
#define RACE_SECONDS 4 /* at most, until a race has been seen both ways */
#define CHILD_SECONDS 60
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

struct place place = { .dir = "/tmp/supervise-XXXXXX" };
bool quick;

/* ---- what is connected to ---- */

int listen_on(const char *address, uint16_t port, uint16_t *ret_port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	inet_pton(AF_INET, address, &in.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(fd, 4096), 0);
	getsockname(fd, (struct sockaddr *)&in, &len);
	*ret_port = ntohs(in.sin_port);
	return fd;
}

int listen_on_all(uint16_t *ret_port)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6 };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&in, len) < 0 || listen(fd, 16) < 0)
		return listen_on("0.0.0.0", 0, ret_port);
	getsockname(fd, (struct sockaddr *)&in, &len);
	*ret_port = ntohs(in.sin6_port);
	return fd;
}

static int listen_on6(uint16_t port)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	in.sin6_addr.s6_addr[15] = 1;
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int));
	if (fd >= 0 && bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0 && listen(fd, 16) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

socklen_t unix_address(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(ret->sun_path, path);
	if (path[0] != '@')
		return sizeof(*ret);
	ret->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
}

int listen_at(const char *path, int backlog)
{
	struct sockaddr_un un;
	socklen_t len = unix_address(path, &un);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&un, len), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

unsigned accept_all(int listener)
{
	unsigned count = 0;
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		close(fd);
		count++;
	}
	return count;
}

int connect_to(int fd, const char *address, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, address, &in.sin_addr);
	return connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0 ? 0 : errno;
}

int place_set_up(void **state)
{
	struct place *p = &place;

	(void)state;
	if (!mkdtemp(p->dir))
		return -1;
	snprintf(p->broker_path, sizeof(p->broker_path), "%.31s/broker", p->dir);
	snprintf(p->other_path, sizeof(p->other_path), "%.31s/other", p->dir);
	snprintf(p->link_path, sizeof(p->link_path), "%.31s/link", p->dir);
	snprintf(p->name, sizeof(p->name), "@%.31s", p->dir);
	p->proxy = listen_on("127.0.0.1", 0, &p->port);
	p->elsewhere = listen_on("127.0.0.2", p->port, &p->port);
	p->elsewhere6 = listen_on6(p->port);
	p->other_port = listen_on("127.0.0.1", 0, &p->second_port);
	p->broker = listen_at(p->broker_path, 64);
	listen_at(p->other_path, 64);
	listen_at(p->name, 64);
	p->rules = (struct supervise_rules){ .proxy_port = p->port, .broker = p->broker_path };
	return symlink(p->other_path, p->link_path);
}

int place_tear_down(void **state)
{
	(void)state;
	unlink(place.broker_path);
	unlink(place.other_path);
	unlink(place.link_path);
	return rmdir(place.dir);
}

/* ---- children ---- */

unsigned open_descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	unsigned count = 0;

	while (list && readdir(list))
		count++;
	if (list)
		closedir(list);
	return count;
}

static pid_t start(child_body *body, const struct ask *ask)
{
	struct fault why;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(CHILD_SECONDS);
	if (ask && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    ask_parent(&kernel_live, ask, &why) < 0))
		_exit(254);
	_exit(body());
}

static int code_in(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int code_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return code_in(status);
}

struct supervised supervised_start(child_body *body, unsigned what,
				   const struct supervise_rules *rules)
{
	struct supervised c = { .reaped = false };
	struct ask ask = { .what = what };
	struct fault why;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(supervisor_new(ends[0], rules, &c.supervisor, &why), 0);
	ask.socket = ends[1];
	c.pid = start(body, &ask);
	assert_true(c.pid > 0);
	close(ends[1]);
	c.end = (int)syscall(SYS_pidfd_open, c.pid, 0);
	return c;
}

void supervised_wait(struct supervised *c)
{
	struct pollfd fds[SUPERVISOR_FDS + 1];
	int status;
	pid_t pid;

	supervisor_fds(c->supervisor, fds);
	fds[SUPERVISOR_FDS] = (struct pollfd){ .fd = c->end, .events = POLLIN };
	poll(fds, SUPERVISOR_FDS + 1, 20);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == c->pid) {
			c->reaped = true;
			c->status = status;
			if (c->end >= 0)
				close(c->end);
			c->end = -1;
		}
}

int supervised_end(struct supervised *c)
{
	supervisor_free(c->supervisor);
	if (c->end >= 0)
		close(c->end);
	return c->reaped ? code_in(c->status) : code_of(c->pid);
}

int supervised(child_body *body, unsigned what, const struct supervise_rules *rules,
	       struct supervise_counts *ret)
{
	unsigned before = open_descriptors();
	struct supervised c = supervised_start(body, what, rules);
	unsigned rounds = 0;
	int code;

	while (supervisor_run(c.supervisor)) {
		supervised_wait(&c);
		rounds++;
	}
	assert_true(rounds < 1000000); /* no spinning */
	if (ret)
		supervisor_counts(c.supervisor, ret);
	code = supervised_end(&c);
	assert_int_equal(open_descriptors(), before);
	return code;
}

int not_supervised(child_body *body)
{
	return code_of(start(body, NULL));
}

/* ---- how long ---- */

void take_arguments(int argc, char **argv)
{
	quick = argc > 1 && strcmp(argv[1], "quick") == 0;
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

double race_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool race_on(int round, bool seen, double start_time)
{
	double passed = race_clock() - start_time;

	return passed < RACE_SECONDS &&
	       (round < (quick ? RACE_ROUNDS_QUICK : RACE_ROUNDS) || !seen);
}
