#include "launch/remote.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "kabi/cgroup.h"
#include "kabi/file.h"
#include "kabi/mountinfo.h"
#include "kabi/procstat.h"
#include "kabi/text.h"
#include "launch/keeper.h"
#include "launch/result.h"
#include "launch/tree.h"

#define ANCESTORS_MAX 256

/* ---- by a result ---- */

static int find_by_result(const struct kernel *k, const char *path, struct remote *ret,
			  struct fault *why)
{
	static char text[RESULT_MAX];
	struct result_run run;
	struct proc_stat keeper;
	ssize_t n = file_read(k, path, text, sizeof(text));
	int r;

	if (n < 0)
		return fault_errno(why, "read the result", path, (int)-n);
	r = result_parse(text, (size_t)n, &run, why);
	if (r < 0) {
		fault_prefix(why, path);
		return r;
	}
	ret->container = run.container;
	ret->running = !run.ended && run.container.keeper > 0 &&
		       proc_stat_read(k, run.container.keeper, &keeper) == 0 &&
		       keeper.start == run.keeper_start;
	return 0;
}

/* ---- by a process ---- */

static bool is_keeper(const struct kernel *k, pid_t pid)
{
	struct proc_stat s;

	return proc_stat_read(k, pid, &s) == 0 && strcmp(s.name, KEEPER_NAME) == 0;
}

/* The keeper is `pid`, above it, or right below it. Returns its id, 0 when there is none, or
 * -errno.
 */
static pid_t find_keeper(const struct kernel *k, pid_t pid)
{
	static struct tree below;
	struct proc_stat s;
	pid_t found = 0;
	int r = proc_stat_read(k, pid, &s);

	if (r < 0)
		return r;
	for (pid_t at = pid, i = 0; at > 1 && i < ANCESTORS_MAX; i++) {
		if (is_keeper(k, at))
			return at;
		if (proc_stat_read(k, at, &s) < 0)
			break;
		at = s.parent;
	}
	tree_find(k, pid, &below);
	for (unsigned i = 0; i < below.count; i++) {
		if (!is_keeper(k, below.process[i].pid))
			continue;
		if (found)
			return -ENOTUNIQ;
		found = below.process[i].pid;
	}
	return found;
}

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
	if (!name || !text_starts(name + 1, LEAF_PREFIX))
		return 0;
	if (!find_directory(k, place.v2.own, c->leaf.dir, sizeof(c->leaf.dir)))
		return fault_errno(why, "find the cgroup", place.v2.own, ENOENT);
	c->kind = CONTAINER_LEAF;
	return 0;
}

static int find_by_process(const struct kernel *k, pid_t pid, struct remote *ret, struct fault *why)
{
	static struct tree below;
	struct container c = { .leaf.fd = -1, .keeper = find_keeper(k, pid) };
	int r;

	if (c.keeper == -ENOTUNIQ)
		fault_join(why, "that process keeps more than one module: name one of them", NULL);
	else if (c.keeper < 0)
		fault_errno(why, "look at that process", NULL, -c.keeper);
	else if (c.keeper == 0)
		fault_join(why, "that process is none of oarbank-run, nor in its care", NULL);
	if (c.keeper <= 0)
		return c.keeper ? c.keeper : -ESRCH;
	/* The first one below it is the leader, unless that has ended. */
	tree_find(k, c.keeper, &below);
	ret->running = below.count > 0;
	r = 0;
	if (ret->running) {
		c.leader = below.process[0].pid;
		r = find_place(k, &c, why);
	}
	ret->container = c;
	return r;
}

int remote_find(const struct kernel *k, const char *what, struct remote *ret, struct fault *why)
{
	int64_t pid;

	if (text_int(what, 1, INT_MAX, &pid) == 0)
		return find_by_process(k, (pid_t)pid, ret, why);
	return find_by_result(k, what, ret, why);
}
