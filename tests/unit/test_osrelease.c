/* probe/osrelease.c: os-release(5) and its quoting. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "probe/osrelease.h"
#include "tests/fake/tree.h"

static void values_are_unquoted_as_a_shell_would(void **state)
{
	static const struct {
		const char *line;
		const char *value;
	} rows[] = {
		{ "PRETTY_NAME=Debian", "Debian" },
		{ "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"",
		  "Debian GNU/Linux 12 (bookworm)" },
		{ "PRETTY_NAME='Debian GNU/Linux'", "Debian GNU/Linux" },
		{ "PRETTY_NAME=\"\"", "" },
		{ "PRETTY_NAME=''", "" },
		{ "PRETTY_NAME=", "" },
		{ "PRETTY_NAME=\"a \\\"b\\\" \\\\ \\$c \\`d\\`\"", "a \"b\" \\ $c `d`" },
		/* Inside double quotes a backslash before anything else is itself. */
		{ "PRETTY_NAME=\"a\\nb\\'\"", "a\\nb\\'" },
		{ "PRETTY_NAME='a \\\"b\\\\'", "a \\\"b\\\\" },
		{ "PRETTY_NAME=\"it's\"", "it's" },
		{ "PRETTY_NAME='say \"x\"'", "say \"x\"" },
		{ "PRETTY_NAME=a\\ b\\\"c", "a b\"c" },
		{ "PRETTY_NAME=\"a\"'b'c", "abc" },
		{ "PRETTY_NAME=\" a \"", " a " },
		{ "PRETTY_NAME=\" a \"  ", " a " },
		{ "PRETTY_NAME=a b  ", "a b" },
		{ "PRETTY_NAME=a\r", "a" },
		{ "PRETTY_NAME=  a", "a" },
		{ "  PRETTY_NAME=a", "a" },
		{ "PRETTY_NAME=a # not this", "a" },
		{ "PRETTY_NAME=a#b", "a#b" },
		{ "PRETTY_NAME=\"a # b\"", "a # b" },
		{ "PRETTY_NAME=a=b", "a=b" },
		{ "PRETTY_NAME=\"$HOME\"", "$HOME" },
		{ "PRETTY_NAME=\xc3\xa9", "\xc3\xa9" },
		{ "PRETTY_NAME=a\\", "a\\" },
		/* Not assignments of it. */
		{ "#PRETTY_NAME=a", "before" },
		{ "  # PRETTY_NAME=a", "before" },
		{ "XPRETTY_NAME=a", "before" },
		{ "PRETTY_NAME_X=a", "before" },
		{ "pretty_name=a", "before" },
		{ "PRETTY_NAME =a", "before" },
		{ "PRETTY_NAME", "before" },
		{ "", "before" },
		{ "=", "before" },
		{ "PRETTY_NAME=\"a", "before" },
		{ "PRETTY_NAME='a", "before" },
		{ "PRETTY_NAME=\"a\\\"", "before" },
		{ "PRETTY_NAME='a\\'b'", "before" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct osrelease o = { .pretty_name = "before" };
		char line[128];

		strcpy(line, rows[i].line);
		osrelease_line(&o, line);
		assert_string_equal(o.pretty_name, rows[i].value);
	}
}

static void a_value_too_long_is_none(void **state)
{
	struct osrelease o = { .id = "linux" };
	char line[FACTS_WORD_MAX + 8];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "ID=", 3);
	line[3 + FACTS_WORD_MAX] = '\0';
	osrelease_line(&o, line);
	assert_string_equal(o.id, "linux");
	memset(line, 'x', sizeof(line));
	memcpy(line, "ID=", 3);
	line[3 + FACTS_WORD_MAX - 1] = '\0';
	osrelease_line(&o, line);
	assert_int_equal(strlen(o.id), FACTS_WORD_MAX - 1);
}

static int read_tree(const struct tree_file *files, const char *rows, struct osrelease *ret,
		     const char **ret_path)
{
	struct tree tree;
	int r;

	*ret_path = NULL;
	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, files, rows);
	r = osrelease_read(&tree.kernel, ret, ret_path);
	tree_remove(&tree);
	return r;
}

static void two_places(void **state)
{
	static const struct tree_file both[] = {
		{ "/etc/os-release", "ID=first\nID=debian\nVERSION_ID=\"12\"\nVERSION=x" },
		{ "/usr/lib/os-release", "ID=other\n" },
		{ NULL, NULL },
	};
	static const struct tree_file second[] = {
		{ "/usr/lib/os-release", "VERSION_ID=3.19.1" },
		{ NULL, NULL },
	};
	struct osrelease o;
	const char *path;

	(void)state;
	assert_int_equal(read_tree(both, "", &o, &path), 0);
	assert_string_equal(path, "/etc/os-release");
	assert_string_equal(o.id, "debian");
	assert_string_equal(o.version_id, "12");
	assert_string_equal(o.pretty_name, "");

	assert_int_equal(read_tree(second, "", &o, &path), 0);
	assert_string_equal(path, "/usr/lib/os-release");
	assert_string_equal(o.id, "linux");
	assert_string_equal(o.version_id, "3.19.1");

	assert_int_equal(read_tree(both, "open /etc/os-release r = EACCES\n", &o, &path), 0);
	assert_string_equal(o.id, "other");

	assert_int_equal(read_tree(NULL, "", &o, &path), -ENOENT);
	assert_null(path);
	assert_string_equal(o.id, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_unquoted_as_a_shell_would),
		cmocka_unit_test(a_value_too_long_is_none),
		cmocka_unit_test(two_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
