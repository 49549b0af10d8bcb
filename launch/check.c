#include "launch/check.h"

#include <errno.h>
#include <stdint.h>

#include "kabi/status.h"
#include "kabi/text.h"

/* The number in a line of the file, or -1 when the kernel has no such line. */
static int64_t number(const struct proc_status *s, enum proc_line line)
{
	return s->has[line] && s->value[line] <= INT64_MAX ? (int64_t)s->value[line] : -1;
}

static enum check judge(const struct proc_status *own, const struct proc_status *other)
{
	int64_t no_new_privs = number(other, PROC_NO_NEW_PRIVS);
	int64_t mode = number(other, PROC_SECCOMP);
	int64_t filters = number(other, PROC_SECCOMP_FILTERS);
	int64_t own_filters = number(own, PROC_SECCOMP_FILTERS);

	if (no_new_privs == 0)
		return CHECK_NO_NEW_PRIVS;
	if (mode == 0)
		return CHECK_UNFILTERED;
	if (no_new_privs != 1 || mode != 2 || filters < 0 || own_filters < 0)
		return CHECK_UNKNOWN;
	return filters > own_filters ? CHECK_CONFINED : CHECK_INHERITED;
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
	struct proc_status own;
	struct proc_status other;
	char path[64];
	struct text t = TEXT_BUF(path);
	int r;

	text_add(&t, "/proc/");
	text_add_int(&t, pid);
	text_add(&t, "/status");
	if (proc_status_read(k, "/proc/self/status", &own) < 0)
		return CHECK_UNKNOWN;
	r = proc_status_read(k, path, &other);
	if (r == -ENOENT || r == -ESRCH)
		return CHECK_GONE;
	return r < 0 ? CHECK_UNKNOWN : judge(&own, &other);
}
