/* A recorded machine made for one test: its files in a temporary directory, its rows from memory.
 */
#ifndef TESTS_FAKE_TREE_H
#define TESTS_FAKE_TREE_H

#include "kabi/kernel.h"

struct tree_file {
	const char *path; /* below the tree: "/proc/self/cgroup"; NULL ends a list */
	const char *text;
};

struct tree {
	char root[64];
	struct kernel kernel;
};

/* Write `files` (NULL: none) and answer from them and from `rows`, which are as kernel.calls.
 * Ends the test program when that fails: nothing of it is what is tested.
 */
void tree_make(struct tree *t, const struct tree_file *files, const char *rows);

/* Remove the files and free the kernel. */
void tree_remove(struct tree *t);

#endif
