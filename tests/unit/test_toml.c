#include "report/toml.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/strict_json.h"

#define TEXT(s) s, sizeof(s) - 1

static void test_accepted(void **state)
{
	static const struct {
		const char *text;
		const char *printed;
	} rows[] = {
		{ "", "{}" },
		{ "# only a comment", "{}" },
		{ "a = 1\nb = -0.5\nc = true\nd = 'x'",
		  "{\"a\":1,\"b\":-0.5,\"c\":true,\"d\":\"x\"}" },
		{ "[sandbox]\nnet = { mode = \"none\", allow = [] }",
		  "{\"sandbox\":{\"net\":{\"allow\":[],\"mode\":\"none\"}}}" },
		{ "[[s]]\nn = 1\n[[s]]\nn = 2", "{\"s\":[{\"n\":1},{\"n\":2}]}" },
		{ "a.b.c = 1\na.b.d = 2", "{\"a\":{\"b\":{\"c\":1,\"d\":2}}}" },
		{ "s = \"\\u00e4 # not a comment\" # one", "{\"s\":\"\xc3\xa4 # not a comment\"}" },
		{ "s = '''a''b'''''", "{\"s\":\"a''b''\"}" },
		{ "s = \"\"\"\\\"\"\"a\"\"\"", "{\"s\":\"\\\"\\\"\\\"a\"}" },
		/* Characters the library's tables leave undefined. */
		{ "s = \"\"\"\\\n \xc3\xa4\"\"\"", "{\"s\":\"\xc3\xa4\"}" },
		/* Dots in strings and numbers are no key's parts. */
		{ "a = ['1.2.3.4.5.6.7.8.9', '1.2.3.4.5.6.7.8.9', 1.5]",
		  "{\"a\":[\"1.2.3.4.5.6.7.8.9\",\"1.2.3.4.5.6.7.8.9\",1.5]}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault why = { "" };
		cJSON *tree = NULL;
		char *printed;

		if (toml_tree(rows[i].text, strlen(rows[i].text), &tree, &why) < 0)
			fail_msg("row %zu: %s", i, why.text);
		printed = cJSON_PrintUnformatted(tree);
		assert_string_equal(printed, rows[i].printed);
		free(printed);
		cJSON_Delete(tree);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *says;
	} rows[] = {
		{ TEXT("a = 1\na = 2"), "line 2, column" },
		{ TEXT("[t]\n[t]"), "line 2, column" },
		{ TEXT("x = 1\n\n  y = "), "line 3, column" },
		{ TEXT("a = nan"), "line 1, column 5: a number that is not finite" },
		{ TEXT("a = [1, -inf]"), "line 1, column 9: a number that is not finite" },
		{ TEXT("a = 9007199254740993"), "line 1, column 5: a whole number beyond 2^53" },
		{ TEXT("b = 1\na = -9223372036854775808"), "line 2, column 5: a whole number" },
		{ TEXT("a = 9223372036854775808"), "line 1, column" },
		{ TEXT("a = \"x\\u0000y\""), "line 1, column 5: a NUL in a string" },
		{ TEXT("\"x\\u0000\" = 1"), "line 1, column 1: a NUL in a string" },
		{ TEXT("a = 1\0"), "line 1, column" },
		{ TEXT("a = '\xff'"), "line 1, column" },
		{ TEXT("a = '\xed\xa0\x80'"), "line 1, column" },
		{ TEXT("[sandbox"), "line 1, column" },
		{ TEXT("[\xc3\xa4]"), "line 1, column 2: a character that only strings" },
		{ TEXT("\xef\xbb\xbf# a mark\n"),
		  "line 1, column 1: a character that only strings" },
		{ TEXT("# \xc3\xa4\na = \xe2\xb1\xa0"),
		  "line 2, column 5: a character that only strings" },
		{ TEXT("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q = 1"),
		  "column 32: a key of more than 16 parts" },
		{ TEXT("# c\n[a.b.'c.d'.d.e.f.g.h.i.j.k.l.m.n.o.p.q]"),
		  "line 2, column 37: a key of" },
		{ TEXT("a = ''''x.y.z''''\na.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q = 1"),
		  "line 2, column 32: a key of" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault why = { "" };
		cJSON *tree = NULL;

		if (toml_tree(rows[i].text, rows[i].len, &tree, &why) != -EINVAL)
			fail_msg("row %zu was accepted", i);
		assert_null(tree);
		if (!strstr(why.text, rows[i].says))
			fail_msg("row %zu: '%s' instead of '%s'", i, why.text, rows[i].says);
	}
}

static void test_a_date_is_of_no_type(void **state)
{
	static const char text[] = "a = 1979-05-27\nb = 07:32:00\nc = 1979-05-27T07:32:00Z";
	cJSON *tree = NULL;
	const cJSON *value;

	(void)state;
	assert_int_equal(toml_tree(TEXT(text), &tree, NULL), 0);
	assert_int_equal(cJSON_GetArraySize(tree), 3);
	cJSON_ArrayForEach(value, tree)
	{
		assert_true(cJSON_IsRaw(value));
		assert_false(cJSON_IsString(value) || cJSON_IsNumber(value) || cJSON_IsBool(value));
	}
	cJSON_Delete(tree);
}

/* "a = " and `count` opening brackets, then as many closing ones. */
static int parse_nested(size_t count, struct fault *why)
{
	size_t len = 4 + 2 * count;
	char *text = malloc(len);
	cJSON *tree = NULL;
	int err;

	assert_non_null(text);
	memcpy(text, "a = ", 4);
	memset(text + 4, '[', count);
	memset(text + 4 + count, ']', count);
	err = toml_tree(text, len, &tree, why);
	cJSON_Delete(tree);
	free(text);
	return err;
}

static void test_bounds(void **state)
{
	struct fault why = { "" };
	char *text = malloc(TOML_BYTES_MAX + 1);
	cJSON *tree = NULL;

	(void)state;
	assert_int_equal(parse_nested(DOCUMENT_DEPTH_MAX - 1, &why), 0);
	assert_int_equal(parse_nested(DOCUMENT_DEPTH_MAX + 1, &why), -EINVAL);
	assert_int_equal(parse_nested(400000, &why), -EINVAL);

	assert_non_null(text);
	memset(text, '\n', TOML_BYTES_MAX + 1);
	assert_int_equal(toml_tree(text, TOML_BYTES_MAX + 1, &tree, &why), -EFBIG);
	assert_int_equal(toml_tree(text, TOML_BYTES_MAX, &tree, &why), 0);
	cJSON_Delete(tree);

	/* More zeros than a document may have values. */
	memcpy(text, "a=[", 3);
	for (size_t i = 3; i + 2 < TOML_BYTES_MAX; i += 2)
		memcpy(text + i, "0,", 2);
	text[TOML_BYTES_MAX - 1] = ']';
	assert_int_equal(toml_tree(text, TOML_BYTES_MAX, &tree, &why), -EINVAL);
	assert_non_null(strstr(why.text, "more values than"));
	free(text);
}

static void test_the_largest_whole_number(void **state)
{
	cJSON *tree = NULL;

	(void)state;
	assert_int_equal(toml_tree(TEXT("a = 9007199254740992"), &tree, NULL), 0);
	assert_true(tree->child->valuedouble == 9007199254740992.0);
	cJSON_Delete(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted), cmocka_unit_test(test_the_largest_whole_number),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_a_date_is_of_no_type),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
