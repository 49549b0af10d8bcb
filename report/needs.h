/* The capabilities a module needs of a node.
 *
 * First the coordinator's list in its order (wire.md 5.1). Then the always-on rules that list
 * leaves out (wire.md 14, item 36): the contract has a module run only where its grants "and the
 * always-on rules above, are enforced", so they are needed too, and are marked so that a reader can
 * tell whose rule it is.
 */
#ifndef REPORT_NEEDS_H
#define REPORT_NEEDS_H

#include <stdbool.h>

#include "report/manifest.h"

/* "gpu." or "net." and a word of at most 64 characters. */
#define NEED_NAME_MAX 72
#define NEEDS_MAX 10

struct need {
	char name[NEED_NAME_MAX]; /* a capability as the wire spells it (wire.md 3.2) */
	bool always_on;		  /* of the contract, not of the published placement */
};

struct needs {
	unsigned count;
	struct need need[NEEDS_MAX];
};

/* What `m` needs. Pure; cannot fail. */
void needs_of(const struct module *m, struct needs *ret);

#endif
