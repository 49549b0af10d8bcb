#include "launch/supervise/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "kabi/notify.h"
#include "launch/supervise/metadata.h"
#include "launch/supervise/plant.h"
#include "launch/supervise/socket.h"

/* Blocking connects at a time. While there are so many, further calls wait for one to be done. */
#define WAITING_MAX 256
#define EVENTS_MAX 64
/* How often a caller is looked after that may have been killed. */
#define TICK_US 1000000
/* When the broker has no room, or a caller no processor. */
#define RETRY_US 10000

#define OF_LISTENER UINT32_MAX
#define OF_CLOCK (UINT32_MAX - 1)
#define OF_CHANNEL (UINT32_MAX - 2)
#define NOT_WATCHED 0

/* A call that is being carried out. */
struct call {
	struct plant_place place;
	int socket;	  /* ours; -1: this place is free */
	uint32_t watched; /* which one of all that were, from 1; or NOT_WATCHED */
	int error;	  /* that the call ends with, once our socket is in place */
	bool made;	  /* the caller is to take it */
	bool retries;	  /* until the broker has room, or the caller has taken it */
	int64_t give_up;  /* when a blocking caller does; INT64_MAX: never */
};

struct supervisor {
	const struct supervise_rules *rules;
	int channel;  /* where the listener comes; -1: it has */
	int listener; /* -1: there is none, yet or any more */
	int epoll;
	int clock;
	int64_t period;	  /* of the clock; 0: stopped */
	uint32_t watches; /* sockets of calls that were ever watched */
	unsigned waiting;
	unsigned retrying;
	bool listening;
	bool listens; /* there is a listener, or was */
	struct supervise_counts counts;
	struct metadata_roots roots;
	struct socket_defaults defaults;
	struct planter planter;
	unsigned turn; /* of those who wait: who is looked after first */
	int broker;    /* its socket; -errno */
	struct call calls[WAITING_MAX];
};

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- what is waited for ---- */

/* One epoll_wait(2) may tell of a call that an earlier one of its events has ended, and whose place
 * another has by then: an event says whose it is by the place, below, and by call.watched, above.
 */
static uint64_t whose(uint32_t place, uint32_t watched)
{
	return (uint64_t)watched << 32 | place;
}

static int watch(struct supervisor *s, int fd, uint32_t events, uint64_t what)
{
	struct epoll_event event = { .events = events, .data.u64 = what };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* Close what was watched. A process that was forked may have a copy, with which it would be watched
 * still.
 */
static void unwatch(struct supervisor *s, int *fd)
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

/* ---- answers ---- */

/* A caller that has given up needs none. */
static void answer(struct supervisor *s, uint64_t id, int error)
{
	notify_answer(s->listener, id, 0, error);
}

/* Put our socket in place of the caller's, and let the call end as it is to. Returns false when the
 * caller did not take it in time; then it is still to be done.
 */
static bool plant(struct supervisor *s, const struct call *call)
{
	int r = planter_put(&s->planter, s->listener, &call->place, call->socket);

	if (r == -EINTR)
		return false;
	s->counts.connected += r == 0;
	s->counts.failed += r < 0;
	answer(s, call->place.id, r < 0 ? -r : call->error);
	return true;
}

static void fail(struct supervisor *s, uint64_t id, int error)
{
	s->counts.failed++;
	answer(s, id, error);
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
	unwatch(s, &call->socket);
	call->watched = NOT_WATCHED;
	s->waiting--;
	s->retrying -= call->retries;
	set_clock(s);
	set_listening(s);
}

static int start_waiting(struct supervisor *s, const struct call *call)
{
	uint32_t watched = call->retries ? NOT_WATCHED : next_watch(s);
	uint32_t i = 0;
	int r = 0;

	while (s->calls[i].socket >= 0)
		i++;
	if (watched)
		r = watch(s, call->socket, EPOLLOUT, whose(i, watched));
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
		fail(s, call->place.id, -r);
	} else if (!plant(s, call)) {
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
static void on_clock(struct supervisor *s)
{
	uint64_t times;
	int64_t now = now_us();

	if (read(s->clock, &times, sizeof(times)) < 0)
		return;
	for (unsigned i = 0; i < WAITING_MAX && s->listener >= 0; i++) {
		struct call *call = &s->calls[s->turn++ % WAITING_MAX];

		if (call->socket >= 0 && !look_after(s, call, now))
			return;
	}
}

/* ---- a call ---- */

/* Carry out what was judged, with a socket of ours that is like *fd. That one goes with the last
 * copy of it, so ours is closed before the caller goes on.
 */
static void make_connection(struct supervisor *s, struct call *call, int *fd,
			    const struct socket_state *state, const struct destination *to)
{
	int r = socket_like(*fd, &state->kind, &s->defaults);
	bool waits;

	close_one(fd);
	if (r < 0) {
		fail(s, call->place.id, -r);
		return;
	}
	call->socket = r;
	r = socket_connect(call->socket, to, s->broker);
	/* The loopback answers while it is asked, and the answer is seen after it. */
	if (r == -EINPROGRESS && !state->non_blocking)
		r = socket_connect(call->socket, to, s->broker);
	waits = !state->non_blocking && (r == -EALREADY || r == -EAGAIN);
	if (waits) {
		call->retries = r == -EAGAIN;
		if (state->send_timeout_us > 0)
			call->give_up = now_us() + state->send_timeout_us;
		r = start_waiting(s, call);
		if (r == 0)
			return;
	}
	if (r == 0 && !state->non_blocking)
		r = socket_block(call->socket);
	if (r == 0 || r == -EINPROGRESS) {
		call->error = -r;
		if (!plant(s, call)) {
			call->made = call->retries = true;
			start_waiting(s, call);
			return;
		}
	} else {
		fail(s, call->place.id, -r);
	}
	close(call->socket);
}

static void judge(struct supervisor *s, struct call *call, const void *address, size_t len, int *fd)
{
	struct socket_state state;
	struct destination to;
	int r = socket_look(*fd, &state);

	/* What was learned is true of the caller, and not of another with its number. */
	if (notify_is_valid(s->listener, call->place.id) < 0)
		return;
	if (r < 0) {
		fail(s, call->place.id, -r);
		return;
	}
	to = supervise_judge(s->rules, &state.kind, address, len);
	if (to.kind == DESTINATION_REFUSED && to.error == EACCES) {
		s->counts.refused++;
		answer(s, call->place.id, EACCES);
	} else if (to.kind == DESTINATION_REFUSED) {
		fail(s, call->place.id, to.error);
	} else if (state.connected || state.connecting) {
		fail(s, call->place.id, state.connected ? EISCONN : EALREADY);
	} else {
		call->place.inode = state.inode;
		make_connection(s, call, fd, &state, &to);
	}
}

static void change_metadata(struct supervisor *s, const struct sc_notif *notif)
{
	int r = metadata_change(s->listener, notif, &s->roots);

	if (r == 0)
		s->counts.changed++;
	else if (r == -EACCES)
		s->counts.refused++;
	else
		s->counts.failed++;
	answer(s, notif->id, -r);
}

/* What getting hold of something of the caller's comes to. */
static int error_of(int r)
{
	return r == -EPERM || r == -ESRCH ? EACCES : -r;
}

static void connect_for(struct supervisor *s, const struct sc_notif *notif)
{
	struct call call = {
		.place = { .id = notif->id,
			   .pid = (pid_t)notif->pid,
			   .fd = (int)(uint32_t)notif->data.args[0] },
		.socket = -1,
		.give_up = INT64_MAX,
	};
	struct sockaddr_storage address;
	int len = (int)(uint32_t)notif->data.args[2];
	/* In the kernel's order: the descriptor, the address, and then what it says. */
	int fd = caller_socket(call.place.pid, call.place.fd);
	int r = 0;

	if (fd < 0) {
		fail(s, call.place.id, error_of(fd));
		return;
	}
	memset(&address, 0, sizeof(address));
	if (len < 0 || (size_t)len > sizeof(address))
		r = -EINVAL;
	else if (len > 0)
		r = caller_memory(call.place.pid, notif->data.args[1], &address, (size_t)len);
	if (r < 0)
		fail(s, call.place.id, error_of(r));
	else
		judge(s, &call, &address, (size_t)len, &fd);
	close_one(&fd);
}

static void set_linger(struct supervisor *s, const struct sc_notif *notif)
{
	pid_t pid = (pid_t)notif->pid;
	int len = (int)(uint32_t)notif->data.args[4];
	struct linger asked;
	int fd = caller_socket(pid, (int)(uint32_t)notif->data.args[0]);
	int r = fd;

	if (r >= 0)
		r = len < (int)sizeof(asked)
			    ? -EINVAL
			    : caller_memory(pid, notif->data.args[3], &asked, sizeof(asked));
	if (r == 0 && notify_is_valid(s->listener, notif->id) == 0)
		r = socket_linger(fd, &asked);
	if (fd >= 0)
		close(fd);
	answer(s, notif->id, error_of(r));
}

static void take_call(struct supervisor *s, const struct sc_notif *notif)
{
	if (notif->data.nr == SYS_connect)
		connect_for(s, notif);
	else if (notif->data.nr == SYS_setsockopt)
		set_linger(s, notif);
	else
		change_metadata(s, notif);
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
	unwatch(s, &s->channel);
	/* A launch that ends before it has one says why itself. Calls that nobody takes fail. */
	if (listener < 0)
		return;
	s->listener = listener;
	notify_take_turns(listener);
	s->listens = watch(s, listener, EPOLLIN, OF_LISTENER) == 0;
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
		take_call(s, &notif);
	/* Whoever called may be gone. When calls cannot be received at all, they fail rather than
	 * wait for ever.
	 */
	else if (r != -EINTR && r != -ENOENT)
		end(s);
}

static void on_socket(struct supervisor *s, uint64_t what)
{
	struct call *call = &s->calls[(uint32_t)what];

	if (call->watched == what >> 32)
		finish(s, call, socket_error(call->socket));
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
			on_clock(s);
		else if (what == OF_CHANNEL)
			take_listener(s);
		else
			on_socket(s, what);
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
	r = s->epoll < 0 || s->clock < 0 ? -errno : watch(s, channel, EPOLLIN, OF_CHANNEL);
	if (r == 0)
		r = watch(s, s->clock, EPOLLIN, OF_CLOCK);
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
