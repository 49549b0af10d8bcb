/* The supervisor: makes a module's connections itself, so that they can go nowhere else.
 *
 * The module's calls of connect(2) are put to this process, its ancestor, by the launcher's filter
 * (launch/ask.h). Of each the address is copied once and judged; a socket of our own, like the
 * module's, is connected to where it may go, and put in place of the module's descriptor. Nothing
 * of the module is used after it was judged, and no call goes on in the kernel as it was
 * (SECCOMP_USER_NOTIF_FLAG_CONTINUE is not used), so nothing can be swapped meanwhile. When this
 * process ends, the module's calls fail with ENOSYS.
 *
 * The module sees what it would see: a socket that does not block gets EINPROGRESS, or is
 * connected; a blocking one waits, and the others do not wait with it. What differs: a descriptor
 * that was duplicated, or added to an epoll set, before it is connected stands for the old socket
 * there; and no socket lingers at its close (socket_linger() in launch/supervise/socket.h), for
 * which the module's calls of setsockopt(2) with SO_LINGER are put to this process too.
 */
#ifndef LAUNCH_SUPERVISE_SUPERVISE_H
#define LAUNCH_SUPERVISE_SUPERVISE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "kabi/fault.h"
#include "launch/supervise/judge.h"

struct supervisor;

/* Counts, of all calls until now. */
struct supervise_counts {
	uint64_t changed;   /* metadata */
	uint64_t connected; /* or in progress, of a socket that does not block */
	uint64_t refused;   /* by a judgement */
	uint64_t failed;    /* allowed, and could not be connected; or were given up */
};

/* To be made before the module is started: the writable roots and the broker's socket are what is
 * at their paths now, whatever the module puts there. A socket that is not there yet is never
 * reached.
 *
 * With rules->writable, changes of metadata are put to this process too: they are carried out
 * beneath those roots, and EACCES anywhere else (launch/supervise/metadata.h).
 *
 * Answer the calls of the module whose launcher gives its filter's listener to the other end of
 * `channel`, a socket that becomes ours. `rules` and what it points to stay the caller's and as
 * they are. Returns 0, or -errno with `why`, and the channel closed.
 */
int supervisor_new(int channel, const struct supervise_rules *rules, struct supervisor **ret,
		   struct fault *why);

/* Readable when there is something to do. */
int supervisor_fd(const struct supervisor *s);

/* What poll(2) is to wait for: the calls themselves, and supervisor_fd(). A caller wakes us on its
 * own processor only if we wait for the first (notify_take_turns()).
 */
#define SUPERVISOR_FDS 2
void supervisor_fds(const struct supervisor *s, struct pollfd ret[SUPERVISOR_FDS]);

/* Do what there is to do, without waiting. Returns false when there will be nothing more: the last
 * of the module has ended, or the launcher has before there was a listener.
 */
bool supervisor_run(struct supervisor *s);

/* Has it got the listener? If not, the module's calls are not put to it. */
bool supervisor_listens(const struct supervisor *s);

void supervisor_counts(const struct supervisor *s, struct supervise_counts *ret);

/* NULL: nothing. Calls that wait for an answer fail with ENOSYS. */
void supervisor_free(struct supervisor *s);

#endif
