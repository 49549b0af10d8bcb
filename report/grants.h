/* [sandbox] of a manifest: what the module's processes on a node ask for (contract.md "[sandbox]:
 * grants", wire.md 6.1). Network modes and GPU words are open sets: an unknown one is well-formed,
 * and a capability nobody enforces.
 */
#ifndef REPORT_GRANTS_H
#define REPORT_GRANTS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "report/field.h"

struct grants {
	const char *net_mode; /* never NULL: "none" when the manifest is silent */
	const char *gpu;      /* the same */
	bool exec_writable;
	bool folders_read;
	bool folders_write;
	bool containers;	/* by digest, or as a signed set */
	const char *needs_core; /* the path of a key that cores before 2.5 would ignore, or NULL */
};

/* Read `sandbox` of the document. 0, or -EINVAL with the reading's `why` set. Strings stay owned by
 * the document, or are constants.
 */
int grants_read(const struct reading *r, const cJSON *document, struct grants *ret);

#endif
