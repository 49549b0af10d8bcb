/* Sockets, pipes, queues and shared memory of other processes; and the broker's socket. */
#include "probe/trial/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/trial/attempts.h"
#include "probe/trial/stage.h"

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

/* ---- unix sockets ---- */

/* Connect, or for datagrams send one byte, to a socket of the stage. */
static int reach(int type, const struct sockaddr_un *to, socklen_t len)
{
	const struct sockaddr *address = (const struct sockaddr *)to;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (type == SOCK_DGRAM)
		r = result(sendto(fd, "", 1, MSG_NOSIGNAL, address, len));
	else
		r = result(connect(fd, address, len));
	close(fd);
	return r;
}

static int try_stream(const struct stage *s, const struct trial *t)
{
	(void)t;
	return reach(SOCK_STREAM, &s->stream, sizeof(s->stream));
}

static int try_datagram(const struct stage *s, const struct trial *t)
{
	(void)t;
	return reach(SOCK_DGRAM, &s->datagram, sizeof(s->datagram));
}

static int try_packet(const struct stage *s, const struct trial *t)
{
	(void)t;
	return reach(SOCK_SEQPACKET, &s->packet, sizeof(s->packet));
}

static int try_abstract(const struct stage *s, const struct trial *t)
{
	(void)t;
	return reach(SOCK_STREAM, &s->abstract, s->abstract_len);
}

static int try_abstract_datagram(const struct stage *s, const struct trial *t)
{
	(void)t;
	return reach(SOCK_DGRAM, &s->abstract_datagram, s->abstract_len);
}

static int try_broker(const struct stage *s, const struct trial *t)
{
	(void)t;
	return reach(SOCK_STREAM, &s->broker, sizeof(s->broker));
}

/* A link to another socket, where the module may make links. */
static int try_socket_link(const struct stage *s, const struct trial *t)
{
	const char *path = STAGE_PATH(s, PLACE_WORK, "socketlink");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int r;

	(void)t;
	if (!text_copy(address.sun_path, sizeof(address.sun_path), path))
		return -ENAMETOOLONG;
	if (symlink("../outside/stream", path) < 0)
		return -errno;
	r = reach(SOCK_STREAM, &address, sizeof(address));
	unlink(path);
	return r;
}

/* One end of an unconnected kind of pair sends to whom it likes. args: the type */
static int try_pair(const struct stage *s, const struct trial *t)
{
	int pair[2];
	int r;

	if (socketpair(AF_UNIX, (int)t->args[0] | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	r = result(sendto(pair[0], "", 1, MSG_NOSIGNAL | MSG_DONTWAIT,
			  (const struct sockaddr *)&s->datagram, sizeof(s->datagram)));
	close(pair[0]);
	close(pair[1]);
	return r;
}

static int try_plain_pair(const struct stage *s, const struct trial *t)
{
	int pair[2];

	(void)s;
	if (socketpair(AF_UNIX, (int)t->args[0] | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	close(pair[0]);
	close(pair[1]);
	return 0;
}

/* With the family alone the kernel finds an abstract name. */
static int try_bind(const struct stage *s, const struct trial *t)
{
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r;

	(void)s;
	(void)t;
	if (fd < 0)
		return -errno;
	r = result(bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)));
	close(fd);
	return r;
}

/* ---- pipes, shared memory, queues ---- */

static int try_fifo(const struct stage *s, const struct trial *t)
{
	int fd = open(STAGE_PATH(s, PLACE_OUTSIDE, "fifo"), O_RDWR | O_NONBLOCK | O_CLOEXEC);

	(void)t;
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_segment(const struct stage *s, const struct trial *t)
{
	void *at;
	int r;

	(void)t;
	if (s->segment < 0)
		return -EIDRM;
	at = shmat(s->segment, NULL, 0);
	if (at == (void *)-1)
		return -errno;
	r = memcmp(at, STAGE_TEXT, sizeof(STAGE_TEXT)) == 0 ? 0 : -EIO;
	shmdt(at);
	return r;
}

static int try_queue(const struct stage *s, const struct trial *t)
{
	int queue;

	(void)t;
	if (!s->queue[0])
		return -ENOENT;
	queue = (int)syscall(SYS_mq_open, s->queue, O_RDWR | O_CLOEXEC, 0, NULL);
	if (queue < 0)
		return -errno;
	close(queue);
	return 0;
}

#define IPC .capability = CAPABILITY_IPC, .group = TRIAL_GROUP_PLAIN
#define BROKER .capability = CAPABILITY_IPC_BROKER, .group = TRIAL_GROUP_BROKER
#define DENIED(...) .expect = TRIAL_DENIED, .errors = { __VA_ARGS__ }
#define FAMILY(id_, text, ...)                                                        \
	{                                                                             \
		.id = "ipc." id_, .what = "make a socket: " text, IPC, DENIED(EPERM), \
		.attempt = attempt_socket, .args = { __VA_ARGS__ },                   \
	}

static const struct trial rows[] = {
	{ .id = "ipc.stream",
	  .what = "connect to a unix stream socket",
	  IPC,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_stream },
	{ .id = "ipc.datagram",
	  .what = "send to a unix datagram socket",
	  IPC,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_datagram },
	{ .id = "ipc.packet",
	  .what = "connect to a unix packet socket",
	  IPC,
	  DENIED(EPERM),
	  .attempt = try_packet },
	{ .id = "ipc.abstract",
	  .what = "connect to an abstract unix socket",
	  IPC,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_abstract },
	{ .id = "ipc.abstract-datagram",
	  .what = "send to an abstract unix socket",
	  IPC,
	  DENIED(EPERM),
	  .attempt = try_abstract_datagram },
	{ .id = "ipc.pair-datagram",
	  .what = "send elsewhere from one end of a datagram pair",
	  IPC,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_pair,
	  .args = { SOCK_DGRAM } },
	{ .id = "ipc.pair-raw",
	  .what = "send elsewhere from one end of a raw pair",
	  IPC,
	  DENIED(EPERM),
	  .attempt = try_pair,
	  .args = { SOCK_RAW } },
	{ .id = "ipc.pair-stream",
	  .what = "make a pair of connected stream sockets",
	  IPC,
	  .expect = TRIAL_ALLOWED,
	  .core = true,
	  .attempt = try_plain_pair,
	  .args = { SOCK_STREAM } },
	{ .id = "ipc.pair-packet",
	  .what = "make a pair of connected packet sockets",
	  IPC,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_plain_pair,
	  .args = { SOCK_SEQPACKET } },
	{ .id = "ipc.bind",
	  .what = "name a unix socket of its own",
	  IPC,
	  DENIED(EPERM),
	  .attempt = try_bind },
	FAMILY("netlink", "netlink", AF_NETLINK, SOCK_RAW, 0),
	FAMILY("netlink-uevent", "netlink for device events", AF_NETLINK, SOCK_DGRAM, 15),
	FAMILY("vsock", "vsock, to the hypervisor", AF_VSOCK, SOCK_STREAM, 0),
	FAMILY("alg", "the kernel's cipher interface", AF_ALG, SOCK_SEQPACKET, 0),
	{ .id = "ipc.uring-unix",
	  .what = "make a unix socket by io_uring",
	  IPC,
	  DENIED(ENOSYS),
	  .attempt = attempt_uring,
	  .args = { AF_UNIX, SOCK_STREAM } },
	{ .id = "ipc.uring-netlink",
	  .what = "make a netlink socket by io_uring",
	  IPC,
	  DENIED(ENOSYS),
	  .attempt = attempt_uring,
	  .args = { AF_NETLINK, SOCK_RAW } },
	{ .id = "ipc.entry-i386",
	  .what = "enter the kernel as a 32-bit program does",
	  IPC,
	  DENIED(ENOSYS),
	  .attempt = attempt_foreign,
	  .args = { FOREIGN_I386 } },
	{ .id = "ipc.entry-x32",
	  .what = "enter the kernel as an x32 program does",
	  IPC,
	  DENIED(ENOSYS),
	  .attempt = attempt_foreign,
	  .args = { FOREIGN_X32 } },
	{ .id = "ipc.fifo",
	  .what = "open a named pipe outside",
	  IPC,
	  DENIED(EACCES),
	  .core = true,
	  .attempt = try_fifo },
	{ .id = "ipc.segment",
	  .what = "read another process's System V shared memory",
	  IPC,
	  DENIED(ENOSYS),
	  .attempt = try_segment },
	{ .id = "ipc.queue",
	  .what = "open another process's message queue",
	  IPC,
	  DENIED(ENOSYS),
	  .attempt = try_queue },

	{ .id = "broker.reached",
	  .what = "connect to the broker",
	  BROKER,
	  .expect = TRIAL_ALLOWED,
	  .core = true,
	  .attempt = try_broker },
	{ .id = "broker.other",
	  .what = "connect to a unix socket that is not the broker's",
	  BROKER,
	  DENIED(EACCES),
	  .since_abi = 9,
	  .told_below = true,
	  .core = true,
	  .attempt = try_stream },
	{ .id = "broker.other-link",
	  .what = "connect to another socket by a symbolic link",
	  BROKER,
	  DENIED(EACCES),
	  .since_abi = 9,
	  .told_below = true,
	  .attempt = try_socket_link },
	{ .id = "broker.abstract",
	  .what = "connect to an abstract unix socket",
	  BROKER,
	  DENIED(EPERM, EACCES),
	  .since_abi = 6,
	  .told_below = true,
	  .core = true,
	  .attempt = try_abstract },
	{ .id = "broker.datagram",
	  .what = "send to a unix datagram socket",
	  BROKER,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_datagram },
	{ .id = "broker.packet",
	  .what = "connect to a unix packet socket",
	  BROKER,
	  DENIED(EPERM),
	  .attempt = try_packet },
	{ .id = "broker.pair-datagram",
	  .what = "send elsewhere from one end of a datagram pair",
	  BROKER,
	  DENIED(EPERM),
	  .attempt = try_pair,
	  .args = { SOCK_DGRAM } },
	{ .id = "broker.bind",
	  .what = "name a unix socket of its own",
	  BROKER,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_bind },
	{ .id = "broker.network",
	  .what = "make a network socket",
	  BROKER,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = attempt_socket,
	  .args = { AF_INET, SOCK_STREAM, 0 } },
	{ .id = "broker.netlink",
	  .what = "make a netlink socket",
	  BROKER,
	  DENIED(EPERM),
	  .attempt = attempt_socket,
	  .args = { AF_NETLINK, SOCK_RAW, 0 } },
	{ .id = "broker.uring",
	  .what = "make a unix socket by io_uring",
	  BROKER,
	  DENIED(ENOSYS),
	  .attempt = attempt_uring,
	  .args = { AF_UNIX, SOCK_DGRAM } },
};

const struct trial_table trials_ipc = TRIAL_TABLE(rows);
