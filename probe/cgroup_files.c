#include "probe/cgroup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kabi/path.h"
#include "kabi/text.h"
#include "probe/ask.h"

#define NAMES_SIZE (64 << 10)

/* How many cgroups are looked into, when each is removed while that is done. */
#define SAMPLES_MAX 8

/* A cgroup that stands for one made below ours. Any cgroup but the machine's root has the files of
 * the core, and those of each controller it was given.
 */
struct sample {
	char dir[FACTS_PATH_MAX]; /* "" there is none */
	int error;		  /* why there is none: a negative errno, or 0 */
	struct node node;
	bool is_child; /* of ours, and so has a controller's files only if we enabled that */
	bool unsure;   /* it may be the root cgroup, so that what it lacks says nothing */
};

/* The root cgroup has no such files itself, so one of its children is looked at. */
static void find_child(const struct kernel *k, const char *dir, struct sample *ret)
{
	static char names[NAMES_SIZE];
	ssize_t n = k->list(k, dir, names, sizeof(names));
	const char *name = names;

	ret->error = n < 0 ? (int)n : 0;
	for (ssize_t i = 0; i < n; i++, name += strlen(name) + 1) {
		int r = path_join(ret->dir, sizeof(ret->dir), dir, name)
				? k->stat(k, ret->dir, &ret->node)
				: -ENAMETOOLONG;

		if (r == 0 && ret->node.type == NODE_DIR)
			return;
		if (r < 0 && r != -ENOENT)
			ret->error = r;
	}
	ret->dir[0] = '\0';
}

static void find_sample(const struct kernel *k, const char *dir, struct sample *ret)
{
	if (ret->is_child) {
		find_child(k, dir, ret);
		return;
	}
	text_copy(ret->dir, sizeof(ret->dir), dir);
	ret->node = (struct node){ 0 };
	k->stat(k, ret->dir, &ret->node);
}

/* A file is not there either when its cgroup was removed meanwhile. */
static bool is_still_there(const struct kernel *k, const struct sample *sample)
{
	struct node node = { 0 };
	int r = k->stat(k, sample->dir, &node);

	return r != -ENOENT && node.device == sample->node.device &&
	       node.inode == sample->node.inode;
}

static void ask_file(const struct kernel *k, const struct sample *sample, const char *name,
		     struct fact *ret)
{
	char path[FACTS_PATH_MAX];
	char call[sizeof(ret->call)];
	enum answer answer = ANSWER_UNKNOWN;
	int r;

	if (sample->error < 0 && !sample->dir[0]) {
		fact_call(ret, ANSWER_UNKNOWN, "list the root cgroup", sample->error);
		return;
	}
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

static void ask_all(const struct kernel *k, const struct sample *sample, struct cgroup_facts *f)
{
	static const char *const memory[] = { "memory.max", "memory.swap.max", "memory.oom.group",
					      "memory.events", NULL };
	static const char *const cpu[] = { "cpu.max", NULL };
	static const char *const pids[] = { "pids.max", NULL };

	ask_file(k, sample, "cgroup.kill", &f->kill);
	ask_file(k, sample, "cgroup.freeze", &f->freeze);
	ask_controller_files(k, sample, &f->controllers[CONTROLLER_MEMORY], memory,
			     &f->memory_files);
	ask_controller_files(k, sample, &f->controllers[CONTROLLER_CPU], cpu, &f->cpu_files);
	ask_controller_files(k, sample, &f->controllers[CONTROLLER_PIDS], pids, &f->pids_files);
}

void cgroup_ask_files(const struct kernel *k, enum answer root, struct cgroup_facts *f)
{
	struct fact *const files[] = { &f->kill, &f->freeze, &f->memory_files, &f->cpu_files,
				       &f->pids_files };
	struct sample sample = {
		.is_child = root == ANSWER_YES,
		.unsure = root == ANSWER_UNKNOWN,
	};

	for (int i = 0; i < SAMPLES_MAX; i++) {
		find_sample(k, f->dir, &sample);
		ask_all(k, &sample, f);
		if (!sample.dir[0] || is_still_there(k, &sample))
			return;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i]->answer != ANSWER_YES)
			fact_text(files[i], ANSWER_UNKNOWN, BASIS_NONE, "look into a cgroup",
				  "each was removed meanwhile");
}
