/* Which descriptors a module inherits. Inside this folder only. */
#ifndef LAUNCH_DESCRIPTORS_H
#define LAUNCH_DESCRIPTORS_H

#include "kabi/fault.h"
#include "kabi/kernel.h"

/* Take every OARBANK_CONFINED=<n> out of `envp`, in place. Returns the descriptor that the first of
 * them names, or -1: only a decimal number above 2 names one (spec/wire.md §2).
 */
int descriptors_take_signal(char **envp);

/* How many the environment may name, with our own two. */
#define DESCRIPTORS_KEPT_MAX 64

/* Close every descriptor but 0 to 2, `signal_fd` and `supervisor` (-1: none), and those that the
 * environment names as "fd:<n>": OARBANK_ENDPOINT_CHANNEL, OARBANK_SERVICE_*, OARBANK_LISTEN_FD_*
 * (wire.md §2). What stays is never a directory, and a device only when it is /dev/null or a
 * terminal, on 0 to 2. A variable of that name whose value does not begin with "fd:" names no
 * descriptor.
 *
 * Returns 0, or -errno with `why` naming the variable or the descriptor: -EBADF when one is not
 * open (0 to 2 need not be), -EINVAL when it is something that may not stay, or no number above 2,
 * or one of those two.
 */
int descriptors_close(const struct kernel *k, char *const envp[], int signal_fd, int supervisor,
		      struct fault *why);

#endif
