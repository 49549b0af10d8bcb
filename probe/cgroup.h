/* What the cgroup of this process may be used for: the parts of probe/cgroup.c. */
#ifndef PROBE_CGROUP_H
#define PROBE_CGROUP_H

#include "kabi/cgroup.h"
#include "kabi/kernel.h"
#include "probe/facts.h"

/* Ask which files a cgroup made below ours would have: cgroup.kill, memory.max and the like.
 * `root`: is ours the machine's root cgroup? Needs f->dir and f->controllers.
 */
void cgroup_ask_files(const struct kernel *k, enum answer root, struct cgroup_facts *f);

/* Say in f->missing what keeps a container leaf from being made, from all the other facts. `ids` is
 * NULL when they are unknown.
 */
void cgroup_say_missing(const struct cgroup_place *place, enum answer root, const struct ids *ids,
			struct cgroup_facts *f);

#endif
