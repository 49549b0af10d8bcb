/* User notifications of seccomp(2): a call of another process, waiting for this one to answer; and
 * what can be had of the caller meanwhile. Each function makes one request of the kernel, and
 * returns a value >= 0 or -errno.
 */
#ifndef KABI_NOTIFY_H
#define KABI_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/seccomp.h"

/* struct seccomp_notif */
struct sc_notif {
	uint64_t id;
	uint32_t pid; /* of the thread, as this process sees it */
	uint32_t flags;
	struct sc_data data;
};
_Static_assert(sizeof(struct sc_notif) == 80, "seccomp_notif");

/* Let a caller and us, who wait for one another, take turns on one processor: a hand-over costs
 * much less than waking another one that sleeps. It works for whoever waits with poll(2) for the
 * listener itself. -EINVAL before Linux 6.6.
 */
int notify_take_turns(int listener);

/* The next call. -ENOENT when the one that was announced has been given up. */
int notify_receive(int listener, struct sc_notif *ret);

/* Let the call return `value` or, when `error` is a positive errno, fail with that. -ENOENT when
 * the caller has given up.
 */
int notify_answer(int listener, uint64_t id, int64_t value, int error);

/* 0 while the caller still waits, else -ENOENT. What was learned of the caller before is true of it
 * only if this is 0: its number could have become another's.
 */
int notify_is_valid(int listener, uint64_t id);

/* Put a copy of our descriptor `fd` in place of the caller's descriptor `onto`. */
int notify_plant(int listener, uint64_t id, int fd, int onto, bool close_on_exec);

/* The descriptor that came with the next byte on a unix socket, close-on-exec. -EPIPE at the end;
 * -EBADMSG when none came, or several, and then none is left open.
 */
int notify_take_listener(int socket);

/* A copy of the socket that descriptor `fd` of thread `pid` is, close-on-exec; -ENOTSOCK when it is
 * something else. Of a file no copy is made: to close one writes what is to be written first, and
 * ends all locks of fcntl(2) that this process has on that file.
 */
int caller_socket(pid_t pid, int fd);

struct caller_file {
	int flags;	/* O_CLOEXEC among them */
	uint64_t inode; /* 0: the kernel does not tell it (before Linux 5.14) */
};

/* What descriptor `fd` of thread `pid` is. */
int caller_file(pid_t pid, int fd, struct caller_file *ret);

/* Copy `size` bytes of its memory. Fewer than that are -EFAULT. */
int caller_memory(pid_t pid, uint64_t address, void *buf, size_t size);

/* Copy a text of its memory, with the NUL byte that ends it, into buf[size]. Returns its length;
 * -ENAMETOOLONG when it does not fit; -EFAULT.
 */
int caller_text(pid_t pid, uint64_t address, char *buf, size_t size);

#endif
