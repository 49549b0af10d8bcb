/* What a stage has that is no file: sockets to connect to, shared memory, a message queue. Inside
 * this folder only.
 */
#ifndef PROBE_TRIAL_SOCKETS_H
#define PROBE_TRIAL_SOCKETS_H

#include "probe/trial/stage.h"

/* Make them; the unix sockets in the directory of the stage. Returns 0, or -errno with `why`. What
 * a machine may lack (IPv6, System V, queues) is left out, and its trials find nothing there.
 */
int sockets_make(struct stage *s, struct fault *why);
void sockets_close(struct stage *s);

/* Remove the message queue of the stage in `dir`. */
void sockets_remove_queue(const char *dir);

#endif
