/* launch/run/delegation.c and launch/run/leaf.c: where a container is made, with what, and what is
 * left. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/path.h"
#include "kabi/text.h"
#include "launch/run/delegation.h"
#include "launch/run/leaf.h"
#include "tests/fake/parent_kernel.h"

#define ROOT "/sys/fs/cgroup/unit"
#define ALL "cpu memory pids\n"
#define BIT(c) (1U << CONTROLLER_##c)
#define EVERY (BIT(CPU) | BIT(MEMORY) | BIT(PIDS))

static struct world w;
static struct fault why;

static const struct limits all_limits = { .memory_bytes = 64 << 20, .cpu_milli = 1500, .pids = 20 };
static const struct limits no_limits;

/* Which call it was that wrote `rest`, "NAME TEXT", in the leaf. */
static unsigned written(const struct leaf *leaf, const char *rest)
{
	char call[CGROUP_PATH_MAX + 64];
	struct text t = TEXT_BUF(call);

	text_add(&t, "write ");
	text_add(&t, leaf->dir);
	text_add(&t, "/");
	text_add(&t, rest);
	return world_called(&w, call);
}

static struct delegation found(void)
{
	struct delegation d;

	assert_int_equal(delegation_find(&w.kernel, &d, &why), 0);
	return d;
}

static void the_root_is_ours_or_the_parent_of_our_leaf(void **state)
{
	static const struct {
		const char *own;
		const char *dir;
	} rows[] = {
		{ "/unit", ROOT },
		{ "/unit/agent", ROOT },
		{ "/unit/agents", ROOT "/agents" },
		{ "/", "/sys/fs/cgroup" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		world_start(&w);
		world_cgroup(&w, "/unit", ALL, ALL);
		world_cgroup(&w, strcmp(rows[i].own, "/") ? rows[i].own : "", ALL, ALL);
		if (strcmp(rows[i].own, "/") == 0)
			world_file(&w, "/proc/self/cgroup", "0::/\n");
		assert_string_equal(found().dir, rows[i].dir);
		assert_int_equal(found().enabled, EVERY);
		assert_int_equal(world_open_fds(&w), 0);
	}
}

static void what_is_missing_is_named(void **state)
{
	struct delegation d;

	(void)state;
	world_start(&w);
	world_file(&w, "/proc/self/cgroup", "0::/unit\n");
	world_file(&w, "/proc/self/mountinfo", "30 25 0:26 / /sys rw - sysfs sysfs rw\n");
	assert_int_equal(delegation_find(&w.kernel, &d, &why), -ENOENT);
	assert_string_equal(why.text, "no cgroup v2 hierarchy is mounted");

	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	world_file(&w, "/proc/self/cgroup", "0::/../elsewhere\n");
	assert_int_equal(delegation_find(&w.kernel, &d, &why), -ENOENT);
	assert_non_null(strstr(why.text, "'/../elsewhere', is not visible"));

	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	world_find(&w, ROOT)->error = EACCES;
	assert_int_equal(delegation_find(&w.kernel, &d, &why), -EACCES);
	assert_string_equal(why.text, "make a cgroup in '" ROOT "': EACCES");

	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	world_find(&w, ROOT "/cgroup.procs")->error = EROFS;
	assert_int_equal(delegation_find(&w.kernel, &d, &why), -EROFS);
}

static void only_missing_controllers_are_enabled(void **state)
{
	struct delegation d;

	(void)state;
	world_start(&w);
	world_cgroup(&w, "/unit", "cpuset cpu io memory pids\n", "memory\n");
	d = found();
	assert_int_equal(d.enabled, BIT(MEMORY));
	assert_int_equal(delegation_enable(&w.kernel, &d, 0, &why), 0);
	assert_int_equal(d.enabled, EVERY);
	assert_true(world_called(&w, "mkdir " ROOT "/agent"));
	/* Aside first: the kernel hands no controller down past processes. */
	assert_in_range(world_called(&w, "write " ROOT "/agent/cgroup.procs 50"), 1,
			world_called(&w, "write " ROOT "/cgroup.subtree_control +cpu") - 1);
	assert_true(world_called(&w, "write " ROOT "/cgroup.subtree_control +pids"));
	assert_false(world_called(&w, "write " ROOT "/cgroup.subtree_control +memory"));
	assert_false(world_called(&w, "write " ROOT "/cgroup.subtree_control +io"));
}

static void where_nothing_is_to_be_enabled_nobody_moves(void **state)
{
	static const char *const rows[][2] = { { ALL, ALL }, { "io\n", "" }, { "\n", "\n" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct delegation d;

		world_start(&w);
		world_cgroup(&w, "/unit", rows[i][0], rows[i][1]);
		d = found();
		assert_int_equal(delegation_enable(&w.kernel, &d, 0, &why), 0);
		assert_false(world_called(&w, "mkdir"));
		assert_false(world_called(&w, "write"));
	}
}

static void the_launcher_moves_along_if_it_stands_there_too(void **state)
{
	struct delegation d;

	(void)state;
	for (int together = 0; together < 2; together++) {
		world_start(&w);
		world_cgroup(&w, "/unit", ALL, "");
		world_file(&w, "/proc/77/cgroup", together ? "0::/unit\n" : "0::/other\n");
		d = found();
		assert_int_equal(delegation_enable(&w.kernel, &d, 77, &why), 0);
		assert_int_equal(world_called(&w, "write " ROOT "/agent/cgroup.procs 77") != 0,
				 together);
	}
}

static void lists_that_cannot_be_read_are_not_empty(void **state)
{
	struct delegation d;

	(void)state;
	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	world_find(&w, ROOT "/cgroup.subtree_control")->error = EIO;
	assert_int_equal(delegation_find(&w.kernel, &d, &why), -EIO);
	world_start(&w);
	world_cgroup(&w, "/unit", ALL, "");
	world_find(&w, ROOT "/cgroup.controllers")->error = EIO;
	d = found();
	assert_int_equal(delegation_enable(&w.kernel, &d, 0, &why), -EIO);
	assert_non_null(strstr(why.text, "cgroup.controllers': EIO"));
}

static void one_that_cannot_be_enabled_is_no_limit(void **state)
{
	struct delegation d;

	(void)state;
	world_start(&w);
	world_cgroup(&w, "/unit", ALL, "");
	d = found();
	w.fail_call = 0;
	delegation_enable(&w.kernel, &d, 0, &why);
	/* The same again, with the second of the three failing. */
	unsigned call = world_called(&w, "write " ROOT "/cgroup.subtree_control +memory");

	world_start(&w);
	world_cgroup(&w, "/unit", ALL, "");
	w.fail_call = call;
	w.fail_error = EINVAL;
	d = found();
	assert_int_equal(delegation_enable(&w.kernel, &d, 0, &why), -EINVAL);
	assert_int_equal(d.enabled, BIT(CPU) | BIT(PIDS));
	assert_non_null(strstr(why.text, "+memory"));
}

static void limits_are_there_before_the_first_process(void **state)
{
	struct delegation d;
	struct leaf leaf;

	(void)state;
	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	d = found();
	assert_int_equal(leaf_make(&w.kernel, &d, &all_limits, &leaf, &why), 0);
	assert_true(text_starts(leaf.dir, ROOT "/" LEAF_PREFIX "50."));
	assert_true(leaf.swap_limited);
	static const char *const wanted[] = { "memory.max 67108864", "memory.oom.group 1",
					      "memory.swap.max 0", "cpu.max 150000 100000",
					      "pids.max 20" };
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_true(written(&leaf, wanted[i]));
	assert_int_equal(leaf_remove(&w.kernel, &leaf, &why), 0);
	assert_int_equal(world_open_fds(&w), 0);
}

static void swap_that_is_not_counted_is_said(void **state)
{
	struct delegation d = { .dir = ROOT };
	struct leaf leaf;

	(void)state;
	world_start(&w);
	w.no_swap = true;
	world_cgroup(&w, "/unit", ALL, ALL);
	assert_int_equal(leaf_make(&w.kernel, &d, &all_limits, &leaf, &why), 0);
	assert_false(leaf.swap_limited);
}

static void a_leaf_that_was_removed_before_its_lock_is_made_anew(void **state)
{
	struct delegation d = { .dir = ROOT, .enabled = EVERY };
	struct leaf leaf;

	(void)state;
	world_start(&w);
	w.first_is_taken = true;
	world_cgroup(&w, "/unit", ALL, ALL);
	assert_int_equal(leaf_make(&w.kernel, &d, &all_limits, &leaf, &why), 0);
	assert_true(w.taken);
	assert_non_null(world_find(&w, leaf.dir));
}

/* Whichever call fails: there is a leaf with all its limits, or an error and nothing. */
static void a_leaf_with_half_its_limits_is_none(void **state)
{
	static const int errors[] = { EINVAL, ENOMEM, EMFILE, ENODEV, EBUSY };
	unsigned last = 1000;

	(void)state;
	for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++) {
		for (unsigned at = 1; at <= last; at++) {
			struct delegation d = { .dir = ROOT, .enabled = EVERY };
			struct leaf leaf = { .fd = -1 };
			unsigned dirs = 0;
			int r;

			world_start(&w);
			world_cgroup(&w, "/unit", ALL, ALL);
			w.fail_call = at;
			w.fail_error = errors[e];
			why.text[0] = '\0';
			r = leaf_make(&w.kernel, &d, &all_limits, &leaf, &why);
			if (at > w.calls) {
				last = at;
				assert_int_equal(r, 0);
				break;
			}
			for (size_t i = 0; i < WORLD_FILES; i++)
				dirs += w.files[i].path[0] && w.files[i].dir;
			assert_true(r < 0);
			assert_true(why.text[0]);
			assert_int_equal(world_open_fds(&w), 0);
			assert_int_equal(dirs, 2);
		}
		last = 1000;
	}
}

static void an_old_directory_is_not_adopted(void **state)
{
	struct delegation d;
	struct leaf first;
	struct leaf second;

	(void)state;
	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	d = found();
	assert_int_equal(leaf_make(&w.kernel, &d, &no_limits, &first, &why), 0);
	/* The next name, or what another start has taken for a left one. */
	unsigned made;
	char path[128];

	assert_int_equal(sscanf(first.dir, ROOT "/oarbank.50.%u", &made), 1);
	snprintf(path, sizeof(path), ROOT "/oarbank.50.%u", made + 1);
	world_dir(&w, path);
	assert_int_equal(leaf_make(&w.kernel, &d, &no_limits, &second, &why), 0);
	assert_string_not_equal(second.dir, path);
	assert_string_not_equal(second.dir, first.dir);
}

static void a_threaded_place_takes_no_module(void **state)
{
	struct delegation d = { .dir = ROOT };
	struct leaf leaf;

	(void)state;
	world_start(&w);
	w.type = "domain invalid\n";
	world_cgroup(&w, "/unit", ALL, ALL);
	assert_int_equal(leaf_make(&w.kernel, &d, &no_limits, &leaf, &why), -EOPNOTSUPP);
	assert_true(world_called(&w, "rmdir"));
	assert_int_equal(world_open_fds(&w), 0);
}

static struct leaf made(void)
{
	struct delegation d = { .dir = ROOT };
	struct leaf leaf;

	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	assert_int_equal(leaf_make(&w.kernel, &d, &no_limits, &leaf, &why), 0);
	return leaf;
}

static struct world_file *file_of(const struct leaf *leaf, const char *name)
{
	char path[CGROUP_PATH_MAX];

	assert_true(path_join(path, sizeof(path), leaf->dir, name));
	return world_find(&w, path);
}

static void a_name_is_one_of_ours_as_a_whole(void **state)
{
	static const char *const others[] = {
		"",	      "oarbank.",   "oarbank.slice", "oarbank.service",	  "oarbank.7",
		"oarbank.7.", "oarbank..0", "oarbank.7.0x",  "oarbank.7.0.scope", "aoarbank.7.0"
	};

	(void)state;
	assert_true(leaf_is_name("oarbank.7.0"));
	assert_true(leaf_is_name("oarbank.4194304.12"));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(leaf_is_name(others[i]));
}

static void kill_is_one_write(void **state)
{
	struct leaf leaf = made();

	(void)state;
	assert_int_equal(leaf_kill(&w.kernel, &leaf, &why), 0);
	assert_true(written(&leaf, "cgroup.kill 1"));
	assert_false(world_called(&w, "kill"));
}

static void what_stays_after_kill_gets_a_signal_of_its_own(void **state)
{
	struct leaf leaf = made();

	(void)state;
	text_copy(file_of(&leaf, "cgroup.procs")->text, WORLD_TEXT, "101\n");
	assert_int_equal(leaf_kill(&w.kernel, &leaf, &why), -ETIMEDOUT);
	assert_in_range(written(&leaf, "cgroup.kill 1"), 1, world_called(&w, "kill 101 9") - 1);
	assert_true(written(&leaf, "cgroup.freeze 1"));
}

static void before_linux_5_14_all_are_frozen_and_killed(void **state)
{
	struct leaf leaf = made();

	(void)state;
	file_of(&leaf, "cgroup.kill")->path[0] = '\0';
	text_copy(file_of(&leaf, "cgroup.procs")->text, WORLD_TEXT, "101\n102\n0\n");
	/* They stay in the file: it gives up in the end, and says so. */
	assert_int_equal(leaf_kill(&w.kernel, &leaf, &why), -ETIMEDOUT);
	assert_in_range(written(&leaf, "cgroup.freeze 1"), 1, world_called(&w, "kill 101 9") - 1);
	assert_true(world_called(&w, "kill 102 9"));
	assert_false(world_called(&w, "kill 0 "));

	leaf = made();
	file_of(&leaf, "cgroup.kill")->path[0] = '\0';
	assert_int_equal(leaf_kill(&w.kernel, &leaf, &why), 0);
	assert_true(written(&leaf, "cgroup.freeze 0"));
	assert_false(world_called(&w, "kill"));
}

static void any_other_error_of_kill_is_one(void **state)
{
	struct leaf leaf = made();

	(void)state;
	assert_int_equal(leaf_remove(&w.kernel, &leaf, &why), 0);
	assert_int_equal(leaf_kill(&w.kernel, &leaf, &why), 0); /* it is gone */
	leaf = made();
	file_of(&leaf, "cgroup.kill")->error = EACCES;
	assert_int_equal(leaf_kill(&w.kernel, &leaf, &why), -EACCES);
	assert_false(world_called(&w, "kill"));
}

static void freezing_waits_for_it(void **state)
{
	struct leaf leaf = made();

	(void)state;
	assert_int_equal(leaf_freeze(&w.kernel, &leaf, true, &why), 0);
	assert_int_equal(leaf_freeze(&w.kernel, &leaf, false, &why), 0);
	w.freezes_never = true;
	assert_int_equal(leaf_freeze(&w.kernel, &leaf, true, &why), -ETIMEDOUT);
	assert_true(text_starts(why.text, "freeze '" ROOT));
	text_copy(file_of(&leaf, "cgroup.events")->text, WORLD_TEXT, "populated 1\nfrozen 1\n");
	assert_int_equal(leaf_freeze(&w.kernel, &leaf, false, &why), -ETIMEDOUT);
	assert_true(text_starts(why.text, "thaw '" ROOT));
	file_of(&leaf, "cgroup.freeze")->path[0] = '\0';
	assert_int_equal(leaf_freeze(&w.kernel, &leaf, true, &why), -ENOENT);
}

static void usage_is_of_this_container(void **state)
{
	struct leaf leaf = made();
	struct leaf_usage usage;

	(void)state;
	text_copy(file_of(&leaf, "memory.events")->text, WORLD_TEXT,
		  "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 1\n");
	assert_int_equal(leaf_usage(&w.kernel, &leaf, &usage), 0);
	assert_int_equal(usage.cpu_us, 1234);
	assert_int_equal(usage.memory_peak, 4096000);
	assert_int_equal(usage.oom_kills, 2);

	/* Without the controller nothing is known of memory. */
	file_of(&leaf, "memory.events")->path[0] = '\0';
	assert_int_equal(leaf_usage(&w.kernel, &leaf, &usage), 0);
	assert_int_equal(usage.memory_peak, 0);
	assert_int_equal(usage.oom_kills, 0);

	/* Nor before Linux 5.19 of its peak. */
	leaf = made();
	file_of(&leaf, "memory.peak")->path[0] = '\0';
	assert_int_equal(leaf_usage(&w.kernel, &leaf, &usage), 0);
	assert_int_equal(usage.memory_peak, 0);

	file_of(&leaf, "cpu.stat")->path[0] = '\0';
	assert_int_equal(leaf_usage(&w.kernel, &leaf, &usage), -ENOENT);
}

static void removing_is_tried_again(void **state)
{
	struct leaf leaf = made();

	(void)state;
	world_find(&w, leaf.dir)->busy = 5;
	assert_int_equal(leaf_remove(&w.kernel, &leaf, &why), 0);
	assert_null(world_find(&w, leaf.dir));
	assert_int_equal(world_open_fds(&w), 0);

	leaf = made();
	world_find(&w, leaf.dir)->busy = 1000000;
	assert_int_equal(leaf_remove(&w.kernel, &leaf, &why), -EBUSY);
	assert_int_equal(world_open_fds(&w), 0);

	/* It has vanished: that is what was wanted. */
	leaf = made();
	world_find(&w, leaf.dir)->path[0] = '\0';
	assert_int_equal(leaf_remove(&w.kernel, &leaf, &why), 0);
}

static void what_nobody_holds_is_reaped(void **state)
{
	struct delegation d = { .dir = ROOT };
	struct reaped reaped;

	(void)state;
	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	world_dir(&w, ROOT "/oarbank.7.0");
	world_file(&w, ROOT "/oarbank.7.0/cgroup.procs", "300\n301\n");
	world_file(&w, ROOT "/oarbank.7.0/cgroup.kill", "");
	world_dir(&w, ROOT "/oarbank.8.0")->locked = true;
	world_file(&w, ROOT "/oarbank.8.0/cgroup.procs", "400\n");
	world_dir(&w, ROOT "/oarbank.9.0")->busy = 1000000;
	world_dir(&w, ROOT "/agent");
	world_dir(&w, ROOT "/other");
	leaf_reap(&w.kernel, &d, &reaped);
	assert_int_equal(reaped.containers, 1);
	assert_int_equal(reaped.processes, 2);
	assert_int_equal(reaped.left, 1);
	assert_string_equal(reaped.why.text, "remove '" ROOT "/oarbank.9.0': EBUSY");
	assert_true(world_called(&w, "write " ROOT "/oarbank.7.0/cgroup.kill 1"));
	assert_null(world_find(&w, ROOT "/oarbank.7.0"));
	assert_non_null(world_find(&w, ROOT "/oarbank.8.0"));
	assert_non_null(world_find(&w, ROOT "/agent"));
	assert_non_null(world_find(&w, ROOT "/other"));
	assert_int_equal(world_open_fds(&w), 0);
}

/* Each of what is left is counted, and the first reason kept; what somebody holds is not left. */
static void what_cannot_be_reaped_says_why(void **state)
{
	static const struct {
		const char *file; /* that cannot be opened, by `error` */
		int error;
		const char *why;
	} rows[] = {
		{ "", EMFILE, "open '" ROOT "/oarbank.7.0': EMFILE" },
		{ "/cgroup.kill", EPERM, "write '" ROOT "/oarbank.7.0/cgroup.kill': EPERM" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct delegation d = { .dir = ROOT };
		struct reaped reaped;
		char path[CGROUP_PATH_MAX];

		world_start(&w);
		world_cgroup(&w, "/unit", ALL, ALL);
		world_dir(&w, ROOT "/oarbank.7.0")->busy = 1000000;
		world_file(&w, ROOT "/oarbank.7.0/cgroup.procs", "300\n");
		world_file(&w, ROOT "/oarbank.7.0/cgroup.kill", "");
		world_dir(&w, ROOT "/oarbank.8.0")->locked = true;
		snprintf(path, sizeof(path), ROOT "/oarbank.7.0%s", rows[i].file);
		world_find(&w, path)->error = rows[i].error;
		leaf_reap(&w.kernel, &d, &reaped);
		assert_int_equal(reaped.containers, 0);
		assert_int_equal(reaped.left, 1);
		assert_string_equal(reaped.why.text, rows[i].why);
		assert_int_equal(world_open_fds(&w), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_root_is_ours_or_the_parent_of_our_leaf),
		cmocka_unit_test(what_is_missing_is_named),
		cmocka_unit_test(only_missing_controllers_are_enabled),
		cmocka_unit_test(where_nothing_is_to_be_enabled_nobody_moves),
		cmocka_unit_test(the_launcher_moves_along_if_it_stands_there_too),
		cmocka_unit_test(lists_that_cannot_be_read_are_not_empty),
		cmocka_unit_test(one_that_cannot_be_enabled_is_no_limit),
		cmocka_unit_test(limits_are_there_before_the_first_process),
		cmocka_unit_test(swap_that_is_not_counted_is_said),
		cmocka_unit_test(a_leaf_with_half_its_limits_is_none),
		cmocka_unit_test(an_old_directory_is_not_adopted),
		cmocka_unit_test(a_threaded_place_takes_no_module),
		cmocka_unit_test(a_name_is_one_of_ours_as_a_whole),
		cmocka_unit_test(kill_is_one_write),
		cmocka_unit_test(a_leaf_that_was_removed_before_its_lock_is_made_anew),
		cmocka_unit_test(what_stays_after_kill_gets_a_signal_of_its_own),
		cmocka_unit_test(before_linux_5_14_all_are_frozen_and_killed),
		cmocka_unit_test(any_other_error_of_kill_is_one),
		cmocka_unit_test(freezing_waits_for_it),
		cmocka_unit_test(usage_is_of_this_container),
		cmocka_unit_test(removing_is_tried_again),
		cmocka_unit_test(what_nobody_holds_is_reaped),
		cmocka_unit_test(what_cannot_be_reaped_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
