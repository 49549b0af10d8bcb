/* probe/settings.c and probe/sysctl.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "probe/probes.h"
#include "probe/sysctl.h"
#include "tests/fake/tree.h"

static void probe_rows(const struct tree_file *files, const char *rows, struct settings_facts *ret)
{
	struct tree tree;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, files, rows);
	probe_settings(&tree.kernel, ret);
	tree_remove(&tree);
}

static void numbers_of_proc_sys(void **state)
{
	static const struct {
		const char *text;
		enum answer answer;
		int64_t value;
	} rows[] = {
		{ "0\n", ANSWER_NO, 0 },
		{ "1\n", ANSWER_YES, 1 },
		{ "-1\n", ANSWER_YES, -1 },
		{ "65536\n", ANSWER_YES, 65536 },
		{ "9223372036854775807\n", ANSWER_YES, INT64_MAX },
		{ "9223372036854775808\n", ANSWER_UNKNOWN, 0 },
		{ "", ANSWER_UNKNOWN, 0 },
		{ "(none)\n", ANSWER_UNKNOWN, 0 },
		{ "1 2\n", ANSWER_UNKNOWN, 0 },
		{ "1\n2\n", ANSWER_UNKNOWN, 0 },
		{ "1111111111111111111111111111111111111111111111111111111111111111111\n",
		  ANSWER_UNKNOWN, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = { { "/proc/sys/kernel/x", rows[i].text },
						   { NULL, NULL } };
		struct fact f = { .answer = ANSWER_UNKNOWN };
		struct tree tree;

		tree_make(&tree, files, "");
		sysctl_claim(&tree.kernel, "kernel/x", &f);
		tree_remove(&tree);
		assert_int_equal(f.answer, rows[i].answer);
		assert_true(f.value == rows[i].value);
		assert_string_equal(f.call, "/proc/sys/kernel/x");
	}
}

static void every_setting_has_its_own_file(void **state)
{
	static const struct {
		const char *path;
		size_t member;
	} rows[] = {
		{ "user/max_user_namespaces", offsetof(struct settings_facts, userns_max) },
		{ "kernel/unprivileged_userns_clone",
		  offsetof(struct settings_facts, userns_clone) },
		{ "kernel/apparmor_restrict_unprivileged_userns",
		  offsetof(struct settings_facts, userns_apparmor) },
		{ "kernel/io_uring_disabled", offsetof(struct settings_facts, io_uring_disabled) },
		{ "kernel/yama/ptrace_scope", offsetof(struct settings_facts, yama) },
		{ "dev/tty/legacy_tiocsti", offsetof(struct settings_facts, tiocsti) },
		{ "kernel/dmesg_restrict", offsetof(struct settings_facts, dmesg_restrict) },
		{ "kernel/kptr_restrict", offsetof(struct settings_facts, kptr_restrict) },
		{ "kernel/perf_event_paranoid", offsetof(struct settings_facts, perf_paranoid) },
		{ "fs/protected_hardlinks", offsetof(struct settings_facts, protected_hardlinks) },
		{ "fs/protected_symlinks", offsetof(struct settings_facts, protected_symlinks) },
		{ "fs/protected_fifos", offsetof(struct settings_facts, protected_fifos) },
		{ "fs/suid_dumpable", offsetof(struct settings_facts, suid_dumpable) },
		{ "kernel/modules_disabled", offsetof(struct settings_facts, modules_disabled) },
		{ "vm/mmap_min_addr", offsetof(struct settings_facts, mmap_min_addr) },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tree_file files[] = { { NULL, "7\n" }, { NULL, NULL } };
		struct settings_facts f;
		char path[96] = "/proc/sys/";

		strcat(path, rows[i].path);
		files[0].path = path;
		probe_rows(files, "", &f);
		for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++) {
			const struct fact *fact =
				(const struct fact *)((const char *)&f + rows[j].member);

			assert_int_equal(fact->answer, i == j ? ANSWER_YES : ANSWER_UNKNOWN);
			assert_int_equal(fact->value, i == j ? 7 : 0);
			assert_string_equal(fact->got, i == j ? "7" : "ENOENT");
		}
	}
}

static void core_patterns(void **state)
{
	static const struct {
		const char *text;
		enum answer answer;
	} rows[] = {
		{ "core\n", ANSWER_NO },
		{ "|/lib/systemd/systemd-coredump %P %u\n", ANSWER_YES },
		{ "/var/core/%e|x\n", ANSWER_NO },
		{ "\n", ANSWER_NO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = {
			{ "/proc/sys/kernel/core_pattern", rows[i].text },
			{ NULL, NULL },
		};
		struct settings_facts f;

		probe_rows(files, "", &f);
		assert_int_equal(f.core_pattern.answer, rows[i].answer);
		assert_int_equal(f.core_pattern.basis, BASIS_CLAIMED);
	}
}

static void doors_that_are_tried(void **state)
{
	static const struct {
		const char *result;
		enum answer user_namespace, io_uring;
	} rows[] = {
		{ "0", ANSWER_YES, ANSWER_UNKNOWN },
		{ "EPERM", ANSWER_NO, ANSWER_NO },
		{ "EACCES", ANSWER_NO, ANSWER_UNKNOWN },
		{ "ENOSPC", ANSWER_UNKNOWN, ANSWER_UNKNOWN },
		{ "EUSERS", ANSWER_NO, ANSWER_UNKNOWN },
		{ "EINVAL", ANSWER_NO, ANSWER_UNKNOWN },
		{ "ENOSYS", ANSWER_NO, ANSWER_NO },
		{ "EFAULT", ANSWER_UNKNOWN, ANSWER_YES },
		{ "ENOMEM", ANSWER_UNKNOWN, ANSWER_UNKNOWN },
		{ "EAGAIN", ANSWER_UNKNOWN, ANSWER_UNKNOWN },
	};
	struct settings_facts f;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[96];
		struct text t = TEXT_BUF(text);

		text_add(&t, "unshare 0x10000000 = ");
		text_add(&t, rows[i].result);
		text_add(&t, "\nio_uring_setup = ");
		text_add(&t, rows[i].result);
		text_add(&t, "\n");
		probe_rows(NULL, text, &f);
		assert_int_equal(f.user_namespace.answer, rows[i].user_namespace);
		assert_int_equal(f.io_uring.answer, rows[i].io_uring);
		assert_string_equal(f.io_uring.got, rows[i].result);
	}
	/* Used up by others, or none allowed. */
	probe_rows((const struct tree_file[]){ { "/proc/sys/user/max_user_namespaces", "9\n" },
					       { NULL, NULL } },
		   "unshare 0x10000000 = ENOSPC\n", &f);
	assert_int_equal(f.user_namespace.answer, ANSWER_UNKNOWN);
	probe_rows((const struct tree_file[]){ { "/proc/sys/user/max_user_namespaces", "0\n" },
					       { NULL, NULL } },
		   "unshare 0x10000000 = ENOSPC\n", &f);
	assert_int_equal(f.user_namespace.answer, ANSWER_NO);
	probe_rows(NULL, "", &f);
	assert_int_equal(f.user_namespace.answer, ANSWER_UNKNOWN);
	assert_int_equal(f.io_uring.answer, ANSWER_UNKNOWN);
	assert_int_equal(f.io_uring.basis, BASIS_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_proc_sys),
		cmocka_unit_test(every_setting_has_its_own_file),
		cmocka_unit_test(core_patterns),
		cmocka_unit_test(doors_that_are_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
