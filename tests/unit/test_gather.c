/* A probe that crashes or hangs loses only itself. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cmocka.h>

#include "kabi/recorded.h"
#include "probe/gather.h"

static const char machine[] = "landlock version = 7\n"
			      "uname release = 6.15.0\n"
			      "uname machine = x86_64\n"
			      "unshare 0x10000000 = 0\n"
			      "prctl 21 0 = 0\n";

static int crash(const struct kernel *k, unsigned long flags)
{
	(void)k;
	(void)flags;
	raise(SIGKILL);
	return 0;
}

static int forbidden(const struct kernel *k, unsigned long flags)
{
	(void)k;
	(void)flags;
	/* cmocka handles this signal, in its children too. */
	signal(SIGSYS, SIG_DFL);
	raise(SIGSYS);
	return 0;
}

static int hang(const struct kernel *k, unsigned long flags)
{
	(void)k;
	(void)flags;
	for (;;)
		pause();
	return 0;
}

/* Gather landlock, settings and seccomp from a machine whose unshare() does `act`. */
static struct facts *gather_with(int (*act)(const struct kernel *, unsigned long),
				 uint32_t timeout_ms)
{
	const struct gather_options options = {
		.want = PROBE_BIT(PROBE_SECCOMP) | PROBE_BIT(PROBE_LANDLOCK) |
			PROBE_BIT(PROBE_SETTINGS) | PROBE_BIT(PROBE_NET),
		.timeout_ms = timeout_ms,
	};
	struct facts *facts = NULL;
	struct kernel k;

	assert_int_equal(recorded_from_rows(machine, NULL, &k, NULL), 0);
	if (act)
		k.try_unshare = act;
	assert_int_equal(facts_gather(&k, &options, &facts, NULL), 0);
	recorded_close(&k);
	return facts;
}

static void assert_others_answered(const struct facts *facts)
{
	assert_int_equal(facts->outcomes[PROBE_SECCOMP].outcome, OUTCOME_DONE);
	assert_int_equal(facts->outcomes[PROBE_LANDLOCK].outcome, OUTCOME_DONE);
	assert_int_equal(facts->outcomes[PROBE_NET].outcome, OUTCOME_DONE);
	assert_int_equal(facts->outcomes[PROBE_GPU].outcome, OUTCOME_NOT_RUN);
	assert_int_equal(facts->landlock.abi.value, 7);
}

static void all_answer_when_nothing_happens(void **state)
{
	struct facts *facts = gather_with(NULL, 0);

	(void)state;
	assert_others_answered(facts);
	assert_int_equal(facts->outcomes[PROBE_SETTINGS].outcome, OUTCOME_DONE);
	assert_int_equal(facts->settings.user_namespace.answer, ANSWER_YES);
	facts_free(facts);
}

static void a_crash_loses_one_probe(void **state)
{
	static const struct settings_facts nothing;
	struct facts *facts = gather_with(crash, 0);

	(void)state;
	assert_others_answered(facts);
	assert_int_equal(facts->outcomes[PROBE_SETTINGS].outcome, OUTCOME_LOST);
	assert_string_equal(facts->outcomes[PROBE_SETTINGS].why, "crashed: signal 9");
	assert_memory_equal(&facts->settings, &nothing, sizeof(nothing));
	facts_free(facts);
}

static void a_forbidden_call_is_named(void **state)
{
	struct facts *facts = gather_with(forbidden, 0);

	(void)state;
	assert_others_answered(facts);
	assert_non_null(
		strstr(facts->outcomes[PROBE_SETTINGS].why, "a filter around this process"));
	facts_free(facts);
}

static void a_hang_loses_one_probe_in_time(void **state)
{
	struct facts *facts = gather_with(hang, 1000);

	(void)state;
	assert_others_answered(facts);
	assert_int_equal(facts->outcomes[PROBE_SETTINGS].outcome, OUTCOME_LOST);
	assert_string_equal(facts->outcomes[PROBE_SETTINGS].why,
			    "did not answer in 1000 ms and was ended");
	/* Nothing of it is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	facts_free(facts);
}

/* Nobody can say how a child of such a process ended, but that it did. */
static void a_crash_is_seen_where_children_are_not_waited_for(void **state)
{
	struct facts *facts;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	facts = gather_with(crash, 0);
	signal(SIGCHLD, SIG_DFL);
	assert_others_answered(facts);
	assert_int_equal(facts->outcomes[PROBE_SETTINGS].outcome, OUTCOME_LOST);
	assert_string_equal(facts->outcomes[PROBE_SETTINGS].why, "its process ended early");
	facts_free(facts);
}

/* A probe's own children can be waited for whatever the caller does with its own. */
static void probes_can_wait_for_children(void **state)
{
	const struct gather_options options = { .want = PROBE_BIT(PROBE_SETTINGS) };
	struct facts *facts = NULL;

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(facts_gather(&kernel_live, &options, &facts, NULL), 0);
	signal(SIGCHLD, SIG_DFL);
	assert_int_equal(facts->outcomes[PROBE_SETTINGS].outcome, OUTCOME_DONE);
	assert_string_not_equal(facts->settings.user_namespace.got, "ECHILD");
	facts_free(facts);
}

static int may_dump_core(const struct kernel *k, unsigned long flags)
{
	struct rlimit core;

	(void)k;
	(void)flags;
	return getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 ? 0 : -EPERM;
}

static void a_crash_leaves_no_core_file(void **state)
{
	struct rlimit before;
	struct rlimit raised;
	struct facts *facts;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_CORE, &before), 0);
	raised = (struct rlimit){ before.rlim_max, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_CORE, &raised), 0);
	facts = gather_with(may_dump_core, 0);
	setrlimit(RLIMIT_CORE, &before);
	assert_int_equal(facts->settings.user_namespace.answer, ANSWER_YES);
	facts_free(facts);
}

/* Have prctl(PR_SET_PDEATHSIG) answer `err` from here on. Returns 0, or -1 where that cannot be. */
static int refuse_death_signal(unsigned err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PDEATHSIG, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int gather_behind_filter(void)
{
	struct facts *facts;
	int code;

	alarm(20); /* without an answer this would go on for ever */
	if (refuse_death_signal(EPERM) < 0)
		return 2;
	facts = gather_with(NULL, 0);
	code = facts->outcomes[PROBE_SETTINGS].outcome == OUTCOME_DONE ? 0 : 1;
	facts_free(facts);
	return code;
}

static void a_filter_may_forbid_the_death_signal(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(gather_behind_filter());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Asked in the first probe, so that the deadline that passed meanwhile would be its own. */
static int stop_parent(const struct kernel *k, int option, unsigned long a, unsigned long b,
		       unsigned long c, unsigned long d)
{
	const struct timespec soon = { .tv_nsec = 30000000 };
	static bool stopped;

	(void)k;
	(void)option;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	if (!stopped)
		kill(getppid(), SIGSTOP);
	stopped = true;
	nanosleep(&soon, NULL);
	return 0;
}

/* As when somebody stops the job and continues it later: while we are stopped, so is the child. */
static int gather_while_stopped(void)
{
	const struct gather_options options = { .want = PROBE_BIT(PROBE_SECCOMP),
						.timeout_ms = 200 };
	struct facts *facts = NULL;
	struct kernel k;

	if (recorded_from_rows(machine, NULL, &k, NULL) < 0)
		return 2;
	k.prctl = stop_parent;
	if (facts_gather(&k, &options, &facts, NULL) < 0)
		return 2;
	return facts->outcomes[PROBE_SECCOMP].outcome == OUTCOME_DONE ? 0 : 1;
}

static void time_stopped_does_not_count(void **state)
{
	const struct timespec longer = { .tv_nsec = 300000000 };
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0) {
		setpgid(0, 0);
		_exit(gather_while_stopped());
	}
	for (;;) {
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		if (!WIFSTOPPED(status))
			break;
		kill(-pid, SIGSTOP);
		nanosleep(&longer, NULL);
		kill(-pid, SIGCONT);
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_caller_is_left_as_it_was(void **state)
{
	const struct gather_options options = { .want = PROBE_BIT(PROBE_SECCOMP) |
							PROBE_BIT(PROBE_LANDLOCK) };
	int before = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	struct facts *facts = NULL;

	(void)state;
	assert_int_equal(facts_gather(&kernel_live, &options, &facts, NULL), 0);
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), before);
	facts_free(facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_answer_when_nothing_happens),
		cmocka_unit_test(a_crash_loses_one_probe),
		cmocka_unit_test(a_forbidden_call_is_named),
		cmocka_unit_test(a_hang_loses_one_probe_in_time),
		cmocka_unit_test(a_crash_is_seen_where_children_are_not_waited_for),
		cmocka_unit_test(probes_can_wait_for_children),
		cmocka_unit_test(a_crash_leaves_no_core_file),
		cmocka_unit_test(a_filter_may_forbid_the_death_signal),
		cmocka_unit_test(time_stopped_does_not_count),
		cmocka_unit_test(the_caller_is_left_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
