#include "launch/egress/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a pipe holds, less one page: of 64 KiB the loopback device makes a segment of 65483 bytes
 * and one of 53, and takes more than twice as long (measured on 6.18).
 */
#define CHUNK (15 * 4096)
/* A connection that never pauses lets the others have their turn after so many pipefuls. */
#define ROUNDS 8
/* After so little there is hardly more; whoever waits for it will say if there is. */
#define SMALL (16 * 1024)
#define SEEN_MAX 1024

struct flow flow_start(int from, int to)
{
	return (struct flow){ .from = from, .to = to, .state = FLOW_READING, .pipe = { -1, -1 } };
}

static bool take_pipe(struct flow *flow, struct flow_pipes *pipes)
{
	if (flow->pipe[0] >= 0)
		return true;
	if (pipes->count == 0)
		return pipe2(flow->pipe, O_CLOEXEC | O_NONBLOCK) == 0;
	pipes->count--;
	flow->pipe[0] = pipes->ends[pipes->count][0];
	flow->pipe[1] = pipes->ends[pipes->count][1];
	return true;
}

static void give_pipe_back(struct flow *flow, struct flow_pipes *pipes)
{
	if (flow->pipe[0] < 0 || flow->held > 0)
		return;
	if (pipes->count == FLOW_PIPES_MAX) {
		flow_end(flow);
		return;
	}
	pipes->ends[pipes->count][0] = flow->pipe[0];
	pipes->ends[pipes->count][1] = flow->pipe[1];
	pipes->count++;
	flow->pipe[0] = flow->pipe[1] = -1;
}

static enum flow_state failed(enum flow_state if_waiting)
{
	return errno == EAGAIN || errno == EINTR ? if_waiting : FLOW_BROKEN;
}

/* Send what comes first. Returns whether all of it is gone. */
static bool send_first(struct flow *flow, bool *moved)
{
	while (flow->first_len > 0) {
		ssize_t n = send(flow->to, flow->first, flow->first_len, MSG_NOSIGNAL);

		if (n < 0) {
			flow->state = failed(FLOW_WRITING);
			return false;
		}
		flow->first += n;
		flow->first_len -= (size_t)n;
		*moved = true;
	}
	return true;
}

/* Pass an urgent byte on as any other. Returns as splice(2). */
static ssize_t pass_mark(const struct flow *flow)
{
	char byte;
	ssize_t n = recv(flow->from, &byte, 1, MSG_DONTWAIT);

	return n == 1 ? write(flow->pipe[1], &byte, 1) : n;
}

/* splice(2) goes no further at an urgent byte: it says that nothing came, or even the end, while
 * poll(2) says that there is something. Whoever speaks HTTP or TLS sends none, but to do harm.
 */
static ssize_t take_unseen(const struct flow *flow, size_t most)
{
	ssize_t n = splice(flow->from, NULL, flow->pipe[1], NULL, most,
			   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	int err = errno;

	if (n > 0 || (n < 0 && err != EAGAIN))
		return n;
	if (sockatmark(flow->from) == 1)
		return pass_mark(flow);
	errno = err;
	return n;
}

/* What says where the body ends is looked at before it is taken. */
static ssize_t take_seen(struct flow *flow)
{
	char seen[SEEN_MAX];
	ssize_t n = flow->behind ? 0 : recv(flow->from, seen, sizeof(seen), MSG_PEEK);
	size_t of_body;

	if (n <= 0)
		return n;
	of_body = egress_body_take(flow->body, seen, (size_t)n);
	flow->behind = of_body < (size_t)n;
	errno = EBADMSG;
	if (flow->body->state == BODY_BAD)
		return -1;
	if (of_body == 0)
		return 0;
	n = recv(flow->from, seen, of_body, 0);
	return n == (ssize_t)of_body ? write(flow->pipe[1], seen, of_body) : -1;
}

static ssize_t take(struct flow *flow)
{
	uint64_t sure = flow->body ? egress_body_sure(flow->body) : CHUNK;
	ssize_t n;

	if (sure == 0)
		return take_seen(flow);
	n = take_unseen(flow, sure < CHUNK ? (size_t)sure : CHUNK);
	if (n > 0 && flow->body)
		egress_body_pass(flow->body, (uint64_t)n);
	return n;
}

/* Fill the empty pipe. Returns whether there is something in it. */
static bool fill(struct flow *flow, struct flow_pipes *pipes)
{
	ssize_t n;

	if (!take_pipe(flow, pipes)) {
		flow->state = FLOW_BROKEN;
		return false;
	}
	n = take(flow);
	if (n < 0)
		flow->state = failed(FLOW_READING);
	else if (n == 0)
		flow->state = shutdown(flow->to, SHUT_WR) < 0 ? FLOW_BROKEN : FLOW_DONE;
	else
		flow->held = (size_t)n;
	return n > 0;
}

/* Empty the pipe. Returns whether that worked. */
static bool drain(struct flow *flow, bool *moved)
{
	while (flow->held > 0) {
		ssize_t n = splice(flow->pipe[0], NULL, flow->to, NULL, flow->held,
				   SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

		if (n <= 0) {
			flow->state = n < 0 ? failed(FLOW_WRITING) : FLOW_BROKEN;
			return false;
		}
		flow->held -= (size_t)n;
		*moved = true;
	}
	return true;
}

bool flow_move(struct flow *flow, struct flow_pipes *pipes)
{
	bool moved = false;

	if (flow->state == FLOW_DONE || flow->state == FLOW_BROKEN || !send_first(flow, &moved))
		return moved;
	flow->state = FLOW_READING;
	if (drain(flow, &moved)) {
		for (int round = 0; round < ROUNDS && fill(flow, pipes); round++) {
			size_t filled = flow->held;

			if (!drain(flow, &moved) || filled < SMALL)
				break;
		}
	}
	give_pipe_back(flow, pipes);
	return moved;
}

void flow_end(struct flow *flow)
{
	if (flow->pipe[0] >= 0) {
		close(flow->pipe[0]);
		close(flow->pipe[1]);
	}
	flow->pipe[0] = flow->pipe[1] = -1;
	flow->held = 0;
}

void flow_pipes_close(struct flow_pipes *pipes)
{
	while (pipes->count > 0) {
		pipes->count--;
		close(pipes->ends[pipes->count][0]);
		close(pipes->ends[pipes->count][1]);
	}
}
