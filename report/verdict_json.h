/* A verdict as JSON, in a fixed order of keys. */
#ifndef REPORT_VERDICT_JSON_H
#define REPORT_VERDICT_JSON_H

#include <cjson/cJSON.h>

#include "report/modules.h"
#include "report/verdict.h"

/* Fill `object`. Of a module that was read: {"file", "name", "version": text or null, "runs",
 * "code": text or null, "message", "placed", "missing": [{"capability", "status", "rule":
 * "placement" or "contract", "why": text or null, "kernel": text or null}], "needs": [text],
 * "kernel": text or null, "landlock_abi": number or null, "unknown_keys": [text]}.
 *
 * Of one that was refused, `v` aside: {"file", "error"}.
 */
void verdict_fill_json(cJSON *object, const struct module_entry *entry, const struct verdict *v);

#endif
