/* Typed values of a document, read strictly: a value of another type or shape is refused by the
 * path of its key, "sandbox.net.allow[2]: 'http://x' is not host[:port]". Keys nobody knows are not
 * errors (wire.md 0); they are noted.
 */
#ifndef REPORT_FIELD_H
#define REPORT_FIELD_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "kabi/fault.h"
#include "report/pattern.h"

/* Where a value is: a chain of callers' variables up to the document. `key` is NULL for an entry of
 * a list, which has an index. NULL is the document itself.
 */
struct at {
	const struct at *up;
	const char *key;
	int index;
};

struct reading {
	struct fault *why; /* may be NULL */
	cJSON *unknown;	   /* a list the paths of unknown keys are added to, or NULL */
};

/* No list or table of a manifest has more entries. */
#define LIST_MAX 1024

/* Set why to "path: rule", or "path: 'value' rule". Returns -EINVAL. */
int refuse(const struct reading *r, const struct at *at, const char *value, const char *rule);

/* The same for the value of `key` below `at`. */
int refuse_key(const struct reading *r, const struct at *at, const char *key, const char *value,
	       const char *rule);

/* All of these look at `key` in the object `from`, which is at `at`. An absent key is no error and
 * leaves *ret as it is; a NULL `from` has no keys. Otherwise 0, or -EINVAL with `why` set. Strings
 * and tables stay owned by the document.
 */
int field_text(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
	       const struct rule *rule, const char **ret);
int field_bool(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
	       bool *ret);
/* A number; `above_zero`: 0 is refused too, negative ones always are. */
int field_number(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		 bool above_zero);
/* Exactly the number `want`. */
int field_literal(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		  int want);
int field_table(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		const cJSON **ret);
int field_list(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
	       const cJSON **ret);
/* A list of strings that all fit `rule`. */
int field_texts(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		const struct rule *rule, const cJSON **ret);

/* -EINVAL when the key is absent from `from`. */
int field_needed(const struct reading *r, const cJSON *from, const struct at *at, const char *key);

/* -EINVAL when two entries of the list `key` have the same string under `part`. Entries are tables.
 */
int field_unique(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		 const char *part);

/* Note each key of `from` that is not among `known`, a list that ends with NULL: the first few. */
void field_unknown(const struct reading *r, const cJSON *from, const struct at *at,
		   const char *const *known);

/* `from`, or NULL when the value of `key` is JSON's null: for keys where null means absent. */
const cJSON *unless_null(const cJSON *from, const char *key);

/* The string under `key`, or NULL. */
const char *text_of(const cJSON *from, const char *key);

/* Does the list hold that string? A NULL list holds none. */
bool list_holds(const cJSON *list, const char *s);

#endif
