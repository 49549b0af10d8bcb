/* A verdict as JSON, in a fixed order of keys. */
#ifndef REPORT_VERDICT_JSON_H
#define REPORT_VERDICT_JSON_H

#include <cjson/cJSON.h>

#include "report/modules.h"
#include "report/verdict.h"

/* Of a module that was read: {"file", "name", "version": text or null, "runs", "code": text or
 * null, "message", "placed", "missing": [{"capability", "status", "rule": "placement" or
 * "contract", "why": text or null, "kernel": text or null}], "needs": [text], "kernel": text or
 * null, "landlock_abi": number or null, "unknown_keys": [text]}.
 *
 * Of one that was refused, with `v` NULL: {"file", "error"}.
 *
 * NULL without memory. Free with cJSON_Delete().
 */
cJSON *verdict_json(const struct module_entry *entry, const struct verdict *v);

#endif
