/* Reaching somebody, and waiting to be reached. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
#endif
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif
#ifndef TCP_ULP
#define TCP_ULP 31
#endif

/* What arg[1] stands for, a port of the stage. */
enum port {
	PROXY,
	OTHER,
	UDP,
	DISCARD, /* port 9, where nobody listens */
};

static struct address to(const struct stage *s, long host, long port)
{
	const uint16_t ports[] = { s->proxy_port, s->other_port, s->udp_port, 9 };
	const char *text = TEXT_OF(host);

	return inet_address(text ? text : s->outer, ports[port]);
}

/* ---- connecting ---- */

static int tcp_socket(const struct address *a)
{
	return socket(a->size ? a->any.sa_family : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* The answer where there is no socket: a kernel may be without IPv6. */
static int no_socket(void)
{
	return errno == EAFNOSUPPORT ? -EAFNOSUPPORT : broken("make a TCP socket");
}

/* arg: host (0: the outer address), port */
static int connect_tcp(const struct stage *s, const long *arg)
{
	struct address a = to(s, arg[0], arg[1]);
	int fd = tcp_socket(&a);

	if (fd < 0)
		return no_socket();
	return answer_zero(connect(fd, &a.any, a.size));
}

/* Connect to the proxy, dissolve the association and go elsewhere with the same socket. */
static int connect_again(const struct stage *s, const long *arg)
{
	struct address proxy = to(s, TEXT("127.0.0.1"), PROXY);
	struct address none = { .any.sa_family = AF_UNSPEC };
	struct address a = to(s, arg[0], arg[1]);
	int fd = tcp_socket(&a);

	if (fd < 0 || connect(fd, &proxy.any, proxy.size) < 0 ||
	    connect(fd, &none.any, sizeof(none.in)) < 0)
		return broken("connect to the proxy and dissolve it");
	return answer_zero(connect(fd, &a.any, a.size));
}

/* Without a network the call itself is refused, whatever the socket: this is the pair of a stream,
 * the one kind of socket that a module can make.
 */
static int connect_pair(const struct stage *s, const long *arg)
{
	struct address a = unix_address(socket_path(s, "stream"));
	int fds[2];

	(void)arg;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return broken("make a pair");
	return answer_zero(connect(fds[0], &a.any, a.size));
}

/* Where connect is granted, an end of a pair stays connected, with its peer gone too.
 * arg: type, close the peer
 */
static int reconnect_pair(const struct stage *s, const long *arg)
{
	struct address none = { .any.sa_family = AF_UNSPEC };
	const char *name = arg[0] == SOCK_STREAM ? "stream" : "seqpacket";
	struct address a = unix_address(socket_path(s, name));
	int fds[2];

	if (socketpair(AF_UNIX, (int)arg[0], 0, fds) < 0)
		return broken("make a pair");
	if (arg[1])
		close(fds[1]);
	if (connect(fds[0], &none.any, sizeof(none.any)) == 0)
		return 0;
	return answer_zero(connect(fds[0], &a.any, a.size));
}

/* arg: type, name, abstract */
static int connect_unix(const struct stage *s, const long *arg)
{
	const char *name = TEXT_OF(arg[1]);
	struct address a = arg[2] ? abstract_address(s, name) : unix_address(socket_path(s, name));
	int fd = socket(AF_UNIX, (int)arg[0], 0);

	if (fd < 0)
		return broken("make a unix socket");
	return answer_zero(connect(fd, &a.any, a.size));
}

/* One end of a pair sends to another address than its peer's. */
static int readdress_pair(const struct stage *s, const long *arg)
{
	struct address a = unix_address(socket_path(s, "dgram"));
	int fds[2];

	if (socketpair(AF_UNIX, (int)arg[0], 0, fds) < 0)
		return -errno;
	return answer_zero(sendto(fds[0], "x", 1, 0, &a.any, a.size));
}

/* A message on a pair of packets goes to its peer, whatever address it bears. */
static int readdress_packets(const struct stage *s, const long *arg)
{
	struct address a = unix_address(socket_path(s, "dgram"));
	char byte;
	int fds[2];

	(void)arg;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) < 0)
		return -errno;
	if (sendto(fds[0], "x", 1, 0, &a.any, a.size) != 1)
		return -errno;
	return recv(fds[1], &byte, 1, MSG_DONTWAIT) == 1 ? NOTHING : 0;
}

static int send_udp(const struct stage *s, const long *arg)
{
	struct address a = to(s, arg[0], UDP);
	int fd = socket(a.any.sa_family, SOCK_DGRAM, 0);

	if (fd < 0)
		return -errno;
	return answer_zero(sendto(fd, "x", 1, 0, &a.any, a.size));
}

/* ---- fast open ---- */

enum sender {
	SENDTO,
	SENDMSG,
	SENDMMSG,
};

/* arg: sender, port, more flags */
static int fast_open(const struct stage *s, const long *arg)
{
	struct address a = to(s, TEXT("127.0.0.1"), arg[1]);
	struct iovec iov = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	struct mmsghdr msg = { .msg_hdr = { .msg_name = &a.any,
					    .msg_namelen = a.size,
					    .msg_iov = &iov,
					    .msg_iovlen = 1 } };
	long flags = MSG_FASTOPEN | arg[2];
	int fd = tcp_socket(&a);

	if (fd < 0)
		return broken("make a TCP socket");
	switch ((enum sender)arg[0]) {
	case SENDTO:
		return answer_zero(syscall(SYS_sendto, fd, "x", 1, flags, &a.any, a.size));
	case SENDMSG:
		return answer_zero(syscall(SYS_sendmsg, fd, &msg.msg_hdr, flags));
	case SENDMMSG:
		return answer_zero(syscall(SYS_sendmmsg, fd, &msg, 1, flags));
	}
	return BROKEN;
}

static int fast_open_option(const struct stage *s, const long *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const int one = 1;

	(void)s;
	(void)arg;
	if (fd < 0)
		return broken("make a TCP socket");
	return answer_zero(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one)));
}

/* arg: the protocol's name */
static int upper_layer(const struct stage *s, const long *arg)
{
	struct address a = to(s, TEXT("127.0.0.1"), PROXY);
	const char *name = TEXT_OF(arg[0]);
	int fd = tcp_socket(&a);

	if (fd < 0 || connect(fd, &a.any, a.size) < 0)
		return broken("connect to the proxy");
	return answer_zero(setsockopt(fd, IPPROTO_TCP, TCP_ULP, name, (socklen_t)strlen(name)));
}

/* Have what goes to the proxy leave by a device. arg: by its index */
static int choose_device(const struct stage *s, const long *arg)
{
	struct address a = to(s, TEXT("127.0.0.1"), PROXY);
	const int loopback = 1; /* in every network namespace */
	int fd = tcp_socket(&a);

	if (fd < 0 || connect(fd, &a.any, a.size) < 0)
		return broken("connect to the proxy");
	if (arg[0])
		return answer_zero(
			setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &loopback, sizeof(loopback)));
	return answer_zero(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
}

/* MPTCP and the like to a port that is not the proxy's. arg: protocol */
static int connect_protocol(const struct stage *s, const long *arg)
{
	struct address a = to(s, TEXT("127.0.0.1"), OTHER);
	int fd = socket(AF_INET, SOCK_STREAM, (int)arg[0]);

	return fd < 0 ? -errno : answer_zero(connect(fd, &a.any, a.size));
}

/* ---- listening ---- */

static int bind_tcp(const struct stage *s, const long *arg)
{
	struct address a = inet_address(TEXT_OF(arg[0]), 0);
	int fd = tcp_socket(&a);

	(void)s;
	if (fd < 0)
		return no_socket();
	return answer_zero(bind(fd, &a.any, a.size));
}

/* Without bind, the kernel chooses a port. */
static int listen_tcp(const struct stage *s, const long *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)s;
	(void)arg;
	return fd < 0 ? broken("make a TCP socket") : answer_zero(listen(fd, 1));
}

/* arg: abstract */
static int bind_unix(const struct stage *s, const long *arg)
{
	struct address a = arg[0] ? abstract_address(s, "of-module")
				  : unix_address(path_at(s, WORK, "socket"));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 ? broken("make a unix socket") : answer_zero(bind(fd, &a.any, a.size));
}

/* Both calls on an end of a pair, which every module can make. arg: the call */
static int wait_on_pair(const struct stage *s, const long *arg)
{
	struct address a = unix_address(path_at(s, WORK, "pair"));
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		return broken("make a pair");
	return answer_zero(syscall(arg[0], fds[0], &a.any, a.size));
}

/* ---- rows ---- */

#define LOCAL TEXT("127.0.0.1")

static const struct row table[] = {
	{ ALLOW("connect_proxy", connect_tcp, LOCAL, PROXY), .in = WITH_NET },
	{ ALLOW("connect_proxy_mapped", connect_tcp, TEXT("::ffff:127.0.0.1"), PROXY),
	  .in = WITH_NET },
	{ DENY("connect_other_port", EACCES, connect_tcp, LOCAL, OTHER), .in = WITH_NET },
	{ DENY("connect_other_port_mapped", EACCES, connect_tcp, TEXT("::ffff:127.0.0.1"), OTHER),
	  .in = WITH_NET },
	{ DENY("connect_other_port6", EACCES, connect_tcp, TEXT("::1"), OTHER), .in = WITH_NET },
	{ DENY("connect_closed_port", EACCES, connect_tcp, LOCAL, DISCARD),
	  .control = -ECONNREFUSED, .in = WITH_NET },
	{ DENY("connect_again", EACCES, connect_again, LOCAL, OTHER), .in = WITH_NET },
	{ KNOWN("connect_right_port_127_0_0_2", connect_tcp, TEXT("127.0.0.2"), PROXY),
	  .in = WITH_NET },
	{ KNOWN("connect_right_port_unspecified", connect_tcp, TEXT("0.0.0.0"), PROXY),
	  .in = WITH_NET },
	{ KNOWN("connect_right_port6", connect_tcp, TEXT("::1"), PROXY), .in = WITH_NET },
	{ KNOWN("connect_right_port_outer", connect_tcp, 0, PROXY), .in = WITH_NET,
	  .absent = -EINVAL },
	{ DENY("connect_at_all", EPERM, connect_pair), .control = -EISCONN, .in = NO_SOCKETS },

	/* The kernel looks up the path first, then that the socket is connected. */
	{ DENY("connect_pair_stream", EACCES, reconnect_pair, SOCK_STREAM), .control = -EISCONN,
	  .in = SOCKETS, .since_abi = 9, .below = -EISCONN },
	{ DENY("connect_pair_stream_alone", EACCES, reconnect_pair, SOCK_STREAM, true),
	  .control = -EISCONN, .in = SOCKETS, .since_abi = 9, .below = -EISCONN },
	{ DENY("connect_pair_seqpacket_alone", EACCES, reconnect_pair, SOCK_SEQPACKET, true),
	  .control = -EISCONN, .in = SOCKETS, .since_abi = 9, .below = -EISCONN },
	{ ALLOW("connect_broker", connect_unix, SOCK_STREAM, TEXT("broker")), .in = WITH_BROKER },
	{ DENY("connect_abstract", EPERM, connect_unix, SOCK_STREAM, TEXT("stream"), true),
	  .in = WITH_BROKER, .since_abi = 6 },
	{ DENY("connect_unix_beside_broker", EACCES, connect_unix, SOCK_STREAM, TEXT("stream")),
	  .in = WITH_BROKER, .since_abi = 9 },

	{ DENY("pair_readdress_dgram", EPERM, readdress_pair, SOCK_DGRAM) },
	{ DENY("pair_readdress_raw", EPERM, readdress_pair, SOCK_RAW) },
	{ DENY("pair_readdress_stream", EISCONN, readdress_pair, SOCK_STREAM),
	  .control = -EISCONN },
	{ DENY("pair_readdress_seqpacket", ENODATA, readdress_packets), .control = NOTHING },
	{ DENY("send_udp4", EPERM, send_udp, LOCAL) },
	{ DENY("send_udp6", EPERM, send_udp, TEXT("::1")) },

	{ DENY("fast_open_sendto", EOPNOTSUPP, fast_open, SENDTO, OTHER), .in = WITH_NET },
	{ DENY("fast_open_sendmsg", EOPNOTSUPP, fast_open, SENDMSG, OTHER), .in = WITH_NET },
	{ DENY("fast_open_sendmmsg", EOPNOTSUPP, fast_open, SENDMMSG, OTHER), .in = WITH_NET },
	{ DENY("fast_open_proxy", EOPNOTSUPP, fast_open, SENDTO, PROXY), .in = WITH_NET },
	{ DENY("fast_open_more_flags", EOPNOTSUPP, fast_open, SENDTO, OTHER,
	       MSG_NOSIGNAL | MSG_MORE),
	  .in = WITH_NET },
	{ DENY("fast_open_high_half", EOPNOTSUPP, fast_open, SENDTO, OTHER, 1L << 32),
	  .in = WITH_NET },
	{ DENY("fast_open_option", EOPNOTSUPP, fast_open_option), .in = WITH_NET },
	{ DENY("ulp_tls", EPERM, upper_layer, TEXT("tls")), .absent = -ENOENT, .in = WITH_NET },
	{ DENY("ulp_smc", EPERM, upper_layer, TEXT("smc")), .absent = -ENOENT, .in = WITH_NET },
	{ DENY("ulp_espintcp", EPERM, upper_layer, TEXT("espintcp")), .absent = -ENOENT,
	  .in = WITH_NET },
	{ DENY("ulp_unknown", EPERM, upper_layer, TEXT("no-such")), .control = -ENOENT,
	  .in = WITH_NET },
	{ DENY("bind_to_device", EPERM, choose_device, 0), .in = WITH_NET },
	{ DENY("bind_to_device_index", EPERM, choose_device, 1), .in = WITH_NET },
	{ DENY("connect_mptcp", EPROTONOSUPPORT, connect_protocol, IPPROTO_MPTCP), .in = WITH_NET },
	{ DENY("connect_sctp", EPROTONOSUPPORT, connect_protocol, IPPROTO_SCTP), .in = WITH_NET },

	{ DENY("bind_tcp4", EPERM, bind_tcp, LOCAL), .in = WITH_NET },
	{ DENY("bind_tcp4_any", EPERM, bind_tcp, TEXT("0.0.0.0")), .in = WITH_NET },
	{ DENY("bind_tcp6", EPERM, bind_tcp, TEXT("::1")), .in = WITH_NET },
	{ DENY("listen_tcp", EPERM, listen_tcp), .in = WITH_NET },
	{ DENY("bind_unix", EPERM, bind_unix), .in = WITH_BROKER },
	{ DENY("bind_abstract", EPERM, bind_unix, true), .in = WITH_BROKER },
	{ DENY("bind_pair", EPERM, wait_on_pair, SYS_bind) },
	{ DENY("listen_pair", EPERM, wait_on_pair, SYS_listen), .control = -EINVAL },
};

ROWS_TOGETHER(connect_rows, table);
