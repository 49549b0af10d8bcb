#include "probe/trial/leaf.h"

#include <errno.h>

#include "kabi/file.h"
#include "kabi/path.h"
#include "kabi/text.h"
#include "launch/launch.h"

static struct leaf leaf = { .fd = -1 };

/* How many of these two stand in it, or -1 when others do too: of another namespace, for one, which
 * have no number here.
 */
static int count_alone(const struct kernel *k, const char *dir, pid_t a, pid_t b)
{
	char path[CGROUP_PATH_MAX];
	char text[512];
	char *cursor = text;
	const char *line;
	int64_t pid;
	int count = 0;

	if (!path_join(path, sizeof(path), dir, "cgroup.procs") ||
	    file_read(k, path, text, sizeof(text)) < 0)
		return -1;
	for (; (line = text_line(&cursor)); count++)
		if (text_int(line, 1, INT32_MAX, &pid) < 0 || (pid != a && pid != b))
			return -1;
	return count;
}

static bool own_leaf(char buf[CGROUP_PATH_MAX], const struct leaf_aside *aside)
{
	return path_join(buf, CGROUP_PATH_MAX, aside->dir, DELEGATION_OWN_LEAF);
}

void leaf_step_aside(const struct kernel *k, pid_t report, struct leaf_aside *ret)
{
	struct delegation d;
	char leaf_dir[CGROUP_PATH_MAX];
	struct node node;
	pid_t self = k->getpid(k);
	int standing;

	if (delegation_find(k, &d, NULL) < 0)
		return;
	standing = count_alone(k, d.dir, report, self);
	if (standing < 0)
		return;
	ret->moved = standing > 0;
	text_copy(ret->dir, sizeof(ret->dir), d.dir);
	ret->before = d.enabled;
	ret->report = report;
	ret->host = self;
	ret->own_leaf = own_leaf(leaf_dir, ret) && k->stat(k, leaf_dir, &node) == 0;
	ret->active = true;
	delegation_enable(k, &d, report, NULL);
}

static void write_to(const struct kernel *k, const char *dir, const char *file, const char *text)
{
	char path[CGROUP_PATH_MAX];

	if (path_join(path, sizeof(path), dir, file))
		file_write(k, path, text);
}

static void move_back(const struct kernel *k, const struct leaf_aside *aside, pid_t pid)
{
	char number[24];
	struct text t = TEXT_BUF(number);

	text_add_int(&t, pid);
	write_to(k, aside->dir, "cgroup.procs", number);
}

void leaf_step_back(const struct kernel *k, struct leaf_aside *aside)
{
	static const enum controller all[] = { CONTROLLER_CPU, CONTROLLER_MEMORY, CONTROLLER_PIDS };
	char leaf_dir[CGROUP_PATH_MAX];

	if (!aside->active)
		return;
	aside->active = false;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char change[16];
		struct text t = TEXT_BUF(change);

		if (aside->before & 1U << all[i])
			continue;
		text_add(&t, "-");
		text_add(&t, controller_names[all[i]]);
		write_to(k, aside->dir, "cgroup.subtree_control", change);
	}
	if (!aside->moved)
		return;
	move_back(k, aside, aside->report);
	move_back(k, aside, aside->host);
	if (!aside->own_leaf && own_leaf(leaf_dir, aside))
		k->rmdir(k, leaf_dir);
}

int leaf_controllers(const struct kernel *k)
{
	struct delegation d;
	int r = delegation_find(k, &d, NULL);

	return r < 0 ? r : (int)d.enabled;
}

int leaf_begin(const struct kernel *k, const struct trial_limits *limits,
	       char ret_dir[CGROUP_PATH_MAX])
{
	const struct limits l = { .memory_bytes = limits->memory_bytes,
				  .cpu_milli = limits->cpu_milli,
				  .pids = limits->pids };
	struct delegation d;
	int r = delegation_find(k, &d, NULL);

	if (r == 0)
		r = leaf_make(k, &d, &l, &leaf, NULL);
	if (r == 0)
		text_copy(ret_dir, CGROUP_PATH_MAX, leaf.dir);
	return r;
}

pid_t leaf_fork(const struct kernel *k)
{
	bool outside;
	pid_t pid = leaf_clone(k, &leaf, &outside);

	if (pid == 0 && outside && leaf_enter(k, &leaf, NULL) < 0)
		k->exit(k, EIO);
	return pid;
}

int leaf_stop(const struct kernel *k, bool stop)
{
	return leaf_freeze(k, &leaf, stop, NULL);
}

int leaf_end_all(const struct kernel *k)
{
	return leaf_kill(k, &leaf, NULL);
}

void leaf_finish(const struct kernel *k)
{
	leaf_kill(k, &leaf, NULL);
	leaf_remove(k, &leaf, NULL);
}

int group_end_all(const struct kernel *k, pid_t keeper, pid_t leader)
{
	const struct container c = { .kind = CONTAINER_GROUP, .keeper = keeper, .leader = leader };

	return container_kill(k, &c, NULL);
}
