/* How much CPU time the cgroups around this process allow it. */
#ifndef PROBE_CPUQUOTA_H
#define PROBE_CPUQUOTA_H

#include <stdint.h>

#include "kabi/kernel.h"

/* The least quota of our cgroup and those above it, as far as they are visible from here, in
 * thousandths of a CPU: cpu.max of v2, cpu.cfs_quota_us and cpu.cfs_period_us of v1. At least 1; -1
 * when none is set or could be read.
 */
int64_t cgroup_cpu_quota(const struct kernel *k);

#endif
