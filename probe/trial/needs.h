/* What trials need so that they end in time and leave nothing behind. Inside this folder only. */
#ifndef PROBE_TRIAL_NEEDS_H
#define PROBE_TRIAL_NEEDS_H

#include <stdbool.h>

#include "kabi/fault.h"

/* Ask the kernel, by calls that change nothing, whether what is started can be waited for and ended
 * and what is made can be removed: a filter around this process may refuse that. One call changes
 * something: the caller, which must be no leader of a session, gets a process group of its own.
 * Returns 0, or -errno with `why`.
 */
int trial_needs(struct fault *why);

/* The same of things that trials can do without: whether they could be removed. */
bool trial_can_remove_segment(void);
bool trial_can_remove_queue(void);

#endif
