#include "probe/trial/limit.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "kabi/lines.h"
#include "kabi/path.h"
#include "kabi/text.h"

/* Where the kernel counts (its cgroup-v2 document). */
static const struct counter {
	const char *file;
	const char *name;
} counters[CONTROLLER_COUNT] = {
	[CONTROLLER_CPU] = { "cpu.stat", "nr_throttled" },
	[CONTROLLER_MEMORY] = { "memory.events", "oom_kill" },
	[CONTROLLER_PIDS] = { "pids.events", "max" },
};

struct search {
	const char *name;
	int64_t value;
};

/* "nr_throttled 3" */
static bool look(void *arg, char *line)
{
	struct search *s = arg;
	const char *word = text_word(&line);
	const char *number = text_word(&line);

	if (!word || !number || strcmp(word, s->name) != 0)
		return true;
	if (text_int(number, 0, INT64_MAX, &s->value) < 0)
		s->value = -EINVAL;
	return false;
}

int64_t limit_struck(const struct kernel *k, const char *dir, enum controller controller)
{
	const struct counter *c = &counters[controller];
	struct search s = { .name = c->name, .value = -ENODATA };
	char path[CGROUP_PATH_MAX];
	int r;

	if (!c->file || !path_join(path, sizeof(path), dir, c->file))
		return -ENODATA;
	r = lines_read(k, path, '\n', look, &s);
	return r < 0 ? r : s.value;
}

int limit_judge(bool ended, int status, int64_t struck)
{
	if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (struck <= 0)
		return -EBUSY;
	if (!ended)
		return -ETIMEDOUT;
	if (WIFEXITED(status))
		return -WEXITSTATUS(status);
	return WTERMSIG(status) == SIGKILL ? -ENOMEM : -EBUSY;
}
