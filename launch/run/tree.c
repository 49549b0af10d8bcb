#include "launch/run/tree.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/procstat.h"
#include "kabi/text.h"

#define NAMES_MAX (256 << 10) /* of /proc: some forty thousand processes */
#define CHILDREN_MAX 32768

static bool parse_pid(const char *text, pid_t *ret)
{
	int64_t value;

	if (text_int(text, 1, INT_MAX, &value) < 0)
		return false;
	*ret = (pid_t)value;
	return true;
}

static bool has(const struct tree *t, pid_t pid)
{
	for (unsigned i = 0; i < t->count; i++)
		if (t->process[i].pid == pid)
			return true;
	return false;
}

static void add(struct tree *t, pid_t pid, const struct proc_stat *s)
{
	if (has(t, pid))
		return;
	if (t->count == TREE_MAX) {
		t->cut = true;
		return;
	}
	t->process[t->count++] =
		(struct tree_process){ .pid = pid, .start = s->start, .state = s->state };
}

/* The state is the main thread's. When that one alone has ended, the others go on. */
static bool ended(const struct proc_stat *s)
{
	return (s->state == 'Z' || s->state == 'X' || s->state == 'x') && s->threads <= 1;
}

/* ---- by the lists of children ---- */

/* Words, to be taken apart with text_word(). Returns the file's length, or -errno. */
static ssize_t read_children(const struct kernel *k, pid_t pid, const char *thread,
			     char list[CHILDREN_MAX])
{
	char path[PROC_PATH_MAX + 64];
	struct text p = TEXT_BUF(path);

	text_add(&p, "/proc/");
	text_add_int(&p, pid);
	text_add(&p, "/task/");
	text_add(&p, thread);
	text_add(&p, "/children");
	return file_read(k, path, list, CHILDREN_MAX);
}

static int add_children_of_thread(const struct kernel *k, pid_t pid, const char *thread,
				  struct tree *t)
{
	static char list[CHILDREN_MAX];
	char *cursor = list;
	const char *word;
	ssize_t n = read_children(k, pid, thread, list);

	if (n == -EFBIG)
		t->cut = true;
	if (n < 0)
		return (int)n;
	while ((word = text_word(&cursor))) {
		struct proc_stat s;
		pid_t child;

		if (parse_pid(word, &child) && proc_stat_read(k, child, &s) == 0 && !ended(&s))
			add(t, child, &s);
	}
	return 0;
}

/* Any thread of a process may be a parent. */
static int add_children(const struct kernel *k, pid_t pid, struct tree *t)
{
	char path[PROC_PATH_MAX];
	char threads[16384];
	const char *thread = threads;
	ssize_t count;
	int r = 0;

	proc_path(path, pid, "task");
	count = k->list(k, path, threads, sizeof(threads));
	if (count == -ENOSPC)
		t->cut = true;
	for (ssize_t i = 0; r == 0 && i < count; i++, thread += strlen(thread) + 1)
		r = add_children_of_thread(k, pid, thread, t);
	return count < 0 ? (int)count : r;
}

/* ---- by looking at every process ---- */

static int add_by_parent(const struct kernel *k, pid_t top, struct tree *t)
{
	static char names[NAMES_MAX];
	ssize_t count = k->list(k, "/proc", names, sizeof(names));
	unsigned before;

	if (count < 0)
		return (int)count;
	/* Once for each generation: a child may stand before its parent. */
	do {
		const char *name = names;

		before = t->count;
		for (ssize_t i = 0; i < count; i++, name += strlen(name) + 1) {
			struct proc_stat s;
			pid_t pid;

			if (parse_pid(name, &pid) && proc_stat_read(k, pid, &s) == 0 &&
			    !ended(&s) && (s.parent == top || has(t, s.parent)))
				add(t, pid, &s);
		}
	} while (t->count > before);
	return 0;
}

/* ---- public ---- */

int tree_find(const struct kernel *k, pid_t top, struct tree *ret)
{
	int r;

	ret->count = 0;
	ret->cut = false;
	r = add_children(k, top, ret);
	if (r == -ENOENT)
		return add_by_parent(k, top, ret);
	/* A process that is gone by now has given its children to the subreaper. */
	for (unsigned i = 0; i < ret->count; i++)
		add_children(k, ret->process[i].pid, ret);
	return r;
}

int tree_kill_own(const struct kernel *k)
{
	static char list[CHILDREN_MAX];
	char thread[24];
	struct text t = TEXT_BUF(thread);
	char *cursor = list;
	const char *word;
	pid_t child;
	ssize_t n;

	text_add_int(&t, k->getpid(k));
	n = read_children(k, k->getpid(k), thread, list);
	while (n >= 0 && (word = text_word(&cursor)))
		if (parse_pid(word, &child))
			k->kill(k, child, SIGKILL);
	return n < 0 ? (int)n : 0;
}

int tree_signal(const struct kernel *k, const struct tree_process *p, int signal)
{
	struct proc_stat s;
	int fd = k->pidfd_open(k, p->pid);
	int r;

	if (fd < 0)
		return fd;
	r = proc_stat_read(k, p->pid, &s);
	if (r == -ENOENT || (r == 0 && s.start != p->start))
		r = -ESRCH;
	if (r == 0)
		r = k->pidfd_signal(k, fd, signal);
	k->close(k, fd);
	return r;
}
