#include "launch/check.h"

#include <errno.h>
#include <stdint.h>

#include "kabi/procstat.h"
#include "kabi/status.h"

#define SELF "/proc/self/status"
#define PROC_MAGIC 0x9fa0 /* linux/magic.h */

/* The number in a line of the file, or -1 when the kernel has no such line. */
static int64_t number(const struct proc_status *s, enum proc_line line)
{
	return s->has[line] && s->value[line] <= INT64_MAX ? (int64_t)s->value[line] : -1;
}

/* Only from the kernel: -ENOTSUP for a file that merely lies there. */
static int read_status(const struct kernel *k, const char *path, struct proc_status *ret)
{
	struct fs_info fs;
	int r = k->statfs(k, path, &fs);

	if (r < 0)
		return r;
	return fs.magic == PROC_MAGIC ? proc_status_read(k, path, ret) : -ENOTSUP;
}

static int refuse_proc(const char *because, const char *more, struct fault *why)
{
	fault_join(why, "no process could be verified: ", because, more, NULL);
	return -ENOTSUP;
}

static int read_own(const struct kernel *k, struct proc_status *ret, struct fault *why)
{
	char name[ERRNO_NAME_MAX];
	int r = read_status(k, SELF, ret);

	if (r == -ENOTSUP)
		return refuse_proc("what is mounted on /proc is not the kernel's", "", why);
	if (r < 0)
		return refuse_proc(SELF " cannot be read: ", errno_name(-r, name), why);
	if (ret->has[PROC_OUTER_PID])
		return refuse_proc("/proc is that of another pid namespace", "", why);
	if (number(ret, PROC_SECCOMP_FILTERS) < 0)
		return refuse_proc("/proc does not tell of seccomp filters", "", why);
	return 0;
}

static enum check judge(const struct proc_status *own, const struct proc_status *other)
{
	int64_t no_new_privs = number(other, PROC_NO_NEW_PRIVS);
	int64_t mode = number(other, PROC_SECCOMP);
	int64_t filters = number(other, PROC_SECCOMP_FILTERS);

	if (no_new_privs == 0)
		return CHECK_NO_NEW_PRIVS;
	if (mode == 0)
		return CHECK_UNFILTERED;
	if (no_new_privs != 1 || mode != 2 || filters < 0)
		return CHECK_UNKNOWN;
	return filters > number(own, PROC_SECCOMP_FILTERS) ? CHECK_CONFINED : CHECK_INHERITED;
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

int check_proc(const struct kernel *k, struct fault *why)
{
	struct proc_status own;

	return read_own(k, &own, why);
}

enum check check_process(const struct kernel *k, int pid)
{
	struct proc_status own;
	struct proc_status other;
	char path[PROC_PATH_MAX];
	int r;

	proc_path(path, pid, "status");
	if (read_own(k, &own, NULL) < 0)
		return CHECK_UNKNOWN;
	r = read_status(k, path, &other);
	if (r == -ENOENT || r == -ESRCH)
		return CHECK_GONE;
	return r < 0 ? CHECK_UNKNOWN : judge(&own, &other);
}
