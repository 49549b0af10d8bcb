#include "probe/cpu.h"

#include <errno.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/lines.h"
#include "kabi/text.h"
#include "probe/cpuquota.h"

#define CPU_DIR "/sys/devices/system/cpu/"

/* An efficiency core has less than this share of the fastest core's capacity. */
#define EFFICIENCY_PERCENT 60

/* ---- /proc/cpuinfo ---- */

static bool has_word(char *words, const char *wanted)
{
	const char *word;

	while ((word = text_word(&words)))
		if (strcmp(word, wanted) == 0)
			return true;
	return false;
}

bool cpuinfo_line(struct cpuinfo *c, char *line)
{
	char *colon = strchr(line, ':');
	size_t name_len;

	if (!colon) /* an empty line is between two processors */
		return *line != '\0';
	name_len = (size_t)(colon - line);
	while (name_len > 0 && (line[name_len - 1] == '\t' || line[name_len - 1] == ' '))
		name_len--;
	line[name_len] = '\0';
	colon++;
	colon += strspn(colon, " \t");
	if (strcmp(line, "model name") == 0 && !c->model[0])
		text_copy(c->model, sizeof(c->model), colon);
	if (strcmp(line, "flags") == 0) {
		c->has_flags = true;
		c->hypervisor = has_word(colon, "hypervisor");
	}
	return true;
}

static bool each_line(void *arg, char *line)
{
	return cpuinfo_line(arg, line);
}

int cpuinfo_read(const struct kernel *k, struct cpuinfo *ret)
{
	struct cpuinfo c = { .has_flags = false };
	int r = lines_read(k, "/proc/cpuinfo", '\n', each_line, &c);

	if (r == 0)
		*ret = c;
	return r;
}

/* ---- sets of CPUs ---- */

static void add(struct cpus *set, unsigned cpu)
{
	set->bits[cpu / 64] |= 1ULL << (cpu % 64);
}

static bool has(const struct cpus *set, unsigned cpu)
{
	return set->bits[cpu / 64] >> (cpu % 64) & 1;
}

static void add_all(struct cpus *set, const struct cpus *more)
{
	for (size_t i = 0; i < CPUS_MAX / 64; i++)
		set->bits[i] |= more->bits[i];
}

static bool is_inside(const struct cpus *set, const struct cpus *other)
{
	for (size_t i = 0; i < CPUS_MAX / 64; i++)
		if (set->bits[i] & ~other->bits[i])
			return false;
	return true;
}

static bool meets(const struct cpus *set, const struct cpus *other)
{
	for (size_t i = 0; i < CPUS_MAX / 64; i++)
		if (set->bits[i] & other->bits[i])
			return true;
	return false;
}

/* Read a CPU's number off *s. */
static int take_number(const char **s, unsigned *ret)
{
	unsigned value = 0;

	if (**s < '0' || **s > '9')
		return -EINVAL;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		value = value * 10 + (unsigned)(**s - '0');
		if (value >= CPUS_MAX)
			return -EINVAL;
	}
	*ret = value;
	return 0;
}

int cpus_parse(const char *text, struct cpus *ret)
{
	struct cpus set = { { 0 } };

	while (*text) {
		unsigned first;
		unsigned last;

		if (take_number(&text, &first) < 0)
			return -EINVAL;
		last = first;
		if (*text == '-') {
			text++;
			if (take_number(&text, &last) < 0 || last < first)
				return -EINVAL;
		}
		for (unsigned cpu = first; cpu <= last; cpu++)
			add(&set, cpu);
		if (*text == ',' && text[1])
			text++;
		else if (*text)
			return -EINVAL;
	}
	*ret = set;
	return 0;
}

static int read_cpus(const struct kernel *k, const char *path, struct cpus *ret)
{
	char list[4096];
	ssize_t n = file_read_line(k, path, list, sizeof(list));

	return n < 0 ? (int)n : cpus_parse(list, ret);
}

/* ---- cores ---- */

static void cpu_path(char buf[96], unsigned cpu, const char *file)
{
	struct text t = text_start(buf, 96);

	text_add(&t, CPU_DIR "cpu");
	text_add_int(&t, cpu);
	text_add(&t, "/");
	text_add(&t, file);
}

/* The CPUs that share a core with `cpu`; the second name is that of kernels before 5.3. */
static int read_core(const struct kernel *k, unsigned cpu, struct cpus *ret)
{
	char path[96];
	int r;

	cpu_path(path, cpu, "topology/core_cpus_list");
	r = read_cpus(k, path, ret);
	if (r != -ENOENT)
		return r;
	cpu_path(path, cpu, "topology/thread_siblings_list");
	return read_cpus(k, path, ret);
}

/* Intel's hybrid processors list each class of CPU under the name of its counters. */
struct hybrid {
	bool known;
	struct cpus core;
	struct cpus atom;
};

/* arm64's and riscv64's big and little cores differ in capacity. */
struct capacities {
	bool known; /* of every core so far */
	uint32_t of_core[CPUS_MAX];
	uint32_t largest;
};

static void add_capacity(const struct kernel *k, unsigned cpu, unsigned core, struct capacities *c)
{
	char path[96];
	int64_t value;

	if (!c->known)
		return;
	cpu_path(path, cpu, "cpu_capacity");
	if (file_read_int(k, path, &value) < 0 || value < 0 || value > UINT32_MAX) {
		c->known = false;
		return;
	}
	c->of_core[core] = (uint32_t)value;
	if (c->of_core[core] > c->largest)
		c->largest = c->of_core[core];
}

static int32_t count_small(const struct capacities *c, unsigned cores)
{
	int32_t small = 0;

	for (unsigned i = 0; i < cores; i++)
		small += (uint64_t)c->of_core[i] * 100 < (uint64_t)c->largest * EFFICIENCY_PERCENT;
	return small;
}

/* Each physical core once: a CPU that an earlier core's list has is that core's. */
static int count_classes(const struct kernel *k, const struct cpus *online, int32_t *ret_perf,
			 int32_t *ret_eff)
{
	struct hybrid hybrid = { .known = false };
	struct capacities capacities = { .known = true };
	struct cpus seen = { { 0 } };
	unsigned cores = 0;
	int32_t eff = 0;

	hybrid.known = read_cpus(k, "/sys/devices/cpu_core/cpus", &hybrid.core) == 0 &&
		       read_cpus(k, "/sys/devices/cpu_atom/cpus", &hybrid.atom) == 0;
	capacities.known = !hybrid.known;
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct cpus core;
		int r;

		if (!has(online, cpu) || has(&seen, cpu))
			continue;
		r = read_core(k, cpu, &core);
		if (r < 0)
			return r;
		add(&seen, cpu);
		add_all(&seen, &core);
		if (hybrid.known)
			eff += is_inside(&core, &hybrid.atom) && !meets(&core, &hybrid.core);
		add_capacity(k, cpu, cores++, &capacities);
	}
	if (cores == 0)
		return -ENODATA;
	if (capacities.known)
		eff = count_small(&capacities, cores);
	*ret_perf = (int32_t)cores - eff;
	*ret_eff = eff;
	return 0;
}

/* CPUs this process can be scheduled on at once: a quota of 2.5 CPUs keeps two of them busy. */
static int32_t count_logical(const struct kernel *k)
{
	int count = k->cpu_count(k);
	int64_t quota;

	if (count <= 0 || cgroup_cpu_quota(k, &quota) < 0)
		return -1;
	if (quota < 0 || quota / 1000 >= count)
		return count;
	return quota < 1000 ? 1 : (int32_t)(quota / 1000);
}

void cpu_count_cores(const struct kernel *k, struct host_facts *ret)
{
	struct cpus online;

	ret->perf_cores = -1;
	ret->eff_cores = -1;
	if (read_cpus(k, CPU_DIR "online", &online) == 0)
		count_classes(k, &online, &ret->perf_cores, &ret->eff_cores);
	ret->logical = count_logical(k);
}
