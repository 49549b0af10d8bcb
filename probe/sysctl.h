/* A kernel setting below /proc/sys, as a claim. */
#ifndef PROBE_SYSCTL_H
#define PROBE_SYSCTL_H

#include "kabi/fact.h"
#include "kabi/kernel.h"

/* Read `name`, "kernel/yama/ptrace_scope": a number. Answers yes when it is not 0; `value` is the
 * number. Unknown when it cannot be read (ENOENT: this kernel has no such setting) or is no number.
 */
void sysctl_claim(const struct kernel *k, const char *name, struct fact *ret);

/* The same for a setting that is text; yes when it starts with `start`. */
void sysctl_claim_text(const struct kernel *k, const char *name, const char *start,
		       struct fact *ret);

#endif
