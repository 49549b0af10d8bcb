/* Small helpers of probes that ask about paths. */
#ifndef PROBE_ASK_H
#define PROBE_ASK_H

#include <stdbool.h>
#include <stddef.h>

/* "DIR/NAME". Returns false, with buf "", when it does not fit. */
bool path_join(char *buf, size_t size, const char *dir, const char *name);

/* Cut the last component off `dir`. Returns false, with `dir` unchanged, when it is `top` already
 * or is not below it.
 */
bool path_parent(char *dir, const char *top);

/* "VERB PATH", as the evidence of a fact names a call. The end of a long path tells more than its
 * start, which is cut.
 */
void ask_name(char *buf, size_t size, const char *verb, const char *path);

#endif
