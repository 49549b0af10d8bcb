#include "launch/egress/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kabi/address.h"
#include "launch/egress/head.h"
#include "launch/egress/socket.h"

#define ADDRESSES_MAX 4 /* that are tried for one request */
#define LINGER_MS 1000
#define SECOND INT64_C(1000)

struct side {
	int fd; /* -1: none */
	struct watch *watch;
};

struct connection {
	struct connection *before; /* in the queue of its phase */
	struct connection *after;
	struct egress *egress;
	bool known; /* to be of our own user */
	enum phase phase;
	int64_t deadline; /* of the phase */
	struct side client;
	struct side upstream;
	char *head; /* until it is sent on */
	size_t head_len;
	struct egress_scan scan;
	struct egress_request request;
	struct egress_body body;
	struct lookup *lookup;
	struct addrinfo *found;
	const struct addrinfo *next; /* the address to try after this one */
	unsigned tried;
	struct flow up;
	struct flow down;
};

/* ---- phases ---- */

static void set_clock(struct egress *e, int64_t deadline)
{
	int64_t left = deadline - loop_now(e->loop);

	if (left < alarm_left(e->clock))
		alarm_set(e->clock, left);
}

/* Take it out of the queue of its phase. */
static void leave_queue(struct connection *c)
{
	struct connections *queue = &c->egress->queues[c->phase];

	if (c->before)
		c->before->after = c->after;
	else
		queue->first = c->after;
	if (c->after)
		c->after->before = c->before;
	else
		queue->last = c->before;
}

/* Put it at the end of that queue. */
static void join_queue(struct connection *c)
{
	struct connections *queue = &c->egress->queues[c->phase];

	c->after = NULL;
	c->before = queue->last;
	if (queue->last)
		queue->last->after = c;
	else
		queue->first = c;
	queue->last = c;
}

/* The phase starts; or starts again, since something happened. */
static void enter(struct connection *c, enum phase phase)
{
	struct egress *e = c->egress;

	leave_queue(c);
	c->phase = phase;
	c->deadline = loop_now(e->loop) + e->length_ms[phase];
	join_queue(c);
	set_clock(e, c->deadline);
}

static void close_side(struct side *side, bool reset)
{
	if (side->fd < 0)
		return;
	watch_free(side->watch);
	if (reset)
		egress_reset(side->fd);
	else
		close(side->fd);
	*side = (struct side){ .fd = -1 };
}

/* `reset`: neither side may take this for the end of what the other had to say. */
static void end(struct connection *c, bool reset)
{
	struct egress *e = c->egress;

	leave_queue(c);
	lookup_free(c->lookup);
	freeaddrinfo(c->found);
	flow_end(&c->up);
	flow_end(&c->down);
	close_side(&c->upstream, reset);
	close_side(&c->client, reset);
	free(c->head);
	free(c);
	e->open--;
	e->closed(e);
}

/* Closed with bytes unread, the client would see a reset before the answer. */
static void linger(struct connection *c)
{
	shutdown(c->client.fd, SHUT_WR);
	enter(c, PHASE_LINGER);
	watch_for(c->client.watch, LOOP_READ);
}

static void refuse(struct connection *c, enum egress_refusal refusal, const char *detail)
{
	struct egress *e = c->egress;
	const struct egress_subject subject = { c->request.host, c->request.port, detail };
	char reply[EGRESS_REPLY_MAX];
	size_t len = egress_reply(refusal, &subject, reply);

	egress_log_refusal(&e->log, refusal, &subject, loop_now(e->loop) - e->started);
	close_side(&c->upstream, true);
	if (!egress_send(c->client.fd, reply, len)) {
		end(c, true);
		return;
	}
	linger(c);
}

/* ---- relaying ---- */

static unsigned events_of(const struct flow *from_here, const struct flow *to_here)
{
	return (from_here->state == FLOW_READING ? LOOP_READ : 0U) |
	       (to_here->state == FLOW_WRITING ? LOOP_WRITE : 0U);
}

/* `failed`: a side has an error, and what it sent before that is passed on first. */
static void relay(struct connection *c, bool failed)
{
	bool moved = flow_move(&c->up, &c->egress->pipes);

	moved |= flow_move(&c->down, &c->egress->pipes);
	if (c->head && c->up.first_len == 0) {
		free(c->head);
		c->head = NULL;
	}
	if (c->up.state == FLOW_BROKEN || c->down.state == FLOW_BROKEN || (failed && !moved)) {
		end(c, true);
	} else if (c->up.state == FLOW_DONE && c->down.state == FLOW_DONE) {
		close_side(&c->upstream, false);
		if (c->up.behind)
			linger(c);
		else
			end(c, false);
	} else {
		if (moved)
			enter(c, PHASE_RELAY);
		watch_for(c->client.watch, events_of(&c->up, &c->down));
		watch_for(c->upstream.watch, events_of(&c->down, &c->up));
	}
}

/* Make c->head what the server gets first. Returns its length, or -errno: -EBADMSG when its chunks
 * are none.
 */
static long make_first(struct connection *c)
{
	size_t head = c->scan.line + 2;
	size_t rest = c->head_len - head;
	size_t of_body;
	char *first;
	long n;

	if (c->request.kind == REQUEST_CONNECT) {
		memmove(c->head, c->head + head, rest);
		return (long)rest;
	}
	first = malloc(c->head_len + EGRESS_FORWARD_MORE);
	if (!first)
		return -ENOMEM;
	n = egress_forward(c->head, head, &c->request, first, head + EGRESS_FORWARD_MORE);
	c->body = egress_body_start(c->request.chunked, c->request.length);
	of_body = egress_body_take(&c->body, c->head + head, rest);
	if (n >= 0 && c->body.state == BODY_BAD)
		n = -EBADMSG;
	if (n < 0) {
		free(first);
		return n;
	}
	memcpy(first + n, c->head + head, of_body);
	free(c->head);
	c->head = first;
	c->up.body = &c->body;
	c->up.behind = of_body < rest;
	return n + (long)of_body;
}

static void start_relay(struct connection *c)
{
	static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	long n;

	c->up = flow_start(c->client.fd, c->upstream.fd);
	c->down = flow_start(c->upstream.fd, c->client.fd);
	n = make_first(c);
	freeaddrinfo(c->found);
	c->found = NULL;
	if (n == -EBADMSG) {
		refuse(c, REFUSAL_MALFORMED, "");
		return;
	}
	if (n < 0 || (c->request.kind == REQUEST_CONNECT &&
		      !egress_send(c->client.fd, established, sizeof(established) - 1))) {
		end(c, true);
		return;
	}
	c->egress->log.served++;
	c->up.first = c->head;
	c->up.first_len = (size_t)n;
	enter(c, PHASE_RELAY);
	relay(c, false);
}

/* ---- connecting ---- */

static void on_upstream(void *arg, bool failed);

/* Try the next address; each was checked. Returns false, with *ret_error the last error, when none
 * is left.
 */
static bool try_next(struct connection *c, int *ret_error)
{
	close_side(&c->upstream, true);
	while (c->next && c->tried < ADDRESSES_MAX) {
		const struct addrinfo *at = c->next;
		int fd = egress_connect(at->ai_addr, at->ai_addrlen);

		c->next = at->ai_next;
		c->tried++;
		if (fd < 0) {
			*ret_error = -fd;
			continue;
		}
		c->upstream.fd = fd;
		c->upstream.watch = watch_new(c->egress->loop, fd, on_upstream, c);
		if (c->upstream.watch) {
			enter(c, PHASE_CONNECT);
			watch_for(c->upstream.watch, LOOP_WRITE);
			return true;
		}
		close_side(&c->upstream, true);
		*ret_error = ENOMEM;
	}
	return false;
}

static void connect_or_refuse(struct connection *c, enum egress_refusal refusal, int error)
{
	char name[ERRNO_NAME_MAX];

	if (!try_next(c, &error))
		refuse(c, refusal, errno_name(error, name));
}

static void on_upstream(void *arg, bool failed)
{
	struct connection *c = arg;
	int r;

	if (c->phase == PHASE_RELAY) {
		relay(c, failed);
		return;
	}
	r = egress_connected(c->upstream.fd);
	if (r < 0 || failed)
		connect_or_refuse(c, REFUSAL_CONNECT, r < 0 ? -r : EIO);
	else
		start_relay(c);
}

static bool all_public(const struct addrinfo *at)
{
	for (; at; at = at->ai_next) {
		struct address address = address_of(at->ai_addr);

		if (!address_is_public(&address))
			return false;
	}
	return true;
}

static void on_found(void *arg, struct addrinfo *found, const char *error)
{
	struct connection *c = arg;

	c->lookup = NULL;
	if (!found) {
		refuse(c, REFUSAL_LOOKUP, error);
	} else if (!all_public(found)) {
		freeaddrinfo(found);
		refuse(c, REFUSAL_NOT_PUBLIC, "");
	} else {
		c->found = found;
		c->next = found;
		connect_or_refuse(c, REFUSAL_CONNECT, 0);
	}
}

static void look_up(struct connection *c)
{
	char port[8];
	struct text t = TEXT_BUF(port);

	text_add_int(&t, c->request.port);
	enter(c, PHASE_LOOKUP);
	watch_for(c->client.watch, 0);
	c->lookup = lookup_new(c->egress->loop, c->request.host, port, on_found, c);
	if (!c->lookup)
		refuse(c, REFUSAL_LOOKUP, "ENOMEM");
}

/* ---- the request ---- */

static void judge(struct connection *c, size_t len)
{
	struct egress_request *r = &c->request;

	egress_request_read(c->head, len, r);
	if (r->kind == REQUEST_MALFORMED)
		refuse(c, REFUSAL_MALFORMED, "");
	else if (r->kind == REQUEST_OTHER)
		refuse(c, REFUSAL_METHOD, "");
	else if (r->host_kind != HOST_NAME)
		refuse(c, REFUSAL_ADDRESS, "");
	else if (!egress_allowed(c->egress->options->allow, r->host, r->port))
		refuse(c, REFUSAL_NOT_ALLOWED, "");
	else if (!c->known)
		end(c, true);
	else
		look_up(c);
}

static void read_head(struct connection *c)
{
	size_t size = c->egress->options->head_bytes;
	ssize_t n;
	long end_of_head;

	if (!c->head)
		c->head = malloc(size);
	if (!c->head) {
		end(c, true);
		return;
	}
	n = recv(c->client.fd, c->head + c->head_len, size - c->head_len, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(c, n < 0);
		return;
	}
	c->head_len += (size_t)n;
	end_of_head = egress_scan(&c->scan, c->head, c->head_len);
	if (end_of_head > 0)
		judge(c, (size_t)end_of_head);
	else if (end_of_head < 0)
		refuse(c, REFUSAL_MALFORMED, "");
	else if (c->head_len == size)
		refuse(c, REFUSAL_HEAD_SIZE, "");
}

static void on_client(void *arg, bool failed)
{
	struct connection *c = arg;

	switch (c->phase) {
	case PHASE_HEAD:
		if (failed)
			end(c, true);
		else
			read_head(c);
		return;
	case PHASE_RELAY:
		relay(c, failed);
		return;
	case PHASE_LINGER:
		if (failed || !egress_discard(c->client.fd))
			end(c, false);
		return;
	case PHASE_LOOKUP:
	case PHASE_CONNECT:
		return;
	}
}

/* ---- time ---- */

static void expire(struct connection *c)
{
	switch (c->phase) {
	case PHASE_HEAD:
		refuse(c, REFUSAL_HEAD_TIME, "");
		return;
	case PHASE_LOOKUP:
		lookup_free(c->lookup);
		c->lookup = NULL;
		refuse(c, REFUSAL_LOOKUP_TIME, "");
		return;
	case PHASE_CONNECT:
		connect_or_refuse(c, REFUSAL_CONNECT_TIME, ETIMEDOUT);
		return;
	case PHASE_RELAY:
	case PHASE_LINGER:
		end(c, true);
		return;
	}
}

static void on_clock(void *arg)
{
	struct egress *e = arg;
	struct connection *c;

	for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
		while ((c = e->queues[phase].first) && c->deadline <= loop_now(e->loop))
			expire(c);
	for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
		if ((c = e->queues[phase].first))
			set_clock(e, c->deadline);
}

/* ---- public ---- */

int egress_start(struct egress *e)
{
	const struct egress_options *o = e->options;

	e->length_ms[PHASE_HEAD] = o->head_s * SECOND;
	e->length_ms[PHASE_LOOKUP] = o->connect_s * SECOND;
	e->length_ms[PHASE_CONNECT] = o->connect_s * SECOND;
	e->length_ms[PHASE_RELAY] = o->idle_s * SECOND;
	e->length_ms[PHASE_LINGER] = LINGER_MS;
	e->clock = alarm_new(e->loop, on_clock, e);
	return e->clock ? 0 : -ENOMEM;
}

static struct connection *new_connection(struct egress *e, int fd)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct watch *watch = c ? watch_new(e->loop, fd, on_client, c) : NULL;

	e->log.connections++;
	if (!watch) {
		free(c);
		close(fd);
		return NULL;
	}
	c->egress = e;
	c->client = (struct side){ fd, watch };
	c->upstream.fd = -1;
	c->up = flow_start(-1, -1);
	c->down = flow_start(-1, -1);
	e->open++;
	join_queue(c);
	enter(c, PHASE_HEAD);
	return c;
}

void connection_serve(struct egress *e, int fd, bool known)
{
	struct connection *c = new_connection(e, fd);

	if (!c)
		return;
	c->known = known;
	watch_for(c->client.watch, LOOP_READ);
}

void connection_refuse(struct egress *e, int fd, enum egress_refusal refusal)
{
	struct connection *c = new_connection(e, fd);

	if (c)
		refuse(c, refusal, "");
}

void connections_end(struct egress *e, bool relayed)
{
	struct connection *c;

	for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
		while ((relayed || phase != PHASE_RELAY) && (c = e->queues[phase].first))
			end(c, true);
}
