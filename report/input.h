/* A file that a command line names, as text in memory. */
#ifndef REPORT_INPUT_H
#define REPORT_INPUT_H

#include <stddef.h>

#include "kabi/fault.h"

/* Read all of `file`, "-" for standard input, of at most `mib` MiB. Returns 0 with *ret to be
 * freed, and without a zero byte at its end; or -errno with `why`: -EFBIG when there is more.
 */
int input_read(const char *file, unsigned mib, char **ret, size_t *ret_len, struct fault *why);

#endif
