/* What the files of the supervisor share: its state, and the steps of a call. Nobody else includes
 * this.
 *
 *	supervise.c   its life: the listener comes, calls come, the last task goes
 *	call.c        one call: what it asks for, judged and carried out
 *	wait.c        calls that cannot end at once
 *	answer.c      how a call ends
 */
#ifndef LAUNCH_SUPERVISE_STATE_H
#define LAUNCH_SUPERVISE_STATE_H

#include "kabi/notify.h"
#include "launch/supervise/metadata.h"
#include "launch/supervise/plant.h"
#include "launch/supervise/socket.h"
#include "launch/supervise/supervise.h"

/* Blocking connects at a time. While there are so many, further calls wait for one to be done. */
#define WAITING_MAX 256

/* What epoll tells of: one of these, or a call that waits. */
#define OF_LISTENER UINT32_MAX
#define OF_CLOCK (UINT32_MAX - 1)
#define OF_CHANNEL (UINT32_MAX - 2)

/* A call that is being carried out. */
struct call {
	struct plant_place place;
	int socket;	  /* ours; -1: this place is free */
	uint32_t watched; /* which one of all that were, from 1; 0: it is not watched */
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

/* ---- answer.c ---- */

/* End the call with a positive errno, or with success. A caller that has given up needs none. */
void call_answer(struct supervisor *s, uint64_t id, int error);

/* The same for what was allowed and cannot be done. */
void call_fail(struct supervisor *s, uint64_t id, int error);

/* Put our socket in place of the caller's, and let the call end as it is to. Returns false when the
 * caller did not take it in time; then it is still to be done.
 */
bool call_plant(struct supervisor *s, const struct call *call);

/* ---- wait.c ---- */

/* CLOCK_MONOTONIC, in microseconds. */
int64_t wait_now_us(void);

/* Have epoll tell of `fd` as `what`. Returns 0 or -errno. */
int wait_watch(struct supervisor *s, int fd, uint32_t events, uint64_t what);

/* Close what was watched. */
void wait_unwatch(struct supervisor *s, int *fd);

/* The call goes on waiting: for its socket, or with call->retries for the clock. There is room for
 * it, for none is taken otherwise. Returns 0; or -errno, and call->socket is still the caller's.
 */
int wait_start(struct supervisor *s, const struct call *call);

/* The socket that epoll told of as `what` is connected, or has failed. */
void wait_on_socket(struct supervisor *s, uint64_t what);

/* Look after those who wait. */
void wait_on_clock(struct supervisor *s);

/* ---- call.c ---- */

/* Carry out what the caller asks for, or begin to. */
void call_take(struct supervisor *s, const struct sc_notif *notif);

#endif
