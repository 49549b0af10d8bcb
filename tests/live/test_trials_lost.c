/* A trial that hangs or crashes is lost, and no other; a sandbox that cannot be entered enforces
 * nothing. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/probe.h"

static struct facts *facts;
static struct capabilities all;

static bool is_confined(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2 &&
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

/* What another instruction set's entry does, in whose hands the trials of it are. */

static int hang(const struct kernel *k, enum foreign_entry entry)
{
	(void)k;
	(void)entry;
	for (;;)
		pause();
	return 0;
}

static int hang_confined(const struct kernel *k, enum foreign_entry entry)
{
	return is_confined() ? hang(k, entry) : 0;
}

static int die_confined(const struct kernel *k, enum foreign_entry entry)
{
	(void)k;
	(void)entry;
	if (is_confined()) {
		signal(SIGSYS, SIG_DFL);
		raise(SIGSYS);
	}
	return 0;
}

static int die(const struct kernel *k, enum foreign_entry entry)
{
	(void)k;
	(void)entry;
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
	return 0;
}

static int leave(const struct kernel *k, enum foreign_entry entry)
{
	(void)k;
	(void)entry;
	_exit(0);
	return 0;
}

static int no_seccomp(const struct kernel *k, unsigned operation, unsigned flags, const void *arg)
{
	(void)k;
	(void)operation;
	(void)flags;
	(void)arg;
	return -ENOMEM;
}

static void make(const struct kernel *k)
{
	const struct trials_options options = { .timeout_ms = 400 };

	trials_run(k, &options, facts);
	capabilities_derive(facts, &all);
	/* Nothing of it is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static const struct trial_fact *fact_of(const char *id)
{
	return &facts->trials.of[trial_find(id)];
}

/* The machine may be slow, and a trial of its own accord late; but never in both of two runs. */
static void assert_others(void)
{
	assert_int_equal(facts->trials.state, TRIALS_DONE);
	for (size_t i = 0; i < trial_count(); i++) {
		if (strstr(trial_at(i)->id, "entry-"))
			continue;
		if (trial_at(i)->expect == TRIAL_DENIED)
			assert_int_not_equal(facts->trials.of[i].control.end, TRIAL_NEVER);
		assert_int_not_equal(facts->trials.of[i].confined.end, TRIAL_NEVER);
	}
	assert_int_equal(trial_verdict_on(facts, "file.outside.read"), TRIAL_HELD);
	assert_int_equal(trial_verdict_on(facts, "exec-granted.outside"), TRIAL_HELD);
}

static const struct {
	int (*act)(const struct kernel *k, enum foreign_entry entry);
	enum trial_end control;
	enum trial_end confined;
	enum trial_verdict verdict;
} rows[] = {
	{ hang, TRIAL_HUNG, TRIAL_HUNG, TRIAL_NO_CONTROL },
	{ hang_confined, TRIAL_RETURNED, TRIAL_HUNG, TRIAL_LOST },
	{ die, TRIAL_KILLED, TRIAL_KILLED, TRIAL_NO_CONTROL },
	{ die_confined, TRIAL_RETURNED, TRIAL_KILLED, TRIAL_LOST },
	{ leave, TRIAL_KILLED, TRIAL_KILLED, TRIAL_NO_CONTROL },
};

static void a_trial_is_lost_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kernel k = kernel_live;
		const struct trial_fact *fact = fact_of("net.entry-i386");

		k.try_foreign = rows[i].act;
		make(&k);
		assert_others();
		assert_int_equal(fact->control.end, rows[i].control);
		assert_int_equal(fact->confined.end, rows[i].confined);
		assert_int_equal(trial_verdict_on(facts, "net.entry-i386"), rows[i].verdict);
		/* An attempt that gave no answer in the sandbox is no denial. */
		assert_int_equal(all.of[CAPABILITY_NET_NONE].status, rows[i].verdict == TRIAL_LOST
									     ? STATUS_UNAVAILABLE
									     : STATUS_ENFORCED);
		assert_int_equal(all.of[CAPABILITY_FOLDERS_READ].status, STATUS_ENFORCED);
	}
}

static void a_sandbox_that_cannot_be_entered(void **state)
{
	struct kernel k = kernel_live;

	(void)state;
	k.seccomp = no_seccomp;
	make(&k);
	assert_int_equal(facts->trials.state, TRIALS_DONE);
	for (int c = 0; c < CAPABILITY_COUNT; c++)
		assert_true(!capability_rows[c].on_wire || all.of[c].status == STATUS_UNAVAILABLE);
	assert_non_null(
		strstr(all.of[CAPABILITY_IPC].why,
		       "the sandbox could not be entered: seccomp: load the filter: ENOMEM"));
}

static void the_caller_is_left_as_it_was(void **state)
{
	int before = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	pid_t group = getpgrp();

	(void)state;
	make(&kernel_live);
	assert_int_equal(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), before);
	assert_int_equal(getpgrp(), group);
}

static void without_landlock_nothing_is_tried(void **state)
{
	enum landlock_state was = facts->landlock.state;

	(void)state;
	facts->landlock.state = LANDLOCK_NOT_BUILT;
	make(&kernel_live);
	facts->landlock.state = was;
	assert_int_equal(facts->trials.state, TRIALS_IMPOSSIBLE);
	assert_string_equal(facts->trials.why, "there is no Landlock to try");
}

int main(void)
{
	const struct gather_options gather = { .want = PROBE_BIT(PROBE_LANDLOCK) |
						       PROBE_BIT(PROBE_SECCOMP) };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trial_is_lost_alone),
		cmocka_unit_test(a_sandbox_that_cannot_be_entered),
		cmocka_unit_test(the_caller_is_left_as_it_was),
		cmocka_unit_test(without_landlock_nothing_is_tried),
	};
	int failed;

	if (facts_gather(&kernel_live, &gather, &facts, NULL) < 0)
		return 1;
	capabilities_derive(facts, &all);
	if (!all.backend.present) {
		printf("ok 1 - trials that are lost # SKIP %s\n", all.backend.why);
		facts_free(facts);
		return 0;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	facts_free(facts);
	return failed;
}
