/* Whole small files and one-value files, read through a struct kernel. */
#ifndef KABI_FILE_H
#define KABI_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/kernel.h"

/* Read all of `path` into buf and end it with NUL. Returns the length without the NUL; -EFBIG when
 * the file does not fit in size - 1 bytes; -EINVAL when it has a NUL byte; else -errno of open or
 * read. A read interrupted by a signal goes on. A sysctl read costs ten times more with a buffer
 * over 4 KiB.
 */
ssize_t file_read(const struct kernel *k, const char *path, char *buf, size_t size);

/* The same, with the last newline cut off: for files of one line. -EINVAL when there are more. */
ssize_t file_read_line(const struct kernel *k, const char *path, char *buf, size_t size);

/* A file that holds one decimal number. -EINVAL when it holds anything else. */
int file_read_int(const struct kernel *k, const char *path, int64_t *ret);

/* Write all of text[0..len) to `fd`, as far as it takes several pieces. Returns 0, or -errno. */
int file_write_all(const struct kernel *k, int fd, const char *text, size_t len);

/* Write `text` to an existing file in one piece, as cgroup files want it. Returns 0; -EIO when only
 * a part was taken; or -errno.
 */
int file_write(const struct kernel *k, const char *path, const char *text);

#endif
