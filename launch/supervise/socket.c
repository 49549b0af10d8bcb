#include "launch/supervise/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "kabi/text.h"

/* The same numbers on every architecture; old headers lack them. */
#ifndef TCP_NOTSENT_LOWAT
#define TCP_NOTSENT_LOWAT 25
#endif
#ifndef IPV6_TCLASS
#define IPV6_TCLASS 67
#endif

static const struct {
	int domain; /* of the socket; AF_UNSPEC: any */
	int level;
	int name;
	socklen_t size;
	bool doubled; /* the kernel tells twice of what it was told */
} options[] = {
	{ AF_UNSPEC, SOL_SOCKET, SO_KEEPALIVE, sizeof(int), false },
	{ AF_UNSPEC, SOL_SOCKET, SO_OOBINLINE, sizeof(int), false },
	{ AF_UNSPEC, SOL_SOCKET, SO_RCVBUF, sizeof(int), true },
	{ AF_UNSPEC, SOL_SOCKET, SO_SNDBUF, sizeof(int), true },
	{ AF_UNSPEC, SOL_SOCKET, SO_RCVLOWAT, sizeof(int), false },
	{ AF_UNSPEC, SOL_SOCKET, SO_RCVTIMEO, sizeof(struct timeval), false },
	{ AF_UNSPEC, SOL_SOCKET, SO_SNDTIMEO, sizeof(struct timeval), false },
	{ AF_UNSPEC, SOL_SOCKET, SO_PRIORITY, sizeof(int), false },
	{ AF_UNSPEC, SOL_SOCKET, SO_REUSEADDR, sizeof(int), false },
	{ AF_UNIX, SOL_SOCKET, SO_PASSCRED, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_NODELAY, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_CORK, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_KEEPIDLE, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_KEEPINTVL, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_KEEPCNT, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_SYNCNT, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_LINGER2, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_USER_TIMEOUT, sizeof(int), false },
	{ AF_INET, IPPROTO_TCP, TCP_NOTSENT_LOWAT, sizeof(int), false },
	{ AF_INET, IPPROTO_IP, IP_TOS, sizeof(int), false },
	{ AF_INET, IPPROTO_IP, IP_TTL, sizeof(int), false },
	{ AF_INET6, IPPROTO_IPV6, IPV6_V6ONLY, sizeof(int), false },
	{ AF_INET6, IPPROTO_IPV6, IPV6_TCLASS, sizeof(int), false },
};
_Static_assert(sizeof(options) / sizeof(options[0]) == SOCKET_OPTIONS, "a default of each");

static int get_int(int fd, int level, int name, int *ret)
{
	socklen_t len = sizeof(*ret);

	return getsockopt(fd, level, name, ret, &len) < 0 ? -errno : 0;
}

static bool is_connecting(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       info.tcpi_state == TCP_SYN_SENT;
}

int socket_look(int fd, struct socket_state *ret)
{
	struct socket_state s = { .inode = 0 };
	struct sockaddr_storage peer;
	socklen_t peer_len = sizeof(peer);
	struct timeval timeout;
	socklen_t timeout_len = sizeof(timeout);
	struct stat st;
	int flags = fcntl(fd, F_GETFL);
	int r = get_int(fd, SOL_SOCKET, SO_DOMAIN, &s.kind.domain);

	if (r == 0)
		r = get_int(fd, SOL_SOCKET, SO_TYPE, &s.kind.type);
	if (r == 0)
		r = get_int(fd, SOL_SOCKET, SO_PROTOCOL, &s.kind.protocol);
	if (r < 0)
		return r;
	if (flags < 0 || fstat(fd, &st) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, &timeout_len) < 0)
		return -errno;
	s.inode = st.st_ino;
	s.non_blocking = flags & O_NONBLOCK;
	s.send_timeout_us = timeout.tv_sec * INT64_C(1000000) + timeout.tv_usec;
	s.connected = getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0;
	s.connecting = !s.connected && s.kind.domain != AF_UNIX && is_connecting(fd);
	*ret = s;
	return 0;
}

int socket_linger(int fd, const struct linger *asked)
{
	/* With 0 seconds it says: reset, and do not wait. */
	const struct linger given = { .l_onoff = asked->l_onoff && asked->l_linger == 0 };

	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &given, sizeof(given)) < 0 ? -errno : 0;
}

static void copy_linger(int from, int to)
{
	struct linger theirs;
	socklen_t len = sizeof(theirs);

	if (getsockopt(from, SOL_SOCKET, SO_LINGER, &theirs, &len) == 0 && theirs.l_onoff)
		socket_linger(to, &theirs);
}

static int domain_index(int domain)
{
	return domain == AF_INET ? 0 : domain == AF_INET6 ? 1 : 2;
}

static bool get_option(int fd, size_t i, union socket_option *ret)
{
	socklen_t len = options[i].size;

	return getsockopt(fd, options[i].level, options[i].name, ret, &len) == 0;
}

static void learn_defaults(int fresh, int domain, struct socket_defaults *defaults)
{
	int d = domain_index(domain);

	for (size_t i = 0; i < SOCKET_OPTIONS; i++) {
		bool fits = options[i].domain == AF_UNSPEC || options[i].domain == domain ||
			    (options[i].domain == AF_INET && domain == AF_INET6);

		defaults->has[d][i] = fits && get_option(fresh, i, &defaults->of[d][i]);
	}
	defaults->known[d] = true;
}

/* Best effort: an option that cannot be had changes how a connection works, not where it goes. */
static void copy_options(int from, int to, int domain, struct socket_defaults *defaults)
{
	int d = domain_index(domain);

	if (!defaults->known[d])
		learn_defaults(to, domain, defaults);
	for (size_t i = 0; i < SOCKET_OPTIONS; i++) {
		union socket_option theirs;

		if (!defaults->has[d][i] || !get_option(from, i, &theirs) ||
		    memcmp(&theirs, &defaults->of[d][i], options[i].size) == 0)
			continue;
		if (options[i].doubled)
			theirs.number /= 2;
		setsockopt(to, options[i].level, options[i].name, &theirs, options[i].size);
	}
}

int socket_like(int fd, const struct socket_kind *kind, struct socket_defaults *defaults)
{
	int made = socket(kind->domain, kind->type | SOCK_NONBLOCK | SOCK_CLOEXEC, kind->protocol);

	if (made < 0)
		return -errno;
	copy_options(fd, made, kind->domain, defaults);
	copy_linger(fd, made);
	return made;
}

/* By a descriptor of the socket's node: then no length of a path is too long. */
static int connect_broker(int fd, int broker)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct text t = TEXT_BUF(address.sun_path);

	if (broker < 0)
		return broker;
	text_add(&t, "/proc/self/fd/");
	text_add_int(&t, broker);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

int broker_open(const char *path)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

	/* As connect(2) has it of what is no socket. */
	if (r == 0 && !S_ISSOCK(st.st_mode))
		r = -ECONNREFUSED;
	if (r < 0 && fd >= 0)
		close(fd);
	return r < 0 ? r : fd;
}

int socket_connect(int fd, const struct destination *to, int broker)
{
	if (to->kind == DESTINATION_BROKER)
		return connect_broker(fd, broker);
	return connect(fd, (const struct sockaddr *)&to->address, to->len) < 0 ? -errno : 0;
}

int socket_error(int fd)
{
	int err = 0;
	int r = get_int(fd, SOL_SOCKET, SO_ERROR, &err);

	return r < 0 ? r : -err;
}

int socket_block(int fd)
{
	/* It was made with no other flag. */
	return fcntl(fd, F_SETFL, 0) < 0 ? -errno : 0;
}
