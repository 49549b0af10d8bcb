/* The `kernel` object of the report: every fact with its evidence, a member per probe. */
#ifndef REPORT_KERNEL_JSON_H
#define REPORT_KERNEL_JSON_H

#include <cjson/cJSON.h>

#include "probe/probe.h"

/* Add `kernel` to `object`. A probe that was not run or was lost is null there. */
void kernel_json(cJSON *object, const struct facts *facts);

/* Fill `object` with {"answer", "basis", "call", "got"}. */
void fact_fill_json(cJSON *object, const struct fact *fact);

#endif
