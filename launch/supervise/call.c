#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/supervise/state.h"

/* Carry out what was judged, with a socket of ours that is like *fd. That one goes with the last
 * copy of it, so ours is closed before the caller goes on.
 */
static void make_connection(struct supervisor *s, struct call *call, int *fd,
			    const struct socket_state *state, const struct destination *to)
{
	int r = socket_like(*fd, &state->kind, &s->defaults);
	bool waits;

	close(*fd);
	*fd = -1;
	if (r < 0) {
		call_fail(s, call->place.id, -r);
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
			call->give_up = wait_now_us() + state->send_timeout_us;
		r = wait_start(s, call);
		if (r == 0)
			return;
	}
	if (r == 0 && !state->non_blocking)
		r = socket_block(call->socket);
	if (r == 0 || r == -EINPROGRESS) {
		call->error = -r;
		if (!call_plant(s, call)) {
			call->made = call->retries = true;
			wait_start(s, call);
			return;
		}
	} else {
		call_fail(s, call->place.id, -r);
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
		call_fail(s, call->place.id, -r);
		return;
	}
	to = supervise_judge(s->rules, &state.kind, address, len);
	if (to.kind == DESTINATION_REFUSED && to.error == EACCES) {
		s->counts.refused++;
		call_answer(s, call->place.id, EACCES);
	} else if (to.kind == DESTINATION_REFUSED) {
		call_fail(s, call->place.id, to.error);
	} else if (state.connected || state.connecting) {
		call_fail(s, call->place.id, state.connected ? EISCONN : EALREADY);
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
	call_answer(s, notif->id, -r);
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
		call_fail(s, call.place.id, error_of(fd));
		return;
	}
	memset(&address, 0, sizeof(address));
	if (len < 0 || (size_t)len > sizeof(address))
		r = -EINVAL;
	else if (len > 0)
		r = caller_memory(call.place.pid, notif->data.args[1], &address, (size_t)len);
	if (r < 0)
		call_fail(s, call.place.id, error_of(r));
	else
		judge(s, &call, &address, (size_t)len, &fd);
	if (fd >= 0)
		close(fd);
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
	call_answer(s, notif->id, error_of(r));
}

void call_take(struct supervisor *s, const struct sc_notif *notif)
{
	if (notif->data.nr == SYS_connect)
		connect_for(s, notif);
	else if (notif->data.nr == SYS_setsockopt)
		set_linger(s, notif);
	else
		change_metadata(s, notif);
}
