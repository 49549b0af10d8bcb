/* probe/seccomp.c, against recorded machines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "probe/probes.h"
#include "tests/fake/tree.h"

#define X86 "uname release = 6.12.0\nuname machine = x86_64\n"

static void probe_rows(const char *rows, const char *status, struct seccomp_facts *ret)
{
	const struct tree_file files[] = { { "/proc/self/status", status }, { NULL, NULL } };
	struct tree tree;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, status ? files : NULL, rows);
	probe_seccomp(&tree.kernel, ret);
	tree_remove(&tree);
}

static size_t flag_index(uint32_t value)
{
	for (size_t i = 0; i < SC_FLAG_COUNT; i++)
		if (sc_flags[i].value == value)
			return i;
	fail();
	return 0;
}

static size_t action_index(uint32_t value)
{
	for (size_t i = 0; i < SC_ACTION_COUNT; i++)
		if (sc_actions[i].value == value)
			return i;
	fail();
	return 0;
}

static void what_we_run_under(void **state)
{
	static const struct {
		const char *rows;
		const char *status;
		enum answer mode, filters, no_new_privs;
		int64_t mode_value, filter_count;
		const char *mode_got, *filters_got;
	} rows[] = {
		{ "prctl 21 0 = 0\nprctl 39 0 = 0\n", "Seccomp:\t0\nSeccomp_filters:\t0\n",
		  ANSWER_YES, ANSWER_NO, ANSWER_NO, 0, 0, "0", "0" },
		{ "prctl 21 0 = 2\nprctl 39 0 = 1\n", "Seccomp:\t2\nSeccomp_filters:\t3\n",
		  ANSWER_YES, ANSWER_YES, ANSWER_YES, 2, 3, "2", "3" },
		/* Before Linux 5.9. */
		{ "prctl 21 0 = 2\nprctl 39 0 = 1\n", "Seccomp:\t2\n", ANSWER_YES, ANSWER_UNKNOWN,
		  ANSWER_YES, 2, 0, "2", "no such line" },
		/* No /proc. */
		{ "prctl 21 0 = 2\nprctl 39 0 = 1\n", NULL, ANSWER_YES, ANSWER_UNKNOWN, ANSWER_YES,
		  2, 0, "2", "ENOENT" },
		/* Two witnesses that disagree. */
		{ "prctl 21 0 = 0\nprctl 39 0 = 0\n", "Seccomp:\t2\nSeccomp_filters:\t1\n",
		  ANSWER_UNKNOWN, ANSWER_YES, ANSWER_NO, 0, 1, "0, but /proc/self/status says 2",
		  "1" },
		/* A kernel without seccomp. */
		{ "prctl 21 0 = EINVAL\nprctl 39 0 = 0\n", "NoNewPrivs:\t0\n", ANSWER_NO,
		  ANSWER_UNKNOWN, ANSWER_NO, 0, 0, "EINVAL", "no such line" },
		/* A filter that plays one. */
		{ "prctl 21 0 = EINVAL\nprctl 39 0 = 0\n", "Seccomp:\t2\nSeccomp_filters:\t1\n",
		  ANSWER_UNKNOWN, ANSWER_YES, ANSWER_NO, 0, 1,
		  "EINVAL, but /proc/self/status says 2", "1" },
		/* No such mode. */
		{ "prctl 21 0 = 7\nprctl 39 0 = 0\n", NULL, ANSWER_UNKNOWN, ANSWER_UNKNOWN,
		  ANSWER_NO, 7, 0, "7", "ENOENT" },
		{ "prctl 21 0 = EPERM\nprctl 39 0 = EPERM\n", "", ANSWER_UNKNOWN, ANSWER_UNKNOWN,
		  ANSWER_UNKNOWN, 0, 0, "EPERM", "no such line" },
		{ "", "", ANSWER_UNKNOWN, ANSWER_UNKNOWN, ANSWER_UNKNOWN, 0, 0, "not recorded",
		  "no such line" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seccomp_facts f;

		probe_rows(rows[i].rows, rows[i].status, &f);
		assert_int_equal(f.mode.answer, rows[i].mode);
		assert_int_equal(f.mode.value, rows[i].mode_value);
		assert_string_equal(f.mode.got, rows[i].mode_got);
		assert_int_equal(f.filters.answer, rows[i].filters);
		assert_int_equal(f.filters.value, rows[i].filter_count);
		assert_string_equal(f.filters.got, rows[i].filters_got);
		assert_int_equal(f.no_new_privs.answer, rows[i].no_new_privs);
	}
}

static void actions_by_asking(void **state)
{
	struct seccomp_facts f;

	(void)state;
	probe_rows("seccomp action KILL_PROCESS = 0\nseccomp action USER_NOTIF = EOPNOTSUPP\n"
		   "seccomp action LOG = EINVAL\nseccomp action TRAP = EACCES\n"
		   "seccomp action ALLOW = ENOSYS\n",
		   "", &f);
	assert_int_equal(f.actions[action_index(SC_RET_KILL_PROCESS)].answer, ANSWER_YES);
	assert_int_equal(f.actions[action_index(SC_RET_USER_NOTIF)].answer, ANSWER_NO);
	assert_string_equal(f.actions[action_index(SC_RET_USER_NOTIF)].call,
			    "seccomp(GET_ACTION_AVAIL, USER_NOTIF)");
	assert_int_equal(f.actions[action_index(SC_RET_LOG)].answer, ANSWER_UNKNOWN);
	assert_int_equal(f.actions[action_index(SC_RET_TRAP)].answer, ANSWER_UNKNOWN);
	assert_int_equal(f.actions[action_index(SC_RET_ALLOW)].answer, ANSWER_UNKNOWN);
	assert_int_equal(f.actions[action_index(SC_RET_TRACE)].answer, ANSWER_UNKNOWN);
	assert_int_equal(f.actions[action_index(SC_RET_TRACE)].basis, BASIS_NONE);
}

static void flags_by_asking(void **state)
{
	static const struct {
		const char *rows;
		uint32_t flag;
		enum answer answer;
	} rows[] = {
		{ "seccomp flag TSYNC = EFAULT\n", SC_FLAG_TSYNC, ANSWER_YES },
		/* No kernel that has the call lacks it. */
		{ "seccomp flag TSYNC = EINVAL\n", SC_FLAG_TSYNC, ANSWER_UNKNOWN },
		{ "seccomp flag TSYNC = EINVAL\nseccomp flag LOG = EINVAL\n", SC_FLAG_LOG,
		  ANSWER_UNKNOWN },
		{ "seccomp flag TSYNC = EFAULT\nseccomp flag LOG = EINVAL\n", SC_FLAG_LOG,
		  ANSWER_NO },
		{ "seccomp flag TSYNC = EACCES\n", SC_FLAG_TSYNC, ANSWER_UNKNOWN },
		{ "seccomp flag TSYNC = EPERM\n", SC_FLAG_TSYNC, ANSWER_UNKNOWN },
		/* It cannot succeed without a program; whoever says so is not the kernel. */
		{ "seccomp flag TSYNC = 0\n", SC_FLAG_TSYNC, ANSWER_UNKNOWN },
		{ "", SC_FLAG_TSYNC, ANSWER_UNKNOWN },
		{ "seccomp flag NEW_LISTENER = EFAULT\nseccomp flag WAIT_KILLABLE_RECV = EFAULT\n",
		  SC_FLAG_WAIT_KILLABLE_RECV, ANSWER_YES },
		{ "seccomp flag NEW_LISTENER = EFAULT\nseccomp flag WAIT_KILLABLE_RECV = EINVAL\n",
		  SC_FLAG_WAIT_KILLABLE_RECV, ANSWER_NO },
		{ "seccomp flag TSYNC = EFAULT\nseccomp flag NEW_LISTENER = EINVAL\n"
		  "seccomp flag WAIT_KILLABLE_RECV = EINVAL\n",
		  SC_FLAG_WAIT_KILLABLE_RECV, ANSWER_NO },
		{ "seccomp flag NEW_LISTENER = EPERM\nseccomp flag WAIT_KILLABLE_RECV = EINVAL\n",
		  SC_FLAG_WAIT_KILLABLE_RECV, ANSWER_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seccomp_facts f;

		probe_rows(rows[i].rows, "", &f);
		assert_int_equal(f.flags[flag_index(rows[i].flag)].answer, rows[i].answer);
	}
}

static unsigned asked_flags[SC_FLAG_COUNT];
static size_t asked_count;

static int fake_seccomp(const struct kernel *k, unsigned operation, unsigned flags, const void *arg)
{
	(void)k;
	if (operation == SC_GET_ACTION_AVAIL)
		return 0;
	/* A program would be installed. */
	assert_int_equal(operation, SC_SET_MODE_FILTER);
	assert_null(arg);
	assert_true(asked_count < SC_FLAG_COUNT);
	asked_flags[asked_count++] = flags;
	return -EFAULT;
}

static void flags_are_asked_alone_and_without_a_program(void **state)
{
	struct seccomp_facts f = { 0 };
	struct tree tree;

	(void)state;
	tree_make(&tree, NULL, "");
	tree.kernel.seccomp = fake_seccomp;
	asked_count = 0;
	probe_seccomp(&tree.kernel, &f);
	tree_remove(&tree);
	assert_int_equal(asked_count, SC_FLAG_COUNT);
	for (size_t i = 0; i < SC_FLAG_COUNT; i++) {
		unsigned alone = asked_flags[i];

		if (sc_flags[i].value == SC_FLAG_WAIT_KILLABLE_RECV)
			alone &= ~SC_FLAG_NEW_LISTENER;
		assert_int_equal(alone, sc_flags[i].value);
	}
}

static void other_entries(void **state)
{
	static const struct {
		const char *rows;
		enum answer i386, x32;
		const char *got;
	} rows[] = {
		{ X86 "foreign i386 = 0\nforeign x32 = ENOSYS\n", ANSWER_YES, ANSWER_NO, "0" },
		{ X86 "foreign i386 = EPERM\nforeign x32 = 0\n", ANSWER_UNKNOWN, ANSWER_YES,
		  "EPERM" },
		{ X86, ANSWER_UNKNOWN, ANSWER_UNKNOWN, "not recorded" },
		{ "uname release = 6\nuname machine = i686\nforeign i386 = 0\n", ANSWER_YES,
		  ANSWER_UNKNOWN, "0" },
		{ "uname release = 6\nuname machine = aarch64\nforeign i386 = 0\n", ANSWER_NO,
		  ANSWER_NO, "not on this architecture" },
		{ "uname release = 6\nuname machine = ia64\n", ANSWER_NO, ANSWER_NO,
		  "not on this architecture" },
		{ "foreign i386 = ENOSYS\n", ANSWER_NO, ANSWER_UNKNOWN, "ENOSYS" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seccomp_facts f;

		probe_rows(rows[i].rows, "", &f);
		assert_int_equal(f.entry_i386.answer, rows[i].i386);
		assert_string_equal(f.entry_i386.got, rows[i].got);
		assert_int_equal(f.entry_x32.answer, rows[i].x32);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_we_run_under),
		cmocka_unit_test(actions_by_asking),
		cmocka_unit_test(flags_by_asking),
		cmocka_unit_test(flags_are_asked_alone_and_without_a_program),
		cmocka_unit_test(other_entries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
