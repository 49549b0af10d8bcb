/* Where this process is in the machine's cgroup hierarchies, as directories it can open. */
#ifndef KABI_CGROUP_H
#define KABI_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/fact.h"
#include "kabi/kernel.h"

#define CGROUP_PATH_MAX 1024

enum cgroup_layout {
	CGROUP_UNKNOWN,
	CGROUP_NONE,
	CGROUP_V1,
	CGROUP_HYBRID, /* v1 controllers, and v2 mounted beside them */
	CGROUP_UNIFIED,
};

/* The controllers a module's limits need, and those a node may want to know of. */
enum controller {
	CONTROLLER_CPU,
	CONTROLLER_MEMORY,
	CONTROLLER_PIDS,
	CONTROLLER_IO,
	CONTROLLER_CPUSET,
	CONTROLLER_COUNT,
};
extern const char *const controller_names[CONTROLLER_COUNT];

/* statfs(2) f_type (linux/magic.h). */
#define CGROUP2_MAGIC 0x63677270U

/* One hierarchy: v2, or the v1 hierarchy that has the cpu controller. */
struct hierarchy {
	char mount[CGROUP_PATH_MAX]; /* "" not mounted */
	char own[CGROUP_PATH_MAX];   /* our cgroup, as /proc/self/cgroup names it; "" unknown */
	char dir[CGROUP_PATH_MAX];   /* its directory; "" when it is not visible */
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
	int mounts_error;	 /* the same of /proc/self/mountinfo: v1 was not looked for */
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

#endif
