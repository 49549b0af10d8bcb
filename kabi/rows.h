/* "call operands = answer", one a line: the text of a recorded kernel. */
#ifndef KABI_ROWS_H
#define KABI_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "kabi/fault.h"

struct row {
	const char *key;
	const char *answer;
};

struct rows {
	char *text; /* the rows point into it */
	struct row *row;
	size_t count;
};

/* Take `text`, from malloc, apart. Returns 0, or -errno with `why` naming `name` and the line; the
 * text is kept either way: end with rows_free().
 */
int rows_parse(struct rows *r, char *text, const char *name, struct fault *why);
void rows_free(struct rows *r);

/* The answer to "call a b", or NULL. `a` and `b` may be NULL. */
const char *rows_find(const struct rows *r, const char *call, const char *a, const char *b);

/* An answer that is a number, decimal or 0x…, or an errno name as its negative; else -EINVAL. */
int rows_number(const char *answer, int64_t *ret);

#endif
