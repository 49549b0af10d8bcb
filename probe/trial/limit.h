/* Was it its limit that stopped a module? Want of memory on the whole machine, a signal of somebody
 * else's and a busy processor look the same from outside; the kernel counts what its limits did.
 * Inside this folder only.
 */
#ifndef PROBE_TRIAL_LIMIT_H
#define PROBE_TRIAL_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/cgroup.h"
#include "kabi/kernel.h"

/* How often the limit of `controller` (cpu, memory or pids) struck in the cgroup `dir`. -errno when
 * the kernel does not say; -ENODATA when it has no such count.
 */
int64_t limit_struck(const struct kernel *k, const char *dir, enum controller controller);

/* What became of a module that wanted more than its limit: 0 it got all of it; -errno it ended with
 * that, -ENOMEM it was killed, -ETIMEDOUT it is still at it, each as its limit struck; -EBUSY where
 * that did not, and something else was in the way. `status` is its wait status once it has `ended`.
 */
int limit_judge(bool ended, int status, int64_t struck);

#endif
