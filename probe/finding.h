/* What is true of this node and the status words cannot say: residual gaps and risky settings, each
 * with a remedy. Pure.
 */
#ifndef PROBE_FINDING_H
#define PROBE_FINDING_H

#include <stdint.h>

#include "probe/capability.h"
#include "probe/facts.h"

enum severity {
	SEVERITY_NOTE,	  /* known and accepted by the contract */
	SEVERITY_WARNING, /* somebody should do something */
};

struct finding {
	const char *id; /* stable: "egress_port_only" */
	enum severity severity;
	char text[FACTS_LINE_MAX];
	char remedy[FACTS_LINE_MAX];
	const char *capability; /* the capability it qualifies, or NULL */
};

#define FINDINGS_MAX 48

struct findings {
	struct finding of[FINDINGS_MAX];
	uint32_t count;
};

void findings_derive(const struct facts *facts, const struct capabilities *capabilities,
		     struct findings *ret);

/* "note", "warning" */
const char *severity_name(enum severity severity);

#endif
