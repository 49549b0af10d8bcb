/* The network of a module that has no grant for it. */
#include "probe/trial/tables.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/trial/attempts.h"
#include "probe/trial/call.h"
#include "probe/trial/stage.h"

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

/* args: the type and protocol. Connects to a listening service of the stage. */
static int try_v4(const struct stage *s, const struct trial *t)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(s->service_port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct linger reset = { 1, 0 };
	int fd = socket(AF_INET, (int)t->args[0] | SOCK_CLOEXEC, (int)t->args[1]);
	int r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	r = result(connect(fd, (const struct sockaddr *)&to, sizeof(to)));
	close(fd);
	return r;
}

/* Without connect(2). args: the family */
static int try_datagram(const struct stage *s, const struct trial *t)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_port = htons(s->service_port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_port = htons(s->service_port),
					 .sin6_addr = in6addr_loopback };
	bool is_v6 = t->args[0] == AF_INET6;
	const void *to = is_v6 ? (const void *)&v6 : &v4;
	int fd = socket((int)t->args[0], SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = result(sendto(fd, "", 1, 0, to, is_v6 ? sizeof(v6) : sizeof(v4)));
	close(fd);
	return r;
}

static int try_v6(const struct stage *s, const struct trial *t)
{
	const struct sockaddr_in6 to = { .sin6_family = AF_INET6,
					 .sin6_port = htons(s->service_port),
					 .sin6_addr = in6addr_loopback };
	const struct linger reset = { 1, 0 };
	int fd = socket(AF_INET6, (int)t->args[0] | SOCK_CLOEXEC, (int)t->args[1]);
	int r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	r = result(connect(fd, (const struct sockaddr *)&to, sizeof(to)));
	close(fd);
	return r;
}

#define NET .capability = CAPABILITY_NET_NONE, .group = TRIAL_GROUP_PLAIN
#define DENIED(...) .expect = TRIAL_DENIED, .errors = { __VA_ARGS__ }
#define SOCKET(id_, text, ...)                                                        \
	{                                                                             \
		.id = "net." id_, .what = "make a socket: " text, NET, DENIED(EPERM), \
		.attempt = attempt_socket, .args = { __VA_ARGS__ },                   \
	}
#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static const struct trial rows[] = {
	{ .id = "net.tcp",
	  .what = "connect by TCP",
	  NET,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_v4,
	  .args = { SOCK_STREAM, 0 } },
	{ .id = "net.tcp6",
	  .what = "connect by TCP over IPv6",
	  NET,
	  DENIED(EPERM),
	  .attempt = try_v6,
	  .args = { SOCK_STREAM, 0 } },
	{ .id = "net.udp",
	  .what = "send by UDP",
	  NET,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_datagram,
	  .args = { AF_INET } },
	{ .id = "net.udp6",
	  .what = "send by UDP over IPv6",
	  NET,
	  DENIED(EPERM),
	  .attempt = try_datagram,
	  .args = { AF_INET6 } },
	{ .id = "net.mptcp",
	  .what = "connect by MPTCP",
	  NET,
	  DENIED(EPERM),
	  .attempt = try_v4,
	  .args = { SOCK_STREAM, IPPROTO_MPTCP } },
	SOCKET("raw", "raw IPv4", AF_INET, SOCK_RAW, IPPROTO_ICMP),
	SOCKET("raw6", "raw IPv6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6),
	SOCKET("ping", "ICMP echo", AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
	SOCKET("sctp", "SCTP", AF_INET, SOCK_STREAM, IPPROTO_SCTP),
	SOCKET("smc", "SMC", AF_SMC, SOCK_STREAM, 0),
	/* Of a type it does not have, since closing one takes 10 ms; by privilege alone. */
	{ .id = "net.packet",
	  .what = "make a socket: packets of an interface",
	  NET,
	  DENIED(EPERM),
	  .any_answer = true,
	  .attempt = attempt_socket,
	  .args = { AF_PACKET, SOCK_STREAM, 0 } },
	CALL(CAPABILITY_NET_NONE, "connect", "connect a socket it was given", EPERM, SYS_connect,
	     ARG_STREAM, ARG_BAD, 0),
	CALL(CAPABILITY_NET_NONE, "bind", "bind a socket it was given", EPERM, SYS_bind, ARG_STREAM,
	     ARG_BAD, 0),
	CALL(CAPABILITY_NET_NONE, "listen", "listen on a socket it was given", EPERM, SYS_listen,
	     ARG_STREAM, 1),
	{ .id = "net.uring",
	  .what = "make a TCP socket by io_uring",
	  NET,
	  DENIED(ENOSYS),
	  .attempt = attempt_uring,
	  .args = { AF_INET, SOCK_STREAM } },
	{ .id = "net.uring-udp",
	  .what = "make a UDP socket by io_uring",
	  NET,
	  DENIED(ENOSYS),
	  .attempt = attempt_uring,
	  .args = { AF_INET, SOCK_DGRAM } },
	{ .id = "net.entry-i386",
	  .what = "enter the kernel as a 32-bit program does",
	  NET,
	  DENIED(ENOSYS),
	  .attempt = attempt_foreign,
	  .args = { FOREIGN_I386 } },
};

const struct trial_table trials_network = TRIAL_TABLE(rows);
