/* Whose a TCP socket of this machine is, by sock_diag(7). */
#ifndef KABI_SOCKDIAG_H
#define KABI_SOCKDIAG_H

#include <stdint.h>
#include <sys/socket.h>

/* A descriptor to ask with, or -errno: -EPROTONOSUPPORT where the kernel has none of it. */
int sockdiag_open(void);

/* The user who owns the TCP socket whose own address is `local` and whose peer is `remote`, both
 * AF_INET. Returns 0; -ENOENT when there is none, or nobody has it any more, since of those the
 * kernel says that they are root's; or -errno.
 */
int sockdiag_owner(int fd, const struct sockaddr *local, const struct sockaddr *remote,
		   uint32_t *ret_uid);

#endif
