/* Paths as texts. */
#ifndef KABI_PATH_H
#define KABI_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* "DIR/NAME". Returns false, with buf "", when it does not fit. */
bool path_join(char *buf, size_t size, const char *dir, const char *name);

/* Cut the last component off `dir`. Returns false, with `dir` unchanged, when it is `top` already
 * or is not below it.
 */
bool path_parent(char *dir, const char *top);

/* Is `inner` the path `outer`, or below it? Of absolute paths, as text: without "..", repeated
 * slashes or links.
 */
bool path_is_within(const char *inner, const char *outer);

/* Does the system name an open descriptor or a device by it: /dev/NAME, /dev/fd/N, /proc/…? A link
 * there is meant to be followed; one elsewhere may have been left by a module.
 */
bool path_is_systems(const char *path);

#endif
