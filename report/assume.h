/* What this node would report on another kernel. */
#ifndef REPORT_ASSUME_H
#define REPORT_ASSUME_H

#include <stdbool.h>

#include "kabi/fault.h"
#include "probe/probe.h"

/* All zero: nothing is assumed. */
struct assumption {
	bool abi_set;
	unsigned abi;	    /* Landlock's; 0: a kernel without it */
	const char *kernel; /* "6.12"; NULL: the release stays */
};

bool assumption_made(const struct assumption *a);

/* Read --assume-abi's or --assume-kernel's argument. A kernel brings the newest ABI that a release
 * up to it was the first to have; an ABI given as well wins. Returns 0, or -EINVAL with `why`.
 */
int assumption_take_abi(const char *arg, struct assumption *a, struct fault *why);
int assumption_take_kernel(const char *arg, struct assumption *a, struct fault *why);

/* Put what the assumed kernel would answer about Landlock into `facts`, with the basis "assumed";
 * nothing else changes. Landlock that is off at boot, or that something filters, stays so: no
 * upgrade changes that.
 */
void assume_facts(const struct assumption *a, struct facts *facts);

/* Mark every reason of `capabilities`, which were derived from such facts. */
void assume_reasons(const struct assumption *a, struct capabilities *capabilities);

/* "Linux 6.12 (Landlock ABI 6)" into buf. */
#define ASSUMPTION_TEXT_MAX 96
void assumption_text(const struct assumption *a, char buf[ASSUMPTION_TEXT_MAX]);

#endif
