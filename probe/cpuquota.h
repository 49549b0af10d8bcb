/* How much CPU time the cgroups around this process allow it. */
#ifndef PROBE_CPUQUOTA_H
#define PROBE_CPUQUOTA_H

#include <stdint.h>

#include "kabi/kernel.h"

/* The least quota of our cgroup and those above it, as far as they are visible and readable from
 * here, in thousandths of a CPU: cpu.max of v2, cpu.cfs_quota_us and cpu.cfs_period_us of v1. At
 * least 1; -1 when none is set. Returns 0, or -errno when one could not be read for a reason that
 * says nothing about it, such as a want of descriptors; *ret is set only on success.
 */
int cgroup_cpu_quota(const struct kernel *k, int64_t *ret);

#endif
