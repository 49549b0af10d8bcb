#include "launch/egress/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <uv.h>

struct loop {
	uv_loop_t uv;
};

/* The handle comes first in each, so that both have one address. */
struct watch {
	uv_poll_t handle;
	void (*ready)(void *arg, bool failed);
	void *arg;
	unsigned events;
};

struct alarm {
	uv_timer_t handle;
	void (*due)(void *arg);
	void *arg;
};

struct caught {
	uv_signal_t handle;
	void (*caught)(void *arg);
	void *arg;
};

struct lookup {
	uv_getaddrinfo_t request;
	void (*done)(void *arg, struct addrinfo *found, const char *error); /* NULL: freed */
	void *arg;
};

/* ---- the loop ---- */

struct loop *loop_new(void)
{
	struct loop *loop = malloc(sizeof(*loop));

	if (loop && uv_loop_init(&loop->uv) < 0) {
		free(loop);
		return NULL;
	}
	return loop;
}

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	(void)arg;
	if (!uv_is_closing(handle))
		uv_close(handle, free_handle);
}

void loop_run(struct loop *loop)
{
	uv_run(&loop->uv, UV_RUN_DEFAULT);
}

void loop_end(struct loop *loop)
{
	uv_walk(&loop->uv, close_handle, NULL);
	/* A lookup may take long. The handles are closed before this round is over. */
	uv_stop(&loop->uv);
}

bool loop_free(struct loop *loop)
{
	if (uv_loop_close(&loop->uv) < 0)
		return false;
	free(loop);
	return true;
}

int64_t loop_now(const struct loop *loop)
{
	return (int64_t)uv_now(&loop->uv);
}

/* ---- descriptors ---- */

static void on_ready(uv_poll_t *handle, int status, int events)
{
	struct watch *watch = (struct watch *)handle;

	(void)events;
	if (status < 0)
		watch->events = 0;
	watch->ready(watch->arg, status < 0);
}

struct watch *watch_new(struct loop *loop, int fd, void (*ready)(void *arg, bool failed), void *arg)
{
	struct watch *watch = malloc(sizeof(*watch));

	if (!watch || uv_poll_init(&loop->uv, &watch->handle, fd) < 0) {
		free(watch);
		return NULL;
	}
	watch->ready = ready;
	watch->arg = arg;
	watch->events = 0;
	return watch;
}

void watch_for(struct watch *watch, unsigned events)
{
	if (watch->events == events)
		return;
	watch->events = events;
	if (events)
		uv_poll_start(&watch->handle,
			      (events & LOOP_READ ? UV_READABLE : 0) |
				      (events & LOOP_WRITE ? UV_WRITABLE : 0),
			      on_ready);
	else
		uv_poll_stop(&watch->handle);
}

void watch_free(struct watch *watch)
{
	if (watch)
		uv_close((uv_handle_t *)&watch->handle, free_handle);
}

/* ---- time and signals ---- */

static void on_due(uv_timer_t *handle)
{
	struct alarm *alarm = (struct alarm *)handle;

	alarm->due(alarm->arg);
}

struct alarm *alarm_new(struct loop *loop, void (*due)(void *arg), void *arg)
{
	struct alarm *alarm = malloc(sizeof(*alarm));

	if (!alarm)
		return NULL;
	uv_timer_init(&loop->uv, &alarm->handle);
	alarm->due = due;
	alarm->arg = arg;
	return alarm;
}

void alarm_set(struct alarm *alarm, int64_t ms)
{
	uv_timer_start(&alarm->handle, on_due, ms > 0 ? (uint64_t)ms : 0, 0);
}

int64_t alarm_left(const struct alarm *alarm)
{
	if (!uv_is_active((const uv_handle_t *)&alarm->handle))
		return INT64_MAX;
	return (int64_t)uv_timer_get_due_in(&alarm->handle);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct caught *caught = (struct caught *)handle;

	(void)number;
	caught->caught(caught->arg);
}

int loop_on_signal(struct loop *loop, int number, void (*handler)(void *arg), void *arg)
{
	struct caught *caught = malloc(sizeof(*caught));
	int r;

	if (!caught)
		return -ENOMEM;
	r = uv_signal_init(&loop->uv, &caught->handle);
	if (r < 0) {
		free(caught);
		return r;
	}
	caught->caught = handler;
	caught->arg = arg;
	return uv_signal_start(&caught->handle, on_signal, number);
}

/* ---- names ---- */

static void on_found(uv_getaddrinfo_t *request, int status, struct addrinfo *found)
{
	struct lookup *lookup = (struct lookup *)request;

	if (!lookup->done) {
		freeaddrinfo(found);
	} else if (status < 0 || !found) {
		freeaddrinfo(found);
		lookup->done(lookup->arg, NULL, status < 0 ? uv_err_name(status) : "");
	} else {
		lookup->done(lookup->arg, found, NULL);
	}
	free(lookup);
}

struct lookup *lookup_new(struct loop *loop, const char *host, const char *port,
			  void (*done)(void *arg, struct addrinfo *found, const char *error),
			  void *arg)
{
	/* Only families this machine has an address of. */
	static const struct addrinfo stream = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_ADDRCONFIG,
	};
	struct lookup *lookup = malloc(sizeof(*lookup));

	if (!lookup || uv_getaddrinfo(&loop->uv, &lookup->request, on_found, host, port, &stream)) {
		free(lookup);
		return NULL;
	}
	lookup->done = done;
	lookup->arg = arg;
	return lookup;
}

void lookup_free(struct lookup *lookup)
{
	if (!lookup)
		return;
	lookup->done = NULL;
	/* One that a thread is busy with ends by itself, and is freed then, as all are. */
	uv_cancel((uv_req_t *)&lookup->request);
}
