/* What came of trials -> verdicts -> statuses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "probe/capability.h"
#include "probe/finding.h"
#include "probe/trial/trial.h"

#define ABI 7

static struct facts node;
static struct capabilities all;

static void make_leaf(void)
{
	struct cgroup_facts *c = &node.cgroup;
	struct fact *facts[] = {
		&c->mounted, &c->dir_writable, &c->procs_writable, &c->kill,
		&c->freeze,  &c->memory_files, &c->cpu_files,	   &c->pids_files
	};

	c->dir[0] = '/';
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		facts[i]->answer = ANSWER_YES;
	for (int i = 0; i < CONTROLLER_COUNT; i++)
		c->controllers[i].enableable.answer = ANSWER_YES;
}

/* A node whose kernel has everything up to that ABI, and which can make a leaf. */
static void make_node(unsigned abi)
{
	memset(&node, 0, sizeof(node));
	for (int i = 0; i < PROBE_COUNT; i++)
		node.outcomes[i].outcome = OUTCOME_DONE;
	fact_call(&node.landlock.abi, ANSWER_YES, "version", abi);
	node.landlock.state = LANDLOCK_PRESENT;
	for (int i = 0; i < LL_RIGHT_COUNT; i++) {
		bool has = ll_rights[i].since_abi <= abi;

		fact_call(&node.landlock.rights[i], has ? ANSWER_YES : ANSWER_NO, "", 0);
	}
	fact_call(&node.seccomp.mode, ANSWER_YES, "mode", 0);
	for (int i = 0; i < SC_ACTION_COUNT; i++)
		fact_call(&node.seccomp.actions[i], ANSWER_YES, "", 0);
	make_leaf();
}

static struct trial_run returned(int value)
{
	return (struct trial_run){ .end = TRIAL_RETURNED, .value = value };
}

/* Every trial went as on a node where nothing is wrong. */
static void all_held(void)
{
	node.trials.state = TRIALS_DONE;
	for (size_t i = 0; i < trial_count(); i++) {
		const struct trial *t = trial_at(i);
		bool denied = t->expect == TRIAL_DENIED;

		node.trials.of[i].control = returned(0);
		node.trials.of[i].confined = returned(denied ? -(int)t->errors[0] : 0);
	}
}

static struct trial_fact *fact_of(const char *id)
{
	int number = trial_find(id);

	assert_true(number >= 0);
	return &node.trials.of[number];
}

static void every_row_is_whole(void **state)
{
	(void)state;
	assert_true(trial_count() < TRIALS_MAX);
	for (size_t i = 0; i < trial_count(); i++) {
		const struct trial *t = trial_at(i);

		assert_int_equal(trial_find(t->id), i);
		assert_true(t->what && *t->what);
		assert_non_null(t->attempt);
		assert_true(t->expect == TRIAL_ALLOWED || t->errors[0] != 0);
		assert_true(t->capability < CAPABILITY_COUNT);
		/* What is only told proves nothing. */
		assert_false(t->core && t->expect == TRIAL_TOLD);
	}
	assert_null(trial_at(trial_count()));
	assert_int_equal(trial_find("no.such"), -1);
}

/* None is enforced on nothing; one that no kernel can have needs no trial. */
static void every_capability_has_core_trials(void **state)
{
	(void)state;
	for (int c = 0; c < CAPABILITY_COUNT; c++) {
		int core = 0;

		for (size_t i = 0; i < trial_count(); i++)
			core += trial_at(i)->capability == (enum capability_id)c &&
				trial_at(i)->core;
		if (capability_rows[c].needed_abi && core == 0)
			fail_msg("no core trial of %s", capability_rows[c].name);
	}
}

#define RAN(v)                         \
	{                              \
		TRIAL_RETURNED, (v), 0 \
	}
#define NEVER                     \
	{                         \
		TRIAL_NEVER, 0, 0 \
	}

static void verdicts(void **state)
{
	static const struct trial denied = { .id = "d", .errors = { EACCES, EXDEV } };
	static const struct trial granted = { .id = "a", .expect = TRIAL_ALLOWED };
	static const struct trial told = { .id = "t", .expect = TRIAL_TOLD, .errors = { EPERM } };
	static const struct trial call = { .id = "c", .any_answer = true, .errors = { EPERM } };
	static const struct trial young = { .id = "y", .since_abi = 9, .errors = { EPERM } };
	static const struct trial young_told = {
		.id = "z", .since_abi = 9, .told_below = true, .errors = { EPERM }
	};
	static const struct {
		const struct trial *trial;
		struct trial_fact fact;
		enum trial_verdict verdict;
	} rows[] = {
		{ &denied, { NEVER, NEVER }, TRIAL_NOT_RUN },
		{ &denied, { RAN(0), NEVER }, TRIAL_NOT_RUN },
		{ &denied, { NEVER, RAN(-EACCES) }, TRIAL_NOT_RUN },
		{ &denied, { RAN(0), RAN(-EACCES) }, TRIAL_HELD },
		{ &denied, { RAN(3), RAN(-EXDEV) }, TRIAL_HELD },
		{ &denied, { RAN(0), RAN(0) }, TRIAL_BROKEN },
		/* An odd error is no denial. */
		{ &denied, { RAN(0), RAN(-ENOENT) }, TRIAL_BROKEN },
		{ &denied, { RAN(0), RAN(-EINTR) }, TRIAL_BROKEN },
		{ &denied, { RAN(0), { TRIAL_KILLED, 31, 0 } }, TRIAL_LOST },
		{ &denied, { RAN(0), { TRIAL_HUNG, 0, 0 } }, TRIAL_LOST },
		/* Without a control there is no denial, whatever the error. */
		{ &denied, { RAN(-EACCES), RAN(-EACCES) }, TRIAL_NO_CONTROL },
		{ &denied, { RAN(-EMFILE), RAN(-EACCES) }, TRIAL_NO_CONTROL },
		/* What succeeds in the sandbox needs no control to be wrong, or right. */
		{ &denied, { RAN(-ENOMEM), RAN(0) }, TRIAL_BROKEN },
		{ &denied, { NEVER, RAN(0) }, TRIAL_BROKEN },
		{ &granted, { NEVER, RAN(0) }, TRIAL_HELD },
		{ &told, { NEVER, RAN(0) }, TRIAL_OPEN },
		{ &told, { NEVER, RAN(-EPERM) }, TRIAL_NOT_RUN },
		{ &denied, { { TRIAL_HUNG, 0, 0 }, RAN(-EACCES) }, TRIAL_NO_CONTROL },
		{ &denied, { { TRIAL_KILLED, 11, 0 }, RAN(-EACCES) }, TRIAL_NO_CONTROL },
		{ &granted, { RAN(0), RAN(0) }, TRIAL_HELD },
		{ &granted, { RAN(0), RAN(-EPERM) }, TRIAL_BROKEN },
		{ &granted, { RAN(-ENODEV), RAN(-ENODEV) }, TRIAL_NO_CONTROL },
		{ &told, { RAN(0), RAN(0) }, TRIAL_OPEN },
		{ &told, { RAN(0), RAN(-EPERM) }, TRIAL_HELD },
		{ &told, { RAN(0), RAN(-EFAULT) }, TRIAL_BROKEN },
		{ &call, { RAN(-EFAULT), RAN(-EPERM) }, TRIAL_HELD },
		{ &call, { RAN(-EFAULT), RAN(-EFAULT) }, TRIAL_BROKEN },
		{ &call, { RAN(-EPERM), RAN(-EPERM) }, TRIAL_NO_CONTROL },
		{ &call, { RAN(-ENOSYS), RAN(-EPERM) }, TRIAL_NO_CONTROL },
		{ &young, { RAN(0), RAN(0) }, TRIAL_TOO_OLD },
		{ &young_told, { RAN(0), RAN(0) }, TRIAL_OPEN },
		{ &young_told, { RAN(0), RAN(-EPERM) }, TRIAL_HELD },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(trial_judge(rows[i].trial, &rows[i].fact, ABI), rows[i].verdict);
	assert_int_equal(trial_judge(&young_told, &(struct trial_fact){ RAN(0), RAN(0) }, 9),
			 TRIAL_BROKEN);
}

static void what_is_seen_is_enforced(void **state)
{
	(void)state;
	make_node(11);
	all_held();
	capabilities_derive(&node, &all);
	for (int c = 0; c < CAPABILITY_COUNT; c++)
		assert_int_equal(all.of[c].status, c == CAPABILITY_NET_EGRESS_ANY
							   ? STATUS_UNAVAILABLE
							   : STATUS_ENFORCED);
	assert_non_null(
		strstr(all.of[CAPABILITY_IPC].why, "attempts denied, each with its control"));
	assert_null(strstr(all.of[CAPABILITY_IPC].why, "claimed"));
}

/* Each trial alone, failing in each way, takes its own capability and no other. */
static void one_trial_takes_one_capability(void **state)
{
	static const struct trial_run bad[] = {
		RAN(0), RAN(-ENOTTY), { TRIAL_KILLED, 31, 0 }, { TRIAL_HUNG, 0, 0 }
	};

	(void)state;
	make_node(11);
	for (size_t i = 0; i < trial_count(); i++) {
		const struct trial *t = trial_at(i);

		for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++) {
			if (t->expect != TRIAL_DENIED && bad[b].value >= 0 &&
			    bad[b].end == TRIAL_RETURNED)
				continue;
			all_held();
			node.trials.of[i].confined = bad[b];
			capabilities_derive(&node, &all);
			assert_int_equal(all.of[t->capability].status, STATUS_UNAVAILABLE);
			assert_non_null(strstr(all.of[t->capability].why, t->id));
			for (int c = 0; c < CAPABILITY_COUNT; c++)
				assert_true(c == (int)t->capability ||
					    c == CAPABILITY_NET_EGRESS_ANY ||
					    all.of[c].status == STATUS_ENFORCED);
		}
	}
}

/* A core trial without a control: not enforced. Any other: listed. */
static void a_control_that_fails(void **state)
{
	(void)state;
	make_node(11);
	for (size_t i = 0; i < trial_count(); i++) {
		const struct trial *t = trial_at(i);
		const struct capability *c = &all.of[t->capability];

		all_held();
		node.trials.of[i].control = returned(-ENOSYS);
		if (t->expect != TRIAL_DENIED)
			node.trials.of[i].confined = returned(-ENOSYS);
		capabilities_derive(&node, &all);
		assert_int_equal(c->status, t->core ? STATUS_UNAVAILABLE : STATUS_ENFORCED);
		assert_int_equal(c->tally.unseen, 1);
		assert_non_null(strstr(c->why, t->core ? "could not be observed here"
						       : "1 not observed here"));
		if (t->core)
			assert_non_null(strstr(c->why, "ENOSYS"));
	}
}

static void a_sandbox_that_cannot_be_entered(void **state)
{
	(void)state;
	make_node(ABI);
	all_held();
	text_copy(node.trials.refused[TRIAL_GROUP_EGRESS], FACTS_LINE_MAX, "landlock: E2BIG");
	for (size_t i = 0; i < trial_count(); i++)
		if (trial_at(i)->group == TRIAL_GROUP_EGRESS)
			node.trials.of[i].confined = (struct trial_run)NEVER;
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_FILESYSTEM].status, STATUS_ENFORCED);
	assert_int_equal(all.of[CAPABILITY_NO_LOOPBACK].status, STATUS_UNAVAILABLE);
	assert_string_equal(
		all.of[CAPABILITY_NO_LOOPBACK].why,
		"could not be observed here: the sandbox could not be entered: landlock: "
		"E2BIG");
}

/* Trials that hold make nothing better than the kernel's answers do. */
static void trials_add_nothing(void **state)
{
	(void)state;
	make_node(5);
	all_held();
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_IPC].status, STATUS_UNAVAILABLE);
	assert_int_equal(all.of[CAPABILITY_IPC_BROKER].status, STATUS_COOPERATIVE);
	assert_int_equal(all.of[CAPABILITY_NET_EGRESS_ANY].status, STATUS_UNAVAILABLE);
}

static void what_was_not_tried_is_claimed(void **state)
{
	(void)state;
	make_node(ABI);
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_FILESYSTEM].status, STATUS_ENFORCED);
	assert_memory_equal(all.of[CAPABILITY_FILESYSTEM].why, "claimed, not tried: ", 20);
	assert_memory_equal(all.of[CAPABILITY_FREEZE].why, "claimed, not tried: ", 20);
}

/* Without a leaf a module is its process group: nothing that trials would have to show. */
static void what_is_cooperative_stays_so(void **state)
{
	static const enum trials_state states[] = { TRIALS_NOT_ASKED, TRIALS_IMPOSSIBLE,
						    TRIALS_DONE };

	(void)state;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		make_node(ABI);
		memset(&node.cgroup, 0, sizeof(node.cgroup));
		node.trials.state = states[i];
		capabilities_derive(&node, &all);
		assert_int_equal(all.of[CAPABILITY_PROCESS_CONTAINER].status, STATUS_COOPERATIVE);
		assert_int_equal(all.of[CAPABILITY_FREEZE].status, STATUS_COOPERATIVE);
		assert_int_equal(all.of[CAPABILITY_IPC_BROKER].status, STATUS_COOPERATIVE);
		assert_int_equal(all.of[CAPABILITY_LIMITS_PIDS].status, STATUS_UNAVAILABLE);
	}
}

/* Below ABI 9 the broker alone is reached only where a parent connects, and was seen to. */
static void a_parent_makes_the_broker_the_only_one(void **state)
{
	static const char *const others[] = { "broker.other", "broker.other-link",
					      "broker.abstract" };

	(void)state;
	make_node(ABI);
	all_held();
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		fact_of(others[i])->confined = returned(-EACCES);
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_IPC_BROKER].status, STATUS_COOPERATIVE);
	node.trials.supervised = true;
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_IPC_BROKER].status, STATUS_ENFORCED);
	assert_non_null(strstr(all.of[CAPABILITY_IPC_BROKER].why, "denied"));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct trial_fact held = *fact_of(others[i]);

		fact_of(others[i])->confined = returned(0);
		capabilities_derive(&node, &all);
		assert_int_not_equal(all.of[CAPABILITY_IPC_BROKER].status, STATUS_ENFORCED);
		*fact_of(others[i]) = held;
		fact_of(others[i])->control = returned(-EACCES);
		capabilities_derive(&node, &all);
		assert_int_not_equal(all.of[CAPABILITY_IPC_BROKER].status, STATUS_ENFORCED);
		*fact_of(others[i]) = held;
	}
	node.trials.state = TRIALS_IMPOSSIBLE;
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_IPC_BROKER].status, STATUS_COOPERATIVE);
}

/* A cgroup with none below it does not tell which files they have; a leaf made in it does. */
static void what_was_unknown_may_be_seen(void **state)
{
	(void)state;
	make_node(ABI);
	node.cgroup.kill.answer = ANSWER_UNKNOWN;
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_PROCESS_CONTAINER].status, STATUS_COOPERATIVE);
	all_held();
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_PROCESS_CONTAINER].status, STATUS_ENFORCED);
	node.cgroup.kill.answer = ANSWER_NO;
	capabilities_derive(&node, &all);
	assert_int_equal(all.of[CAPABILITY_PROCESS_CONTAINER].status, STATUS_COOPERATIVE);
}

static void what_cannot_be_tried_is_not_enforced(void **state)
{
	(void)state;
	make_node(ABI);
	node.trials.state = TRIALS_IMPOSSIBLE;
	text_copy(node.trials.why, FACTS_LINE_MAX, "make a directory in '/tmp': ENOSPC");
	capabilities_derive(&node, &all);
	for (int c = 0; c < CAPABILITY_COUNT; c++)
		assert_int_equal(all.of[c].status, c == CAPABILITY_IPC_BROKER ? STATUS_COOPERATIVE
									      : STATUS_UNAVAILABLE);
	assert_non_null(strstr(all.of[CAPABILITY_IPC].why, "ENOSPC"));
	assert_memory_equal(all.of[CAPABILITY_IPC].why, "could not be observed here: ", 28);
	assert_string_equal(all.of[CAPABILITY_IPC].remedy, TRIALS_REMEDY);
}

static void one_trial_can_be_asked_for(void **state)
{
	(void)state;
	make_node(ABI);
	assert_int_equal(trial_verdict_on(&node, "signal.kill"), TRIAL_NOT_RUN);
	all_held();
	assert_int_equal(trial_verdict_on(&node, "signal.kill"), TRIAL_HELD);
	assert_int_equal(trial_verdict_on(&node, "metadata.chmod"), TRIAL_OPEN);
	assert_int_equal(trial_verdict_on(&node, "no.such"), TRIAL_NOT_RUN);
	fact_of("signal.kill")->confined = returned(0);
	assert_int_equal(trial_verdict_on(&node, "signal.kill"), TRIAL_BROKEN);
}

static const struct finding *finding_of(const char *id)
{
	static struct findings findings;

	capabilities_derive(&node, &all);
	findings_derive(&node, &all, &findings);
	for (uint32_t i = 0; i < findings.count; i++)
		if (strcmp(findings.of[i].id, id) == 0)
			return &findings.of[i];
	return NULL;
}

static void gaps_are_findings_when_seen(void **state)
{
	static const struct {
		const char *id;
		const char *trial;
	} rows[] = {
		{ "egress_port_only", "egress.other-address" },
		{ "broker_not_exclusive", "broker.other" },
		{ "metadata_writable", "metadata.chmod" },
		{ "files_visible", "metadata.stat" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_node(ABI);
		assert_null(strstr(finding_of(rows[i].id)->text, "seen here"));
		all_held();
		fact_of(rows[i].trial)->confined = returned(0);
		assert_non_null(strstr(finding_of(rows[i].id)->text, "(seen here)"));
		fact_of(rows[i].trial)->confined =
			returned(-(int)trial_at((size_t)trial_find(rows[i].trial))->errors[0]);
		assert_null(finding_of(rows[i].id));
	}
	make_node(ABI);
	all_held();
	fact_of("exec.loader")->confined = returned(-EACCES);
	assert_non_null(
		strstr(finding_of("exec_deny_partial")->text, "(seen here: mmap, an interpreter)"));
}

static void what_went_wrong_is_a_finding(void **state)
{
	(void)state;
	make_node(ABI);
	all_held();
	assert_null(finding_of("trial_broken"));
	assert_null(finding_of("trials_impossible"));
	fact_of("net.tcp")->confined = returned(0);
	assert_non_null(strstr(finding_of("trial_broken")->text, ": net.tcp"));
	fact_of("net.udp")->confined = returned(0);
	assert_non_null(strstr(finding_of("trial_broken")->text, ": net.tcp and 1 other"));
	node.trials.state = TRIALS_IMPOSSIBLE;
	text_copy(node.trials.why, FACTS_LINE_MAX, "fork: EAGAIN");
	assert_non_null(strstr(finding_of("trials_impossible")->text, "fork: EAGAIN"));
	assert_null(finding_of("trial_broken"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(every_capability_has_core_trials),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(what_is_seen_is_enforced),
		cmocka_unit_test(one_trial_takes_one_capability),
		cmocka_unit_test(a_control_that_fails),
		cmocka_unit_test(a_sandbox_that_cannot_be_entered),
		cmocka_unit_test(trials_add_nothing),
		cmocka_unit_test(what_was_not_tried_is_claimed),
		cmocka_unit_test(what_is_cooperative_stays_so),
		cmocka_unit_test(a_parent_makes_the_broker_the_only_one),
		cmocka_unit_test(what_was_unknown_may_be_seen),
		cmocka_unit_test(what_cannot_be_tried_is_not_enforced),
		cmocka_unit_test(one_trial_can_be_asked_for),
		cmocka_unit_test(gaps_are_findings_when_seen),
		cmocka_unit_test(what_went_wrong_is_a_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
