/* A probe that crashes or hangs loses only itself. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
	struct facts *facts = gather_with(hang, 100);

	(void)state;
	assert_others_answered(facts);
	assert_int_equal(facts->outcomes[PROBE_SETTINGS].outcome, OUTCOME_LOST);
	assert_string_equal(facts->outcomes[PROBE_SETTINGS].why,
			    "did not answer in 100 ms and was ended");
	/* Nothing of it is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	facts_free(facts);
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
		cmocka_unit_test(the_caller_is_left_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
