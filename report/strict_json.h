/* JSON text to a cJSON tree, as RFC 8259 has it and stricter: valid UTF-8, no key twice in one
 * object, no NUL in a string (cJSON would cut it there), nothing after the value, no number a
 * double cannot hold, and bounded in depth and in the number of values. cJSON alone accepts all of
 * these.
 */
#ifndef REPORT_STRICT_JSON_H
#define REPORT_STRICT_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "kabi/fault.h"

#define DOCUMENT_DEPTH_MAX 32
#define DOCUMENT_VALUES_MAX 131072

/* Whole numbers beyond this are not exact in a double, and so not in a cJSON tree. */
#define EXACT_INTEGER_MAX (1LL << 53)

/* 0 with *ret to be freed by cJSON_Delete(); -EINVAL with `why` saying where, "line 3, column 7:
 * ..."; -ENOMEM.
 */
int json_tree(const char *text, size_t len, cJSON **ret, struct fault *why);

/* Set `why` to "line L, column C: problem" for a 1-based place. Returns -EINVAL. */
int fault_place(struct fault *why, size_t line, size_t column, const char *problem);

#endif
