/* probe/cpu.c: cpuinfo, CPU lists, and cores by class. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "probe/cpu.h"
#include "tests/fake/tree.h"

#define CPU "/sys/devices/system/cpu/"
#define CORE(n) CPU "cpu" #n "/topology/core_cpus_list"
#define SIBLINGS(n) CPU "cpu" #n "/topology/thread_siblings_list"
#define CAPACITY(n) CPU "cpu" #n "/cpu_capacity"

static void lists_of_cpus(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t low; /* CPUs 0 to 63 */
	} rows[] = {
		{ "", 0, 0 },
		{ "0", 0, 1 },
		{ "0-3", 0, 0xf },
		{ "0-1,4,6-7", 0, 0xd3 },
		{ "63", 0, 1ULL << 63 },
		{ "64", 0, 0 },
		{ "8191", 0, 0 },
		{ "8192", -EINVAL, 0 },
		{ "99999999999999999999", -EINVAL, 0 },
		{ "0-8192", -EINVAL, 0 },
		{ "3-0", -EINVAL, 0 },
		{ "0-", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "0,", -EINVAL, 0 },
		{ ",0", -EINVAL, 0 },
		{ "0,,1", -EINVAL, 0 },
		{ "0 1", -EINVAL, 0 },
		{ "0-3:1/2", -EINVAL, 0 },
		{ "x", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cpus set = { { 0 } };

		assert_int_equal(cpus_parse(rows[i].text, &set), rows[i].result);
		assert_true(set.bits[0] == rows[i].low);
	}
}

/* Four CPUs on two cores. */
#define FOUR                                                                   \
	{ CPU "online", "0-3\n" }, { CORE(0), "0,2\n" }, { CORE(1), "1,3\n" }, \
		{ CORE(2), "0,2\n" },                                          \
	{                                                                      \
		CORE(3), "1,3\n"                                               \
	}

static void cores_by_class(void **state)
{
	static const struct {
		struct tree_file files[16];
		int perf, eff;
	} rows[] = {
		{ { FOUR }, 2, 0 },
		/* Before Linux 5.3. */
		{ { { CPU "online", "0-1\n" }, { SIBLINGS(0), "0-1\n" }, { SIBLINGS(1), "0-1\n" } },
		  1,
		  0 },
		/* Two threads of a core, and two cores of one thread that are "atoms". */
		{ { { CPU "online", "0-3\n" },
		    { CORE(0), "0-1\n" },
		    { CORE(1), "0-1\n" },
		    { CORE(2), "2\n" },
		    { CORE(3), "3\n" },
		    { "/sys/devices/cpu_core/cpus", "0-1\n" },
		    { "/sys/devices/cpu_atom/cpus", "2-3\n" } },
		  1,
		  2 },
		/* Atoms alone are no hybrid: the rule wants both lists. */
		{ { FOUR, { "/sys/devices/cpu_atom/cpus", "0-3\n" } }, 2, 0 },
		/* 60 % of 1024 is 614.4. */
		{ { { CPU "online", "0-3\n" },
		    { CORE(0), "0\n" },
		    { CORE(1), "1\n" },
		    { CORE(2), "2\n" },
		    { CORE(3), "3\n" },
		    { CAPACITY(0), "446\n" },
		    { CAPACITY(1), "614\n" },
		    { CAPACITY(2), "615\n" },
		    { CAPACITY(3), "1024\n" } },
		  2,
		  2 },
		/* One core without a capacity: nothing is known of the classes. */
		{ { { CPU "online", "0-1\n" },
		    { CORE(0), "0\n" },
		    { CORE(1), "1\n" },
		    { CAPACITY(0), "446\n" } },
		  2,
		  0 },
		/* CPU 1 is offline. */
		{ { { CPU "online", "0,2\n" }, { CORE(0), "0\n" }, { CORE(2), "2\n" } }, 2, 0 },
		/* Unreadable, in part or whole. */
		{ { { CPU "online", "0-1\n" }, { CORE(0), "0\n" } }, -1, -1 },
		{ { { CPU "online", "0-1\n" }, { CORE(0), "0\n" }, { CORE(1), "one\n" } }, -1, -1 },
		{ { { CPU "online", "\n" } }, -1, -1 },
		{ { { "/unrelated", "" } }, -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts f = { .perf_cores = 0 };
		struct tree tree;

		tree_make(&tree, rows[i].files, "cpu_count = 4\n");
		cpu_count_cores(&tree.kernel, &f);
		tree_remove(&tree);
		assert_int_equal(f.perf_cores, rows[i].perf);
		assert_int_equal(f.eff_cores, rows[i].eff);
		assert_int_equal(f.logical, 4);
	}
}

static void logical_cpus_follow_the_quota(void **state)
{
	static const struct {
		const char *max;
		const char *rows;
		int logical;
	} rows[] = {
		{ "max 100000\n", "cpu_count = 8\n", 8 },
		{ "250000 100000\n", "cpu_count = 8\n", 2 },
		{ "400000 100000\n", "cpu_count = 8\n", 4 },
		{ "50000 100000\n", "cpu_count = 8\n", 1 },
		{ "900000 100000\n", "cpu_count = 8\n", 8 },
		{ "100000 100000\n", "cpu_count = 1\n", 1 },
		{ "100000 100000\n", "cpu_count = EPERM\n", -1 },
		{ "100000 100000\n", "", -1 },
		{ "100000 100000\n", "cpu_count = 0\n", -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = {
			{ "/proc/self/mountinfo",
			  "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" },
			{ "/proc/self/cgroup", "0::/job\n" },
			{ "/sys/fs/cgroup/job/cpu.max", rows[i].max },
			{ NULL, NULL },
		};
		struct host_facts f = { .logical = 0 };
		char text[256] = "statfs /sys/fs/cgroup = 0x63677270\n";
		struct tree tree;

		strcat(text, rows[i].rows);
		tree_make(&tree, files, text);
		cpu_count_cores(&tree.kernel, &f);
		tree_remove(&tree);
		assert_int_equal(f.logical, rows[i].logical);
	}
}

static void the_first_processor_of_cpuinfo(void **state)
{
	static const struct {
		const char *text;
		const char *model;
		bool has_flags, hypervisor;
	} rows[] = {
		{ "processor\t: 0\nmodel name\t: A: B (R)\nflags\t\t: fpu hypervisor lahf_lm\n\n"
		  "processor\t: 1\nmodel name\t: C\n",
		  "A: B (R)", true, true },
		{ "model name\t: A\nflags\t\t: fpu xhypervisor hypervisorx\n\nflags : hypervisor\n",
		  "A", true, false },
		{ "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n\n", "", false, false },
		{ "model name\t:\nflags\t:\n", "", true, false },
		{ "", "", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = { { "/proc/cpuinfo", rows[i].text },
						   { NULL, NULL } };
		struct cpuinfo c;
		struct tree tree;

		tree_make(&tree, files, "");
		assert_int_equal(cpuinfo_read(&tree.kernel, &c), 0);
		tree_remove(&tree);
		assert_string_equal(c.model, rows[i].model);
		assert_int_equal(c.has_flags, rows[i].has_flags);
		assert_int_equal(c.hypervisor, rows[i].hypervisor);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_cpus),
		cmocka_unit_test(cores_by_class),
		cmocka_unit_test(logical_cpus_follow_the_quota),
		cmocka_unit_test(the_first_processor_of_cpuinfo),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
