/* Making a socket: every family and type, and every road to one. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define PROTO_SMC 256
#define DCCP 6 /* SOCK_DCCP */
#define SOME_FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)
#define HIGH (1L << 32) /* the kernel reads an int */
#define X32 0x40000000

static int make_socket(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_fd((int)syscall(SYS_socket, arg[0], arg[1], arg[2]));
}

static int make_pair(const struct stage *s, const long *arg)
{
	int fds[2];

	(void)s;
	return answer_zero(syscall(SYS_socketpair, arg[0], arg[1], arg[2], fds));
}

/* ---- io_uring ---- */

static int make_ring(const struct stage *s, const long *arg)
{
	struct io_uring_params params = { .flags = 0 };

	(void)s;
	(void)arg;
	return answer_fd((int)syscall(SYS_io_uring_setup, 4, &params));
}

/* ---- other entries into the kernel ---- */

#ifdef __x86_64__

static int entry_32(const struct stage *s, const long *arg)
{
	long result;

	(void)s;
	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(arg[0]), "b"(arg[1]), "c"(arg[2]), "d"(arg[3]), "S"(arg[4])
			 : "memory", "r8", "r9", "r10", "r11");
	return result < 0 ? (int)result : 0;
}

/* socketcall(SYS_SOCKET, { family, type, protocol }) */
static int entry_32_socketcall(const struct stage *s, const long *arg)
{
	uint32_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	const long call[] = { 102, 1, (long)low, 0, 0 };

	if (low == MAP_FAILED)
		return broken("mmap below 4 GiB");
	for (int i = 0; i < 3; i++)
		low[i] = (uint32_t)arg[i];
	return entry_32(s, call);
}

/* An i386 program of 91 bytes: _exit(0). */
static const unsigned char program_32[] = {
	0x7f, 'E',  'L',  'F',	0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x02, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x54, 0x80,
	0x04, 0x08, 0x34, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x34, 0x00, 0x20, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x04, 0x08, 0x00,
	0x80, 0x04, 0x08, 0x5b, 0x00, 0x00, 0x00, 0x5b, 0x00, 0x00, 0x00, 0x05, 0x00,
	0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x31, 0xc0, 0x40, 0x31, 0xdb, 0xcd, 0x80,
};

static int exec_32(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, WORK, "program-32");
	char *const argv[] = { (char *)path, NULL };

	(void)arg;
	if (write_file(path, program_32, sizeof(program_32), 0755) < 0)
		return broken("write a program");
	execv(path, argv);
	return -errno;
}

#endif

/* ---- rows ---- */

static const struct row table[] = {
	/* Streams that no policy without a network has. */
	{ DENY("socket_tcp4", EPERM, make_socket, AF_INET, SOCK_STREAM), .in = NO_NET },
	{ DENY("socket_tcp6", EPERM, make_socket, AF_INET6, SOCK_STREAM), .in = NO_NET },
	{ DENY("socket_tcp4_flags", EPERM, make_socket, AF_INET, SOCK_STREAM | SOME_FLAGS),
	  .in = NO_NET },
	{ DENY("socket_tcp4_high_half", EPERM, make_socket, HIGH | AF_INET, HIGH | SOCK_STREAM),
	  .in = NO_NET },
	{ DENY("socket_mptcp4", EPERM, make_socket, AF_INET, SOCK_STREAM, IPPROTO_MPTCP),
	  .in = NO_NET },
	{ DENY("socket_unix_stream", EPERM, make_socket, AF_UNIX, SOCK_STREAM), .in = NO_BROKER },
	{ DENY("socket_unix_high_half", EPERM, make_socket, HIGH | AF_UNIX, SOCK_STREAM),
	  .in = NO_BROKER },

	/* With a network: TCP and no other stream. */
	{ ALLOW("socket_tcp4", make_socket, AF_INET, SOCK_STREAM), .in = WITH_NET },
	{ ALLOW("socket_tcp6", make_socket, AF_INET6, SOCK_STREAM), .in = WITH_NET },
	{ ALLOW("socket_tcp4_named", make_socket, AF_INET, SOCK_STREAM, IPPROTO_TCP),
	  .in = WITH_NET },
	{ ALLOW("socket_tcp6_flags", make_socket, AF_INET6, SOCK_STREAM | SOME_FLAGS, IPPROTO_TCP),
	  .in = WITH_NET },
	{ ALLOW("socket_tcp4_high_half", make_socket, HIGH | AF_INET, HIGH | SOCK_STREAM, HIGH),
	  .in = WITH_NET },
	{ DENY("socket_mptcp4_granted", EPROTONOSUPPORT, make_socket, AF_INET, SOCK_STREAM,
	       IPPROTO_MPTCP),
	  .in = WITH_NET },
	{ DENY("socket_mptcp6_granted", EPROTONOSUPPORT, make_socket, AF_INET6, SOCK_STREAM,
	       IPPROTO_MPTCP),
	  .in = WITH_NET },
	{ DENY("socket_mptcp4_flags", EPROTONOSUPPORT, make_socket, AF_INET,
	       SOCK_STREAM | SOME_FLAGS, HIGH | IPPROTO_MPTCP),
	  .in = WITH_NET },
	{ DENY("socket_sctp4", EPROTONOSUPPORT, make_socket, AF_INET, SOCK_STREAM, IPPROTO_SCTP),
	  .in = WITH_NET },
	{ DENY("socket_smc4", EPROTONOSUPPORT, make_socket, AF_INET, SOCK_STREAM, PROTO_SMC),
	  .in = WITH_NET },

	/* With the broker: a unix stream and nothing else. */
	{ ALLOW("socket_unix_stream", make_socket, AF_UNIX, SOCK_STREAM), .in = WITH_BROKER },
	{ DENY("socket_unix_dgram", EPERM, make_socket, AF_UNIX, SOCK_DGRAM) },
	{ DENY("socket_unix_raw", EPERM, make_socket, AF_UNIX, SOCK_RAW) },
	{ DENY("socket_unix_seqpacket", EPERM, make_socket, AF_UNIX, SOCK_SEQPACKET) },

	/* Never. */
	{ DENY("socket_udp4", EPERM, make_socket, AF_INET, SOCK_DGRAM) },
	{ DENY("socket_udp6", EPERM, make_socket, AF_INET6, SOCK_DGRAM) },
	{ DENY("socket_udp4_flags", EPERM, make_socket, AF_INET, SOCK_DGRAM | SOME_FLAGS,
	       IPPROTO_UDP) },
	{ DENY("socket_udp4_high_half", EPERM, make_socket, HIGH | AF_INET, HIGH | SOCK_DGRAM) },
	{ DENY("socket_udplite4", EPERM, make_socket, AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE) },
	{ DENY("socket_ping4", EPERM, make_socket, AF_INET, SOCK_DGRAM, IPPROTO_ICMP) },
	{ DENY("socket_ping6", EPERM, make_socket, AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6) },
	{ DENY("socket_raw4", EPERM, make_socket, AF_INET, SOCK_RAW, IPPROTO_RAW) },
	{ DENY("socket_icmp4", EPERM, make_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP) },
	{ DENY("socket_raw6", EPERM, make_socket, AF_INET6, SOCK_RAW, IPPROTO_RAW) },
	{ DENY("socket_sctp4_seqpacket", EPERM, make_socket, AF_INET, SOCK_SEQPACKET,
	       IPPROTO_SCTP) },
	{ DENY("socket_dccp4", EPERM, make_socket, AF_INET, DCCP) },
	{ DENY("socket_packet_of_old", EPERM, make_socket, AF_INET, SOCK_PACKET, 0x300) },
	{ DENY("socket_packet", EPERM, make_socket, AF_PACKET, SOCK_RAW, 0x300) },
	{ DENY("socket_packet_dgram", EPERM, make_socket, AF_PACKET, SOCK_DGRAM, 0x300) },
	{ DENY("socket_netlink_route", EPERM, make_socket, AF_NETLINK, SOCK_RAW, 0) },
	{ DENY("socket_netlink_diag", EPERM, make_socket, AF_NETLINK, SOCK_RAW, 4) },
	{ DENY("socket_netlink_audit", EPERM, make_socket, AF_NETLINK, SOCK_RAW, 9) },
	{ DENY("socket_netlink_uevent", EPERM, make_socket, AF_NETLINK, SOCK_DGRAM, 15) },
	{ DENY("socket_netlink_generic", EPERM, make_socket, AF_NETLINK, SOCK_RAW, 16) },
	{ DENY("socket_vsock", EPERM, make_socket, AF_VSOCK, SOCK_STREAM) },
	{ DENY("socket_vsock_dgram", EPERM, make_socket, AF_VSOCK, SOCK_DGRAM) },
	{ DENY("socket_alg", EPERM, make_socket, AF_ALG, SOCK_SEQPACKET) },
	{ DENY("socket_xdp", EPERM, make_socket, AF_XDP, SOCK_RAW) },
	{ DENY("socket_key", EPERM, make_socket, AF_KEY, SOCK_RAW, 2) },
	{ DENY("socket_smc", EPERM, make_socket, AF_SMC, SOCK_STREAM) },
	{ DENY("socket_tipc", EPERM, make_socket, AF_TIPC, SOCK_STREAM) },
	{ DENY("socket_rds", EPERM, make_socket, AF_RDS, SOCK_SEQPACKET) },
	{ DENY("socket_rxrpc", EPERM, make_socket, AF_RXRPC, SOCK_DGRAM, AF_INET) },
	{ DENY("socket_bluetooth", EPERM, make_socket, AF_BLUETOOTH, SOCK_RAW, 1) },
	{ DENY("socket_can", EPERM, make_socket, AF_CAN, SOCK_RAW, 1) },
	{ DENY("socket_kcm", EPERM, make_socket, AF_KCM, SOCK_DGRAM) },
	{ DENY("socket_qipcrtr", EPERM, make_socket, AF_QIPCRTR, SOCK_DGRAM) },
	{ DENY("socket_unspec", EPERM, make_socket, AF_UNSPEC, SOCK_STREAM),
	  .control = -EAFNOSUPPORT },
	{ DENY("socket_future_family", EPERM, make_socket, 99, SOCK_STREAM),
	  .control = -EAFNOSUPPORT },

	/* Pairs. */
	{ ALLOW("pair_stream", make_pair, AF_UNIX, SOCK_STREAM) },
	{ ALLOW("pair_stream_flags", make_pair, AF_UNIX, SOCK_STREAM | SOME_FLAGS) },
	{ DENY("pair_dgram", EPERM, make_pair, AF_UNIX, SOCK_DGRAM) },
	{ DENY("pair_dgram_flags", EPERM, make_pair, AF_UNIX, SOCK_DGRAM | SOME_FLAGS) },
	{ DENY("pair_dgram_high_half", EPERM, make_pair, HIGH | AF_UNIX, HIGH | SOCK_DGRAM) },
	{ DENY("pair_raw", EPERM, make_pair, AF_UNIX, SOCK_RAW) },
	{ DENY("pair_inet", EPERM, make_pair, AF_INET, SOCK_STREAM), .control = -EOPNOTSUPP },
	{ DENY("pair_tipc", EPERM, make_pair, AF_TIPC, SOCK_STREAM) },

	/* Other roads. */
	{ DENY("io_uring_setup", ENOSYS, make_ring) },
	{ DENY("io_uring_enter", ENOSYS, try_syscall, SYS_io_uring_enter, -1), .control = -EBADF },
	{ DENY("io_uring_register", ENOSYS, try_syscall, SYS_io_uring_register, -2, 2),
	  .control = -EBADF },
#ifdef __x86_64__
	{ .name = "entry_32_getpid", .run = entry_32, .arg = { 20 }, .confined = KILLED(SIGSYS) },
	{ .name = "entry_32_socket",
	  .run = entry_32,
	  .arg = { 359, AF_INET, SOCK_DGRAM, 0 },
	  .confined = KILLED(SIGSYS) },
	{ .name = "entry_32_socketcall",
	  .run = entry_32_socketcall,
	  .arg = { AF_INET, SOCK_DGRAM, 0 },
	  .confined = KILLED(SIGSYS) },
	{ .name = "entry_32_program", .run = exec_32, .confined = KILLED(SIGSYS), .in = WITH_EXEC },
	{ DENY("x32_getpid", ENOSYS, try_syscall, X32 | SYS_getpid) },
	{ DENY("x32_socket", ENOSYS, try_syscall, X32 | SYS_socket, AF_INET, SOCK_DGRAM, 0) },
	{ DENY("x32_of_its_own", ENOSYS, try_syscall, X32 | 520) },
#endif
};

ROWS_TOGETHER(socket_rows, table);
