#include "launch/egress/serve.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <unistd.h>

#include "kabi/sockdiag.h"
#include "launch/egress/connection.h"
#include "launch/egress/socket.h"

#define ACCEPTS_MAX 64 /* before the others have their turn */
#define PAUSE_MS 100   /* when there is no descriptor for a client */
/* A connection has two descriptors, and four more when both its sides are slow. */
#define DESCRIPTORS_EACH 6
#define DESCRIPTORS_OURS 64

struct server {
	struct egress egress;
	int listener;
	int diag; /* -1: whose a client is is not asked */
	uint32_t most;
	bool stopping;
	struct watch *clients;
	struct watch *control;
	struct alarm *pause; /* between two attempts to accept; then, before the end */
};

/* ---- clients ---- */

enum client {
	CLIENT_GONE, /* whose it was cannot be told any more */
	CLIENT_STRANGER,
	CLIENT_OURS,
};

static enum client judge_client(const struct server *s, const struct sockaddr_storage *peer, int fd)
{
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	uint32_t uid;

	if (s->diag < 0)
		return CLIENT_OURS;
	if (getsockname(fd, (struct sockaddr *)&own, &len) < 0 ||
	    sockdiag_owner(s->diag, (const struct sockaddr *)peer, (const struct sockaddr *)&own,
			   &uid) < 0)
		return CLIENT_GONE;
	return uid == geteuid() ? CLIENT_OURS : CLIENT_STRANGER;
}

static void take_client(struct server *s, const struct sockaddr_storage *peer, int fd)
{
	if (s->egress.open >= s->most) {
		connection_refuse(&s->egress, fd, REFUSAL_CONNECTIONS);
		return;
	}
	switch (judge_client(s, peer, fd)) {
	case CLIENT_GONE:
		connection_serve(&s->egress, fd, false);
		return;
	case CLIENT_STRANGER:
		connection_refuse(&s->egress, fd, REFUSAL_STRANGER);
		return;
	case CLIENT_OURS:
		connection_serve(&s->egress, fd, true);
		return;
	}
}

static void on_clients(void *arg, bool failed)
{
	struct server *s = arg;

	(void)failed;
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		struct sockaddr_storage peer;
		int fd = egress_accept(s->listener, &peer);

		if (fd == -ECONNABORTED || fd == -EINTR)
			continue;
		if (fd < 0 && fd != -EAGAIN) {
			/* No descriptor: trying again at once would only keep the processor busy.
			 */
			watch_for(s->clients, 0);
			alarm_set(s->pause, PAUSE_MS);
		}
		if (fd < 0)
			return;
		take_client(s, &peer, fd);
	}
}

/* ---- the end ---- */

static void end_if_idle(struct egress *e)
{
	/* The server begins with it. */
	struct server *s = (struct server *)e;

	if (s->stopping && e->open == 0)
		loop_end(e->loop);
}

static void on_pause_over(void *arg)
{
	struct server *s = arg;

	if (s->stopping)
		connections_end(&s->egress, true);
	else
		watch_for(s->clients, LOOP_READ);
}

static void stop(struct server *s, bool at_once)
{
	at_once |= s->stopping;
	if (!s->stopping) {
		watch_free(s->clients);
		close(s->listener);
		alarm_set(s->pause, s->egress.options->grace_s * INT64_C(1000));
	}
	s->stopping = true;
	connections_end(&s->egress, at_once);
	end_if_idle(&s->egress);
}

static void on_signal(void *arg)
{
	stop(arg, false);
}

/* Whatever is said there means nothing; its end does. */
static void on_control(void *arg, bool failed)
{
	struct server *s = arg;
	char byte;

	if (!failed && read(s->egress.options->control, &byte, 1) == 1)
		return;
	watch_for(s->control, 0);
	stop(s, true);
}

/* ---- the beginning ---- */

static int say_url(uint16_t port, struct fault *why)
{
	char line[48];
	struct text t = TEXT_BUF(line);

	text_add(&t, "http://127.0.0.1:");
	text_add_int(&t, port);
	text_add(&t, "\n");
	if (write(STDOUT_FILENO, line, t.len) == (ssize_t)t.len)
		return 0;
	return fault_errno(why, "write the address", NULL, errno);
}

static int watch_all(struct server *s)
{
	struct egress *e = &s->egress;
	int control = e->options->control;
	int r = egress_start(e);

	s->pause = alarm_new(e->loop, on_pause_over, s);
	s->clients = watch_new(e->loop, s->listener, on_clients, s);
	if (control >= 0)
		s->control = watch_new(e->loop, control, on_control, s);
	if (r < 0 || !s->pause || !s->clients || (control >= 0 && !s->control))
		return -ENOMEM;
	watch_for(s->clients, LOOP_READ);
	if (s->control)
		watch_for(s->control, LOOP_READ);
	r = loop_on_signal(e->loop, SIGTERM, on_signal, s);
	return r < 0 ? r : loop_on_signal(e->loop, SIGINT, on_signal, s);
}

/* Where the kernel cannot tell whose our own listener is, it cannot tell whose a client is. */
static int open_diag(int listener)
{
	const struct sockaddr_in nobody = { .sin_family = AF_INET };
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	uint32_t uid;
	int diag = sockdiag_open();

	if (diag >= 0 && getsockname(listener, (struct sockaddr *)&own, &len) == 0 &&
	    sockdiag_owner(diag, (struct sockaddr *)&own, (const struct sockaddr *)&nobody, &uid) ==
		    0)
		return diag;
	if (diag >= 0)
		close(diag);
	return -1;
}

static void set_most(struct server *s)
{
	uint32_t descriptors = egress_raise_descriptors();
	uint32_t most = 1;

	if (descriptors > DESCRIPTORS_OURS + DESCRIPTORS_EACH)
		most = (descriptors - DESCRIPTORS_OURS) / DESCRIPTORS_EACH;
	s->most = s->egress.options->connections < most ? s->egress.options->connections : most;
}

static int start(struct server *s, const struct egress_options *options, uint16_t *ret_port,
		 struct fault *why)
{
	int r = egress_log_open(options->log, &s->egress.log, why);

	if (r < 0)
		return r;
	s->egress.options = options;
	s->egress.closed = end_if_idle;
	set_most(s);
	s->listener = egress_listen(options->port, ret_port);
	if (s->listener < 0)
		return fault_errno(why, "listen on 127.0.0.1", NULL, -s->listener);
	s->diag = options->any_user ? -1 : open_diag(s->listener);
	s->egress.loop = loop_new();
	if (!s->egress.loop)
		return fault_errno(why, "make a loop", NULL, ENOMEM);
	s->egress.started = loop_now(s->egress.loop);
	r = watch_all(s);
	return r < 0 ? fault_errno(why, "watch", NULL, -r) : 0;
}

int egress_serve(const struct egress_options *options, struct fault *why)
{
	static struct server server;
	uint16_t port;
	int r;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* of the log */
	r = start(&server, options, &port, why);
	if (r == 0)
		r = say_url(port, why);
	if (r < 0)
		return r;
	loop_run(server.egress.loop);
	egress_log_end(&server.egress.log);
	flow_pipes_close(&server.egress.pipes);
	return loop_free(server.egress.loop) ? 0 : 1;
}
