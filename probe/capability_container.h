/* The capabilities that stand on more than Landlock's rights: a module's container, and the
 * broker's socket. Inside this folder only.
 */
#ifndef PROBE_CAPABILITY_CONTAINER_H
#define PROBE_CAPABILITY_CONTAINER_H

#include "probe/capability.h"

/* Judge CAPABILITY_PROCESS_CONTAINER, _FREEZE, _LIMITS_* and _IPC_BROKER, which were derived as
 * enforced where there is a backend. Cooperative is the word for a process group without a leaf,
 * for SIGSTOP instead of a freeze, and for a broker grant below ABI 9, with which a module could
 * reach other sockets of the same user. Where there is no backend, their remedies and kernels are
 * those of all that is in the way.
 */
void container_derive(const struct facts *facts, struct capabilities *all);

#endif
