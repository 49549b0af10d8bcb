/* What the files that judge of capabilities share. Inside this folder only. */
#ifndef PROBE_CAPABILITY_PARTS_H
#define PROBE_CAPABILITY_PARTS_H

#include "kabi/text.h"
#include "probe/capability.h"

/* Make a sentence of these three, as far as they fit. None of them may be in `buf`. */
static inline void set(char buf[FACTS_LINE_MAX], const char *a, const char *b, const char *c)
{
	struct text t = text_start(buf, FACTS_LINE_MAX);

	text_add(&t, a);
	text_add(&t, b);
	text_add(&t, c);
}

/* A fact that decided, if there is room for it. */
static inline void add_evidence(struct capability *c, const struct fact *f)
{
	if (c->evidence_count < EVIDENCE_MAX)
		c->evidence[c->evidence_count++] = f;
}

#endif
