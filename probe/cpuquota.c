#include "probe/cpuquota.h"

#include "kabi/cgroup.h"
#include "kabi/file.h"
#include "kabi/path.h"
#include "kabi/text.h"

/* One quota of one cgroup, or -1. */
typedef int64_t (*quota_reader)(const struct kernel *k, const char *dir);

static int64_t thousandths(int64_t quota, int64_t period)
{
	int64_t scaled;

	if (quota <= 0 || period <= 0 || __builtin_mul_overflow(quota, (int64_t)1000, &scaled))
		return -1;
	return scaled < period ? 1 : scaled / period;
}

/* cpu.max: "QUOTA PERIOD" in microseconds, QUOTA may be "max". */
static int64_t v2_quota(const struct kernel *k, const char *dir)
{
	char path[CGROUP_PATH_MAX];
	char text[64];
	char *cursor = text;
	const char *word;
	int64_t quota;
	int64_t period;

	if (!path_join(path, sizeof(path), dir, "cpu.max") ||
	    file_read_line(k, path, text, sizeof(text)) < 0)
		return -1;
	word = text_word(&cursor);
	if (!word || text_int(word, 1, INT64_MAX, &quota) < 0)
		return -1;
	word = text_word(&cursor);
	if (!word || text_int(word, 1, INT64_MAX, &period) < 0)
		return -1;
	return thousandths(quota, period);
}

static int64_t v1_quota(const struct kernel *k, const char *dir)
{
	char path[CGROUP_PATH_MAX];
	int64_t quota;
	int64_t period;

	if (!path_join(path, sizeof(path), dir, "cpu.cfs_quota_us") ||
	    file_read_int(k, path, &quota) < 0)
		return -1;
	if (!path_join(path, sizeof(path), dir, "cpu.cfs_period_us") ||
	    file_read_int(k, path, &period) < 0)
		return -1;
	return thousandths(quota, period);
}

static int64_t least(int64_t a, int64_t b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

/* From our own cgroup up to the top of what is mounted. */
static int64_t climb(const struct kernel *k, const struct hierarchy *h, quota_reader read_quota)
{
	char dir[CGROUP_PATH_MAX];
	int64_t quota = -1;

	if (!h->dir[0])
		return -1;
	text_copy(dir, sizeof(dir), h->dir);
	do
		quota = least(quota, read_quota(k, dir));
	while (path_parent(dir, h->mount));
	return quota;
}

int64_t cgroup_cpu_quota(const struct kernel *k)
{
	struct cgroup_place place;

	cgroup_find(k, &place);
	return least(climb(k, &place.v2, v2_quota), climb(k, &place.v1_cpu, v1_quota));
}
