/* Where this process is in the machine's cgroup hierarchies, as directories it can open. For the
 * probes of this folder: probe/cgroup.c, probe/cpuquota.c.
 */
#ifndef PROBE_CGROUP_H
#define PROBE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/kernel.h"
#include "probe/facts.h"

/* statfs(2) f_type (linux/magic.h). */
#define CGROUP2_MAGIC 0x63677270U

/* One hierarchy: v2, or the v1 hierarchy that has the cpu controller. */
struct hierarchy {
	char mount[FACTS_PATH_MAX]; /* "" not mounted */
	char own[FACTS_PATH_MAX];   /* our cgroup, as /proc/self/cgroup names it; "" unknown */
	char dir[FACTS_PATH_MAX];   /* its directory; "" when it is not visible */
	int dir_error; /* -errno when it could not be found out whether it is, else 0 */
	bool read_only;
};

struct cgroup_place {
	enum cgroup_layout layout;
	struct fact mounted; /* v2: found, and the filesystem's magic was right */
	struct hierarchy v2;
	struct hierarchy v1_cpu;
	bool v1_mounted;	 /* some v1 hierarchy, with controllers or only with a name */
	uint32_t v1_controllers; /* bits 1 << enum controller that v1 has taken */
	int own_error;		 /* 0, or -errno of reading /proc/self/cgroup */
	bool deleted;		 /* our cgroup has been removed under us */
};

/* Never fails: what could not be found stays unknown. */
void cgroup_find(const struct kernel *k, struct cgroup_place *ret);

/* What /proc/self/cgroup says, from its text, which is changed in place. */
void cgroup_read_own(char *text, struct cgroup_place *ret);

/* The directory of the cgroup `own` where a hierarchy is mounted at `point` with `root` as its top
 * directory. Both paths are as the kernel shows them to a process in a cgroup namespace: relative
 * to its root, with "/.." for what is above. Returns false when it is not below the mount, or does
 * not fit.
 */
bool cgroup_directory(const char *point, const char *root, const char *own, char *buf, size_t size);

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
