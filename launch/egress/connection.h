/* One client of the egress proxy, from its first byte to the end of the relay. */
#ifndef LAUNCH_EGRESS_CONNECTION_H
#define LAUNCH_EGRESS_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/egress/command.h"
#include "launch/egress/flow.h"
#include "launch/egress/log.h"
#include "launch/egress/loop.h"

/* What a connection waits for. Every phase has one length. */
enum phase {
	PHASE_HEAD,    /* the request's head */
	PHASE_LOOKUP,  /* the name's addresses */
	PHASE_CONNECT, /* one of them to answer */
	PHASE_RELAY,   /* any byte, in either direction */
	PHASE_LINGER,  /* a refused client to take its answer */
};
#define PHASE_COUNT 5

struct connection;

struct connections {
	struct connection *first;
	struct connection *last;
};

/* What all connections share. */
struct egress {
	const struct egress_options *options;
	struct loop *loop;
	struct alarm *clock;
	struct egress_log log;
	struct flow_pipes pipes;
	int64_t started;
	uint32_t open;
	/* By phase, in the order in which their time is over. */
	struct connections queues[PHASE_COUNT];
	int64_t length_ms[PHASE_COUNT];
	void (*closed)(struct egress *egress); /* called after each end of a connection */
};

/* Set the times, and a clock for them. The queues are empty when they are all zero. Returns 0, or
 * -ENOMEM.
 */
int egress_start(struct egress *egress);

/* Serve the client on `fd`, which becomes ours; or answer it with a refusal. One that is not
 * `known` to be ours is heard, so that what it should not have asked for is counted, and is not
 * connected.
 */
void connection_serve(struct egress *egress, int fd, bool known);
void connection_refuse(struct egress *egress, int fd, enum egress_refusal refusal);

/* End all that there are, or all but those that are relayed already. */
void connections_end(struct egress *egress, bool relayed);

#endif
