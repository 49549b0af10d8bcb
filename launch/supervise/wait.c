#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "launch/supervise/state.h"

/* How often a caller is looked after that may have been killed. */
#define TICK_US 1000000
/* When the broker has no room, or a caller no processor. */
#define RETRY_US 10000

#define NOT_WATCHED 0

int64_t wait_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

/* ---- what is waited for ---- */

/* One epoll_wait(2) may tell of a call that an earlier one of its events has ended, and whose place
 * another has by then: an event says whose it is by the place, below, and by call.watched, above.
 */
static uint64_t whose(uint32_t place, uint32_t watched)
{
	return (uint64_t)watched << 32 | place;
}

int wait_watch(struct supervisor *s, int fd, uint32_t events, uint64_t what)
{
	struct epoll_event event = { .events = events, .data.u64 = what };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* A process that was forked may have a copy, with which it would be watched still. */
void wait_unwatch(struct supervisor *s, int *fd)
{
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close(*fd);
	*fd = -1;
}

static void set_clock(struct supervisor *s)
{
	int64_t us = s->retrying ? RETRY_US : s->waiting ? TICK_US : 0;
	const struct itimerspec every = {
		.it_value = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 },
		.it_interval = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 },
	};

	/* Set again with each call, it would never come to a tick. */
	if (us != s->period)
		timerfd_settime(s->clock, 0, &every, NULL);
	s->period = us;
}

/* Take calls as long as there is room for those that have to wait. */
static void set_listening(struct supervisor *s)
{
	bool listening = s->waiting < WAITING_MAX;
	struct epoll_event event = { .events = listening ? EPOLLIN : 0, .data.u64 = OF_LISTENER };

	if (listening == s->listening || s->listener < 0)
		return;
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->listener, &event);
	s->listening = listening;
}

/* ---- blocking callers ---- */

/* Never NOT_WATCHED, and not twice in one epoll_wait(2). */
static uint32_t next_watch(struct supervisor *s)
{
	s->watches = s->watches == UINT32_MAX ? 1 : s->watches + 1;
	return s->watches;
}

static void stop_waiting(struct supervisor *s, struct call *call)
{
	wait_unwatch(s, &call->socket);
	call->watched = NOT_WATCHED;
	s->waiting--;
	s->retrying -= call->retries;
	set_clock(s);
	set_listening(s);
}

int wait_start(struct supervisor *s, const struct call *call)
{
	uint32_t watched = call->retries ? NOT_WATCHED : next_watch(s);
	uint32_t i = 0;
	int r = 0;

	while (s->calls[i].socket >= 0)
		i++;
	if (watched)
		r = wait_watch(s, call->socket, EPOLLOUT, whose(i, watched));
	if (r < 0)
		return r;
	s->calls[i] = *call;
	s->calls[i].watched = watched;
	s->waiting++;
	s->retrying += call->retries;
	set_clock(s);
	set_listening(s);
	return 0;
}

/* The connection is there, or has failed. Returns false when the caller has yet to take it. */
static bool finish(struct supervisor *s, struct call *call, int r)
{
	if (r == 0 && !call->made)
		r = socket_block(call->socket);
	if (r < 0) {
		call_fail(s, call->place.id, -r);
	} else if (!call_plant(s, call)) {
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, call->socket, NULL);
		call->watched = NOT_WATCHED;
		s->retrying += !call->retries;
		call->made = call->retries = true;
		set_clock(s);
		return false;
	}
	stop_waiting(s, call);
	return true;
}

/* Returns as finish(), or true. */
static bool look_after(struct supervisor *s, struct call *call, int64_t now)
{
	const struct destination broker = { .kind = DESTINATION_BROKER };
	int r = -EAGAIN;

	if (notify_is_valid(s->listener, call->place.id) < 0) {
		s->counts.failed++;
		stop_waiting(s, call);
		return true;
	}
	if (call->made)
		return finish(s, call, 0);
	if (call->retries)
		r = socket_connect(call->socket, &broker, s->broker);
	if (r != -EAGAIN)
		return finish(s, call, r);
	if (now >= call->give_up)
		/* As a blocking connect whose time is over. */
		return finish(s, call, call->retries ? -EAGAIN : -EINPROGRESS);
	return true;
}

/* One that does not take its socket has had a turn's time: the next turn begins behind it. */
void wait_on_clock(struct supervisor *s)
{
	uint64_t times;
	int64_t now = wait_now_us();

	if (read(s->clock, &times, sizeof(times)) < 0)
		return;
	for (unsigned i = 0; i < WAITING_MAX && s->listener >= 0; i++) {
		struct call *call = &s->calls[s->turn++ % WAITING_MAX];

		if (call->socket >= 0 && !look_after(s, call, now))
			return;
	}
}

void wait_on_socket(struct supervisor *s, uint64_t what)
{
	struct call *call = &s->calls[(uint32_t)what];

	if (call->watched == what >> 32)
		finish(s, call, socket_error(call->socket));
}
