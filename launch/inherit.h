/* What a new program inherits besides arguments, environment and descriptors: signals, limits and
 * capabilities. Each function brings one of them into the state a module may have (attacks.md
 * "Privilege, container, resources"). Inside this folder only.
 */
#ifndef LAUNCH_INHERIT_H
#define LAUNCH_INHERIT_H

#include "kabi/fault.h"
#include "kabi/kernel.h"

/* Default dispositions and an empty mask. SIGUSR1 stays as it is: a runner ignores it from its
 * first instruction on (spec/wire.md §2). SIGPIPE is left to the two functions below.
 */
int inherit_signals(const struct kernel *k, struct fault *why);

/* While this process is still ours a closed pipe must show as an error, not end it. */
int inherit_sigpipe_ignored(const struct kernel *k, struct fault *why);
int inherit_sigpipe_default(const struct kernel *k, struct fault *why);

/* No core file and no core handler, and a larger part in the eyes of the OOM killer.
 *
 * A core limit of 0 does not stop a handler that core_pattern pipes to; 1 does (fs/coredump.c).
 * Where the hard limit is 0 already, a process without CAP_SYS_RESOURCE cannot set 1. That is
 * accepted: no file is written, and a handler gets what it got before.
 *
 * oom_score_adj is raised to INHERIT_OOM_SCORE and never lowered. This is best effort: it needs a
 * writable /proc, and no module gains access where there is none.
 */
#define INHERIT_OOM_SCORE 500
int inherit_limits(const struct kernel *k, struct fault *why);

/* Give up every capability for good. With CAP_SETPCAP: the bounding set emptied, and the securebits
 * locked so that uid 0 is a user like any other. Then the ambient set cleared and the effective,
 * permitted and inheritable sets emptied. Without CAP_SETPCAP the bounding set and the securebits
 * cannot be changed. They are then without effect: under no_new_privs an exec grants no capability
 * that is not permitted already, not even to uid 0 (security/commoncap.c,
 * cap_bprm_creds_from_file).
 */
int inherit_capabilities(const struct kernel *k, struct fault *why);

#endif
