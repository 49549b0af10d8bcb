/* The cgroup below which this process may make containers: what systemd delegates with
 * Delegate=yes, found by mountinfo and /proc/self/cgroup and never by a fixed path (spec/wire.md
 * §7, §14.27).
 */
#ifndef LAUNCH_RUN_DELEGATION_H
#define LAUNCH_RUN_DELEGATION_H

#include "kabi/cgroup.h"
#include "kabi/fault.h"
#include "kabi/kernel.h"

/* The leaf of the parent itself: a cgroup whose controllers are handed down may hold no process of
 * its own (the kernel's cgroup-v2 document, "No Internal Process Constraint").
 */
#define DELEGATION_OWN_LEAF "agent"

struct delegation {
	char dir[CGROUP_PATH_MAX]; /* our cgroup's directory, or its parent if ours is the leaf */
	unsigned enabled;	   /* bits 1 << enum controller that what is made here has */
};

/* Find it, and whether containers can be made in it. Returns 0; or -errno, with `why` naming what
 * is missing: -ENOENT when there is no cgroup v2 here that shows our own, -EACCES, -EROFS, -EPERM
 * when it is not ours to write.
 */
int delegation_find(const struct kernel *k, struct delegation *ret, struct fault *why);

/* Have the cpu, memory and pids controllers in what is made below, as far as they are given to us:
 * moves this process into the leaf of its own, and with it process `launcher` (0: none) when that
 * stands in the same cgroup. Does nothing where they are enabled already, or not to be had. Returns
 * 0 when every one that is available is enabled, or -errno with `why`; d->enabled tells either way.
 */
int delegation_enable(const struct kernel *k, struct delegation *d, pid_t launcher,
		      struct fault *why);

#endif
