/* What the egress proxy waits for: descriptors, a time, signals, names. The face of libuv, which
 * is used in this header's .c alone. One thread; no callback comes after what it belongs to was
 * freed.
 */
#ifndef LAUNCH_EGRESS_LOOP_H
#define LAUNCH_EGRESS_LOOP_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "kabi/fault.h"

struct loop;
struct watch;
struct alarm;
struct lookup;

/* Returns NULL when there is no memory or no descriptor for it. */
struct loop *loop_new(void);

/* Go on until loop_end(), which frees everything that is still waited for. */
void loop_run(struct loop *loop);
void loop_end(struct loop *loop);

/* Returns false when threads are still busy with lookups: then exit(3) would wait for them. */
bool loop_free(struct loop *loop);

/* Milliseconds on a clock that only goes forward. */
int64_t loop_now(const struct loop *loop);

enum {
	LOOP_READ = 1,
	LOOP_WRITE = 2,
};

/* `ready` is called as long as what is waited for, at first nothing, is so. The descriptor stays
 * the caller's, to be closed after watch_free(). Returns NULL when it cannot be. `failed`: the
 * descriptor has an error, which may show only after the bytes before it were read; nothing is
 * waited for any more.
 */
struct watch *watch_new(struct loop *loop, int fd, void (*ready)(void *arg, bool failed),
			void *arg);
void watch_for(struct watch *watch, unsigned events);
void watch_free(struct watch *watch); /* NULL: nothing */

/* Called once, when the time has come that was set last. */
struct alarm *alarm_new(struct loop *loop, void (*due)(void *arg), void *arg);
void alarm_set(struct alarm *alarm, int64_t ms);
/* How long until then; INT64_MAX when none is set. */
int64_t alarm_left(const struct alarm *alarm);

/* Returns 0, or -errno. */
int loop_on_signal(struct loop *loop, int number, void (*caught)(void *arg), void *arg);

/* Look a host's addresses up, without holding up the rest. `done` gets them, to be freed with
 * freeaddrinfo(3); or NULL and the name of what went wrong. Returns NULL when it cannot be.
 */
struct lookup *lookup_new(struct loop *loop, const char *host, const char *port,
			  void (*done)(void *arg, struct addrinfo *found, const char *error),
			  void *arg);

/* Stop waiting for it, before `done` was called. */
void lookup_free(struct lookup *lookup);

#endif
