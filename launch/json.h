/* The few JSON forms a policy is made of (RFC 8259), read in place. There is no tree and no depth:
 * the caller asks for the form it expects next. Inside this folder only.
 */
#ifndef LAUNCH_JSON_H
#define LAUNCH_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/fault.h"

/* A position in the text. Readers that fail set `why` and return -EINVAL. */
struct json {
	char *start;
	char *at;
	char *end;
	struct fault *why;
};

/* Fail with "not JSON at byte N: <what>". */
int json_syntax(const struct json *j, const char *what);

/* Step over white space, and over `c` if it comes next. Returns whether it did. */
bool json_take(struct json *j, char c);

/* The next character that is not white space, or '\0' at the end of the text. */
char json_peek(struct json *j);

/* A string: decoded over its own text and ended by NUL. Valid UTF-8 without NUL characters; escapes
 * for half a surrogate pair are refused.
 */
int json_string(struct json *j, char **ret);

/* Step over the word `word` (null, true, false) if it comes next. Returns whether it did. */
bool json_word(struct json *j, const char *word);

/* A number without sign, fraction and exponent, at most `max`. -ERANGE, with `why` left alone, for
 * any other number; -EINVAL for what is no number.
 */
int json_uint(struct json *j, uint64_t max, uint64_t *ret);

/* Step over null, false, "", [] or {}. Returns whether one of them came next; if not, the position
 * is lost.
 */
bool json_nothing(struct json *j);

#endif
