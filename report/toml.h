/* TOML text to a cJSON tree, so that one validator reads both spellings of a manifest. */
#ifndef REPORT_TOML_H
#define REPORT_TOML_H

#include <cjson/cJSON.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "kabi/fault.h"

/* The library builds a node of some hundred bytes per value; a manifest has a few kilobytes. */
#define TOML_BYTES_MAX (1U << 20)

/* Parse TOML 1.0. Bounds are those of json_tree(). Dates and times become cJSON_Raw items, which
 * are of no type a manifest has; NaN, the infinities and whole numbers beyond 2^53 are refused, as
 * is a NUL in a string. Keys of a table come in byte order.
 *
 * 0 with *ret to be freed by cJSON_Delete(); -EINVAL with `why` saying where, "line 3, column 7:
 * ..."; -EFBIG; -ENOMEM.
 */
int toml_tree(const char *text, size_t len, cJSON **ret, struct fault *why);

#ifdef __cplusplus
}
#endif

#endif
