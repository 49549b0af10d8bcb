/* The sandboxes that trials run in: the launcher's own, from policies on the stage. Inside this
 * folder only.
 */
#ifndef PROBE_TRIAL_CONFINE_H
#define PROBE_TRIAL_CONFINE_H

#include "kabi/fault.h"
#include "probe/trial/stage.h"

struct trial_grants {
	bool egress;
	bool broker;
	bool exec_rw;
	bool gpu;
};

/* Confine this process for good, as the launcher would for a module with one directory of each kind
 * (PLACE_*) and these grants. `parent`: the socket of a parent to be asked (probe/trial/parent.h),
 * which is closed; or -1. Returns 0, or -errno with `why`.
 */
int trial_confine(const struct stage *s, const struct trial_grants *grants, int parent,
		  struct fault *why);

#endif
