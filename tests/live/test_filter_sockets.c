/* The seccomp programs on this kernel: sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fake/attempt.h"

/* What the attempts find ready: a socket that is not connected, and one that listens. */
static int tcp = -1, listener = -1;
static struct sockaddr_in address;

static int make_socket(int family, int type, int protocol)
{
	return attempt_outcome(socket(family, type | SOCK_CLOEXEC, protocol));
}

static int try_udp(void)
{
	return make_socket(AF_INET, SOCK_DGRAM, 0);
}

static int try_tcp(void)
{
	return make_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
}

static int try_mptcp(void)
{
	return make_socket(AF_INET, SOCK_STREAM, 262);
}

static int try_unix_stream(void)
{
	return make_socket(AF_UNIX, SOCK_STREAM, 0);
}

static int try_unix_datagram(void)
{
	return make_socket(AF_UNIX, SOCK_DGRAM, 0);
}

static int try_netlink(void)
{
	return make_socket(AF_NETLINK, SOCK_RAW, 0);
}

static int try_connect(void)
{
	return attempt_outcome(connect(tcp, (struct sockaddr *)&address, sizeof(address)));
}

static int try_bind(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

	return attempt_outcome(bind(tcp, (struct sockaddr *)&any, sizeof(any)));
}

static int try_listen(void)
{
	return attempt_outcome(listen(tcp, 1));
}

static int try_accept(void)
{
	return attempt_outcome(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
}

static int make_pair(int type)
{
	int ends[2];

	return attempt_outcome(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends));
}

static int try_pair_stream(void)
{
	return make_pair(SOCK_STREAM);
}

static int try_pair_seqpacket(void)
{
	return make_pair(SOCK_SEQPACKET);
}

static int try_pair_datagram(void)
{
	return make_pair(SOCK_DGRAM);
}

static int try_sendto_fast(void)
{
	return attempt_outcome(
		sendto(tcp, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address, sizeof(address)));
}

static struct msghdr fast_message(struct iovec *io)
{
	*io = (struct iovec){ "x", 1 };
	return (struct msghdr){
		.msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = io, .msg_iovlen = 1
	};
}

static int try_sendmsg_fast(void)
{
	struct iovec io;
	struct msghdr message = fast_message(&io);

	return attempt_outcome(sendmsg(tcp, &message, MSG_FASTOPEN));
}

static int try_sendmmsg_fast(void)
{
	struct iovec io;
	struct mmsghdr message = { .msg_hdr = fast_message(&io) };

	return attempt_outcome(sendmmsg(tcp, &message, 1, MSG_FASTOPEN));
}

static int try_ulp(void)
{
	return attempt_outcome(setsockopt(tcp, IPPROTO_TCP, TCP_ULP, "no-such", 7));
}

static int try_fastopen_connect(void)
{
	int on = 1;

	return attempt_outcome(setsockopt(tcp, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)));
}

static int try_device(void)
{
	return attempt_outcome(setsockopt(tcp, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2));
}

static int try_nodelay(void)
{
	int on = 1;

	return attempt_outcome(setsockopt(tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)));
}

static int try_io_uring(void)
{
	return attempt_outcome(syscall(SYS_io_uring_setup, 1, NULL));
}

static const struct attempt attempts[] = {
	{ "udp socket", try_udp, ATTEMPT_ANY, EPERM, 0 },
	{ "tcp socket without the network", try_tcp, ATTEMPT_NO_NET, EPERM, 0 },
	{ "tcp socket with it", try_tcp, ATTEMPT_NET, 0, 0 },
	{ "mptcp socket", try_mptcp, ATTEMPT_NET, EPROTONOSUPPORT, 0 },
	{ "unix socket without the broker", try_unix_stream, ATTEMPT_NO_BROKER, EPERM, 0 },
	{ "unix socket with it", try_unix_stream, ATTEMPT_BROKER, 0, 0 },
	{ "unix datagram socket", try_unix_datagram, ATTEMPT_ANY, EPERM, 0 },
	{ "netlink socket", try_netlink, ATTEMPT_ANY, EPERM, 0 },
	{ "connect with nothing granted", try_connect, 0x03, EPERM, 0 },
	{ "connect", try_connect, ATTEMPT_NET | ATTEMPT_BROKER, 0, 0 },
	{ "bind", try_bind, ATTEMPT_ANY, EPERM, 0 },
	{ "listen", try_listen, ATTEMPT_ANY, EPERM, 0 },
	{ "accept", try_accept, ATTEMPT_ANY, EAGAIN, EAGAIN },
	{ "stream socketpair", try_pair_stream, ATTEMPT_ANY, 0, 0 },
	{ "seqpacket socketpair", try_pair_seqpacket, ATTEMPT_ANY, 0, 0 },
	{ "datagram socketpair", try_pair_datagram, ATTEMPT_ANY, EPERM, 0 },
	{ "sendto with fast open", try_sendto_fast, ATTEMPT_ANY, EOPNOTSUPP, 0 },
	{ "sendmsg with fast open", try_sendmsg_fast, ATTEMPT_ANY, EOPNOTSUPP, 0 },
	{ "sendmmsg with fast open", try_sendmmsg_fast, ATTEMPT_ANY, EOPNOTSUPP, 0 },
	{ "upper-layer protocol", try_ulp, ATTEMPT_ANY, EPERM, ENOENT },
	{ "TCP_FASTOPEN_CONNECT", try_fastopen_connect, ATTEMPT_ANY, EOPNOTSUPP, 0 },
	{ "SO_BINDTODEVICE", try_device, ATTEMPT_ANY, EPERM, 0 },
	{ "TCP_NODELAY", try_nodelay, ATTEMPT_ANY, 0, 0 },
	{ "io_uring", try_io_uring, ATTEMPT_ANY, ENOSYS, EFAULT },
};

static void prepare(void)
{
	socklen_t len = sizeof(address);

	address = (struct sockaddr_in){ .sin_family = AF_INET,
					.sin_addr = { htonl(INADDR_LOOPBACK) } };
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 128) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) < 0)
		abort();
}

/* A fresh socket and an empty queue for every attempt; children share both with us. */
static void refresh(void)
{
	int fd;

	if (tcp >= 0)
		close(tcp);
	tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		close(fd);
}

int main(void)
{
	prepare();
	return attempts_judge(attempts, sizeof(attempts) / sizeof(attempts[0]), refresh)
		       ? EXIT_FAILURE
		       : EXIT_SUCCESS;
}
