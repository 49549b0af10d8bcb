/* The network of a module with an egress allow list: one TCP port, the proxy's. */
#include "probe/trial/tables.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe/trial/attempts.h"
#include "probe/trial/stage.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

static int tcp(int family)
{
	const struct linger reset = { 1, 0 };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* So that nothing waits in the kernel for a connection of ours. */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return fd;
}

/* ---- connecting; args: an address, and whether to the proxy's port ---- */

enum {
	TO_LOOPBACK,	   /* 127.0.0.1 */
	TO_OTHER_LOOPBACK, /* 127.0.0.2 */
	TO_ANY,		   /* 0.0.0.0, which is this host */
	TO_V6,		   /* ::1 */
	TO_MAPPED,	   /* ::ffff:127.0.0.1 */
	TO_LINK_LOCAL,	   /* 169.254.169.254, as far as lo */
	TO_OWN_LINK_LOCAL, /* fe80::, this node's own */
};

struct target {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
	socklen_t len;
	bool near; /* with a socket from which nothing leaves the node */
};

static void set_v4(struct target *ret, uint32_t address, uint16_t port)
{
	ret->address.v4 = (struct sockaddr_in){ .sin_family = AF_INET,
						.sin_port = htons(port),
						.sin_addr.s_addr = htonl(address) };
	ret->len = sizeof(ret->address.v4);
}

static void set_v6(struct target *ret, const struct in6_addr *address, uint32_t scope,
		   uint16_t port)
{
	ret->address.v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6,
						 .sin6_port = htons(port),
						 .sin6_addr = *address,
						 .sin6_scope_id = scope };
	ret->len = sizeof(ret->address.v6);
}

static int set_target(const struct stage *s, const struct trial *t, struct target *ret)
{
	static const struct in6_addr mapped = { .s6_addr = { [10] = 0xff, 0xff, 127, 0, 0, 1 } };
	uint16_t port = t->args[1] ? s->proxy_port : s->service_port;

	ret->near = false;
	switch (t->args[0]) {
	case TO_LOOPBACK:
		set_v4(ret, INADDR_LOOPBACK, port);
		return 0;
	case TO_OTHER_LOOPBACK:
		set_v4(ret, INADDR_LOOPBACK + 1, port);
		return 0;
	case TO_ANY:
		set_v4(ret, INADDR_ANY, port);
		return 0;
	case TO_V6:
		set_v6(ret, &in6addr_loopback, 0, port);
		return 0;
	case TO_MAPPED:
		set_v6(ret, &mapped, 0, port);
		return 0;
	case TO_LINK_LOCAL:
		set_v4(ret, 0xa9fea9feU, port);
		ret->near = true;
		return 0;
	case TO_OWN_LINK_LOCAL:
		if (s->link_local_scope == 0)
			return -EADDRNOTAVAIL;
		set_v6(ret, &s->link_local, s->link_local_scope, port);
		return 0;
	default:
		return -EINVAL;
	}
}

/* Nobody answers for what is not this node's own address: that the kernel sets out is enough. */
static int start_connect(int fd, const struct target *to)
{
	int r = fd < 0 ? fd : result(connect(fd, &to->address.any, to->len));

	return r == -EINPROGRESS ? 0 : r;
}

static int try_connect(const struct stage *s, const struct trial *t)
{
	struct target to;
	int r = set_target(s, t, &to);
	int fd;

	if (r < 0)
		return r;
	if (to.near)
		return start_connect(s->near[t->args[1]], &to);
	fd = tcp(to.address.any.sa_family);
	if (fd < 0)
		return fd;
	r = result(connect(fd, &to.address.any, to.len));
	close(fd);
	return r;
}

/* ---- other ways to connect, to the service ---- */

static struct sockaddr_in service(const struct stage *s)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(s->service_port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static int try_mptcp(const struct stage *s, const struct trial *t)
{
	const struct sockaddr_in to = service(s);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	int r;

	(void)t;
	if (fd < 0)
		return -errno;
	r = result(connect(fd, (const struct sockaddr *)&to, sizeof(to)));
	close(fd);
	return r;
}

/* args: 0 sendto, 1 sendmsg, 2 sendmmsg */
static int send_fast(int fd, struct sockaddr_in *to, long how)
{
	struct iovec byte = { (char[]){ 0 }, 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_name = to,
					  .msg_namelen = sizeof(*to),
					  .msg_iov = &byte,
					  .msg_iovlen = 1 } };
	const int flags = MSG_FASTOPEN | MSG_NOSIGNAL;

	if (how == 0)
		return result(sendto(fd, "", 1, flags, (const struct sockaddr *)to, sizeof(*to)));
	if (how == 1)
		return result(sendmsg(fd, &m.msg_hdr, flags));
	return result(sendmmsg(fd, &m, 1, flags));
}

static int try_fast_open(const struct stage *s, const struct trial *t)
{
	struct sockaddr_in to = service(s);
	int fd = tcp(AF_INET);
	int r;

	if (fd < 0)
		return fd;
	r = send_fast(fd, &to, t->args[0]);
	close(fd);
	return r;
}

/* args: the option. Any answer but the filter's shows that the kernel looked. */
static int try_option(const struct stage *s, const struct trial *t)
{
	const int on = 1;
	int fd = tcp(AF_INET);
	int r;

	(void)s;
	if (fd < 0)
		return fd;
	/* An upper layer with no name loads nothing. */
	r = result(setsockopt(fd, IPPROTO_TCP, (int)t->args[0], &on,
			      t->args[0] == TCP_ULP ? 0 : sizeof(on)));
	close(fd);
	return r;
}

/* Where route_localnet is on, what goes to the proxy would leave by it. */
static int try_device(const struct stage *s, const struct trial *t)
{
	int fd = tcp(AF_INET);
	int r;

	(void)s;
	(void)t;
	if (fd < 0)
		return fd;
	r = result(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
	close(fd);
	return r;
}

/* ---- the other end of a connection ---- */

static int try_bind(const struct stage *s, const struct trial *t)
{
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = tcp(AF_INET);
	int r;

	(void)s;
	(void)t;
	if (fd < 0)
		return fd;
	r = result(bind(fd, (const struct sockaddr *)&any, sizeof(any)));
	close(fd);
	return r;
}

/* Without bind(2) the kernel finds a port, on every address: bound to lo, nobody else sees it. */
static int try_listen(const struct stage *s, const struct trial *t)
{
	int fd = tcp(AF_INET);
	int r;

	(void)s;
	(void)t;
	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2);
	r = result(listen(fd, 1));
	close(fd);
	return r;
}

#define NET(c) .capability = CAPABILITY_##c, .group = TRIAL_GROUP_EGRESS
#define DENIED(...) .expect = TRIAL_DENIED, .errors = { __VA_ARGS__ }
#define TOLD .expect = TRIAL_TOLD, .errors = { EACCES }
#define LIST NET(NET_EGRESS_ALLOWLIST)
#define PROXY 1
#define SERVICE 0
#define TO(c, id_, text, address, port)                                        \
	.id = id_, .what = "connect to " text, NET(c), .attempt = try_connect, \
	.args = { address, port }
#define SOCKET(id_, text, error, ...)                                                     \
	{                                                                                 \
		.id = "egress." id_, .what = "make a socket: " text, LIST, DENIED(error), \
		.attempt = attempt_socket, .args = { __VA_ARGS__ },                       \
	}

static const struct trial rows[] = {
	{ TO(NET_EGRESS_ALLOWLIST, "egress.proxy", "the proxy", TO_LOOPBACK, PROXY),
	  .expect = TRIAL_ALLOWED, .core = true },
	{ TO(NET_EGRESS_ALLOWLIST, "egress.proxy-mapped", "the proxy by its mapped address",
	     TO_MAPPED, PROXY),
	  .expect = TRIAL_ALLOWED },
	{ TO(NET_EGRESS_ALLOWLIST, "egress.other-port", "another port", TO_LOOPBACK, SERVICE),
	  DENIED(EACCES), .core = true },
	{ TO(NET_EGRESS_ALLOWLIST, "egress.other-address", "the proxy's port at 127.0.0.2",
	     TO_OTHER_LOOPBACK, PROXY),
	  TOLD },
	{ TO(NET_EGRESS_ALLOWLIST, "egress.proxy-v6", "the proxy's port at ::1", TO_V6, PROXY),
	  TOLD },
	{ .id = "egress.mptcp",
	  .what = "connect by MPTCP",
	  LIST,
	  DENIED(EPROTONOSUPPORT),
	  .attempt = try_mptcp },
	{ .id = "egress.sendto",
	  .what = "connect by sendto and fast open",
	  LIST,
	  DENIED(EOPNOTSUPP),
	  .attempt = try_fast_open,
	  .args = { 0 } },
	{ .id = "egress.sendmsg",
	  .what = "connect by sendmsg and fast open",
	  LIST,
	  DENIED(EOPNOTSUPP),
	  .attempt = try_fast_open,
	  .args = { 1 } },
	{ .id = "egress.sendmmsg",
	  .what = "connect by sendmmsg and fast open",
	  LIST,
	  DENIED(EOPNOTSUPP),
	  .attempt = try_fast_open,
	  .args = { 2 } },
	{ .id = "egress.fast-open",
	  .what = "have connect use fast open",
	  LIST,
	  DENIED(EOPNOTSUPP),
	  .any_answer = true,
	  .attempt = try_option,
	  .args = { TCP_FASTOPEN_CONNECT } },
	{ .id = "egress.upper-layer",
	  .what = "put another protocol on a TCP socket",
	  LIST,
	  DENIED(EPERM),
	  .any_answer = true,
	  .attempt = try_option,
	  .args = { TCP_ULP } },
	{ .id = "egress.device",
	  .what = "choose the device that a connection leaves by",
	  LIST,
	  DENIED(EPERM),
	  .attempt = try_device },
	{ .id = "egress.bind",
	  .what = "bind a TCP socket",
	  LIST,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_bind },
	{ .id = "egress.listen",
	  .what = "listen on a TCP socket",
	  LIST,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_listen },
	SOCKET("udp", "UDP", EPERM, AF_INET, SOCK_DGRAM, 0),
	SOCKET("udp6", "UDP over IPv6", EPERM, AF_INET6, SOCK_DGRAM, 0),
	SOCKET("ping", "ICMP echo", EPERM, AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
	SOCKET("raw", "raw IPv4", EPERM, AF_INET, SOCK_RAW, IPPROTO_ICMP),
	{ .id = "egress.packet",
	  .what = "make a socket: packets of an interface",
	  LIST,
	  DENIED(EPERM),
	  .any_answer = true,
	  .attempt = attempt_socket,
	  .args = { AF_PACKET, SOCK_STREAM, 0 } },
	SOCKET("netlink", "netlink", EPERM, AF_NETLINK, SOCK_RAW, 0),
	SOCKET("unix", "unix stream", EPERM, AF_UNIX, SOCK_STREAM, 0),
	SOCKET("sctp", "SCTP", EPROTONOSUPPORT, AF_INET, SOCK_STREAM, IPPROTO_SCTP),
	SOCKET("smc", "SMC", EPERM, AF_SMC, SOCK_STREAM, 0),
	SOCKET("mptcp6", "MPTCP over IPv6", EPROTONOSUPPORT, AF_INET6, SOCK_STREAM, IPPROTO_MPTCP),
	{ .id = "egress.uring",
	  .what = "make a TCP socket by io_uring",
	  LIST,
	  DENIED(ENOSYS),
	  .attempt = attempt_uring,
	  .args = { AF_INET, SOCK_STREAM } },

	{ TO(NO_LOOPBACK, "loopback.service", "a service at 127.0.0.1", TO_LOOPBACK, SERVICE),
	  DENIED(EACCES), .core = true },
	{ TO(NO_LOOPBACK, "loopback.any", "a service at 0.0.0.0", TO_ANY, SERVICE),
	  DENIED(EACCES) },
	{ TO(NO_LOOPBACK, "loopback.service-v6", "a service at ::1", TO_V6, SERVICE),
	  DENIED(EACCES) },
	{ TO(NO_LOOPBACK, "loopback.mapped", "a service at ::ffff:127.0.0.1", TO_MAPPED, SERVICE),
	  DENIED(EACCES) },
	{ .id = "loopback.udp",
	  .what = "make a UDP socket",
	  NET(NO_LOOPBACK),
	  DENIED(EPERM),
	  .core = true,
	  .attempt = attempt_socket,
	  .args = { AF_INET, SOCK_DGRAM, 0 } },
	{ TO(NO_LOOPBACK, "loopback.proxy-port", "the proxy's port at 127.0.0.2", TO_OTHER_LOOPBACK,
	     PROXY),
	  TOLD },

	{ TO(NO_LINK_LOCAL, "link-local.v4", "169.254.169.254, no farther than lo", TO_LINK_LOCAL,
	     SERVICE),
	  DENIED(EACCES), .core = true },
	{ TO(NO_LINK_LOCAL, "link-local.v6", "a service at this node's fe80:: address",
	     TO_OWN_LINK_LOCAL, SERVICE),
	  DENIED(EACCES) },
	{ TO(NO_LINK_LOCAL, "link-local.proxy-port",
	     "the proxy's port at 169.254.169.254, no farther than lo", TO_LINK_LOCAL, PROXY),
	  TOLD },
	{ .id = "link-local.udp",
	  .what = "make a UDP socket",
	  NET(NO_LINK_LOCAL),
	  DENIED(EPERM),
	  .attempt = attempt_socket,
	  .args = { AF_INET, SOCK_DGRAM, 0 } },
};

const struct trial_table trials_egress = TRIAL_TABLE(rows);
