#include "launch/supervise/supervise.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "launch/supervise/state.h"

#define EVENTS_MAX 64

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- the module ---- */

/* The last task with the filter is gone; nobody can call again. */
static void end(struct supervisor *s)
{
	for (size_t i = 0; i < WAITING_MAX; i++)
		close_one(&s->calls[i].socket);
	close_one(&s->channel);
	close_one(&s->listener);
}

static void take_listener(struct supervisor *s)
{
	int listener = notify_take_listener(s->channel);

	if (listener == -EINTR)
		return;
	wait_unwatch(s, &s->channel);
	/* A launch that ends before it has one says why itself. Calls that nobody takes fail. */
	if (listener < 0)
		return;
	s->listener = listener;
	notify_take_turns(listener);
	s->listens = wait_watch(s, listener, EPOLLIN, OF_LISTENER) == 0;
	if (!s->listens)
		end(s);
}

static void on_listener(struct supervisor *s, uint32_t events)
{
	struct sc_notif notif;
	int r = -EIO; /* the listener itself says so */

	if (events & EPOLLIN)
		r = notify_receive(s->listener, &notif);
	else if (!(events & (EPOLLHUP | EPOLLERR)))
		return;
	if (r == 0)
		call_take(s, &notif);
	/* Whoever called may be gone. When calls cannot be received at all, they fail rather than
	 * wait for ever.
	 */
	else if (r != -EINTR && r != -ENOENT)
		end(s);
}

static bool is_over(const struct supervisor *s)
{
	return s->listener < 0 && s->channel < 0;
}

bool supervisor_run(struct supervisor *s)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(s->epoll, events, EVENTS_MAX, 0);

	if (n < 0 && errno != EINTR)
		end(s);
	for (int i = 0; i < n && !is_over(s); i++) {
		uint64_t what = events[i].data.u64;

		if (what == OF_LISTENER)
			on_listener(s, events[i].events);
		else if (what == OF_CLOCK)
			wait_on_clock(s);
		else if (what == OF_CHANNEL)
			take_listener(s);
		else
			wait_on_socket(s, what);
	}
	return !is_over(s);
}

/* ---- beginning and end ---- */

int supervisor_new(int channel, const struct supervise_rules *rules, struct supervisor **ret,
		   struct fault *why)
{
	struct supervisor *s = malloc(sizeof(*s));
	int r;

	if (!s) {
		close(channel);
		return fault_errno(why, "supervise", NULL, ENOMEM);
	}
	*s = (struct supervisor){
		.rules = rules,
		.channel = channel,
		.listener = -1,
		.listening = true,
		.broker = rules->broker ? broker_open(rules->broker) : -ENOENT,
	};
	for (size_t i = 0; i < WAITING_MAX; i++)
		s->calls[i].socket = -1;
	planter_start(&s->planter, rules->alarm);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->clock = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r = s->epoll < 0 || s->clock < 0 ? -errno : wait_watch(s, channel, EPOLLIN, OF_CHANNEL);
	if (r == 0)
		r = wait_watch(s, s->clock, EPOLLIN, OF_CLOCK);
	if (r < 0)
		fault_errno(why, "supervise", NULL, -r);
	else
		r = metadata_roots_open(rules->writable, rules->writable_count, &s->roots, why);
	if (r < 0) {
		supervisor_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

int supervisor_fd(const struct supervisor *s)
{
	return s->epoll;
}

void supervisor_fds(const struct supervisor *s, struct pollfd ret[SUPERVISOR_FDS])
{
	ret[0] = (struct pollfd){ .fd = s->listening ? s->listener : -1, .events = POLLIN };
	ret[1] = (struct pollfd){ .fd = s->epoll, .events = POLLIN };
}

bool supervisor_listens(const struct supervisor *s)
{
	return s->listens;
}

void supervisor_counts(const struct supervisor *s, struct supervise_counts *ret)
{
	*ret = s->counts;
}

void supervisor_free(struct supervisor *s)
{
	if (!s)
		return;
	end(s);
	metadata_roots_close(&s->roots);
	planter_end(&s->planter);
	close_one(&s->broker);
	close_one(&s->epoll);
	close_one(&s->clock);
	free(s);
}
