/* launch/run/keeper.c and launch/run/child.c: every way a module ends, and every call that can
 * fail. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/run/child.h"
#include "launch/run/keeper.h"
#include "tests/fake/parent_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROOT "/sys/fs/cgroup/unit"
#define ALL "cpu memory pids\n"

#define UNFILTERED "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n"
#define CONFINED "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"

static struct world w;
static char variable[RUN_VARIABLE_MAX];
static char *argv[] = { "/bin/launcher", "sandbox-exec", "/policy", "--", "/module", NULL };
static char *envp[] = { variable, NULL };

static struct run_request request(void)
{
	return (struct run_request){
		.argv = argv,
		.envp = envp,
		.variable = variable,
		.stdio = { 0, 1, 2 },
		.guard_ms = 1000,
		.grace_ms = 500,
	};
}

static struct container group(void)
{
	return (struct container){ .kind = CONTAINER_GROUP, .leaf.fd = -1 };
}

/* A world in which the leader shows `status` and the name `name`. */
static void world_of(const char *status, const char *name)
{
	char stat[128];

	world_start(&w);
	world_cgroup(&w, "/unit", ALL, ALL);
	world_file(&w, "/proc/self/status", UNFILTERED);
	world_file(&w, "/proc/51/status", status);
	snprintf(stat, sizeof(stat), "51 (%s) Z 50 51 51 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 999 0\n",
		 name);
	world_file(&w, "/proc/51/stat", stat);
	world_dir(&w, "/proc/50/task");
	world_file(&w, "/proc/50/task/50", "");
	world_file(&w, "/proc/50/task/50/children", "");
	w.fds[3].open = w.fds[4].open = true;
	w.channel = 3;
}

static struct keeper_message last_message(void)
{
	struct keeper_message m = { .event = KEEPER_STARTED };

	assert_true(w.message_bytes >= sizeof(m));
	memcpy(&m, w.messages + w.message_bytes - sizeof(m), sizeof(m));
	return m;
}

static struct outcome keep(const struct run_request *r, struct container *c)
{
	struct keeper_message m;

	assert_int_equal(keeper_run(&w.kernel, r, c, 3, 4), 0);
	m = last_message();
	assert_int_equal(m.event, KEEPER_ENDED);
	return m.outcome;
}

/* ---- every way it ends ---- */

static const struct ending {
	const char *name;
	const char *status; /* of the leader in /proc; NULL: confined */
	const char *comm;   /* its name there; NULL: the module's */
	struct world_step script[8];
	int64_t timeout_ms;
	enum reason reason;
	int code;
	int signal;
	bool verified;
} endings[] = {
	{ "it exits 0",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 }, { WORLD_LEADER_ENDS, NULL, 0 } },
	  0,
	  REASON_OK,
	  0,
	  0,
	  true },
	{ "it exits 3",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 }, { WORLD_LEADER_ENDS, NULL, 3 } },
	  0,
	  REASON_EXIT_NONZERO,
	  3,
	  0,
	  true },
	{ "a signal ends it",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 }, { WORLD_LEADER_ENDS, NULL, -SIGSEGV } },
	  0,
	  REASON_SIGNAL,
	  -1,
	  SIGSEGV,
	  true },
	{ "orphans end before it",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 },
	    { WORLD_ORPHAN_ENDS, NULL, 0 },
	    { WORLD_ORPHAN_ENDS, NULL, 1 },
	    { WORLD_LEADER_ENDS, NULL, 0 } },
	  0,
	  REASON_OK,
	  0,
	  0,
	  true },
	{ "the launcher cannot execute it",
	  NULL,
	  "launcher",
	  { { WORLD_SAID, "1", 0 }, { WORLD_LEADER_ENDS, NULL, 71 } },
	  0,
	  REASON_LAUNCH_FAILED,
	  71,
	  0,
	  true },
	{ "it exits 71 itself",
	  NULL,
	  "module",
	  { { WORLD_SAID, "1", 0 }, { WORLD_LEADER_ENDS, NULL, 71 } },
	  0,
	  REASON_EXIT_NONZERO,
	  71,
	  0,
	  true },
	{ "the launcher exits 70",
	  UNFILTERED,
	  "launcher",
	  { { WORLD_SAID, NULL, 0 }, { WORLD_LEADER_ENDS, NULL, 70 } },
	  0,
	  REASON_LAUNCH_FAILED,
	  70,
	  0,
	  false },
	{ "the launcher is killed",
	  UNFILTERED,
	  "launcher",
	  { { WORLD_LEADER_ENDS, NULL, -SIGKILL } },
	  0,
	  REASON_LAUNCH_FAILED,
	  -1,
	  SIGKILL,
	  false },
	{ "the child cannot become the launcher",
	  UNFILTERED,
	  "keeper",
	  { { WORLD_SAID, "!exec '/bin/launcher': ENOENT", 0 }, { WORLD_LEADER_ENDS, NULL, 70 } },
	  0,
	  REASON_LAUNCH_FAILED,
	  70,
	  0,
	  false },
	{ "the launcher hangs",
	  UNFILTERED,
	  "launcher",
	  { { WORLD_TIME, NULL, 0 } },
	  0,
	  REASON_SANDBOX_HUNG,
	  -1,
	  SIGKILL,
	  false },
	{ "the launcher lets go and goes on",
	  UNFILTERED,
	  "launcher",
	  { { WORLD_SAID, NULL, 0 }, { WORLD_TIME, NULL, 0 } },
	  0,
	  REASON_SANDBOX_MISSING,
	  -1,
	  SIGKILL,
	  false },
	{ "the launcher lies",
	  UNFILTERED,
	  NULL,
	  { { WORLD_SAID, "1", 0 } },
	  0,
	  REASON_SANDBOX_MISSING,
	  -1,
	  SIGKILL,
	  false },
	{ "only no_new_privs is there",
	  "NoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n",
	  NULL,
	  { { WORLD_SAID, "1", 0 } },
	  0,
	  REASON_SANDBOX_MISSING,
	  -1,
	  SIGKILL,
	  false },
	{ "only an inherited filter is there",
	  "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t0\n",
	  NULL,
	  { { WORLD_SAID, "1", 0 } },
	  0,
	  REASON_SANDBOX_MISSING,
	  -1,
	  SIGKILL,
	  false },
	{ "/proc does not say",
	  "Name:\tx\n",
	  NULL,
	  { { WORLD_SAID, "1", 0 } },
	  0,
	  REASON_SANDBOX_MISSING,
	  -1,
	  SIGKILL,
	  false },
	{ "the launcher says something else",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "2", 0 } },
	  0,
	  REASON_SANDBOX_MISSING,
	  -1,
	  SIGKILL,
	  false },
	{ "the launcher says too much",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "11", 0 } },
	  0,
	  REASON_SANDBOX_MISSING,
	  -1,
	  SIGKILL,
	  false },
	{ "it takes too long",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 },
	    { WORLD_TIME, NULL, 0 },
	    { WORLD_LEADER_ENDS, NULL, -SIGTERM } },
	  200,
	  REASON_TIMEOUT,
	  -1,
	  SIGTERM,
	  true },
	{ "it takes too long and ignores SIGTERM",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 }, { WORLD_TIME, NULL, 0 }, { WORLD_TIME, NULL, 0 } },
	  200,
	  REASON_TIMEOUT,
	  -1,
	  SIGKILL,
	  true },
	{ "the launcher takes longer than the module may",
	  UNFILTERED,
	  "launcher",
	  { { WORLD_TIME, NULL, 0 }, { WORLD_LEADER_ENDS, NULL, -SIGTERM } },
	  200,
	  REASON_TIMEOUT,
	  -1,
	  SIGTERM,
	  false },
	{ "it is stopped and exits 0",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 }, { WORLD_COMMAND, "s", 0 }, { WORLD_LEADER_ENDS, NULL, 0 } },
	  0,
	  REASON_OK,
	  0,
	  0,
	  true },
	{ "it is stopped and ignores it",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 }, { WORLD_COMMAND, "s", 0 }, { WORLD_TIME, NULL, 0 } },
	  0,
	  REASON_SIGNAL,
	  -1,
	  SIGKILL,
	  true },
	{ "it is killed",
	  NULL,
	  NULL,
	  { { WORLD_SAID, "1", 0 }, { WORLD_COMMAND, "k", 0 } },
	  0,
	  REASON_SIGNAL,
	  -1,
	  SIGKILL,
	  true },
	{ "it is stopped before it is confined",
	  UNFILTERED,
	  "launcher",
	  { { WORLD_COMMAND, "s", 0 }, { WORLD_LEADER_ENDS, NULL, -SIGTERM } },
	  0,
	  REASON_SIGNAL,
	  -1,
	  SIGTERM,
	  false },
};

static void every_ending_has_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(endings); i++) {
		const struct ending *e = &endings[i];
		struct run_request r = request();
		struct container c = group();
		struct outcome o;

		world_of(e->status ? e->status : CONFINED, e->comm ? e->comm : "module");
		w.script = e->script;
		r.timeout_ms = e->timeout_ms;
		o = keep(&r, &c);
		if (o.reason != e->reason || o.code != e->code || o.signal != e->signal)
			print_error("%s: %s, code %d, signal %d (%s)\n", e->name,
				    reason_word(o.reason), o.code, o.signal, o.why.text);
		assert_int_equal(o.reason, e->reason);
		assert_int_equal(o.code, e->code);
		assert_int_equal(o.signal, e->signal);
		assert_int_equal(o.check == CHECK_CONFINED, e->verified);
		assert_false(o.left_behind);
		/* What is left of its group is ended in any case. */
		assert_true(world_called(&w, "kill -51 9"));
		assert_int_equal(w.message_count, e->verified ? 3 : 2);
		assert_false(w.leader_alive || w.leader_zombie);
	}
}

static void a_parent_that_ends_takes_it_along(void **state)
{
	static const struct world_step script[] = { { WORLD_SAID, "1", 0 },
						    { WORLD_COMMAND, NULL, 0 },
						    { WORLD_END, NULL, 0 } };
	struct run_request r = request();
	struct container c = group();

	(void)state;
	world_of(CONFINED, "module");
	w.script = script;
	assert_int_equal(keeper_run(&w.kernel, &r, &c, 3, 4), 0);
	assert_true(world_called(&w, "kill -51 9"));
	assert_false(w.leader_alive || w.leader_zombie);
	/* Nobody is there to be told. */
	assert_int_equal(w.message_count, 2);
}

static void sigterm_comes_before_sigkill(void **state)
{
	static const struct world_step script[] = { { WORLD_SAID, "1", 0 },
						    { WORLD_COMMAND, "s", 0 },
						    { WORLD_TIME, NULL, 0 },
						    { WORLD_END, NULL, 0 } };
	struct run_request r = request();
	struct container c = group();

	(void)state;
	world_of(CONFINED, "module");
	w.script = script;
	keep(&r, &c);
	assert_in_range(world_called(&w, "kill -51 15"), 1, world_called(&w, "kill -51 9") - 1);
}

/* A child that has not come as far as setsid() yet is not in a group of its own. */
static void sigterm_reaches_one_that_has_no_group_yet(void **state)
{
	static const struct world_step script[] = { { WORLD_COMMAND, "s", 0 },
						    { WORLD_LEADER_ENDS, NULL, -SIGTERM },
						    { WORLD_END, NULL, 0 } };
	struct run_request r = request();
	struct container c = group();
	unsigned to_group;

	(void)state;
	world_of(UNFILTERED, "launcher");
	w.script = script;
	keep(&r, &c);
	to_group = world_called(&w, "kill -51 15");
	assert_true(to_group > 0);
	assert_int_equal(world_called(&w, "kill 51 15"), 0);

	c = group();
	world_of(UNFILTERED, "launcher");
	w.script = script;
	w.fail_call = to_group;
	w.fail_error = ESRCH;
	keep(&r, &c);
	assert_int_equal(world_called(&w, "kill 51 15"), to_group + 1);
}

static void what_is_left_is_ended_and_counted(void **state)
{
	static const struct world_step script[] = { { WORLD_SAID, "1", 0 },
						    { WORLD_LEADER_ENDS, NULL, 0 },
						    { WORLD_END, NULL, 0 } };
	struct run_request r = request();
	struct container c = group();
	struct outcome o;

	(void)state;
	world_of(CONFINED, "module");
	w.script = script;
	w.orphan_zombies = 3;
	w.orphan_code = -SIGKILL;
	o = keep(&r, &c);
	assert_int_equal(o.reason, REASON_OK);
	assert_int_equal(o.killed, 3);
	assert_false(o.left_behind);

	/* What does not die is given up in the end, and said. */
	c = group();
	world_of(CONFINED, "module");
	w.script = script;
	w.orphans = 1;
	o = keep(&r, &c);
	assert_int_equal(o.reason, REASON_OK);
	assert_true(o.left_behind);

	/* But not while something still ends, however long that takes. */
	c = group();
	world_of(CONFINED, "module");
	w.script = script;
	w.orphans = w.dying = 2000;
	w.orphan_code = -SIGKILL;
	o = keep(&r, &c);
	assert_int_equal(o.killed, 2000);
	assert_false(o.left_behind);
	assert_true(o.wall_us > 20000000);
}

/* ---- a leaf ---- */

static struct container leaf(void)
{
	static const struct limits none;
	struct delegation d = { .dir = ROOT };
	struct container c = { .kind = CONTAINER_LEAF };

	assert_int_equal(leaf_make(&w.kernel, &d, &none, &c.leaf, NULL), 0);
	return c;
}

static struct world_file *file_of(const struct container *c, const char *name)
{
	char path[CGROUP_PATH_MAX];
	struct text t = TEXT_BUF(path);

	text_add(&t, c->leaf.dir);
	text_add(&t, name);
	return world_find(&w, path);
}

static void oom_is_told_by_its_own_leaf(void **state)
{
	static const struct {
		const char *events;
		struct world_step script[3];
		enum reason reason;
	} rows[] = {
		{ "oom 1\noom_kill 1\n",
		  { { WORLD_SAID, "1", 0 }, { WORLD_LEADER_ENDS, NULL, -SIGKILL } },
		  REASON_OOM },
		{ "oom 1\noom_kill 0\n",
		  { { WORLD_SAID, "1", 0 }, { WORLD_LEADER_ENDS, NULL, -SIGKILL } },
		  REASON_SIGNAL },
		{ "oom_kill 1\n", { { WORLD_LEADER_ENDS, NULL, -SIGKILL } }, REASON_OOM },
		{ "oom_kill 1\n", { { WORLD_TIME, NULL, 0 } }, REASON_SANDBOX_HUNG },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run_request r = request();
		struct container c;
		struct outcome o;

		world_of(CONFINED, "module");
		c = leaf();
		text_copy(file_of(&c, "/memory.events")->text, WORLD_TEXT, rows[i].events);
		w.script = rows[i].script;
		o = keep(&r, &c);
		assert_int_equal(o.reason, rows[i].reason);
		assert_int_equal(o.cpu_us, 1234);
		assert_int_equal(o.memory_peak, 4096000);
		assert_true(o.peak_of_leaf);
		assert_null(world_find(&w, c.leaf.dir));
	}
}

static void a_kernel_without_clone_into_a_cgroup_enters_later(void **state)
{
	static const int errors[] = { ENOSYS, EPERM, EINVAL, E2BIG };
	static const struct world_step script[] = { { WORLD_SAID, "1", 0 },
						    { WORLD_LEADER_ENDS, NULL, 0 },
						    { WORLD_END, NULL, 0 } };

	(void)state;
	for (size_t i = 0; i < COUNT(errors); i++) {
		struct run_request r = request();
		struct container c;

		world_of(CONFINED, "module");
		c = leaf();
		w.cgroup_clone_error = errors[i];
		w.script = script;
		assert_int_equal(keep(&r, &c).reason, REASON_OK);
		assert_true(world_called(&w, "clone -1"));
	}
}

static void a_cgroup_that_refuses_it_is_no_start(void **state)
{
	static const int errors[] = { EACCES, EBUSY, EOPNOTSUPP, ENODEV, EAGAIN, ENOMEM };

	(void)state;
	for (size_t i = 0; i < COUNT(errors); i++) {
		struct run_request r = request();
		struct container c;
		struct outcome o;

		world_of(CONFINED, "module");
		c = leaf();
		w.cgroup_clone_error = errors[i];
		o = keep(&r, &c);
		assert_int_equal(o.reason, REASON_LAUNCH_FAILED);
		assert_true(text_starts(o.why.text, "make a process: "));
		assert_false(world_called(&w, "clone -1"));
		assert_null(world_find(&w, c.leaf.dir));
	}
}

static void a_leaf_that_stays_is_said(void **state)
{
	static const struct world_step script[] = { { WORLD_SAID, "1", 0 },
						    { WORLD_LEADER_ENDS, NULL, 0 },
						    { WORLD_END, NULL, 0 } };
	struct run_request r = request();
	struct container c;
	struct outcome o;

	(void)state;
	world_of(CONFINED, "module");
	c = leaf();
	world_find(&w, c.leaf.dir)->busy = 1000000;
	w.script = script;
	o = keep(&r, &c);
	assert_int_equal(o.reason, REASON_OK);
	assert_true(o.left_behind);
	assert_non_null(strstr(o.why.text, "EBUSY"));
}

/* ---- every call that can fail ---- */

/* Whatever fails, the keeper comes to an end, tells it, and leaves no process; and what was not
 * seen confined is not called well.
 */
static void no_failing_call_leaves_a_module_running(void **state)
{
	static const int errors[] = { EINTR, EMFILE, ENOMEM, EAGAIN };
	static const struct world_step script[] = { { WORLD_SAID, "1", 0 },
						    { WORLD_ORPHAN_ENDS, NULL, 0 },
						    { WORLD_LEADER_ENDS, NULL, 0 },
						    { WORLD_END, NULL, 0 } };
	unsigned failed = 0;

	(void)state;
	for (size_t e = 0; e < COUNT(errors); e++) {
		for (unsigned at = 1;; at++) {
			struct run_request r = request();
			struct container c;
			struct keeper_message m;
			const char *call;

			world_of(CONFINED, "module");
			c = leaf();
			w.script = script;
			w.fail_call = w.calls + at;
			w.fail_error = errors[e];
			assert_int_equal(keeper_run(&w.kernel, &r, &c, 3, 4), 0);
			if (w.calls < w.fail_call)
				break;
			call = w.log[w.fail_call - 1];
			failed++;
			if (w.leader_alive || w.leader_zombie)
				print_error("%s with %d: it lives\n", call, errors[e]);
			assert_false(w.leader_alive || w.leader_zombie);
			if (text_starts(call, "send"))
				continue;
			m = last_message();
			assert_int_equal(m.event, KEEPER_ENDED);
			assert_int_not_equal(m.outcome.reason, REASON_UNKNOWN);
			if (m.outcome.check != CHECK_CONFINED)
				assert_int_not_equal(m.outcome.reason, REASON_OK);
		}
	}
	assert_true(failed > 100);
}

/* ---- the child ---- */

static void a_child_becomes_the_launcher(void **state)
{
	struct run_request r = request();
	static const int keep_fds[] = { 7 };

	(void)state;
	world_start(&w);
	r.keep = keep_fds;
	r.keep_count = 1;
	r.directory = "/work";
	r.ignore_usr1 = true;
	w.fds[9].open = true;
	child_run(&w.kernel, &r, WORLD_PARENT, NULL, 9);
	assert_true(w.executed);
	assert_true(world_called(&w, "setsid"));
	assert_true(world_called(&w, "chdir /work"));
	assert_true(world_called(&w, "fcntl 7"));
	assert_true(world_called(&w, "fcntl 9"));
	assert_true(world_called(&w, "signal_ignore 10"));
	/* The end of the keeper must reach it before anything of the module runs. */
	assert_in_range(world_called(&w, "prctl 1"), 1, world_called(&w, "execve") - 1);
}

static void a_child_whose_keeper_is_gone_starts_nothing(void **state)
{
	struct run_request r = request();

	(void)state;
	world_start(&w);
	assert_int_equal(child_run(&w.kernel, &r, WORLD_PARENT + 1, NULL, 9), 70);
	assert_false(w.executed);
}

/* A child that cannot do one of its steps says so and executes nothing. */
static void no_failing_call_lets_a_child_go_on(void **state)
{
	static const int errors[] = { EPERM, EMFILE, ENOENT };
	unsigned failed = 0;

	(void)state;
	for (size_t e = 0; e < COUNT(errors); e++) {
		for (unsigned at = 1;; at++) {
			struct run_request r = request();
			struct container c;

			world_of(CONFINED, "module");
			c = leaf();
			world_file(&w, "/dev/null", "");
			r.directory = "/work";
			r.ignore_usr1 = true;
			r.stdio[0] = -1;
			r.stdio[1] = 2;
			w.fail_call = w.calls + at;
			w.fail_error = errors[e];
			w.fds[9].open = true;
			assert_int_equal(child_run(&w.kernel, &r, WORLD_PARENT, &c.leaf, 9), 70);
			if (w.calls < w.fail_call)
				break;
			failed++;
			if (text_starts(w.log[w.fail_call - 1], "write pipe"))
				continue;
			assert_false(w.executed);
			assert_int_equal(w.said[0], CHILD_FAILED);
		}
	}
	assert_true(failed > 30);
}

static void the_signal_is_never_a_standard_descriptor(void **state)
{
	struct run_request r = request();
	struct container c = group();
	int confined = -1;

	(void)state;
	world_of(CONFINED, "module");
	assert_int_equal(child_make(&w.kernel, &r, &c, &confined, NULL), 0);
	assert_string_equal(variable, "OARBANK_CONFINED=6");
	assert_int_equal(confined, 5);
	assert_int_equal(c.leader, WORLD_LEADER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_ending_has_its_reason),
		cmocka_unit_test(a_parent_that_ends_takes_it_along),
		cmocka_unit_test(sigterm_comes_before_sigkill),
		cmocka_unit_test(sigterm_reaches_one_that_has_no_group_yet),
		cmocka_unit_test(what_is_left_is_ended_and_counted),
		cmocka_unit_test(oom_is_told_by_its_own_leaf),
		cmocka_unit_test(a_kernel_without_clone_into_a_cgroup_enters_later),
		cmocka_unit_test(a_cgroup_that_refuses_it_is_no_start),
		cmocka_unit_test(a_leaf_that_stays_is_said),
		cmocka_unit_test(no_failing_call_leaves_a_module_running),
		cmocka_unit_test(a_child_becomes_the_launcher),
		cmocka_unit_test(a_child_whose_keeper_is_gone_starts_nothing),
		cmocka_unit_test(no_failing_call_lets_a_child_go_on),
		cmocka_unit_test(the_signal_is_never_a_standard_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
