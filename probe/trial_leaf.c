#include "probe/trial_leaf.h"

#include <errno.h>

#include "kabi/text.h"
#include "launch/launch.h"

static struct leaf leaf = { .fd = -1 };

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
	pid_t pid = k->clone(k, leaf.fd);

	/* Before Linux 5.7, or with a filter around us that does not know the call. */
	if (pid != -ENOSYS && pid != -EPERM && pid != -EINVAL && pid != -E2BIG)
		return pid;
	pid = k->clone(k, -1);
	if (pid == 0 && leaf_enter(k, &leaf, NULL) < 0)
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
