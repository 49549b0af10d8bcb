/* Another process of this user, and the listeners the attempts try to reach. */
#include "tests/attack/attack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTENERS_MAX 24

static struct pollfd listeners[LISTENERS_MAX];
static nfds_t listener_count;
static volatile uint64_t word = 0x6f61726b;

/* ---- addresses ---- */

struct address inet_address(const char *host, uint16_t port)
{
	struct address a = { .size = 0 };

	if (inet_pton(AF_INET, host, &a.in.sin_addr) == 1) {
		a.in.sin_family = AF_INET;
		a.in.sin_port = htons(port);
		a.size = sizeof(a.in);
	} else if (inet_pton(AF_INET6, host, &a.in6.sin6_addr) == 1) {
		a.in6.sin6_family = AF_INET6;
		a.in6.sin6_port = htons(port);
		a.size = sizeof(a.in6);
	}
	return a;
}

struct address unix_address(const char *path)
{
	struct address a = { .un.sun_family = AF_UNIX };

	snprintf(a.un.sun_path, sizeof(a.un.sun_path), "%s", path);
	a.size = sizeof(a.un);
	return a;
}

struct address abstract_address(const struct stage *s, const char *name)
{
	struct address a = { .un.sun_family = AF_UNIX };
	int n = snprintf(a.un.sun_path + 1, sizeof(a.un.sun_path) - 1, "%s-%s", s->tag, name);

	a.size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return a;
}

/* ---- listeners ---- */

static int listen_on(const struct address *a, int type)
{
	int fd = socket(a->any.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int one = 1;

	if (fd < 0)
		return -errno;
	if (a->any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, &a->any, a->size) < 0 || (type != SOCK_DGRAM && listen(fd, 64) < 0)) {
		close(fd);
		return -errno;
	}
	if (listener_count == LISTENERS_MAX)
		abort();
	listeners[listener_count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return fd;
}

static int listen_at(const char *host, uint16_t port, int type)
{
	struct address a = inet_address(host, port);

	return a.size ? listen_on(&a, type) : -EAFNOSUPPORT;
}

/* A port that is free on 127.0.0.1, where it is taken. */
static int listen_anywhere(int type, uint16_t *ret_port)
{
	struct address a = inet_address("127.0.0.1", 0);
	int fd = listen_on(&a, type);

	if (fd < 0)
		return fd;
	if (getsockname(fd, &a.any, &a.size) < 0)
		return -errno;
	*ret_port = ntohs(a.in.sin_port);
	return 0;
}

/* An address of this machine that is not loopback's, whatever device has it. */
static void find_outer(struct stage *s)
{
	struct ifaddrs *list;

	if (getifaddrs(&list) < 0)
		return;
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		const struct sockaddr_in *in = (const void *)i->ifa_addr;

		if (in && in->sin_family == AF_INET &&
		    ntohl(in->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
			inet_ntop(AF_INET, &in->sin_addr, s->outer, sizeof(s->outer));
	}
	freeifaddrs(list);
}

static void listen_unix(const struct stage *s)
{
	static const struct {
		const char *name;
		int type;
	} kinds[] = {
		{ "stream", SOCK_STREAM },
		{ "seqpacket", SOCK_SEQPACKET },
		{ "dgram", SOCK_DGRAM },
		{ "broker", SOCK_STREAM },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct address path = unix_address(socket_path(s, kinds[i].name));
		struct address name = abstract_address(s, kinds[i].name);

		listen_on(&path, kinds[i].type);
		listen_on(&name, kinds[i].type);
	}
}

/* ---- the process ---- */

static void serve(void)
{
	char buf[256];

	for (;;) {
		poll(listeners, listener_count, -1);
		for (nfds_t i = 0; i < listener_count; i++) {
			int fd;

			if (!listeners[i].revents)
				continue;
			fd = accept4(listeners[i].fd, NULL, NULL, SOCK_CLOEXEC);
			if (fd >= 0)
				close(fd);
			else
				recv(listeners[i].fd, buf, sizeof(buf), MSG_DONTWAIT);
		}
	}
}

static void be_victim(const struct stage *s, int fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	setpgid(0, 0);
	if (dup2(fd, s->victim_fd) < 0)
		_exit(1);
	serve();
}

int victim_start(struct stage *s)
{
	int r = listen_anywhere(SOCK_STREAM, &s->proxy_port);
	int fd;

	if (r == 0)
		r = listen_anywhere(SOCK_STREAM, &s->other_port);
	if (r == 0)
		r = listen_anywhere(SOCK_DGRAM, &s->udp_port);
	if (r < 0)
		return r;
	find_outer(s);
	/* What cannot be listened on here fails the controls that would reach it. */
	listen_at("127.0.0.2", s->proxy_port, SOCK_STREAM);
	listen_at("::1", s->proxy_port, SOCK_STREAM);
	listen_at("::1", s->other_port, SOCK_STREAM);
	listen_at("::1", s->udp_port, SOCK_DGRAM);
	if (s->outer[0])
		listen_at(s->outer, s->proxy_port, SOCK_STREAM);
	listen_unix(s);
	s->victim_fd = 200;
	s->victim_word = (uint64_t)(uintptr_t)&word;
	/* Opened here: once it runs, the folders may be made anew at any time. */
	fd = open(path_at(s, OUTSIDE, "read"), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	s->victim = fork();
	if (s->victim == 0)
		be_victim(s, fd);
	close(fd);
	/* By both, so that it has left our group before anything is sent to that. */
	if (s->victim > 0)
		setpgid(s->victim, s->victim);
	for (nfds_t i = 0; i < listener_count; i++)
		close(listeners[i].fd);
	return s->victim < 0 ? -errno : 0;
}

void victim_end(struct stage *s)
{
	/* One that has died, and was waited for, is not ours to signal: its number may be
	 * another's. */
	if (s->victim > 0 && waitpid(s->victim, NULL, WNOHANG) == 0) {
		kill(s->victim, SIGKILL);
		waitpid(s->victim, NULL, 0);
	}
	s->victim = 0;
}
