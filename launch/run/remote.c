#include "launch/run/remote.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "kabi/cgroup.h"
#include "kabi/file.h"
#include "kabi/mountinfo.h"
#include "kabi/procstat.h"
#include "kabi/text.h"
#include "launch/check.h"
#include "launch/run/keeper.h"
#include "launch/run/result.h"
#include "launch/run/tree.h"

#define ANCESTORS_MAX 256

/* ---- the keeper ---- */

/* The uppermost process at or above `pid` that has a keeper's name, or 0. Whatever is below a
 * keeper is of a module, and may call itself anything.
 */
static pid_t keeper_above(const struct kernel *k, pid_t pid)
{
	pid_t found = 0;

	for (int i = 0; pid > 1 && i < ANCESTORS_MAX; i++) {
		struct proc_stat s;

		if (proc_stat_read(k, pid, &s) < 0)
			break;
		if (strcmp(s.name, KEEPER_NAME) == 0)
			found = pid;
		pid = s.parent;
	}
	return found;
}

/* The keeper is `pid`, above it, or right below it. Returns its id, 0 when there is none, or
 * -errno.
 */
static pid_t find_keeper(const struct kernel *k, pid_t pid)
{
	static struct tree below;
	struct proc_stat s;
	pid_t found = keeper_above(k, pid);
	int r = proc_stat_read(k, pid, &s);

	if (r < 0 || found)
		return r < 0 ? r : found;
	tree_find(k, pid, &below);
	for (unsigned i = 0; i < below.count; i++) {
		if (keeper_above(k, below.process[i].pid) != below.process[i].pid)
			continue;
		if (found)
			return -ENOTUNIQ;
		found = below.process[i].pid;
	}
	return found;
}

/* ---- its container ---- */

/* The directory of the cgroup `own` in any of the mounts, as a path here. */
static bool find_directory(const struct kernel *k, const char *own, char *buf, size_t size)
{
	struct mountinfo mounts;
	struct mount m;

	if (mountinfo_open(k, &mounts) < 0)
		return false;
	while (mountinfo_next(&mounts, &m)) {
		struct node node;

		if (strcmp(m.type, "cgroup2") == 0 &&
		    cgroup_directory(m.point, m.root, own, buf, size) &&
		    k->stat(k, buf, &node) == 0 && node.type == NODE_DIR)
			return true;
	}
	return false;
}

static int find_place(const struct kernel *k, struct container *c, struct fault *why)
{
	static struct cgroup_place place;
	static char text[16384];
	char path[PROC_PATH_MAX];
	const char *name;
	ssize_t n;

	proc_path(path, c->leader, "cgroup");
	n = file_read(k, path, text, sizeof(text));
	if (n < 0)
		return fault_errno(why, "read", path, (int)-n);
	place.v2.own[0] = '\0';
	cgroup_read_own(text, &place);
	c->kind = CONTAINER_GROUP;
	name = strrchr(place.v2.own, '/');
	if (!name || !leaf_is_name(name + 1))
		return 0;
	if (!find_directory(k, place.v2.own, c->leaf.dir, sizeof(c->leaf.dir)))
		return fault_errno(why, "find the cgroup", place.v2.own, ENOENT);
	c->kind = CONTAINER_LEAF;
	return 0;
}

/* What the keeper has below it. The first one is the leader, unless that has ended. */
static int find_container(const struct kernel *k, pid_t keeper, struct remote *ret,
			  struct fault *why)
{
	static struct tree below;
	struct container c = { .kind = CONTAINER_GROUP, .leaf.fd = -1, .keeper = keeper };
	int r = 0;

	tree_find(k, keeper, &below);
	ret->running = below.count > 0;
	if (ret->running) {
		c.leader = below.process[0].pid;
		r = find_place(k, &c, why);
	}
	ret->container = c;
	return r;
}

/* ---- by a result ---- */

/* A module may have been able to write the file. So it says only which keeper; where its container
 * is the kernel says.
 */
static int find_by_result(const struct kernel *k, const char *path, struct remote *ret,
			  struct fault *why)
{
	static char text[RESULT_MAX];
	struct result_run run;
	struct proc_stat keeper;
	ssize_t n = file_read(k, path, text, sizeof(text));
	pid_t pid;
	int r;

	if (n < 0)
		return fault_errno(why, "read the result", path, (int)-n);
	r = result_parse(text, (size_t)n, &run, why);
	if (r < 0) {
		fault_prefix(why, path);
		return r;
	}
	pid = run.container.keeper;
	ret->container = run.container;
	ret->running = !run.ended && pid > 0 && proc_stat_read(k, pid, &keeper) == 0 &&
		       keeper.start == run.keeper_start && keeper_above(k, pid) == pid;
	return ret->running ? find_container(k, pid, ret, why) : 0;
}

/* ---- by a process ---- */

static int find_by_process(const struct kernel *k, pid_t pid, struct remote *ret, struct fault *why)
{
	pid_t keeper = find_keeper(k, pid);

	if (keeper == -ENOTUNIQ)
		fault_join(why, "that process keeps more than one module: name one of them", NULL);
	else if (keeper < 0)
		fault_errno(why, "look at that process", NULL, -keeper);
	else if (keeper == 0)
		fault_join(why, "that process is neither oarbank-run nor in its care", NULL);
	if (keeper <= 0)
		return keeper ? keeper : -ESRCH;
	return find_container(k, keeper, ret, why);
}

int remote_find(const struct kernel *k, const char *what, struct remote *ret, struct fault *why)
{
	int64_t pid;
	int r = check_proc(k, why);

	if (r < 0)
		return r;
	if (text_int(what, 1, INT_MAX, &pid) == 0)
		return find_by_process(k, (pid_t)pid, ret, why);
	return find_by_result(k, what, ret, why);
}
