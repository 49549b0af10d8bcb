/* How the evidence of probes that ask about paths is written. */
#ifndef PROBE_ASK_H
#define PROBE_ASK_H

#include <stddef.h>

/* "VERB PATH", as the evidence of a fact names a call. The end of a long path tells more than its
 * start, which is cut.
 */
void ask_name(char *buf, size_t size, const char *verb, const char *path);

#endif
