/* What a container's trials may take for its doing: probe/trial/limit.c, and rows_container.c where
 * no module could be started.
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

#include "probe/trial/limit.h"
#include "probe/trial/stage.h"
#include "probe/trial/trial.h"
#include "tests/fake/parent_kernel.h"
#include "tests/fake/tree.h"

#define EXITED(code) ((code) << 8)

static void only_its_own_limit_counts(void **state)
{
	static const struct {
		bool ended;
		int status;
		int64_t struck;
		int result;
	} rows[] = {
		{ true, EXITED(0), 0, 0 },
		{ true, EXITED(0), 3, 0 },
		{ true, EXITED(EAGAIN), 1, -EAGAIN },
		{ true, EXITED(EAGAIN), 0, -EBUSY }, /* a limit of the user's, or of the node's */
		{ true, EXITED(EAGAIN), -ENOENT, -EBUSY },
		{ true, SIGKILL, 1, -ENOMEM },
		{ true, SIGKILL, 0, -EBUSY }, /* by somebody, or for want of the node's memory */
		{ true, SIGKILL, -EMFILE, -EBUSY },
		{ true, SIGTERM, 1, -EBUSY },
		{ true, EXITED(EIO), 0, -EBUSY },
		{ false, 0, 1, -ETIMEDOUT },
		{ false, 0, 0, -EBUSY }, /* for want of a processor */
		{ false, 0, -EIO, -EBUSY },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("# row %zu\n", i);
		assert_int_equal(limit_judge(rows[i].ended, rows[i].status, rows[i].struck),
				 rows[i].result);
	}
}

static void the_kernel_counts(void **state)
{
	static const struct {
		const char *file;
		const char *text;
		enum controller controller;
		int64_t struck;
	} rows[] = {
		{ "/leaf/cpu.stat", "usage_usec 9\nnr_periods 4\nnr_throttled 3\n", CONTROLLER_CPU,
		  3 },
		{ "/leaf/cpu.stat", "usage_usec 9\n", CONTROLLER_CPU, -ENODATA },
		{ "/leaf/memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 1\n",
		  CONTROLLER_MEMORY, 2 },
		{ "/leaf/memory.events", "oom_kill 0\n", CONTROLLER_MEMORY, 0 },
		{ "/leaf/pids.events", "max 7\n", CONTROLLER_PIDS, 7 },
		{ "/leaf/pids.events", "max\n", CONTROLLER_PIDS, -ENODATA },
		{ "/leaf/pids.events", "max x\n", CONTROLLER_PIDS, -EINVAL },
		{ "/leaf/other", "max 7\n", CONTROLLER_PIDS, -ENOENT },
		{ "/leaf/io.stat", "max 7\n", CONTROLLER_IO, -ENODATA },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = { { rows[i].file, rows[i].text }, { NULL, NULL } };
		struct tree t;

		print_message("# row %zu\n", i);
		tree_make(&t, files, "");
		assert_int_equal(limit_struck(&t.kernel, "/leaf", rows[i].controller),
				 rows[i].struck);
		tree_remove(&t);
	}
}

static struct world w;
static int clone_error;

/* No child is ever made: its number would be that of a process of this machine. */
static int no_clone(const struct kernel *k, int cgroup)
{
	(void)k;
	(void)cgroup;
	return -clone_error;
}

static void attempt_in_vain(const struct trial *trial, unsigned fail_at, int error)
{
	char leaf[CGROUP_PATH_MAX] = "";
	struct stage stage = { .k = &w.kernel, .contained = true, .leaf = leaf };
	int r;

	world_start(&w);
	world_cgroup(&w, "/unit", "cpu memory pids\n", "cpu memory pids\n");
	w.kernel.clone = no_clone;
	w.fail_call = fail_at;
	w.fail_error = error;
	clone_error = error;
	r = trial->attempt(&stage, trial);
	assert_true(r < 0);
	for (size_t i = 0; i < TRIAL_ERRORS_MAX && trial->errors[i]; i++)
		assert_int_not_equal(r, -(int)trial->errors[i]);
}

/* Each call that a leaf takes fails once, with the very error by which the trial is denied. */
static void a_module_that_was_not_started_is_no_denial(void **state)
{
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < trial_count(); i++) {
		const struct trial *trial = trial_at(i);

		if (trial->group != TRIAL_GROUP_CONTAINER)
			continue;
		for (size_t e = 0; e < TRIAL_ERRORS_MAX && trial->errors[e]; e++) {
			unsigned calls;

			attempt_in_vain(trial, 0, trial->errors[e]);
			calls = w.calls;
			for (unsigned at = 1; at <= calls; at++, tried++)
				attempt_in_vain(trial, at, trial->errors[e]);
		}
	}
	assert_true(tried > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_its_own_limit_counts),
		cmocka_unit_test(the_kernel_counts),
		cmocka_unit_test(a_module_that_was_not_started_is_no_denial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
