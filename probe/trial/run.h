/* Make every trial on this kernel. */
#ifndef PROBE_TRIAL_RUN_H
#define PROBE_TRIAL_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/kernel.h"
#include "probe/facts.h"

struct trials_options {
	uint32_t timeout_ms; /* for one trial; 0: 1000 */
	bool supervised;     /* with a parent that is asked, as oarbank-run's modules have */
	bool wire_only;	     /* leave out what no name of the wire stands on: broker, container */
};

/* Fill facts->trials. The launcher confines itself through `k`; what is tried goes straight to the
 * kernel of this machine. facts->landlock and facts->seccomp are known: without a sandbox nothing
 * is tried. Never fails: when nothing could be tried the state says so, with the reason.
 *
 * A child process sets the stage up and takes it down, in a process group of its own; its children
 * make the attempts. All of them end with the caller, whatever ends it, and the stage is removed by
 * whoever of the two is left. A trial that hangs or crashes is ended and lost; the others go on.
 */
void trials_run(const struct kernel *k, const struct trials_options *options, struct facts *facts);

#endif
