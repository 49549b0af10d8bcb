/* What a kernel was built with, as its configuration file says: a claim, for when the kernel's own
 * answer leaves a question.
 */
#ifndef PROBE_KCONFIG_H
#define PROBE_KCONFIG_H

#include "kabi/fact.h"
#include "kabi/kernel.h"

/* Look for `option` ("CONFIG_SECURITY_LANDLOCK") in the first of /proc/config.gz, /proc/config,
 * /boot/config-RELEASE and /lib/modules/RELEASE/config that there is. `ret` says yes for "=y"
 * and "=m", no for "is not set" and for an option the whole file never names, and unknown when
 * there is no such file, or one that is broken. Unpacking config.gz takes about a millisecond.
 */
void kconfig_ask(const struct kernel *k, const char *option, struct fact *ret);

#endif
