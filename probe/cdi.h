/* Container Device Interface specs, which tell a container engine how to pass a GPU on: looked for
 * as the reference agent does (wire.md section 3.3).
 */
#ifndef PROBE_CDI_H
#define PROBE_CDI_H

#include <stdbool.h>
#include <stddef.h>

/* Does the spec `text`, which is changed in place, have a device named "all" and a kind with a '/'?
 * Then that kind is in buf[size]; a kind that does not fit is none. A text that starts with '{' is
 * JSON, in which strings and nesting are followed and the rest is not checked; any other is YAML
 * and is scanned line by line, for "kind:" at the top level and for "name: all" anywhere. Neither
 * is a parser: a spec the engine would refuse may be taken for one it accepts.
 */
bool cdi_scan(char *text, char *buf, size_t size);

#endif
