/* Where a path with symbolic links really leads. Inside this folder only. */
#ifndef LAUNCH_RESOLVE_H
#define LAUNCH_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "kabi/kernel.h"

/* Put the place that the absolute `path` names, with every symbolic link replaced by what it points
 * to, into ret[size]. Needs no /proc. What is found may change at once: open it without links.
 * Returns 0; -ELOOP at the 40th link, or when the last component is one and `last_may_be_link` is
 * false; -ENAMETOOLONG; or the -errno of readlink. *ret is of use only on success.
 */
int resolve_path(const struct kernel *k, const char *path, bool last_may_be_link, char *ret,
		 size_t size);

#endif
