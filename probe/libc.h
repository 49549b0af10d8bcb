/* The C library of the machine's programs, which is not always that of this build. */
#ifndef PROBE_LIBC_H
#define PROBE_LIBC_H

#include "kabi/kernel.h"
#include "probe/facts.h"

/* Set libc ("glibc", "musl" or "") and libc_version of *ret; uts is read.
 *
 * A dynamic glibc build asks the library it runs with; a recording answers in its place with the
 * row "library glibc version = 2036" for 2.36. Where neither can, the loader named in /bin/sh
 * tells the library, and glibc's own file tells its version; musl's does not.
 */
void libc_ask(const struct kernel *k, struct host_facts *ret);

#endif
