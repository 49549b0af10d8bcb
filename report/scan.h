/* A pull scanner for JSON text in memory: it looks at what is asked for and validates the rest
 * while passing over it, without a tree and without memory. For reading very many documents, of
 * which little is wanted; strict_json.h makes trees.
 *
 * Every function returns false at an error, and from then on; `problem` tells which and `at` where.
 * A zero byte must follow the text, and SCAN_PADDING bytes in all must be there to be read.
 */
#ifndef REPORT_SCAN_H
#define REPORT_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "kabi/fault.h"

#define SCAN_PADDING 8
#define SCAN_DEPTH_MAX 32

struct scan {
	const char *text;
	const char *at;
	const char *end;
	const char *problem; /* NULL: none so far */
	unsigned depth;	     /* of the objects and arrays entered */
};

/* What stands between the quotes of a string, escapes as they are written. */
struct span {
	const char *at;
	size_t len;
};

/* "text" of `len` bytes. */
struct scan scan_start(const char *text, size_t len);

/* Enter the object or array that begins here. False, without an error, when something else does. */
bool scan_enter_object(struct scan *s);
bool scan_enter_array(struct scan *s);

/* The next key of the object we are in, up to its value; or the next value of the array. False at
 * the end of it, which is then left.
 */
bool scan_key(struct scan *s, struct span *ret);
bool scan_element(struct scan *s);

/* Take a value. False, without an error, when it is of another type, which is then skipped. */
bool scan_string(struct scan *s, struct span *ret);
bool scan_integer(struct scan *s, long *ret);

/* Pass over one value of any type. */
bool scan_skip(struct scan *s);

/* Nothing but white space is left? */
bool scan_finish(struct scan *s);

bool span_is(const struct span *span, const char *text);

/* Copy with the escapes resolved, cut between characters where it does not fit. A \u0000 becomes
 * U+FFFD.
 */
void span_copy(const struct span *span, char *buf, size_t size);

/* "line L, column C: problem" */
void scan_fault(const struct scan *s, struct fault *why);

#endif
