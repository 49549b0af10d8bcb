/* kabi/mountinfo.c: lines of /proc/self/mountinfo. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/mountinfo.h"
#include "kabi/text.h"
#include "tests/fake/tree.h"

struct line {
	const char *text;
	const char *root, *point, *options, *type, *source, *super; /* root NULL: skipped */
};

static const struct line lines[] = {
	{ "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard", "/", "/", "rw,relatime", "ext4",
	  "/dev/vda", "rw,discard" },
	{ "30 25 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate", "/",
	  "/sys/fs/cgroup", "rw", "cgroup2", "cgroup2", "rw,nsdelegate" },
	{ "1 2 0:1 / /a rw shared:1 master:2 propagate_from:3 unbindable new:9 - t s o", "/", "/a",
	  "rw", "t", "s", "o" },
	/* a word of the optional fields that only starts like the end mark */
	{ "1 2 0:1 / /a rw -x - t s o", "/", "/a", "rw", "t", "s", "o" },
	{ "1 2 0:1 /with\\040space /tab\\011nl\\012end rw - t src\\134x o", "/with space",
	  "/tab\tnl\nend", "rw", "t", "src\\x", "o" },
	{ "1 2 0:1 / /hash\\043 rw - t s o", "/", "/hash#", "rw", "t", "s", "o" },
	/* not an escape: too short, not octal, NUL, more than a byte */
	{ "1 2 0:1 / /a\\04 rw - t s o", "/", "/a\\04", "rw", "t", "s", "o" },
	{ "1 2 0:1 / /a\\089 rw - t s o", "/", "/a\\089", "rw", "t", "s", "o" },
	{ "1 2 0:1 / /a\\000b rw - t s o", "/", "/a\\000b", "rw", "t", "s", "o" },
	{ "1 2 0:1 / /a\\777b rw - t s o", "/", "/a\\777b", "rw", "t", "s", "o" },
	/* a decoded backslash does not start another escape */
	{ "1 2 0:1 / /a\\134040 rw - t s o", "/", "/a\\040", "rw", "t", "s", "o" },
	/* a source may be empty, and so may the options of the filesystem */
	{ "1 2 0:1 / /a rw - tmpfs  rw", "/", "/a", "rw", "tmpfs", "", "rw" },
	{ "1 2 0:1 / /a rw - tmpfs none", "/", "/a", "rw", "tmpfs", "none", "" },
	{ "1 2 0:1 /../.. /a rw - cgroup2 c rw", "/../..", "/a", "rw", "cgroup2", "c", "rw" },
	/* garbage */
	{ "", NULL, NULL, NULL, NULL, NULL, NULL },
	{ "garbage", NULL, NULL, NULL, NULL, NULL, NULL },
	{ "1 2 0:1 / /a rw", NULL, NULL, NULL, NULL, NULL, NULL },
	{ "1 2 0:1 / /a rw shared:1", NULL, NULL, NULL, NULL, NULL, NULL },
	{ "1 2 0:1 / /a rw -", NULL, NULL, NULL, NULL, NULL, NULL },
	{ "1 2 0:1 / /a rw - t", NULL, NULL, NULL, NULL, NULL, NULL },
	{ "1 2 0:1 / /a rw -  s o", NULL, NULL, NULL, NULL, NULL, NULL },
	{ "x 2 0:1 / /a rw - t s o", NULL, NULL, NULL, NULL, NULL, NULL },
	{ "1 2 0:1 / relative rw - t s o", NULL, NULL, NULL, NULL, NULL, NULL },
};

static void a_line_is_a_mount_or_skipped(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char text[256];
		struct mountinfo it;
		struct mount m;

		/* A good line follows: what is skipped does not take it along. */
		snprintf(text, sizeof(text), "%s\n9 1 0:9 / /next rw - n n n\n", lines[i].text);
		it = mountinfo_start(text);
		assert_true(mountinfo_next(&it, &m));
		if (lines[i].root) {
			assert_string_equal(m.root, lines[i].root);
			assert_string_equal(m.point, lines[i].point);
			assert_string_equal(m.options, lines[i].options);
			assert_string_equal(m.type, lines[i].type);
			assert_string_equal(m.source, lines[i].source);
			assert_string_equal(m.super, lines[i].super);
			assert_true(mountinfo_next(&it, &m));
		}
		assert_string_equal(m.point, "/next");
		assert_int_equal(m.id, 9);
		assert_int_equal(m.parent, 1);
		assert_int_equal(it.skipped, lines[i].root ? 0 : 1);
		assert_false(mountinfo_next(&it, &m));
	}
}

static void an_option_matches_whole(void **state)
{
	(void)state;
	assert_true(text_in_list("ro", "ro"));
	assert_true(text_in_list("nosuid,ro", "ro"));
	assert_true(text_in_list("ro,nosuid", "ro"));
	assert_false(text_in_list("rw,errors=remount-ro", "ro"));
	assert_false(text_in_list("rox", "ro"));
	assert_false(text_in_list("", "ro"));
	assert_true(text_in_list("cpu,cpuacct", "cpu"));
	assert_false(text_in_list("cpuset,cpuacct", "cpu"));
}

/* The last mount of a table that is too long is what must not get lost unnoticed. */
static void a_table_that_does_not_fit_is_no_table(void **state)
{
	static const char line[] = "1 2 0:1 / /a rw - t s o\n";
	const size_t fits = (1 << 20) / (sizeof(line) - 1);
	char *text = malloc((fits + 2) * sizeof(line));
	struct tree_file files[] = { { "/proc/self/mountinfo", text }, { NULL, NULL } };

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct mountinfo it;
		struct mount m;
		struct tree t;
		size_t seen = 0;

		for (size_t i = 0; i < fits - 1 + 2 * more; i++)
			memcpy(text + i * (sizeof(line) - 1), line, sizeof(line));
		tree_make(&t, files, "");
		assert_int_equal(mountinfo_open(&t.kernel, &it), more ? -EFBIG : 0);
		while (!more && mountinfo_next(&it, &m))
			seen++;
		assert_int_equal(seen, more ? 0 : fits - 1);
		tree_remove(&t);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_mount_or_skipped),
		cmocka_unit_test(an_option_matches_whole),
		cmocka_unit_test(a_table_that_does_not_fit_is_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
