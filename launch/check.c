#include "launch/check.h"

#include <errno.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/text.h"

#define STATUS_MAX (64 * 1024) /* the line of supplementary groups can be long */

struct status {
	int64_t no_new_privs; /* -1: the kernel did not say, in all three */
	int64_t mode;
	int64_t filters;
};

static int64_t number_after(const char *line, const char *key)
{
	int64_t value;

	if (!text_starts(line, key))
		return -1;
	line += strlen(key);
	line += strspn(line, " \t");
	return text_int(line, 0, INT64_MAX, &value) < 0 ? -1 : value;
}

static int read_status(const struct kernel *k, const char *path, struct status *ret)
{
	static char buf[STATUS_MAX];
	char *cursor = buf;
	const char *line;
	ssize_t len = file_read(k, path, buf, sizeof(buf));

	if (len < 0)
		return (int)len;
	*ret = (struct status){ -1, -1, -1 };
	while ((line = text_line(&cursor))) {
		if (text_starts(line, "NoNewPrivs:"))
			ret->no_new_privs = number_after(line, "NoNewPrivs:");
		else if (text_starts(line, "Seccomp:"))
			ret->mode = number_after(line, "Seccomp:");
		else if (text_starts(line, "Seccomp_filters:"))
			ret->filters = number_after(line, "Seccomp_filters:");
	}
	return 0;
}

static enum check judge(const struct status *own, const struct status *other)
{
	if (other->no_new_privs == 0)
		return CHECK_NO_NEW_PRIVS;
	if (other->mode == 0)
		return CHECK_UNFILTERED;
	if (other->no_new_privs != 1 || other->mode != 2 || other->filters < 0 || own->filters < 0)
		return CHECK_UNKNOWN;
	return other->filters > own->filters ? CHECK_CONFINED : CHECK_INHERITED;
}

const char *check_word(enum check check)
{
	switch (check) {
	case CHECK_UNKNOWN:
		return "unknown";
	case CHECK_GONE:
		return "gone";
	case CHECK_NO_NEW_PRIVS:
		return "no_new_privs";
	case CHECK_UNFILTERED:
		return "unfiltered";
	case CHECK_INHERITED:
		return "inherited";
	case CHECK_CONFINED:
		return "confined";
	}
	return "unknown";
}

enum check check_process(const struct kernel *k, int pid)
{
	struct status own;
	struct status other;
	char path[64];
	struct text t = TEXT_BUF(path);
	int r;

	text_add(&t, "/proc/");
	text_add_int(&t, pid);
	text_add(&t, "/status");
	if (read_status(k, "/proc/self/status", &own) < 0)
		return CHECK_UNKNOWN;
	r = read_status(k, path, &other);
	if (r == -ENOENT || r == -ESRCH)
		return CHECK_GONE;
	return r < 0 ? CHECK_UNKNOWN : judge(&own, &other);
}
