#include "launch/egress/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BACKLOG 1024

static int new_socket(int family)
{
	return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

/* A relay must not hold small pieces back: both ends have their own idea of when to send. */
static void send_at_once(int fd)
{
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

/* An urgent byte would be lost, since nobody asks for it. */
static void keep_urgent(int fd)
{
	setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &(int){ 1 }, sizeof(int));
}

static int close_for(int fd)
{
	int err = errno;

	close(fd);
	return -err;
}

int egress_listen(uint16_t port, uint16_t *ret_port)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	struct sockaddr *address = (struct sockaddr *)&in;
	socklen_t len = sizeof(in);
	int fd = new_socket(AF_INET);

	if (fd < 0)
		return -errno;
	/* A proxy that is started again on its port need not wait for old connections. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, address, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, address, &len) < 0)
		return close_for(fd);
	*ret_port = ntohs(in.sin_port);
	return fd;
}

int egress_accept(int listener, struct sockaddr_storage *ret_peer)
{
	socklen_t len = sizeof(*ret_peer);
	int fd = accept4(listener, (struct sockaddr *)ret_peer, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	send_at_once(fd);
	keep_urgent(fd);
	return fd;
}

int egress_connect(const struct sockaddr *address, socklen_t len)
{
	int fd = new_socket(address->sa_family);

	if (fd < 0)
		return -errno;
	send_at_once(fd);
	keep_urgent(fd);
	if (connect(fd, address, len) < 0 && errno != EINPROGRESS)
		return close_for(fd);
	return fd;
}

int egress_connected(int fd)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -errno;
	return -err;
}

void egress_reset(int fd)
{
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

bool egress_send(int fd, const char *text, size_t len)
{
	return send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len;
}

bool egress_discard(int fd)
{
	char buf[16384];
	ssize_t n = recv(fd, buf, sizeof(buf), 0);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

uint32_t egress_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return limit.rlim_cur < UINT32_MAX ? (uint32_t)limit.rlim_cur : UINT32_MAX;
}
