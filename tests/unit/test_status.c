/* kabi/status.c and kabi/lines.c: /proc/PID/status, whatever its shape. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/lines.h"
#include "kabi/status.h"
#include "tests/fake/tree.h"

#define PATH "/proc/self/status"

static int read_text(const char *text, struct proc_status *ret)
{
	const struct tree_file files[] = { { PATH, text }, { NULL, NULL } };
	struct tree tree;
	int r;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, files, "");
	r = proc_status_read(&tree.kernel, PATH, ret);
	tree_remove(&tree);
	return r;
}

static void a_whole_file(void **state)
{
	struct proc_status s;

	(void)state;
	assert_int_equal(read_text("Name:\tmodule 2: x\nPPid:\t41\nTracerPid:\t0\n"
				   "Uid:\t1000\t1001\t1002\t1003\nGid:\t5\t6\t7\t8\n"
				   "Groups:\t4 24 27 \nThreads:\t3\n"
				   "CapInh:\t0000000000000000\nCapPrm:\t000001fffeffffff\n"
				   "CapEff:\tffffffffffffffff\nCapBnd:\t00000000a80425fb\n"
				   "CapAmb:\t0000000000000001\nNoNewPrivs:\t1\nSeccomp:\t2\n"
				   "Seccomp_filters:\t3\nCpus_allowed:\t3\n"
				   "NSpid:\t812\t7\n",
				   &s),
			 0);
	for (size_t i = 0; i < PROC_LINE_COUNT; i++)
		assert_true(s.has[i]);
	assert_int_equal(s.value[PROC_PPID], 41);
	assert_int_equal(s.value[PROC_UID], 1001);
	assert_int_equal(s.value[PROC_GID], 6);
	assert_int_equal(s.value[PROC_THREADS], 3);
	assert_true(s.value[PROC_CAP_PERMITTED] == 0x1fffeffffffULL);
	assert_true(s.value[PROC_CAP_EFFECTIVE] == UINT64_MAX);
	assert_int_equal(s.value[PROC_CAP_BOUNDING], 0xa80425fb);
	assert_int_equal(s.value[PROC_NO_NEW_PRIVS], 1);
	assert_int_equal(s.value[PROC_SECCOMP], 2);
	assert_int_equal(s.value[PROC_SECCOMP_FILTERS], 3);
	assert_int_equal(s.value[PROC_OUTER_PID], 7);
}

static void lines_that_tell_nothing(void **state)
{
	static const char *const rows[] = {
		"",
		"\n\n\n",
		"Seccomp",
		"Seccomp:",
		"Seccomp:\t\n",
		"Seccomp:\ttwo\n",
		"Seccomp:\t-1\n",
		"Seccomp:\t2x\n",
		"Seccomp:\t18446744073709551616\n",
		"seccomp:\t2\n",
		" Seccomp:\t2\n",
		"XSeccomp:\t2\n",
		"Seccomp :\t2\n",
		":\t2\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct proc_status s;

		assert_int_equal(read_text(rows[i], &s), 0);
		assert_false(s.has[PROC_SECCOMP]);
		assert_false(s.has[PROC_SECCOMP_FILTERS]);
	}
}

static void a_name_cannot_forge_a_line(void **state)
{
	struct proc_status s;

	(void)state;
	/* The kernel escapes a newline in a process's name as \n, two characters. */
	assert_int_equal(read_text("Name:\tx\\nSeccomp:\t2\nSeccomp:\t0\n", &s), 0);
	assert_true(s.has[PROC_SECCOMP]);
	assert_int_equal(s.value[PROC_SECCOMP], 0);
	/* Of two lines the first counts. */
	assert_int_equal(read_text("Seccomp:\t0\nSeccomp:\t2\n", &s), 0);
	assert_int_equal(s.value[PROC_SECCOMP], 0);
}

/* 60000 groups before the lines that matter: far more than any buffer here. */
static void a_very_long_line_is_passed_over(void **state)
{
	size_t size = 60000 * 6 + 100;
	char *text = malloc(size);
	struct proc_status s;
	size_t len;

	(void)state;
	assert_non_null(text);
	strcpy(text, "Groups:\t");
	len = strlen(text);
	for (int i = 0; i < 60000; i++, len += 6)
		memcpy(text + len, "Uid:9 ", 6);
	strcpy(text + len, "\nSeccomp:\t2\nUid:\t0\t7\t0\t0\n");
	assert_int_equal(read_text(text, &s), 0);
	assert_int_equal(s.value[PROC_SECCOMP], 2);
	assert_int_equal(s.value[PROC_UID], 7);
	free(text);
}

static void no_file_is_an_error(void **state)
{
	struct proc_status s = { .has = { [PROC_UID] = true } };
	struct tree tree;

	(void)state;
	tree_make(&tree, NULL, "open /proc/1/status r = EACCES\n");
	assert_int_equal(proc_status_read(&tree.kernel, PATH, &s), -ENOENT);
	assert_int_equal(proc_status_read(&tree.kernel, "/proc/1/status", &s), -EACCES);
	assert_true(s.has[PROC_UID]);
	tree_remove(&tree);
}

/* ---- probe/lines.c ---- */

struct seen {
	char text[256];
	int count;
	int wanted; /* 0: all */
};

static bool see(void *arg, char *line)
{
	struct seen *s = arg;

	strcat(s->text, line);
	strcat(s->text, "|");
	return ++s->count != s->wanted;
}

static void pieces_of_any_size_give_the_same_lines(void **state)
{
	static const char text[] = "one\n\ntwo two\nlast";

	(void)state;
	for (size_t piece = 1; piece < sizeof(text); piece++) {
		struct seen s = { .count = 0 };
		struct lines l;

		lines_start(&l, '\n', see, &s);
		for (size_t at = 0; at < sizeof(text) - 1; at += piece)
			assert_true(lines_feed(
				&l, text + at,
				at + piece < sizeof(text) - 1 ? piece : sizeof(text) - 1 - at));
		lines_end(&l);
		assert_string_equal(s.text, "one||two two|last|");
	}
}

static void enough_is_enough(void **state)
{
	struct seen s = { .wanted = 2 };
	struct lines l;

	(void)state;
	lines_start(&l, '\n', see, &s);
	assert_false(lines_feed(&l, "a\nb\nc\nd", 7));
	assert_false(lines_feed(&l, "e\n", 2));
	lines_end(&l);
	assert_string_equal(s.text, "a|b|");
}

static ssize_t endless(const struct kernel *k, int fd, void *buf, size_t size)
{
	(void)k;
	(void)fd;
	memset(buf, 'x', size);
	return (ssize_t)size;
}

static int reads;
static ssize_t interrupted(const struct kernel *k, int fd, void *buf, size_t size)
{
	if (reads++ % 2 == 0)
		return -EINTR;
	return kernel_live.read(k, fd, buf, size);
}

static void reading_is_bounded_and_goes_on_after_a_signal(void **state)
{
	const struct tree_file files[] = { { "/f", "a\nb\n" }, { NULL, NULL } };
	struct seen s = { .count = 0 };
	struct tree tree;

	(void)state;
	tree_make(&tree, files, "");
	tree.kernel.read = interrupted;
	assert_int_equal(lines_read(&tree.kernel, "/f", '\n', see, &s), 0);
	assert_string_equal(s.text, "a|b|");
	tree.kernel.read = endless;
	assert_int_equal(lines_read(&tree.kernel, "/f", '\n', see, &s), -EFBIG);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file),
		cmocka_unit_test(lines_that_tell_nothing),
		cmocka_unit_test(a_name_cannot_forge_a_line),
		cmocka_unit_test(a_very_long_line_is_passed_over),
		cmocka_unit_test(no_file_is_an_error),
		cmocka_unit_test(pieces_of_any_size_give_the_same_lines),
		cmocka_unit_test(enough_is_enough),
		cmocka_unit_test(reading_is_bounded_and_goes_on_after_a_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
