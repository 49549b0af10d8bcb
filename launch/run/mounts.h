/* What is mounted where a module may write. Inside this folder only. */
#ifndef LAUNCH_RUN_MOUNTS_H
#define LAUNCH_RUN_MOUNTS_H

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/policy.h"

/* Refuse a writable root (rw, wo) that has an interface to the kernel (kabi/kernelfs.h) mounted in
 * it, or lies in one: by a cgroup file system a module would leave its container. The launcher asks
 * only what a root itself lies in; reading the table of mounts takes it too long. A root that
 * cannot be found is the launcher's to refuse. Returns 0; -EINVAL with `why`, also when the table
 * cannot be understood; or -errno of reading it.
 */
int mounts_check(const struct kernel *k, const struct policy *policy, struct fault *why);

#endif
