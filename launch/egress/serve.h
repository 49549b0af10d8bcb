/* The egress proxy at work. */
#ifndef LAUNCH_EGRESS_SERVE_H
#define LAUNCH_EGRESS_SERVE_H

#include "kabi/fault.h"
#include "launch/egress/command.h"

/* Listen, print "http://127.0.0.1:PORT" as the first line of standard output, and serve until
 * SIGTERM, SIGINT or the end of options->control. Then no more clients are taken, those that are
 * relayed have options->grace_s to finish; a second signal, or the control's end, closes them.
 * Returns 0; 1 when names are still being looked up, for which exit(3), but not _exit(2), would
 * wait; or -errno with `why` when it could not start. Once in a process.
 */
int egress_serve(const struct egress_options *options, struct fault *why);

#endif
