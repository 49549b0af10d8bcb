/* Versions and version ranges, as a manifest's `requires` writes them and as the coordinator
 * compares them: "6.18.44-fc-v669" is its numbers up to the first other character, and only the
 * first three of them count; missing ones are zero.
 */
#ifndef REPORT_VERSION_H
#define REPORT_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/fault.h"

#define VERSION_PARTS 3

struct version {
	uint32_t part[VERSION_PARTS];
};

/* Read the numeric, dotted start of `text`. -EINVAL when it does not start with a number, or when a
 * number is larger than 32 bits.
 */
int version_read(const char *text, struct version *ret);

/* Below 0, 0 or above 0, as `a` is older than, equal to or newer than `b`. */
int version_compare(const struct version *a, const struct version *b);

/* The same of two texts; one that begins with no number is older than any other. */
int version_compare_texts(const char *a, const char *b);

/* "6.12" or "6.12.3": at least two numbers, and no third one that is zero. */
#define VERSION_TEXT_MAX 36
void version_text(const struct version *v, char buf[VERSION_TEXT_MAX]);

enum version_op {
	VERSION_NEVER,
	VERSION_EQUAL,
	VERSION_UNEQUAL,
	VERSION_AT_LEAST,
	VERSION_ABOVE,
	VERSION_AT_MOST,
	VERSION_BELOW,
	VERSION_SAME_MINOR, /* ~= : at least this, with the same first two numbers */
	VERSION_SAME_MAJOR, /* ^ : at least this, with the same first number */
};

struct version_clause {
	enum version_op op;
	struct version version;
};

/* All clauses must hold. No clauses (a zeroed struct): any version, and no version at all. */
#define VERSION_CLAUSES_MAX 8
struct version_range {
	unsigned count;
	struct version_clause clause[VERSION_CLAUSES_MAX];
};

/* Parse ">=5.13,<7": one clause or more, separated by commas, each an operator (== != >= > <= < ~=
 * ^, none means ==) and a version of nothing but numbers and dots; spaces around each. -EINVAL,
 * with `why` set, for anything else, the empty string included.
 */
int version_range_parse(const char *text, struct version_range *ret, struct fault *why);

/* Does `version` lie in the range? NULL, or text that is no version, does so only when the range
 * has no clauses (wire.md 5.2: a missing value fails a non-empty range).
 */
bool version_in(const struct version_range *range, const char *version);

/* The oldest version the range may admit, or false when nothing bounds it from below. */
bool version_range_floor(const struct version_range *range, struct version *ret);

/* Is `text` a constraint on a host tool (wire.md 10)? The operators there are = == != > >= < <= ~>,
 * one is required, '_' separates like '.', and "-pre" and "+build" may follow the numbers.
 */
bool tool_constraint_ok(const char *text);

#endif
