/* The sockets of the egress proxy. All are non-blocking and close-on-exec. Inside this folder only.
 */
#ifndef LAUNCH_EGRESS_SOCKET_H
#define LAUNCH_EGRESS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Listen on 127.0.0.1, on `port` or, when it is 0, one that is free. Returns the descriptor with
 * *ret_port set, or -errno.
 */
int egress_listen(uint16_t port, uint16_t *ret_port);

/* The next client, with its address, or -errno: -EAGAIN when there is none. */
int egress_accept(int listener, struct sockaddr_storage *ret_peer);

/* Start to connect to `address`. Returns the descriptor, or -errno. egress_connected() tells, once
 * it is writable, 0 or -errno.
 */
int egress_connect(const struct sockaddr *address, socklen_t len);
int egress_connected(int fd);

/* Close, and have the other end see a reset in place of an end. */
void egress_reset(int fd);

/* Send a short text to a client that has been sent nothing yet. Returns whether it took all. */
bool egress_send(int fd, const char *text, size_t len);

/* Read and forget what there is. Returns false at the end, or after an error. */
bool egress_discard(int fd);

/* As many descriptors as this process may have; returns how many. */
uint32_t egress_raise_descriptors(void);

#endif
