/* The sockets of a supervised connect: what the module's is like, and one of ours like it. Inside
 * this folder only.
 */
#ifndef LAUNCH_SUPERVISE_SOCKET_H
#define LAUNCH_SUPERVISE_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/supervise/judge.h"

/* A module's socket, by a copy of its descriptor. */
struct socket_state {
	struct socket_kind kind;
	uint64_t inode; /* tells it from any other socket that is open */
	bool non_blocking;
	bool connected;
	bool connecting;
	int64_t send_timeout_us; /* for how long a blocking connect waits; 0: for ever */
};

/* Look at `fd`. Returns 0; -ENOTSOCK; or -errno. */
int socket_look(int fd, struct socket_state *ret);

/* What a new socket of each domain has as its options, so that it is asked once and not with each
 * call. All zero at first.
 */
#define SOCKET_DOMAINS 3
#define SOCKET_OPTIONS 23
#define SOCKET_OPTION_BYTES 16
union socket_option {
	char bytes[SOCKET_OPTION_BYTES];
	int number;
};
struct socket_defaults {
	bool known[SOCKET_DOMAINS];
	bool has[SOCKET_DOMAINS][SOCKET_OPTIONS];
	union socket_option of[SOCKET_DOMAINS][SOCKET_OPTIONS];
};

/* Make a socket like `fd`, in its kind and in the options that a client sets before it connects.
 * Only those that are listed are taken over: an option can change where a connection goes
 * (IP_OPTIONS, SO_BINDTODEVICE). It does not block and is close-on-exec. Returns the descriptor, or
 * -errno.
 */
int socket_like(int fd, const struct socket_kind *kind, struct socket_defaults *defaults);

/* As setsockopt(2) with SO_LINGER, but that a socket whose close may wait is never made: whoever
 * closes it last has to wait, and that could be this process. Returns 0, or -errno.
 */
int socket_linger(int fd, const struct linger *asked);

/* Open the broker's socket, as what is at its path now: a module may be able to put another in its
 * place later. Returns a descriptor to be connected to, or -errno: -ECONNREFUSED when it is no
 * socket, a symbolic link among them.
 */
int broker_open(const char *path);

/* Start to connect to the destination. Returns 0, or -errno: -EINPROGRESS when it is writable once
 * it is done, and until then -EALREADY if called again; -EAGAIN when the broker has no room for one
 * more.
 */
int socket_connect(int fd, const struct destination *to, int broker);

/* How it went: 0 or -errno. */
int socket_error(int fd);

/* Let a socket of ours block. Returns 0, or -errno. */
int socket_block(int fd);

#endif
