/* facts -> capabilities and findings: the contract's table, and nothing better than the evidence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "probe/capability.h"
#include "probe/finding.h"

/* A node whose kernel answers as one of that ABI does. */
static void make_node(struct facts *facts, unsigned abi)
{
	memset(facts, 0, sizeof(*facts));
	for (int i = 0; i < PROBE_COUNT; i++)
		facts->outcomes[i].outcome = OUTCOME_DONE;
	fact_call(&facts->landlock.abi, ANSWER_YES, "version", abi);
	facts->landlock.state = LANDLOCK_PRESENT;
	for (int i = 0; i < LL_RIGHT_COUNT; i++) {
		bool has = ll_rights[i].since_abi <= abi;

		fact_call(&facts->landlock.rights[i], has ? ANSWER_YES : ANSWER_NO,
			  ll_rights[i].name, has ? 0 : -22);
	}
	fact_call(&facts->seccomp.mode, ANSWER_YES, "mode", 0);
	for (int i = 0; i < SC_ACTION_COUNT; i++)
		fact_call(&facts->seccomp.actions[i], ANSWER_YES, sc_actions[i].name, 0);
	for (int i = 0; i < SC_FLAG_COUNT; i++)
		fact_call(&facts->seccomp.flags[i], ANSWER_YES, sc_flags[i].name, -14);
}

static struct fact *right_of(struct facts *facts, const char *name)
{
	for (int i = 0; i < LL_RIGHT_COUNT; i++)
		if (strcmp(ll_rights[i].name, name) == 0)
			return &facts->landlock.rights[i];
	fail_msg("no right %s", name);
	return NULL;
}

static struct facts node;
static struct capabilities all;

static enum status status_of(char letter)
{
	return letter == 'e'   ? STATUS_ENFORCED
	       : letter == 'c' ? STATUS_COOPERATIVE
			       : STATUS_UNAVAILABLE;
}

/* Written by hand from contract-linux.md "Enforcement report": e enforced, c cooperative, u
 * unavailable. Without a leaf a module is its process group, and without limits.
 */
static void statuses_are_the_contracts(void **state)
{
	static const struct {
		unsigned abi;
		bool backend;
		const char *statuses; /* in the order of capability_rows */
	} rows[] = {
		/*         fs ipc none allow loop link any gpu exec rd wr, broker container freeze
		 *         cpu memory pids
		 */
		{ 1, false, "uuuuuuuuuuuuuuuuu" }, { 2, false, "uuuuuuuuuuuuuuuuu" },
		{ 3, true, "eueuuuueeeecccuuu" },  { 4, true, "eueeeeueeeecccuuu" },
		{ 5, true, "eueeeeueeeecccuuu" },  { 6, true, "eeeeeeueeeecccuuu" },
		{ 7, true, "eeeeeeueeeecccuuu" },  { 9, true, "eeeeeeueeeeeccuuu" },
		{ 11, true, "eeeeeeueeeeeccuuu" }, { 99, true, "eeeeeeueeeeeccuuu" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_node(&node, rows[i].abi);
		capabilities_derive(&node, &all);
		assert_int_equal(all.backend.present, rows[i].backend);
		assert_int_equal(strlen(rows[i].statuses), CAPABILITY_COUNT);
		for (int c = 0; c < CAPABILITY_COUNT; c++) {
			enum status expected = status_of(rows[i].statuses[c]);

			assert_int_equal(all.of[c].status, expected);
			assert_true(all.of[c].why[0]);
			if (expected != STATUS_ENFORCED && c != CAPABILITY_NET_EGRESS_ANY)
				assert_true(all.of[c].remedy[0]);
		}
	}
}

static void nothing_known_is_nothing_enforced(void **state)
{
	struct findings findings;

	(void)state;
	memset(&node, 0, sizeof(node));
	capabilities_derive(&node, &all);
	findings_derive(&node, &all, &findings);
	assert_false(all.backend.present);
	for (int c = 0; c < CAPABILITY_COUNT; c++)
		assert_int_equal(all.of[c].status, STATUS_UNAVAILABLE);
	assert_memory_equal(all.backend.why, "unknown", 7);
	assert_int_equal(findings.count, 0);
}

/* Each right that a promise stands on, taken away alone, takes the promise with it. */
static void a_refused_right_takes_its_promise_away(void **state)
{
	static const struct {
		const char *right;
		const char *statuses;
	} rows[] = {
		{ "TRUNCATE", "uueeeeuuuuuuuuuuu" },
		{ "EXECUTE", "uueeeeuuuuuuuuuuu" },
		{ "CONNECT_TCP", "eeeuuuueeeeuuuuuu" },
		{ "BIND_TCP", "eeeuuuueeeeuuuuuu" },
		{ "SCOPE_SIGNAL", "eueeeeueeeeuuuuuu" },
		{ "SCOPE_ABSTRACT_UNIX", "eueeeeueeeeuuuuuu" },
		{ "IOCTL_DEV", "eeeeeeuueeeuuuuuu" },
		{ "RESOLVE_UNIX", "eeeeeeueeeeuuuuuu" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const enum answer answers[] = { ANSWER_NO, ANSWER_UNKNOWN };
		unsigned found = 0;

		for (size_t a = 0; a < 2; a++) {
			make_node(&node, 7);
			right_of(&node, rows[i].right)->answer = answers[a];
			capabilities_derive(&node, &all);
			for (int c = 0; c < CAPABILITY_COUNT; c++)
				assert_int_equal(all.of[c].status == STATUS_ENFORCED,
						 rows[i].statuses[c] == 'e');
			/* A newer kernel is no remedy, and what is unknown says so. */
			for (int c = 0; c < CAPABILITY_COUNT; c++) {
				if (!strstr(all.of[c].why, rows[i].right))
					continue;
				assert_null(all.of[c].kernel);
				assert_true(text_starts(all.of[c].remedy, "find out what"));
				assert_int_equal(text_starts(all.of[c].why, "unknown"), a);
				found++;
			}
		}
		assert_true(found > 0 || strcmp(rows[i].right, "RESOLVE_UNIX") == 0);
	}
}

/* A kernel is named only when nothing else is in the way. */
static void what_else_is_in_the_way_is_told(void **state)
{
	const struct capability *broker = &all.of[CAPABILITY_IPC_BROKER];
	const struct capability *limit = &all.of[CAPABILITY_LIMITS_CPU];

	(void)state;
	make_node(&node, 2);
	capabilities_derive(&node, &all);
	assert_string_equal(all.of[CAPABILITY_FILESYSTEM].kernel, "6.2");
	assert_string_equal(broker->kernel, "7.1");
	assert_non_null(
		strstr(broker->remedy, "Linux 6.2 or later (Landlock ABI 3), and a parent"));
	assert_null(limit->kernel);
	assert_true(text_starts(limit->remedy, "Linux 6.2 or later (Landlock ABI 3), and "));

	node.landlock.state = LANDLOCK_NOT_BUILT;
	capabilities_derive(&node, &all);
	assert_string_equal(all.of[CAPABILITY_IPC].kernel, "6.12");
	assert_string_equal(broker->kernel, "7.1");

	node.landlock.state = LANDLOCK_OFF_AT_BOOT;
	capabilities_derive(&node, &all);
	assert_null(all.of[CAPABILITY_IPC].kernel);
	assert_null(broker->kernel);
	assert_true(text_starts(broker->remedy, "boot with landlock in the lsm= list"));

	/* However much it is, it is told to its end. */
	node.landlock.state = LANDLOCK_FILTERED;
	node.cgroup.missing[0].obstacle = LEAF_NOT_WRITABLE;
	node.cgroup.missing[1].obstacle = LEAF_V1_CONTROLLER;
	node.cgroup.missing[2].obstacle = LEAF_NO_CONTROLLER;
	node.cgroup.missing_count = 3;
	node.cgroup.controllers[CONTROLLER_CPU].obstacle = LEAF_NO_CONTROLLER;
	capabilities_derive(&node, &all);
	assert_true(text_starts(limit->remedy, "allow the landlock_* calls"));
	assert_true(text_ends(limit->remedy, "cgroup.subtree_control of the cgroup above"));
}

static void without_seccomp_there_is_no_backend(void **state)
{
	(void)state;
	make_node(&node, 7);
	fact_call(&node.seccomp.mode, ANSWER_NO, "prctl(PR_GET_SECCOMP)", -22);
	capabilities_derive(&node, &all);
	assert_false(all.backend.present);
	assert_non_null(strstr(all.backend.why, "no seccomp"));

	for (int i = 0; i < SC_ACTION_COUNT; i++) {
		bool needed = sc_actions[i].value == SC_RET_ERRNO ||
			      sc_actions[i].value == SC_RET_ALLOW ||
			      sc_actions[i].value == SC_RET_KILL_PROCESS;

		make_node(&node, 7);
		node.seccomp.actions[i].answer = ANSWER_UNKNOWN;
		capabilities_derive(&node, &all);
		assert_int_equal(all.backend.present, !needed);
	}
}

static bool found(const struct findings *findings, const char *id)
{
	for (uint32_t i = 0; i < findings->count; i++)
		if (strcmp(findings->of[i].id, id) == 0)
			return true;
	return false;
}

static void findings_hold_when_they_do(void **state)
{
	struct findings f;

	(void)state;
	make_node(&node, 7);
	capabilities_derive(&node, &all);
	findings_derive(&node, &all, &f);
	assert_true(found(&f, "egress_port_only"));
	assert_true(found(&f, "broker_not_exclusive"));
	assert_true(found(&f, "exec_deny_partial"));
	assert_false(found(&f, "runs_as_root"));
	assert_false(found(&f, "landlock_abi_contradicts"));
	assert_false(found(&f, "landlock_abi_newer"));
	assert_false(found(&f, "bpf_unprivileged"));

	make_node(&node, 99);
	fact_call(&node.host.caps_asked, ANSWER_YES, "capget", 0);
	fact_call(&node.bpf.unprivileged, ANSWER_YES, "sysctl", 0);
	node.outcomes[PROBE_NET] = (struct probe_outcome){ OUTCOME_LOST, 0, "crashed: signal 11" };
	right_of(&node, "REFER")->answer = ANSWER_NO;
	capabilities_derive(&node, &all);
	findings_derive(&node, &all, &f);
	assert_true(found(&f, "runs_as_root"));
	assert_true(found(&f, "landlock_abi_contradicts"));
	assert_true(found(&f, "landlock_abi_newer"));
	assert_true(found(&f, "bpf_unprivileged"));
	assert_true(found(&f, "probe_lost"));
	assert_false(found(&f, "broker_not_exclusive"));
}

static void what_could_not_be_looked_at_is_no_finding(void **state)
{
	struct cgroup_facts *c = &node.cgroup;
	struct findings f;

	(void)state;
	make_node(&node, 7);
	c->missing_count = 1;
	c->missing[0].obstacle = LEAF_NOT_WRITABLE;
	text_copy(c->missing[0].text, sizeof(c->missing[0].text), "it is not writable");
	fact_call(&c->mounted, ANSWER_UNKNOWN, "statfs", -1);
	capabilities_derive(&node, &all);
	findings_derive(&node, &all, &f);
	assert_false(found(&f, "no_container_leaf"));
	assert_null(strstr(all.of[CAPABILITY_GPU_COMPUTE].why, "no GPU"));

	fact_call(&c->mounted, ANSWER_YES, "statfs", 0);
	fact_call(&node.gpu.searched, ANSWER_YES, "list /dev", 0);
	capabilities_derive(&node, &all);
	findings_derive(&node, &all, &f);
	assert_true(found(&f, "no_container_leaf"));
	assert_non_null(strstr(all.of[CAPABILITY_GPU_COMPUTE].why, "no GPU"));
}

/* Where a leaf can be made the container is that leaf, whatever it lacks. */
static void a_leaf_without_limits_is_a_leaf(void **state)
{
	struct cgroup_facts *c = &node.cgroup;
	struct findings f;

	(void)state;
	make_node(&node, 7);
	fact_call(&c->mounted, ANSWER_YES, "statfs", 0);
	c->missing_count = 1;
	c->missing[0].obstacle = LEAF_V1_CONTROLLER;
	text_copy(c->missing[0].text, sizeof(c->missing[0].text), "v1 owns the cpu controller");
	capabilities_derive(&node, &all);
	findings_derive(&node, &all, &f);
	assert_false(found(&f, "no_container_leaf"));
	assert_true(found(&f, "lesser_container_leaf"));

	c->missing_count = 2;
	c->missing[1].obstacle = LEAF_NOT_DELEGATED;
	findings_derive(&node, &all, &f);
	assert_true(found(&f, "no_container_leaf"));
	assert_false(found(&f, "lesser_container_leaf"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_are_the_contracts),
		cmocka_unit_test(nothing_known_is_nothing_enforced),
		cmocka_unit_test(a_refused_right_takes_its_promise_away),
		cmocka_unit_test(what_else_is_in_the_way_is_told),
		cmocka_unit_test(without_seccomp_there_is_no_backend),
		cmocka_unit_test(findings_hold_when_they_do),
		cmocka_unit_test(what_could_not_be_looked_at_is_no_finding),
		cmocka_unit_test(a_leaf_without_limits_is_a_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
