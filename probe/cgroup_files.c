#include "probe/cgroup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kabi/path.h"
#include "kabi/text.h"
#include "probe/ask.h"

#define NAMES_SIZE (64 << 10)

/* A cgroup that stands for one made below ours. Any cgroup but the machine's root has the files of
 * the core, and those of each controller it was given.
 */
struct sample {
	char dir[FACTS_PATH_MAX]; /* "" there is none */
	bool is_child; /* of ours, and so has a controller's files only if we enabled that */
	bool unsure;   /* it may be the root cgroup, so that what it lacks says nothing */
};

/* The root cgroup has no such files itself, so one of its children is looked at. */
static void find_child(const struct kernel *k, const char *dir, struct sample *ret)
{
	static char names[NAMES_SIZE];
	ssize_t n = k->list(k, dir, names, sizeof(names));
	const char *name = names;

	for (ssize_t i = 0; i < n; i++, name += strlen(name) + 1) {
		struct node node;

		if (path_join(ret->dir, sizeof(ret->dir), dir, name) &&
		    k->stat(k, ret->dir, &node) == 0 && node.type == NODE_DIR)
			return;
	}
	ret->dir[0] = '\0';
}

static void ask_file(const struct kernel *k, const struct sample *sample, const char *name,
		     struct fact *ret)
{
	char path[FACTS_PATH_MAX];
	char call[sizeof(ret->call)];
	enum answer answer = ANSWER_UNKNOWN;
	int r;

	if (!sample->dir[0]) {
		fact_text(ret, ANSWER_UNKNOWN, BASIS_NONE, "list the root cgroup",
			  "no cgroup below it to look into");
		return;
	}
	if (!path_join(path, sizeof(path), sample->dir, name))
		return;
	r = k->access(k, path, F_OK);
	if (r == 0)
		answer = ANSWER_YES;
	else if (r == -ENOENT && !sample->unsure)
		answer = ANSWER_NO;
	ask_name(call, sizeof(call), "access", path);
	fact_call(ret, answer, call, r);
}

/* The files of one controller. The first that is not there, or unknown, decides. */
static void ask_controller_files(const struct kernel *k, const struct sample *sample,
				 const struct controller_facts *c, const char *const names[],
				 struct fact *ret)
{
	for (; *names; names++) {
		ask_file(k, sample, *names, ret);
		if (ret->answer != ANSWER_YES)
			break;
	}
	if (ret->answer == ANSWER_NO && sample->is_child && c->available.answer != ANSWER_NO &&
	    c->enabled.answer != ANSWER_YES)
		ret->answer = ANSWER_UNKNOWN; /* nobody enabled the controller yet */
	if (ret->answer == ANSWER_UNKNOWN && c->available.answer == ANSWER_NO)
		*ret = c->available;
}

void cgroup_ask_files(const struct kernel *k, enum answer root, struct cgroup_facts *f)
{
	static const char *const memory[] = { "memory.max", "memory.swap.max", "memory.oom.group",
					      "memory.events", NULL };
	static const char *const cpu[] = { "cpu.max", NULL };
	static const char *const pids[] = { "pids.max", NULL };
	struct sample sample = {
		.is_child = root == ANSWER_YES,
		.unsure = root == ANSWER_UNKNOWN,
	};

	if (sample.is_child)
		find_child(k, f->dir, &sample);
	else
		text_copy(sample.dir, sizeof(sample.dir), f->dir);
	ask_file(k, &sample, "cgroup.kill", &f->kill);
	ask_file(k, &sample, "cgroup.freeze", &f->freeze);
	ask_controller_files(k, &sample, &f->controllers[CONTROLLER_MEMORY], memory,
			     &f->memory_files);
	ask_controller_files(k, &sample, &f->controllers[CONTROLLER_CPU], cpu, &f->cpu_files);
	ask_controller_files(k, &sample, &f->controllers[CONTROLLER_PIDS], pids, &f->pids_files);
}
