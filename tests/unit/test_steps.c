/* launch: the steps in their order, and what is left when any one call of any of them fails. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/steps.h"
#include "tests/fake/launch_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define POLICY                                                                                             \
	"{\"module\":\"m\",\"ro\":[\"/b\",\"/home/x\"],\"rw\":[\"/w\"],\"net\":\"egress-allowlist\","      \
	"\"proxy_port\":3128,\"broker_socket\":\"/s\",\"gpu\":true,\"exec_rw\":false,\"exe\":\"/usr/py\"," \
	"\"rd\":[\"/i\"],\"wo\":[\"/o\"]}"

static const struct fake_file files[] = {
	{ "/b/main", NODE_FILE, "", 0, 0 },
	{ "/bad.json", NODE_FILE, "{\"deny\":1}", 0, 0 },
	{ "/dev/dri/renderD128", NODE_CHAR, NULL, 226, 128 },
	{ "/dev/null", NODE_CHAR, NULL, 1, 3 },
	{ "/home", NODE_LINK, "/var/home", 0, 0 },
	{ "/i/x", NODE_FILE, "", 0, 0 },
	{ "/o/x", NODE_FILE, "", 0, 0 },
	{ "/policy.json", NODE_FILE, POLICY, 0, 0 },
	{ "/s", NODE_SOCKET, NULL, 0, 0 },
	{ "/usr/py", NODE_FILE, "", 0, 0 },
	{ "/var/home/x/y", NODE_FILE, "", 0, 0 },
	{ "/w/x", NODE_FILE, "", 0, 0 },
	{ NULL, NODE_OTHER, NULL, 0, 0 },
};

static const char *const step_names[STEP_COUNT] = {
	"pipe: ",     "signal: ",  "supervisor: ", "policy: ",	     "descriptors: ",
	"plan: ",     "signals: ", "limits: ",	   "capabilities: ", "no_new_privs: ",
	"landlock: ", "seccomp: ", "ask: ",	   "confined: ",     "exec: ",
};

static struct fake_process p;
static struct launch l;
static char *env[4];

/* A launch that is told to signal on descriptor 4, with a stray 3 and a service on 5. */
static void prepare(int abi)
{
	static char *argv[] = { "/usr/py", "-m", "x", NULL };

	fake_process(&p, files, abi);
	fake_inherit(&p, 3, NODE_DIR);
	fake_inherit(&p, 4, NODE_FIFO);
	fake_inherit(&p, 5, NODE_SOCKET);
	env[0] = "OARBANK_SERVICE_DB=fd:5";
	env[1] = "OARBANK_CONFINED=4";
	env[2] = "PATH=/bin";
	env[3] = NULL;
	memset(&l, 0, offsetof(struct launch, text));
	l.policy_path = "/policy.json";
	l.argv = argv;
	l.envp = env;
}

static void assert_confined_when_executed(void)
{
	assert_true(p.no_new_privs);
	assert_true(p.restricted);
	assert_ptr_equal(p.filter, filter_program(l.plan.filter));
	assert_int_equal(p.effective, 0);
	assert_int_equal(p.bounding, 0);
	assert_int_equal(p.securebits, 0xef);
	assert_int_equal(p.ignored, 1ULL << (SIGUSR1 - 1) | 1ULL << (SIGPIPE - 1));
	assert_true(p.mask_empty);
	assert_int_equal(p.core_limit, 1);
	assert_string_equal(p.told, "1");
	/* A path opened later may have got the number, and is closed by the exec. */
	assert_false(p.fds[3].open && p.fds[3].path[0] == '\0');
	assert_false(p.fds[4].open && p.fds[4].path[0] == '\0');
	assert_true(p.fds[5].open);
	assert_string_equal(env[0], "OARBANK_SERVICE_DB=fd:5");
	assert_string_equal(env[1], "PATH=/bin");
	assert_null(env[2]);
}

static void the_module_is_executed_confined(void **state)
{
	struct fault why = { "" };

	(void)state;
	prepare(11);
	assert_int_equal(launch_run(&p.kernel, &l, &why), -ENOEXEC);
	assert_true(p.executed);
	assert_int_equal(l.failed, STEP_EXEC);
	assert_string_equal(why.text, "exec: /usr/py: ENOEXEC");
	assert_ptr_equal(p.exec_argv, l.argv);
	assert_ptr_equal(p.exec_envp, env);
	assert_confined_when_executed();
	assert_int_equal(fake_open_count(&p), 1);
	assert_int_equal(p.port, 3128);
	assert_true(fake_rights(&p, "/w") & LL_FS_WRITE_FILE);
	assert_true(fake_rights(&p, "/var/home/x") & LL_FS_EXECUTE);
	assert_int_equal(fake_rights(&p, "/s"), LL_FS_RESOLVE_UNIX);
	assert_true(fake_rights(&p, "/dev/dri/renderD128") & LL_FS_IOCTL_DEV);
}

static void the_steps_have_an_order(void **state)
{
	static const char *const order[] = {
		"signal_ignore 13",
		"open /policy.json",
		"fstat 0",
		"close_range 3-3",
		"ll_create 1",
		"list /dev",
		"signal_default 1",
		"signal_unblock_all",
		"rlimit",
		"open /proc/self/oom_score_adj",
		"capget",
		"prctl 24 0",
		"prctl 28",
		"prctl 47",
		"capset",
		"prctl 38 1",
		"open_nolinks /b",
		"ll_create 0",
		"ll_add_path /usr",
		"ll_add_port 3128",
		"ll_restrict 2",
		"seccomp 1",
		"write ",
		"close 4",
		"signal_default 13",
		"execve /usr/py",
		"signal_ignore 13",
	};
	struct fault why;
	unsigned at = 0;

	(void)state;
	prepare(11);
	launch_run(&p.kernel, &l, &why);
	for (size_t i = 0; i < COUNT(order); i++) {
		while (at < p.call_count && !text_starts(p.calls[at], order[i]))
			at++;
		if (at == p.call_count)
			fail_msg("'%s' is not where it should be", order[i]);
		at++;
	}
	assert_int_equal(at, p.call_count);
}

/* Calls that may fail without a loss to the confinement, and why. */
static bool may_fail(const char *call, const char *before, int error)
{
	static const char *const retried[] = {
		"open /", "read /policy.json", "open_nolinks ", "write ", "close ",
	};

	/* An OOM score that stays as it is lets nobody in. */
	if (strstr(call, "oom_score_adj") || text_starts(before, "write /proc/self/oom_score_adj"))
		return true;
	/* Then the path is opened to see. */
	if (text_starts(call, "readlink ") && !text_starts(call, "readlink /home") &&
	    !text_starts(call, "readlink /var"))
		return true;
	/* Then every signal is reset. */
	if (strstr(call, "/proc/self/status"))
		return true;
	/* Closed all the same, or at exec. */
	if (text_starts(call, "close ") && !text_starts(before, "write "))
		return true;
	if (text_starts(call, "close_range ") && fake_call(&p, "ll_restrict"))
		return true;
	/* After the exec, for our own last words. */
	if (text_starts(call, "signal_ignore") && text_starts(before, "execve"))
		return true;
	/* The kernel's answers to a capability that it does not have, and to what is no link. */
	if (error == EINVAL &&
	    (strcmp(call, "prctl 24 41") == 0 || text_starts(call, "readlink /var")))
		return true;
	/* A hard limit of 0. */
	if (text_starts(call, "rlimit") && error == EPERM)
		return true;
	if (error != EINTR)
		return false;
	for (size_t i = 0; i < COUNT(retried); i++)
		if (text_starts(call, retried[i]))
			return true;
	return false;
}

/* Parts of the base system and GPU nodes that are not there are skipped. */
static bool opens_base_system(const char *call)
{
	static const char *const paths[] = { "/usr", "/etc", "/opt", "/proc",
					     "/sys/devices/system/cpu" };

	for (size_t i = 0; i < COUNT(paths); i++)
		if (text_starts(call, "open_nolinks ") && strcmp(call + 13, paths[i]) == 0)
			return true;
	return false;
}

static bool may_be_absent(const char *call)
{
	return opens_base_system(call) ||
	       (text_starts(call, "open /") && !text_starts(call, "open /policy.json")) ||
	       text_starts(call, "open_nolinks /dev/dri") || text_starts(call, "list /dev") ||
	       text_starts(call, "stat /dev/");
}

static void no_call_fails_without_ending_the_launch(void **state)
{
	static const int errors[] = { EIO, EINTR, EMFILE, ENOMEM, EPERM, EACCES, EINVAL };
	unsigned calls;
	unsigned ended = 0;
	struct fault why;

	(void)state;
	prepare(11);
	launch_run(&p.kernel, &l, &why);
	calls = p.call_count;
	for (size_t e = 0; e < COUNT(errors); e++)
		for (unsigned n = 1; n <= calls; n++) {
			const char *call;
			bool tolerated;

			prepare(11);
			p.fail_call = n;
			p.fail_error = errors[e];
			why.text[0] = '\0';
			assert_true(launch_run(&p.kernel, &l, &why) < 0);
			call = p.calls[n - 1];
			tolerated = may_fail(call, n > 1 ? p.calls[n - 2] : "", errors[e]) ||
				    text_starts(call, "stat ") || text_starts(call, "isatty");
			if (text_starts(call, "execve"))
				assert_false(p.executed);
			else if (p.executed != tolerated)
				fail_msg("call %u, %s, fails with %d: %s", n, call, errors[e],
					 why.text);
			if (!p.executed) {
				/* The step is named; nothing but what was inherited is open. */
				assert_true(text_starts(why.text, step_names[l.failed]));
				assert_true(fake_open_count(&p) <= 3);
				for (int fd = 6; fd < FAKE_FDS; fd++)
					if (p.fds[fd].open)
						fail_msg("%s left %s open", call, p.fds[fd].path);
				ended++;
				continue;
			}
			if (text_starts(call, "rlimit"))
				p.core_limit = 1;
			if (!text_starts(call, "signal_ignore"))
				assert_confined_when_executed();
		}
	assert_true(ended > calls);
}

static void what_is_not_here_is_skipped_only_where_it_may(void **state)
{
	unsigned calls;
	struct fault why;

	(void)state;
	prepare(11);
	launch_run(&p.kernel, &l, &why);
	calls = p.call_count;
	for (unsigned n = 1; n <= calls; n++) {
		const char *call;

		prepare(11);
		p.fail_call = n;
		p.fail_error = ENOENT;
		launch_run(&p.kernel, &l, &why);
		call = p.calls[n - 1];
		if (p.executed != (may_be_absent(call) ||
				   may_fail(call, n > 1 ? p.calls[n - 2] : "", ENOENT)) &&
		    !text_starts(call, "execve"))
			fail_msg("call %u, %s: %s", n, call, why.text);
	}
}

static void a_refused_launch_says_which_step(void **state)
{
	static const struct {
		const char *policy;
		int abi;
		int signal; /* the descriptor that OARBANK_CONFINED names */
		enum launch_step step;
		const char *text;
	} rows[] = {
		{ "/absent.json", 11, 4, STEP_POLICY, "policy: /absent.json: read: ENOENT" },
		{ "/bad.json", 11, 4, STEP_POLICY,
		  "policy: /bad.json: key 'deny': unknown, and it asks for something" },
		{ "/policy.json", 11, 6, STEP_DESCRIPTORS,
		  "descriptors: OARBANK_CONFINED: names a descriptor that is not open" },
		{ "/policy.json", 2, 4, STEP_PLAN, "plan: the file system cannot be confined" },
		{ "/policy.json", 3, 4, STEP_PLAN, "plan: net 'egress-allowlist' cannot" },
		{ "/policy.json", -ENOSYS, 4, STEP_PLAN, "this kernel has none (ENOSYS)" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char variable[32];
		struct text t = TEXT_BUF(variable);
		struct fault why = { "" };

		prepare(rows[i].abi);
		l.policy_path = rows[i].policy;
		text_add(&t, "OARBANK_CONFINED=");
		text_add_int(&t, rows[i].signal);
		env[1] = variable;
		assert_true(launch_run(&p.kernel, &l, &why) < 0);
		assert_int_equal(l.failed, rows[i].step);
		if (!strstr(why.text, rows[i].text))
			fail_msg("row %zu: %s", i, why.text);
		assert_false(p.executed);
		assert_int_equal(fake_call(&p, "execve"), 0);
		assert_string_equal(p.told, "");
	}
}

static void without_a_waiting_parent_nothing_is_written(void **state)
{
	struct fault why;

	(void)state;
	prepare(7);
	env[1] = "OARBANK_CONFINED=1";
	launch_run(&p.kernel, &l, &why);
	assert_true(p.executed);
	assert_string_equal(p.told, "");
	assert_int_equal(l.signal_fd, -1);
	assert_false(p.fds[4].open);
	assert_string_equal(env[1], "PATH=/bin");
}

static void a_child_can_be_confined_for_a_trial(void **state)
{
	static char text[] = "{\"rw\":[\"/w\"]}";
	struct fault why;

	(void)state;
	prepare(7);
	assert_int_equal(policy_parse(text, sizeof(text) - 1, &l.policy, &why), 0);
	assert_int_equal(launch_confine(&p.kernel, &l, &why), 0);
	assert_true(p.restricted);
	assert_non_null(p.filter);
	assert_int_equal(p.effective, 0);
	/* Nothing else of the process is touched. */
	assert_true(p.fds[3].open);
	assert_int_equal(fake_call(&p, "execve"), 0);
	assert_int_equal(fake_call(&p, "signal_"), 0);
	assert_int_equal(fake_call(&p, "close_range 3"), 0);

	prepare(2);
	assert_int_equal(launch_confine(&p.kernel, &l, &why), -ENOTSUP);
	assert_int_equal(l.failed, STEP_PLAN);
	assert_false(p.restricted);
}

static void a_plan_changes_nothing(void **state)
{
	struct fault why;

	(void)state;
	prepare(7);
	assert_int_equal(launch_plan(&p.kernel, &l, 2, SUPERVISE_NONE, &why), 0);
	assert_int_equal(l.plan.abi, 2);
	assert_int_equal(plan_check(&l.plan, &why), -ENOTSUP);
	assert_int_equal(fake_call(&p, "prctl"), 0);
	assert_int_equal(fake_call(&p, "ll_"), 0);

	prepare(7);
	l.policy_path = "/bad.json";
	assert_int_equal(launch_plan(&p.kernel, &l, 7, SUPERVISE_NONE, &why), -EINVAL);
	assert_int_equal(l.failed, STEP_POLICY);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_module_is_executed_confined),
		cmocka_unit_test(the_steps_have_an_order),
		cmocka_unit_test(no_call_fails_without_ending_the_launch),
		cmocka_unit_test(what_is_not_here_is_skipped_only_where_it_may),
		cmocka_unit_test(a_refused_launch_says_which_step),
		cmocka_unit_test(without_a_waiting_parent_nothing_is_written),
		cmocka_unit_test(a_child_can_be_confined_for_a_trial),
		cmocka_unit_test(a_plan_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
