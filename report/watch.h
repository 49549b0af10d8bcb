/* --watch: a report now, and another one whenever something of it changes. */
#ifndef REPORT_WATCH_H
#define REPORT_WATCH_H

#include "kabi/kernel.h"
#include "report/options.h"

/* Print a line of JSON now and at every change, until the reader goes away. Returns the exit code.
 *
 * The kernel tells of devices (uevents) and of writes to sysctls, control groups and device
 * directories (inotify). It does not tell of everything, so that once a minute a quick look is
 * taken, which costs a few milliseconds. What happens in a burst is one change.
 */
int watch(const struct options *options, const struct kernel *k);

#endif
