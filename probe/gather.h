/* Run the probes and bring their facts home. */
#ifndef PROBE_GATHER_H
#define PROBE_GATHER_H

#include <stdint.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "probe/facts.h"

#define PROBE_BIT(id) (1U << (id))
#define PROBE_ALL (PROBE_BIT(PROBE_COUNT) - 1)

struct gather_options {
	uint32_t want;	     /* PROBE_BIT() of each probe to run */
	uint32_t timeout_ms; /* for one probe; 0: 2000 */
	const char *home;    /* the agent's home, for the disk; NULL: the root directory */
};

/* Run the wanted probes in a child process, one after the other. A probe that
 * crashes or does not answer in time loses its own facts, which stay unknown, and says so in
 * `outcomes`; the others go on in a new child. Nothing the probes do to their process
 * (no_new_privs, for one) reaches the caller.
 * Returns 0 with *ret to be freed by facts_free(), or -errno with `why` when no child could be had
 * at all.
 */
int facts_gather(const struct kernel *k, const struct gather_options *options, struct facts **ret,
		 struct fault *why);
void facts_free(struct facts *facts);

/* "landlock", as --help and the document write it. */
const char *probe_name(enum probe_id id);

#endif
