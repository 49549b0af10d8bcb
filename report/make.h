/* Making a report: asking, judging and deciding, before anything is written. */
#ifndef REPORT_MAKE_H
#define REPORT_MAKE_H

#include <stdbool.h>

#include "report/options.h"
#include "report/report.h"

/* Everything a report points into. It does not move. */
struct made {
	struct report report;
	struct facts *facts;
	struct modules modules;
	struct verdict *verdicts;
};

/* Ask `k` and decide. `quick`: only what can change on a running machine and costs little, without
 * trials; for noticing a change. Returns 0, or -errno with `why`. Free with report_unmake(), also
 * after an error.
 */
int report_make(const struct options *options, const struct kernel *k, bool quick, struct made *ret,
		struct fault *why);
void report_unmake(struct made *made);

#endif
