/* The names in an open directory. */
#ifndef KABI_NAMES_H
#define KABI_NAMES_H

#include <stddef.h>
#include <sys/types.h>

/* All names in directory `fd` but "." and "..", sorted by byte, each ended by NUL, in buf[size].
 * Returns how many, -ENOSPC when they do not fit, or -errno of getdents64(2).
 */
ssize_t names_list(int fd, char *buf, size_t size);

#endif
