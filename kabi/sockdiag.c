#include "kabi/sockdiag.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* Source: include/uapi/linux/{netlink,sock_diag,inet_diag}.h. */
#define FAMILY_SOCK_DIAG 4
#define TYPE_ERROR 2
#define TYPE_BY_FAMILY 20
#define FLAG_REQUEST 1
#define NO_COOKIE UINT32_MAX
#define ALL_STATES UINT32_MAX

struct header {
	uint32_t len;
	uint16_t type;
	uint16_t flags;
	uint32_t seq;
	uint32_t pid;
};

struct socket_id {
	uint16_t local_port; /* both in network order */
	uint16_t remote_port;
	uint32_t local[4];
	uint32_t remote[4];
	uint32_t interface;
	uint32_t cookie[2];
};

struct question {
	struct header header;
	uint8_t family;
	uint8_t protocol;
	uint8_t extensions;
	uint8_t pad;
	uint32_t states;
	struct socket_id id;
};
_Static_assert(sizeof(struct question) == 72, "nlmsghdr and inet_diag_req_v2");

struct answer {
	struct header header;
	union {
		int32_t error;
		struct {
			uint8_t word[4]; /* family, state, timer, retransmissions */
			struct socket_id id;
			uint32_t expires;
			uint32_t receive_queue;
			uint32_t write_queue;
			uint32_t uid;
			uint32_t inode;
		} socket;
	};
};
_Static_assert(sizeof(struct answer) == 88, "nlmsghdr and inet_diag_msg");

int sockdiag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, FAMILY_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

static void set_address(const struct sockaddr *sa, uint16_t *port, uint32_t *address)
{
	struct sockaddr_in in;

	memcpy(&in, sa, sizeof(in));
	*port = in.sin_port;
	*address = in.sin_addr.s_addr;
}

int sockdiag_owner(int fd, const struct sockaddr *local, const struct sockaddr *remote,
		   uint32_t *ret_uid)
{
	struct question question = {
		.header = { .len = sizeof(question),
			    .type = TYPE_BY_FAMILY,
			    .flags = FLAG_REQUEST },
		.family = AF_INET,
		.protocol = IPPROTO_TCP,
		.states = ALL_STATES,
		.id.cookie = { NO_COOKIE, NO_COOKIE },
	};
	/* The kernel adds attributes, which are not wanted. */
	union {
		struct answer answer;
		char room[1024];
	} got;
	ssize_t n;

	set_address(local, &question.id.local_port, &question.id.local[0]);
	set_address(remote, &question.id.remote_port, &question.id.remote[0]);
	if (send(fd, &question, sizeof(question), 0) < 0)
		return -errno;
	do
		n = recv(fd, &got, sizeof(got), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n >= (ssize_t)(sizeof(struct header) + sizeof(int32_t)) &&
	    got.answer.header.type == TYPE_ERROR)
		return got.answer.error < 0 ? got.answer.error : -EPROTO;
	if (n < (ssize_t)sizeof(struct answer) || got.answer.header.type != TYPE_BY_FAMILY)
		return -EPROTO;
	if (got.answer.socket.inode == 0)
		return -ENOENT;
	*ret_uid = got.answer.socket.uid;
	return 0;
}
