/* What went wrong, for a person: one bounded line that needs no memory of its own. */
#ifndef KABI_FAULT_H
#define KABI_FAULT_H

#define FAULT_TEXT_MAX 384

/* Caller-owned. It is filled only by the functions below, so `text` always ends in a NUL byte and
 * is one line: control characters and bytes that are not printable ASCII or UTF-8 are written as
 * \xNN. A text that does not fit ends in "...". It has no pointers: it goes through a pipe as it
 * is.
 */
struct fault {
	char text[FAULT_TEXT_MAX];
};

/* Set `why` to the joined strings; the list ends with NULL. `why` may be NULL: nothing is kept. */
void fault_join(struct fault *why, ...) __attribute__((sentinel));

/* Set `why` to "attempt 'object': ENAME", or "attempt: ENAME" when `object` is NULL.
 * `err` is a positive errno. Returns -err, so that a caller can fail and say why in one line.
 */
int fault_errno(struct fault *why, const char *attempt, const char *object, int err);

/* Put "prefix: " before what `why` says already. */
void fault_prefix(struct fault *why, const char *prefix);

/* The symbolic name of a positive errno, "ENOENT"; of an unknown one, "errno N" in `buf`. */
#define ERRNO_NAME_MAX 24
const char *errno_name(int err, char buf[ERRNO_NAME_MAX]);

/* The errno with that symbolic name, or 0. */
int errno_from_name(const char *name);

#endif
