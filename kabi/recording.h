/* What kabi/recorded.c and kabi/recorded_files.c share: the state of a recorded kernel. */
#ifndef KABI_RECORDING_H
#define KABI_RECORDING_H

#include "kabi/kernel.h"
#include "kabi/recorded.h"
#include "kabi/rows.h"

#define NOT_RECORDED (-KERNEL_NOT_RECORDED)

struct recording {
	struct rows rows;
	int root; /* O_PATH descriptor of the tree, or -1 */
};

/* The answer to "call a b", or NULL. `a` and `b` may be NULL. */
const char *recording_find(const struct kernel *k, const char *call, const char *a, const char *b);

/* An answer as a number or -errno; what is neither is no answer: NOT_RECORDED. */
int64_t recording_number(const char *answer);

/* The same for a call that returns an int. A number beyond that is no answer either. */
int recording_result(const char *answer);

/* Up to `max` numbers of an answer. Returns how many, or -errno: also the one that the answer is.
 */
int recording_numbers(const char *answer, int64_t *ret, int max);

/* Open `path` below the tree; links and ".." stay inside. -ENOENT without a tree. */
int recording_open(const struct kernel *k, const char *path, int flags);

/* Set the file calls of a recorded kernel. */
void recording_files(struct kernel *k);

#endif
