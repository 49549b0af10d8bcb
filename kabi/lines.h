/* The lines of a file of any length, one after another through a small buffer: for /proc files and
 * the like, of which a few lines are wanted.
 */
#ifndef KABI_LINES_H
#define KABI_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "kabi/kernel.h"

#define LINES_SIZE 4096
/* A file that goes on beyond this is not one of ours. */
#define LINES_FILE_MAX (16U << 20)

/* Called with each line, without its separator and ended by NUL. Only the first LINES_SIZE - 1
 * bytes of a longer line are given, once. The line may be written to, and is gone after the call.
 * Returns false when no more lines are wanted.
 */
typedef bool lines_each(void *arg, char *line);

struct lines {
	lines_each *each;
	void *arg;
	char separator;
	bool enough;
	size_t len;
	char buf[LINES_SIZE];
};

/* Feed bytes in pieces of any size, then end: the end gives the last line if it had no separator.
 * lines_feed() returns false once no more is wanted.
 */
void lines_start(struct lines *l, char separator, lines_each *each, void *arg);
bool lines_feed(struct lines *l, const char *bytes, size_t len);
void lines_end(struct lines *l);

/* Feed a whole file. Returns 0, or -errno of open or read, or -EFBIG; lines before an error were
 * given.
 */
int lines_read(const struct kernel *k, const char *path, char separator, lines_each *each,
	       void *arg);

#endif
