/* launch/run/run.c: what a parent chooses, what it refuses, and that a failed start leaves nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/run/run.h"
#include "tests/fake/parent_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROOT "/sys/fs/cgroup/unit"
#define ALL "cpu memory pids\n"

static struct world w;
static struct fault why;
static char *module_argv[] = { "/module", "argument", NULL };
static char *module_envp[] = { "A=1", "OARBANK_CONFINED=99", "B=2", NULL };

static struct run_options options(enum container_choice container)
{
	struct run_options o;

	run_options_init(&o);
	o.launcher = "/bin/launcher";
	o.policy = "/policy";
	o.argv = module_argv;
	o.envp = module_envp;
	o.container = container;
	o.network.supervise = SUPERVISE_NONE; /* tests/live/test_library.c has one */
	return o;
}

static void begin_world(void)
{
	world_start(&w);
	world_file(&w, "/policy", "{}");
}

static bool leaf_is_there(void)
{
	for (size_t i = 0; i < WORLD_FILES; i++)
		if (w.files[i].dir && text_starts(w.files[i].path, ROOT "/" LEAF_PREFIX))
			return true;
	return false;
}

static void the_container_is_what_was_chosen(void **state)
{
	static const struct {
		enum container_choice choice;
		bool delegated;
		uint32_t pids;
		const char *controllers;
		int r;
		enum container_kind kind;
		const char *why; /* part of it */
	} rows[] = {
		{ CHOOSE_AUTO, true, 0, ALL, 0, CONTAINER_LEAF, "" },
		{ CHOOSE_AUTO, false, 0, ALL, 0, CONTAINER_GROUP, "" },
		{ CHOOSE_AUTO, true, 5, ALL, 0, CONTAINER_LEAF, "" },
		{ CHOOSE_AUTO, false, 5, ALL, -EOPNOTSUPP, CONTAINER_NONE,
		  "limits need a leaf: make" },
		{ CHOOSE_AUTO, true, 5, "cpu memory\n", -EOPNOTSUPP, CONTAINER_NONE,
		  "the pids controller is not to be had" },
		{ CHOOSE_LEAF, true, 0, "\n", 0, CONTAINER_LEAF, "" },
		{ CHOOSE_LEAF, false, 0, ALL, -EACCES, CONTAINER_NONE, "EACCES" },
		{ CHOOSE_LEAF, true, 5, "\n", -EOPNOTSUPP, CONTAINER_NONE, "pids" },
		{ CHOOSE_GROUP, true, 0, ALL, 0, CONTAINER_GROUP, "" },
		{ CHOOSE_GROUP, true, 5, ALL, -EOPNOTSUPP, CONTAINER_NONE, "no limits" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run_options o = options(rows[i].choice);
		struct run run = { .channel = -1 };
		int r;

		begin_world();
		world_cgroup(&w, "/unit", rows[i].controllers, "\n");
		if (!rows[i].delegated)
			world_find(&w, ROOT)->error = EACCES;
		o.limits.pids = rows[i].pids;
		why.text[0] = '\0';
		r = run_start(&w.kernel, &o, &run, &why);
		if (r != rows[i].r)
			print_error("row %zu: %d, %s\n", i, r, why.text);
		assert_int_equal(r, rows[i].r);
		assert_int_equal(run.container.kind, rows[i].kind);
		assert_non_null(strstr(why.text, rows[i].why));
		assert_int_equal(world_called(&w, "clone") != 0, r == 0);
		if (r == 0 && rows[i].choice == CHOOSE_AUTO)
			assert_int_equal(run.no_leaf.text[0] != '\0', !rows[i].delegated);
		if (r == 0)
			run_free(&w.kernel, &run);
		assert_int_equal(world_open_fds(&w), 0);
		assert_int_equal(w.mask, 0);
	}
}

/* What could not be verified, nor found again to be ended, is not started. */
static void without_a_proc_of_our_own_nothing_starts(void **state)
{
	static const struct {
		const char *status; /* NULL: no such file */
		uint64_t magic;
		const char *why;
	} rows[] = {
		{ NULL, 0x9fa0, "ENOENT" },
		{ "Seccomp_filters:\t0\n", 0x01021994, "not the kernel's" },
		{ "NSpid:\t812\t50\nSeccomp_filters:\t0\n", 0x9fa0, "another pid namespace" },
		{ "Seccomp:\t0\n", 0x9fa0, "does not tell of seccomp filters" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run_options o = options(CHOOSE_LEAF);
		struct run run = { .channel = -1 };

		begin_world();
		world_cgroup(&w, "/unit", ALL, ALL);
		if (rows[i].status)
			world_file(&w, "/proc/self/status", rows[i].status);
		else
			world_find(&w, "/proc/self/status")->path[0] = '\0';
		w.proc_magic = rows[i].magic;
		assert_int_equal(run_start(&w.kernel, &o, &run, &why), -ENOTSUP);
		assert_non_null(strstr(why.text, rows[i].why));
		assert_int_equal(world_called(&w, "clone"), 0);
		assert_false(leaf_is_there());
		assert_int_equal(world_open_fds(&w), 0);
	}
}

static void controllers_are_handed_down_for_limits_only(void **state)
{
	(void)state;
	for (int limited = 0; limited < 2; limited++) {
		struct run_options o = options(CHOOSE_LEAF);
		struct run run;

		begin_world();
		world_cgroup(&w, "/unit", ALL, "\n");
		o.limits.memory_bytes = limited ? 4096 : 0;
		assert_int_equal(run_start(&w.kernel, &o, &run, &why), 0);
		assert_int_equal(world_called(&w, "mkdir " ROOT "/agent") != 0, limited);
		run_free(&w.kernel, &run);
	}
	begin_world();
	world_cgroup(&w, "/unit", ALL, "\n");
	assert_int_equal(run_setup(&w.kernel, 0, &why), 0);
	assert_true(world_called(&w, "write " ROOT "/cgroup.subtree_control +pids"));
}

/* Every signal is blocked when the keeper is made, and the parent's mask is as before. */
static void the_keeper_starts_with_its_signals_blocked(void **state)
{
	struct run_options o = options(CHOOSE_GROUP);
	struct run run;

	(void)state;
	begin_world();
	w.mask = 5;
	assert_int_equal(run_start(&w.kernel, &o, &run, &why), 0);
	assert_in_range(world_called(&w, "signal_mask all"), 1, world_called(&w, "clone") - 1);
	assert_in_range(world_called(&w, "clone"), 1, world_called(&w, "signal_mask some") - 1);
	assert_int_equal(w.mask, 5);
	run_free(&w.kernel, &run);
}

static void a_start_that_fails_leaves_nothing(void **state)
{
	static const int errors[] = { EMFILE, ENOMEM, EAGAIN, ENOSPC };
	unsigned failed = 0;

	(void)state;
	for (size_t e = 0; e < COUNT(errors); e++) {
		for (unsigned at = 1;; at++) {
			struct run_options o = options(CHOOSE_LEAF);
			struct run run = { .channel = -1 };
			int r;

			begin_world();
			world_cgroup(&w, "/unit", ALL, ALL);
			o.limits.pids = 5;
			w.fail_call = at;
			w.fail_error = errors[e];
			r = run_start(&w.kernel, &o, &run, &why);
			if (r == 0) {
				bool whole = w.calls < at;

				run_free(&w.kernel, &run);
				if (whole)
					break;
				continue;
			}
			failed++;
			assert_false(leaf_is_there());
			assert_int_equal(world_open_fds(&w), 0);
			assert_int_equal(w.leader_alive, false);
		}
	}
	assert_true(failed > 40);
}

/* ---- following it ---- */

static void a_keeper_that_is_lost_is_a_failed_launch(void **state)
{
	struct run_options o = options(CHOOSE_LEAF);
	struct run run;

	(void)state;
	begin_world();
	world_cgroup(&w, "/unit", ALL, ALL);
	assert_int_equal(run_start(&w.kernel, &o, &run, &why), 0);
	assert_true(leaf_is_there());
	w.leader_alive = false; /* the clone stands for the keeper here */
	w.news = true;
	assert_int_equal(run_next(&w.kernel, &run, -1), 0);
	assert_int_equal(run.state, RUN_ENDED);
	assert_int_equal(run.outcome.reason, REASON_LAUNCH_FAILED);
	assert_string_equal(run.outcome.why.text, "the keeper was killed");
	assert_false(run.outcome.left_behind);
	assert_false(leaf_is_there());
	assert_int_equal(world_open_fds(&w), 0);
	assert_int_equal(run_next(&w.kernel, &run, -1), 0);
	assert_int_equal(run_stop(&w.kernel, &run), -ESRCH);
	run_free(&w.kernel, &run);
}

/* As a parent does that would wait in vain again and again. */
static void what_cannot_be_waited_for_is_ended(void **state)
{
	static const enum container_choice choices[] = { CHOOSE_LEAF, CHOOSE_GROUP };

	(void)state;
	for (size_t i = 0; i < COUNT(choices); i++) {
		struct run_options o = options(choices[i]);
		struct run run;

		begin_world();
		world_cgroup(&w, "/unit", ALL, ALL);
		assert_int_equal(run_start(&w.kernel, &o, &run, &why), 0);
		w.leader_alive = false;
		run_give_up(&w.kernel, &run, ENOMEM);
		assert_int_equal(run.state, RUN_ENDED);
		assert_int_equal(run.outcome.reason, REASON_LAUNCH_FAILED);
		assert_string_equal(run.outcome.why.text, "the parent cannot wait: ENOMEM");
		/* What escaped from a group may be there still. */
		assert_int_equal(run.outcome.left_behind, choices[i] == CHOOSE_GROUP);
		assert_false(leaf_is_there());
		assert_int_equal(world_open_fds(&w), 0);
		assert_int_equal(run_fd(&run), -1);
	}
}

static void no_news_is_a_timeout(void **state)
{
	struct run_options o = options(CHOOSE_GROUP);
	struct run run;

	(void)state;
	begin_world();
	assert_int_equal(run_start(&w.kernel, &o, &run, &why), 0);
	assert_int_equal(run_next(&w.kernel, &run, 10), -ETIMEDOUT);
	assert_int_equal(run.state, RUN_STARTING);
	assert_int_equal(run_stop(&w.kernel, &run), 0);
	assert_int_equal(w.messages[0], KEEPER_STOP);
	run_free(&w.kernel, &run);
}

/* ---- the launcher ---- */

static void the_launcher_is_named_or_beside_us(void **state)
{
	static const struct {
		char *variable;
		int r;
		const char *path;
	} rows[] = {
		{ NULL, 0, "/opt/bin/oarbank-sandbox" },
		{ "OARBANK_SANDBOX_EXEC=/usr/bin/other", 0, "/usr/bin/other" },
		{ "OARBANK_SANDBOX_EXEC=relative", -EINVAL, NULL },
		{ "OARBANK_SANDBOX_EXEC=", -EINVAL, NULL },
		{ "OARBANK_SANDBOX_EXECUTE=/x", 0, "/opt/bin/oarbank-sandbox" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char *envp[] = { rows[i].variable, NULL };
		char path[64];

		begin_world();
		world_file(&w, "/proc/self/exe", "/opt/bin/oarbank-run");
		world_file(&w, "/opt/bin/oarbank-sandbox", "");
		assert_int_equal(run_find_launcher(&w.kernel, envp, path, sizeof(path), &why),
				 rows[i].r);
		if (rows[i].r == 0)
			assert_string_equal(path, rows[i].path);
	}
}

static void a_launcher_that_is_not_there_is_named(void **state)
{
	char *envp[] = { NULL };
	char path[64];

	(void)state;
	begin_world();
	world_file(&w, "/proc/self/exe", "/opt/bin/agent");
	assert_int_equal(run_find_launcher(&w.kernel, envp, path, sizeof(path), &why), -ENOENT);
	assert_string_equal(why.text, "there is no '/opt/bin/oarbank-sandbox' beside this program: "
				      "OARBANK_SANDBOX_EXEC names another");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_container_is_what_was_chosen),
		cmocka_unit_test(without_a_proc_of_our_own_nothing_starts),
		cmocka_unit_test(controllers_are_handed_down_for_limits_only),
		cmocka_unit_test(the_keeper_starts_with_its_signals_blocked),
		cmocka_unit_test(a_start_that_fails_leaves_nothing),
		cmocka_unit_test(a_keeper_that_is_lost_is_a_failed_launch),
		cmocka_unit_test(what_cannot_be_waited_for_is_ended),
		cmocka_unit_test(no_news_is_a_timeout),
		cmocka_unit_test(the_launcher_is_named_or_beside_us),
		cmocka_unit_test(a_launcher_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
