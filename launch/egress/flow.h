/* One direction of a relayed connection: what arrives on one socket goes out on another, by
 * splice(2), so that no byte is copied here. Both sockets do not block. Inside this folder only.
 */
#ifndef LAUNCH_EGRESS_FLOW_H
#define LAUNCH_EGRESS_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/egress/body.h"

/* Pipes with nothing in them, for whichever flow is the next to need one: a flow holds one only
 * while its receiver is slower than its sender.
 */
#define FLOW_PIPES_MAX 64
struct flow_pipes {
	size_t count;
	int ends[FLOW_PIPES_MAX][2];
};

enum flow_state {
	FLOW_BROKEN,  /* a side failed; the other should learn of it */
	FLOW_READING, /* waits for bytes to come */
	FLOW_WRITING, /* waits for room */
	FLOW_DONE,    /* the end came, and was passed on */
};

struct flow {
	int from;
	int to;
	enum flow_state state; /* starts as FLOW_READING */
	const char *first;     /* to be sent before anything else; the caller's */
	size_t first_len;
	size_t held; /* in the pipe */
	/* Only what is of this body is moved: the caller's; NULL: all that comes. Behind it
	 * everything is taken for the end, and `behind` tells that there was something.
	 */
	struct egress_body *body;
	bool behind;
	int pipe[2]; /* -1: none */
};

struct flow flow_start(int from, int to);

/* Move what can be moved without waiting, in bounded time; sets flow->state. Returns whether
 * anything was. An end of file on one side shuts the other down for writing, no more: the other
 * direction goes on.
 */
bool flow_move(struct flow *flow, struct flow_pipes *pipes);

/* Let go of what it holds; the sockets stay the caller's. */
void flow_end(struct flow *flow);

void flow_pipes_close(struct flow_pipes *pipes);

#endif
