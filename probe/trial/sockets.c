#include "probe/trial/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kabi/lines.h"
#include "kabi/text.h"
#include "probe/trial/needs.h"

#define BACKLOG 128
#define PORT_TRIES 8

/* The one stage of this process. */
static int sockets[LISTENER_COUNT + 8];
static int socket_count;

static int keep(int fd)
{
	if (socket_count == (int)(sizeof(sockets) / sizeof(sockets[0]))) {
		close(fd);
		return -EMFILE;
	}
	sockets[socket_count++] = fd;
	return 0;
}

/* ---- network ---- */

/* Returns the port, or -errno. */
static int listen_at(struct sockaddr *address, socklen_t len)
{
	const int on = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, address, len) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, address, &len) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	r = keep(fd);
	if (r < 0)
		return r;
	return ntohs(address->sa_family == AF_INET6
			     ? ((struct sockaddr_in6 *)(void *)address)->sin6_port
			     : ((struct sockaddr_in *)(void *)address)->sin_port);
}

static int listen_v4(uint32_t address, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(address) };

	return listen_at((struct sockaddr *)&a, sizeof(a));
}

static int listen_v6(const struct in6_addr *address, uint32_t scope, uint16_t port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6,
				  .sin6_port = htons(port),
				  .sin6_addr = *address,
				  .sin6_scope_id = scope };

	return listen_at((struct sockaddr *)&a, sizeof(a));
}

/* Two listeners on one free port at two addresses; somebody may have the port at the second. */
static int listen_pair(uint16_t *ret_port, bool with_other)
{
	const int before = socket_count;

	for (int i = 0; i < PORT_TRIES; i++) {
		int port = listen_v4(INADDR_LOOPBACK, 0);
		int r;

		if (port < 0)
			return port;
		r = listen_v6(&in6addr_loopback, 0, (uint16_t)port);
		if (r != -EADDRINUSE && with_other)
			r = listen_v4(INADDR_LOOPBACK + 1, (uint16_t)port);
		if (r != -EADDRINUSE) {
			*ret_port = (uint16_t)port;
			return 0;
		}
		while (socket_count > before)
			close(sockets[--socket_count]);
	}
	return -EADDRINUSE;
}

/* A line of /proc/net/if_inet6: address, interface, prefix, scope, flags, name. */
static bool take_link_local(void *arg, char *line)
{
	struct stage *s = arg;
	const char *address = text_word(&line);
	const char *interface = text_word(&line);
	uint64_t byte;
	uint64_t scope;
	char digits[3] = "";

	if (!interface || strlen(address) != 32 || !text_starts(address, "fe80") ||
	    text_uint(interface, 16, UINT32_MAX, &scope) < 0)
		return true;
	for (int i = 0; i < 16; i++) {
		memcpy(digits, address + (size_t)i * 2, 2);
		if (text_uint(digits, 16, 255, &byte) < 0)
			return true;
		s->link_local.s6_addr[i] = (uint8_t)byte;
	}
	s->link_local_scope = (uint32_t)scope;
	return false;
}

/* A line of /proc/net/protocols: what is loaded, so that trying it loads no module. */
static bool take_protocol(void *arg, char *line)
{
	struct stage *s = arg;
	const char *name = text_word(&line);

	if (!name)
		return true;
	s->has_sctp |= strcmp(name, "SCTP") == 0;
	s->has_smc |= strcmp(name, "SMC") == 0;
	s->has_alg |= strcmp(name, "ALG") == 0;
	s->has_vsock |= strcmp(name, "AF_VSOCK") == 0;
	return true;
}

static int make_network(struct stage *s, struct fault *why)
{
	int r = listen_pair(&s->service_port, false);

	if (r == 0)
		r = listen_pair(&s->proxy_port, true);
	/* Without IPv4 there is no proxy to grant: those trials say so. */
	if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
		return 0;
	if (r < 0)
		return fault_errno(why, "listen on loopback", NULL, -r);
	lines_read(s->k, "/proc/net/if_inet6", '\n', take_link_local, s);
	if (s->link_local_scope)
		listen_v6(&s->link_local, s->link_local_scope, s->service_port);
	lines_read(s->k, "/proc/net/protocols", '\n', take_protocol, s);
	return 0;
}

/* ---- unix sockets ---- */

static int listen_unix(int type, const struct sockaddr_un *address, socklen_t len)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)address, len) < 0 ||
	    (type != SOCK_DGRAM && listen(fd, BACKLOG) < 0)) {
		r = -errno;
		close(fd);
		return r;
	}
	return keep(fd);
}

static int make_unix(const struct stage *s, int type, const char *name, struct sockaddr_un *ret)
{
	struct text t = text_start(ret->sun_path, sizeof(ret->sun_path));

	ret->sun_family = AF_UNIX;
	text_add(&t, STAGE_PATH(s, PLACE_OUTSIDE, name));
	return t.cut ? -ENAMETOOLONG : listen_unix(type, ret, sizeof(*ret));
}

/* The last component of the directory, which is nobody else's. */
static const char *base_name(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return slash ? slash + 1 : dir;
}

static int make_abstract(struct stage *s, int type, const char *suffix, struct sockaddr_un *ret)
{
	struct text t = text_start(ret->sun_path + 1, sizeof(ret->sun_path) - 1);

	ret->sun_family = AF_UNIX;
	text_add(&t, base_name(s->dir));
	text_add(&t, suffix);
	s->abstract_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + t.len);
	return listen_unix(type, ret, s->abstract_len);
}

static int make_local(struct stage *s)
{
	int r = make_unix(s, SOCK_STREAM, "broker", &s->broker);

	r = r < 0 ? r : make_unix(s, SOCK_STREAM, "stream", &s->stream);
	r = r < 0 ? r : make_unix(s, SOCK_DGRAM, "datagram", &s->datagram);
	r = r < 0 ? r : make_unix(s, SOCK_SEQPACKET, "packet", &s->packet);
	r = r < 0 ? r : make_abstract(s, SOCK_STREAM, "-s", &s->abstract);
	return r < 0 ? r : make_abstract(s, SOCK_DGRAM, "-d", &s->abstract_datagram);
}

/* ---- shared memory and queues ---- */

static void make_shared(struct stage *s)
{
	/* Small, since a user has a limit for all of them together: struct mq_attr. */
	const long attributes[8] = { [1] = 1, [2] = 1 };
	int queue = -1;
	void *at;

	if (trial_can_remove_queue())
		queue = (int)syscall(SYS_mq_open, base_name(s->dir),
				     O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, attributes);
	if (queue >= 0) {
		text_copy(s->queue, sizeof(s->queue), base_name(s->dir));
		close(queue);
	}
	if (trial_can_remove_segment())
		s->segment = shmget(IPC_PRIVATE, sizeof(STAGE_TEXT), 0600);
	if (s->segment < 0)
		return;
	at = shmat(s->segment, NULL, 0);
	/* From now on it lasts as long as somebody holds it, and can still be attached. */
	shmctl(s->segment, IPC_RMID, NULL);
	if (at != (void *)-1)
		memcpy(at, STAGE_TEXT, sizeof(STAGE_TEXT));
}

void sockets_remove_queue(const char *dir)
{
	syscall(SYS_mq_unlink, base_name(dir));
}

/* ---- public ---- */

int sockets_make(struct stage *s, struct fault *why)
{
	int r = make_network(s, why);

	if (r < 0)
		return r;
	r = make_local(s);
	if (r < 0)
		return fault_errno(why, "make unix sockets in", s->dir, -r);
	make_shared(s);
	return 0;
}

void sockets_close(struct stage *s)
{
	while (socket_count > 0)
		close(sockets[--socket_count]);
	/* The segment goes with its last process. */
	s->segment = -1;
}
