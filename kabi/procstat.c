#include "kabi/procstat.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/text.h"

/* The fields behind the name, counted as in proc_pid_stat(5). */
enum {
	FIELD_STATE = 3,
	FIELD_PARENT = 4,
	FIELD_GROUP = 5,
	FIELD_SESSION = 6,
	FIELD_THREADS = 20,
	FIELD_START = 22,
};

static bool take_pid(const char *word, pid_t *ret)
{
	int64_t value;

	/* The session and group of a process may be 0: those of another pid namespace. */
	if (text_int(word, 0, INT_MAX, &value) < 0)
		return false;
	*ret = (pid_t)value;
	return true;
}

static bool take_field(unsigned field, const char *word, struct proc_stat *s)
{
	switch (field) {
	case FIELD_STATE:
		s->state = word[0];
		return word[1] == '\0';
	case FIELD_PARENT:
		return take_pid(word, &s->parent);
	case FIELD_GROUP:
		return take_pid(word, &s->group);
	case FIELD_SESSION:
		return take_pid(word, &s->session);
	case FIELD_THREADS:
		return text_uint(word, 10, UINT64_MAX, &s->threads) == 0;
	case FIELD_START:
		return text_uint(word, 10, UINT64_MAX, &s->start) == 0;
	default:
		return true;
	}
}

bool proc_stat_parse(char *text, struct proc_stat *ret)
{
	char *open = strchr(text, '(');
	char *close = strrchr(text, ')');
	struct proc_stat s = { .state = '?' };
	char *cursor;

	if (!open || !close || close < open)
		return false;
	*close = '\0';
	text_copy(s.name, sizeof(s.name), open + 1);
	cursor = close + 1;
	for (unsigned field = FIELD_STATE; field <= FIELD_START; field++) {
		const char *word = text_word(&cursor);

		if (!word || !take_field(field, word, &s))
			return false;
	}
	*ret = s;
	return true;
}

void proc_path(char buf[PROC_PATH_MAX], pid_t pid, const char *name)
{
	struct text t = text_start(buf, PROC_PATH_MAX);

	text_add(&t, "/proc/");
	text_add_int(&t, pid);
	text_add(&t, "/");
	text_add(&t, name);
}

int proc_stat_read(const struct kernel *k, pid_t pid, struct proc_stat *ret)
{
	char path[PROC_PATH_MAX];
	char text[1024];
	ssize_t n;

	proc_path(path, pid, "stat");
	n = file_read(k, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	return proc_stat_parse(text, ret) ? 0 : -EINVAL;
}
