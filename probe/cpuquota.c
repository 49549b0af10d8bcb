#include "probe/cpuquota.h"

#include <errno.h>

#include "kabi/cgroup.h"
#include "kabi/file.h"
#include "kabi/path.h"
#include "kabi/recorded.h"
#include "kabi/text.h"

/* One quota of one cgroup: *ret is -1 where it has none. Returns 0, or -errno. */
typedef int quota_reader(const struct kernel *k, const char *dir, int64_t *ret);

/* What is not there, or not for us to read, limits nothing that we could know of. Other errors may
 * come of anything.
 */
static int unless_absent(int r)
{
	switch (-r) {
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EPERM:
	case EINVAL: /* not in the form that it has */
	case ERANGE:
	case KERNEL_NOT_RECORDED:
		return 0;
	default:
		return r < 0 ? r : 0;
	}
}

static int64_t thousandths(int64_t quota, int64_t period)
{
	int64_t scaled;

	if (quota <= 0 || period <= 0 || __builtin_mul_overflow(quota, (int64_t)1000, &scaled))
		return -1;
	return scaled < period ? 1 : scaled / period;
}

/* "QUOTA PERIOD" in microseconds, QUOTA may be "max". */
static int64_t parse_v2(char *text)
{
	const char *word = text_word(&text);
	int64_t quota;
	int64_t period;

	if (!word || text_int(word, 1, INT64_MAX, &quota) < 0)
		return -1;
	word = text_word(&text);
	if (!word || text_int(word, 1, INT64_MAX, &period) < 0)
		return -1;
	return thousandths(quota, period);
}

static int v2_quota(const struct kernel *k, const char *dir, int64_t *ret)
{
	char path[CGROUP_PATH_MAX];
	char text[64];
	ssize_t n = -ENOENT;

	if (path_join(path, sizeof(path), dir, "cpu.max"))
		n = file_read_line(k, path, text, sizeof(text));
	*ret = n < 0 ? -1 : parse_v2(text);
	return unless_absent((int)n);
}

static int read_number(const struct kernel *k, const char *dir, const char *name, int64_t *ret)
{
	char path[CGROUP_PATH_MAX];

	return path_join(path, sizeof(path), dir, name) ? file_read_int(k, path, ret) : -ENOENT;
}

static int v1_quota(const struct kernel *k, const char *dir, int64_t *ret)
{
	int64_t quota;
	int64_t period;
	int r = read_number(k, dir, "cpu.cfs_quota_us", &quota);

	if (r >= 0)
		r = read_number(k, dir, "cpu.cfs_period_us", &period);
	*ret = r < 0 ? -1 : thousandths(quota, period);
	return unless_absent(r);
}

static int64_t least(int64_t a, int64_t b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

/* From our own cgroup up to the top of what is mounted. */
static int climb(const struct kernel *k, const struct hierarchy *h, quota_reader *read_quota,
		 int64_t *ret)
{
	char dir[CGROUP_PATH_MAX];

	if (!h->dir[0])
		return unless_absent(h->dir_error);
	text_copy(dir, sizeof(dir), h->dir);
	do {
		int64_t quota;
		int r = read_quota(k, dir, &quota);

		if (r < 0)
			return r;
		*ret = least(*ret, quota);
	} while (path_parent(dir, h->mount));
	return 0;
}

int cgroup_cpu_quota(const struct kernel *k, int64_t *ret)
{
	struct cgroup_place place;
	int64_t quota = -1;
	int r;

	cgroup_find(k, &place);
	r = unless_absent(place.own_error);
	if (r == 0)
		r = unless_absent(place.mounts_error);
	if (r == 0 && place.mounted.answer == ANSWER_UNKNOWN)
		r = unless_absent(-place.mounted.error);
	if (r == 0)
		r = climb(k, &place.v2, v2_quota, &quota);
	if (r == 0)
		r = climb(k, &place.v1_cpu, v1_quota, &quota);
	if (r == 0)
		*ret = quota;
	return r;
}
