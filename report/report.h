/* What the report is made of, gathered once and printed in whatever form was asked for. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "probe/probe.h"
#include "report/assume.h"
#include "report/modules.h"
#include "report/verdict.h"

struct report {
	const struct facts *facts;
	struct capabilities capabilities;
	struct findings findings;
	const struct modules *modules;
	const struct verdict
		*verdicts;  /* one for each entry of modules; of a refused one, nothing */
	char time[24];	    /* "2026-01-31T12:00:00Z" */
	int64_t epoch;	    /* the same, in seconds since 1970 */
	double duration_ms; /* of the gathering; < 0: not told */
	const char *root;   /* the recorded machine, or NULL */
	const struct assumption *assumption; /* NULL: this kernel as it is */
};

/* Decide on every module of `report`. Returns the verdicts, to be freed, or NULL without memory. */
struct verdict *report_verdicts(const struct report *report);

/* The whole report, or the sandbox report of wire.md §2.1, as one line without its newline, to be
 * freed with free(). NULL without memory.
 */
char *report_document(const struct report *report);
char *report_sandbox_line(const struct report *report);

/* As OpenMetrics text, and as features for Kubernetes' node-feature-discovery. */
void report_openmetrics(const struct report *report, FILE *out);
void report_nfd(const struct report *report, FILE *out);

/* For people. `colour`: with ANSI colours. */
void report_page(const struct report *report, bool colour, FILE *out);
void report_explain(const struct report *report, enum capability_id id, bool colour, FILE *out);

#endif
