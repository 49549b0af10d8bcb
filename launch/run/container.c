#include "launch/run/container.h"

#include <errno.h>
#include <signal.h>

#include "launch/run/tree.h"

/* One signal may leave what was forked meanwhile. It is found in the next round, if no other than
 * the signal stops it.
 */
#define ROUNDS_MAX 8

static struct tree tree;

/* Signal everything below the keeper once. Returns how many got it, or -errno: also when one that
 * is there did not get it.
 */
static int signal_tree(const struct kernel *k, pid_t keeper, int signal)
{
	int sent = 0;
	int failed = 0;
	int r = tree_find(k, keeper, &tree);

	for (unsigned i = 0; i < tree.count; i++) {
		int one;

		if (signal == SIGSTOP && tree.process[i].state == 'T')
			continue;
		one = tree_signal(k, &tree.process[i], signal);
		sent += one == 0;
		if (one < 0 && one != -ESRCH)
			failed = one;
	}
	r = r < 0 ? r : failed;
	return r < 0 ? r : sent;
}

static int freeze_group(const struct kernel *k, const struct container *c, bool freeze,
			struct fault *why)
{
	int r = 1;

	for (int i = 0; r > 0 && i < ROUNDS_MAX; i++) {
		r = signal_tree(k, c->keeper, freeze ? SIGSTOP : SIGCONT);
		if (!freeze)
			break;
	}
	return r < 0 ? fault_errno(why, freeze ? "stop the processes" : "let the processes go on",
				   NULL, -r)
		     : 0;
}

int container_freeze(const struct kernel *k, const struct container *c, bool freeze,
		     struct fault *why)
{
	switch (c->kind) {
	case CONTAINER_NONE:
		break;
	case CONTAINER_GROUP:
		return freeze_group(k, c, freeze, why);
	case CONTAINER_LEAF:
		return leaf_freeze(k, &c->leaf, freeze, why);
	}
	return fault_errno(why, "find the container", NULL, ESRCH);
}

int container_terminate(const struct kernel *k, const struct container *c, struct fault *why)
{
	int r = c->leader > 0 ? k->kill(k, -c->leader, SIGTERM) : -ESRCH;

	/* Just born it has no group yet, and takes the signal when it unblocks it. */
	if (r == -ESRCH && c->leader > 0)
		r = k->kill(k, c->leader, SIGTERM);
	container_freeze(k, c, false, NULL);
	return r < 0 ? fault_errno(why, "end the process group", NULL, -r) : 0;
}

int container_kill(const struct kernel *k, const struct container *c, struct fault *why)
{
	int r = c->kind == CONTAINER_LEAF ? leaf_kill(k, &c->leaf, why) : -ESRCH;
	int one_by_one;

	/* Nothing leaves a leaf. */
	if (r == 0)
		return 0;
	if (c->leader > 0)
		k->kill(k, -c->leader, SIGKILL);
	one_by_one = signal_tree(k, c->keeper, SIGKILL);
	/* Best effort: for what cannot be seen. */
	if (c->keeper == k->getpid(k))
		tree_kill_own(k);
	if (c->kind == CONTAINER_LEAF)
		return r;
	return one_by_one < 0 ? fault_errno(why, "end the processes", NULL, -one_by_one) : 0;
}

int container_count(const struct kernel *k, const struct container *c)
{
	int r;

	if (c->kind == CONTAINER_LEAF)
		return leaf_count(k, &c->leaf);
	r = tree_find(k, c->keeper, &tree);
	return r < 0 ? r : (int)tree.count;
}
