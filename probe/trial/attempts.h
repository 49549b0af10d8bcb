/* Attempts that several tables of trials share. Inside this folder only. Each returns 0 or -errno.
 */
#ifndef PROBE_TRIAL_ATTEMPTS_H
#define PROBE_TRIAL_ATTEMPTS_H

#include "probe/trial/stage.h"
#include "probe/trial/tables.h"

/* args: family, type, protocol. What the stage found this kernel to lack is not asked for: asking
 * may load a module.
 */
int attempt_socket(const struct stage *s, const struct trial *t);

/* args: family, type; by io_uring */
int attempt_uring(const struct stage *s, const struct trial *t);

/* args: enum foreign_entry */
int attempt_foreign(const struct stage *s, const struct trial *t);

#endif
