#include "launch/supervise/plant.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "kabi/notify.h"
#include "launch/supervise/socket.h"

/* ---- the alarm ---- */

/* That it comes is all: it ends a system call that waits. */
static void on_alarm(int number)
{
	(void)number;
}

static bool take_signal(void)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, SIGALRM);
	return sigaction(SIGALRM, &action, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &own, NULL) == 0;
}

void planter_start(struct planter *p, bool bounded)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };

	*p = (struct planter){ .bounded = false };
	if (bounded && take_signal())
		p->bounded = timer_create(CLOCK_MONOTONIC, &event, &p->alarm) == 0;
}

void planter_end(struct planter *p)
{
	if (p->bounded)
		timer_delete(p->alarm);
	p->bounded = false;
}

/* Again and again: the first may come before the call that it is to end. */
static void set_alarm(const struct planter *p, long ms)
{
	const struct timespec every = { .tv_nsec = ms * 1000000 };
	const struct itimerspec times = { .it_value = every, .it_interval = every };

	if (p->bounded)
		timer_settime(p->alarm, 0, &times, NULL);
}

/* ---- planting ---- */

/* The inode of the caller's descriptor, by a copy of it; 0: none. */
static uint64_t inode_of(const struct plant_place *place)
{
	struct socket_state state = { .inode = 0 };
	int fd = caller_socket(place->pid, place->fd);

	if (fd >= 0) {
		socket_look(fd, &state);
		close(fd);
	}
	return state.inode;
}

/* Is the caller's descriptor still the socket that was looked at? */
static bool is_same(const struct plant_place *place, const struct caller_file *file)
{
	return (file->inode ? file->inode : inode_of(place)) == place->inode;
}

int planter_put(const struct planter *p, int listener, const struct plant_place *place, int socket)
{
	struct caller_file file;
	int r;

	if (caller_file(place->pid, place->fd, &file) < 0 || !is_same(place, &file))
		return -EBADF;
	set_alarm(p, PLANT_MS);
	r = notify_plant(listener, place->id, socket, place->fd, file.flags & O_CLOEXEC);
	set_alarm(p, 0);
	return r >= 0 ? 0 : r == -EINTR ? -EINTR : -EBADF;
}
