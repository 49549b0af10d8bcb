/* Landlock: carry out the part of a plan that is about it. */
#ifndef LAUNCH_LANDLOCK_H
#define LAUNCH_LANDLOCK_H

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/plan.h"

/* Confine this thread for good to the rules of `plan`; no_new_privs must be set.
 *
 * Each path is opened once, and its rule is on what was opened. Roots of the policy are opened
 * without symbolic links on the way. Where one is met, the path is resolved and the place opened
 * instead, and the overlaps are checked again between the places. The last component of an `rw`,
 * `rd` or `wo` root, of the broker's socket and of a GPU node must not be a link at all: somebody
 * may have put it there since the path was chosen (attacks.md, "the path given is not the path
 * meant"). That of `ro`, `exe` and the base system may: /lib and a venv's python are links.
 *
 * Returns 0, or -errno with `why` naming the rule; then this thread is not confined. Leaves no
 * descriptor open either way. Keeps its notes in static memory: one thread at a time.
 */
int landlock_apply(const struct kernel *k, const struct plan *plan, struct fault *why);

/* The Landlock ABI of this kernel, or -errno: ENOSYS not built in, EOPNOTSUPP off at boot. */
int landlock_abi(const struct kernel *k);

#endif
