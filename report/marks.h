/* How a status is shown: ✓ enforced, ~ cooperative, ✗ unavailable. */
#ifndef REPORT_MARKS_H
#define REPORT_MARKS_H

#include "probe/probe.h"
#include "report/layout.h"

enum ink status_ink(enum status status);
const char *status_mark(enum status status);

/* The status of that name; what is none is unavailable. */
enum status status_named(const char *name);

#endif
