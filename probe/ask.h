/* What probes that ask about paths share: how their evidence is written, and which errors say
 * nothing.
 */
#ifndef PROBE_ASK_H
#define PROBE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* "VERB PATH", as the evidence of a fact names a call. The end of a long path tells more than its
 * start, which is cut.
 */
void ask_name(char *buf, size_t size, const char *verb, const char *path);

/* Is -errno an error of this moment, that says nothing of the file? */
bool ask_is_passing(ssize_t r);

#endif
