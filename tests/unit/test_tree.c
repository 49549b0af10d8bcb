/* kabi/procstat.c, launch/run/tree.c, launch/run/container.c: one process told from another, and
 * all that is below one.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/procstat.h"
#include "kabi/text.h"
#include "launch/run/container.h"
#include "launch/run/tree.h"
#include "tests/fake/parent_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct world w;
static struct tree tree;

/* ---- /proc/PID/stat ---- */

static void a_stat_line(void **state)
{
	static const struct {
		const char *text;
		const char *name; /* NULL: it is none */
		char state;
		pid_t parent;
		uint64_t start;
	} rows[] = {
		{ "7 (sh) S 5 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2\n", "sh", 'S', 5,
		  12345 },
		{ "7 (a) b) R 5 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 1 1\n", "a) b", 'R', 5, 1 },
		{ "7 () Z 0 0 0 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 0 0\n", "", 'Z', 0, 0 },
		{ "7 (x\ny) T 1 1 1 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 18446744073709551615 0\n",
		  "x\ny", 'T', 1, UINT64_MAX },
		{ "", NULL, 0, 0, 0 },
		{ "7 sh S 5", NULL, 0, 0, 0 },
		{ "7 )sh( S 5 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 1 1", NULL, 0, 0, 0 },
		{ "7 (sh) S 5 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0", NULL, 0, 0, 0 },
		{ "7 (sh) SS 5 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 1 1", NULL, 0, 0, 0 },
		{ "7 (sh) S x 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 1 1", NULL, 0, 0, 0 },
		{ "7 (sh) S -5 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 1 1", NULL, 0, 0, 0 },
		{ "7 (sh) S 5 7 7 0 -1 0 1 2 3 4 5 6 7 8 20 0 1 0 -1 1", NULL, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[256];
		struct proc_stat s;

		text_copy(text, sizeof(text), rows[i].text);
		if (proc_stat_parse(text, &s) != (rows[i].name != NULL))
			print_error("'%s'\n", rows[i].text);
		text_copy(text, sizeof(text), rows[i].text);
		assert_int_equal(proc_stat_parse(text, &s), rows[i].name != NULL);
		if (!rows[i].name)
			continue;
		assert_string_equal(s.name, rows[i].name);
		assert_int_equal(s.state, rows[i].state);
		assert_int_equal(s.parent, rows[i].parent);
		assert_true(s.start == rows[i].start);
	}
}

/* ---- a tree ---- */

/* 50 has 60 and 61; 60 has 70; 61, by its second thread, has 71; 62 has ended, 63 only its main
 * thread; 80 is another's.
 */
static const struct {
	int pid, parent;
	char state;
	int thread; /* that it has besides its own; 0: none */
	const char *children;
	const char *thread_children;
} processes[] = {
	{ 50, 40, 'S', 0, "60 61 62 63 ", NULL },
	{ 60, 50, 'S', 0, "70 ", NULL },
	{ 61, 50, 'T', 610, "", "71 " },
	{ 62, 50, 'Z', 0, "", NULL },
	{ 70, 60, 'S', 0, "", NULL },
	{ 71, 61, 'R', 0, "", NULL },
	{ 63, 50, 'Z', 630, "", "" },
	{ 80, 1, 'S', 0, "", NULL },
};

static void make_proc(bool lists)
{
	char path[64];
	char text[128];

	world_start(&w);
	world_dir(&w, "/proc");
	for (size_t i = 0; i < COUNT(processes); i++) {
		int pid = processes[i].pid;

		snprintf(path, sizeof(path), "/proc/%d", pid);
		world_dir(&w, path);
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		snprintf(text, sizeof(text),
			 "%d (p) %c %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 %d 0\n", pid,
			 processes[i].state, processes[i].parent, processes[i].thread ? 2 : 1,
			 pid * 10);
		world_file(&w, path, text);
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		world_dir(&w, path);
		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, pid);
		world_dir(&w, path);
		if (lists) {
			snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
			world_file(&w, path, processes[i].children);
		}
		if (!processes[i].thread)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, processes[i].thread);
		world_dir(&w, path);
		if (lists) {
			snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid,
				 processes[i].thread);
			world_file(&w, path, processes[i].thread_children);
		}
	}
}

static bool has(pid_t pid)
{
	for (unsigned i = 0; i < tree.count; i++)
		if (tree.process[i].pid == pid)
			return tree.process[i].start == (uint64_t)pid * 10;
	return false;
}

static void all_that_is_below_and_nothing_else(void **state)
{
	(void)state;
	/* With the lists of children, and on a kernel that has none. */
	for (int lists = 0; lists < 2; lists++) {
		make_proc(lists);
		assert_int_equal(tree_find(&w.kernel, 50, &tree), 0);
		assert_int_equal(tree.count, 5);
		assert_true(has(60) && has(61) && has(63) && has(70) && has(71));
		assert_int_equal(world_called(&w, "open /proc/80/stat") != 0, !lists);
		assert_int_equal(world_open_fds(&w), 0);
		assert_int_equal(tree_find(&w.kernel, 70, &tree), 0);
		assert_int_equal(tree.count, 0);
	}
}

static void a_pid_that_is_anothers_by_now_gets_no_signal(void **state)
{
	struct tree_process same = { .pid = 60, .start = 600 };
	struct tree_process other = { .pid = 60, .start = 599 };
	struct tree_process gone = { .pid = 99, .start = 1 };

	(void)state;
	make_proc(true);
	assert_int_equal(tree_signal(&w.kernel, &other, SIGKILL), -ESRCH);
	assert_int_equal(tree_signal(&w.kernel, &gone, SIGKILL), -ESRCH);
	assert_false(world_called(&w, "pidfd_signal"));
	assert_int_equal(tree_signal(&w.kernel, &same, SIGKILL), 0);
	assert_true(world_called(&w, "pidfd_signal 9"));
	/* By the descriptor that was open when the start was compared. */
	assert_false(world_called(&w, "kill"));
	assert_int_equal(world_open_fds(&w), 0);
}

static void a_group_is_counted_stopped_and_killed_as_a_tree(void **state)
{
	struct container c = { .kind = CONTAINER_GROUP, .keeper = 50, .leader = 60, .leaf.fd = -1 };
	struct fault why;

	(void)state;
	make_proc(true);
	assert_int_equal(container_count(&w.kernel, &c), 5);
	assert_int_equal(container_freeze(&w.kernel, &c, false, &why), 0);
	assert_true(world_called(&w, "pidfd_signal 18"));
	assert_int_equal(container_terminate(&w.kernel, &c, &why), 0);
	assert_true(world_called(&w, "kill -60 15"));

	make_proc(true);
	assert_int_equal(container_freeze(&w.kernel, &c, true, &why), 0);
	assert_true(world_called(&w, "pidfd_signal 19"));
	make_proc(true);
	assert_int_equal(container_kill(&w.kernel, &c, &why), 0);
	assert_true(world_called(&w, "kill -60 9"));
	assert_true(world_called(&w, "pidfd_signal 9"));

	/* The keeper also reaches children of its own that /proc does not show. */
	make_proc(true);
	world_find(&w, "/proc/60/stat")->path[0] = '\0';
	assert_int_equal(container_kill(&w.kernel, &c, &why), 0);
	assert_true(world_called(&w, "kill 60 9"));
	assert_int_equal(world_open_fds(&w), 0);

	/* Without a leader no group is named: it might be another's. */
	c.leader = 0;
	make_proc(true);
	assert_int_equal(container_kill(&w.kernel, &c, &why), 0);
	assert_false(world_called(&w, "kill -"));
	assert_int_equal(container_terminate(&w.kernel, &c, &why), -ESRCH);

	/* What cannot be looked into is not called empty. */
	world_start(&w);
	assert_true(container_count(&w.kernel, &c) < 0);
	assert_true(container_kill(&w.kernel, &c, &why) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stat_line),
		cmocka_unit_test(all_that_is_below_and_nothing_else),
		cmocka_unit_test(a_pid_that_is_anothers_by_now_gets_no_signal),
		cmocka_unit_test(a_group_is_counted_stopped_and_killed_as_a_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
