/* Putting a socket of ours in the place of a caller's, without waiting long: the kernel has the
 * caller itself take it, and a module can see to it that one of its threads gets no processor.
 * Inside this folder only.
 */
#ifndef LAUNCH_SUPERVISE_PLANT_H
#define LAUNCH_SUPERVISE_PLANT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The descriptor of a caller that waits. */
struct plant_place {
	uint64_t id;
	pid_t pid;
	int fd;
	uint64_t inode; /* of the socket that is there */
};

struct planter {
	bool bounded;
	timer_t alarm;
};

/* With `bounded` no attempt takes longer than PLANT_MS. That needs a signal, the process's SIGALRM,
 * which gets a handler: for a program that has no other use for it. Without, or when there is no
 * timer to be had, it takes as long as it takes.
 */
#define PLANT_MS 20
void planter_start(struct planter *p, bool bounded);
void planter_end(struct planter *p);

/* Put a copy of `socket` there; close-on-exec is as it was. Returns 0; -EINTR when it did not come
 * to it in time, and nothing has changed; -EBADF when another is there by now, or the caller has
 * gone.
 */
int planter_put(const struct planter *p, int listener, const struct plant_place *place, int socket);

#endif
