#include "report/strict_json.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A literal with its length, so that it may hold a NUL. */
#define TEXT(s) s, sizeof(s) - 1

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *says;
	} rows[] = {
		{ TEXT(""), "line 1, column 1: a value was expected" },
		{ TEXT("\xef\xbb\xbf{}"), "line 1, column 1: a value was expected" },
		{ TEXT("{}\n {}"), "line 2, column 2: something follows" },
		{ TEXT("{}x"), "line 1, column 3: something follows" },
		{ TEXT("{}\0"), "line 1, column 3: something follows" },
		{ TEXT("{\"a\": 1, \"a\": 2}"), "key 'a' is there twice" },
		{ TEXT("[{\"b\": {\"x\": 1, \"y\": 2, \"x\": 3}}]"), "key 'x' is there twice" },
		{ TEXT("{\"a\": 1, \"\\u0061\": 2}"), "key 'a' is there twice" },
		{ TEXT("\"a\0b\""), "line 1, column 3: a control character" },
		{ TEXT("\"a\\u0000b\""), "column 4: a NUL in a string" },
		{ TEXT("{\"\\u0000\": 1}"), "a NUL in a string" },
		{ TEXT("\"\xff\""), "line 1, column 2: a byte that is not UTF-8" },
		{ TEXT("\"\xc0\x80\""), "a byte that is not UTF-8" },
		{ TEXT("\"\xed\xa0\x80\""), "a byte that is not UTF-8" },
		{ TEXT("\"\\ud800\""), "half of a surrogate pair" },
		{ TEXT("\"\\ud800\\u0041\""), "half of a surrogate pair" },
		{ TEXT("\"\\udc00\""), "half of a surrogate pair" },
		{ TEXT("\"\\x41\""), "an escape JSON does not have" },
		{ TEXT("\"\\u12"), "an escape JSON does not have" },
		{ TEXT("\"\\u-123\""), "an escape JSON does not have" },
		{ TEXT("\"\\"), "an escape JSON does not have" },
		{ TEXT("\"a"), "a string without an end" },
		{ TEXT("\"\n\""), "a control character in a string" },
		{ TEXT("[1,]"), "a value was expected" },
		{ TEXT("[1 2]"), "column 4: ',' or ']'" },
		{ TEXT("{\"a\" 1}"), "':' was expected" },
		{ TEXT("{a: 1}"), "a string was expected" },
		{ TEXT("{\"a\": 1,}"), "a string was expected" },
		{ TEXT("{\"a\": 1"), "',' or '}'" },
		{ TEXT("[\f1]"), "a value was expected" },
		{ TEXT("01"), "column 2: something follows" },
		{ TEXT("1."), "a digit was expected" },
		{ TEXT("1e"), "a digit was expected" },
		{ TEXT("+1"), "a value was expected" },
		{ TEXT("-"), "a value was expected" },
		{ TEXT("NaN"), "a value was expected" },
		{ TEXT("True"), "a value was expected" },
		{ TEXT("tru"), "a value was expected" },
		{ TEXT("1e999"), "a number that is too large" },
		{ TEXT("9007199254740993"), "a whole number beyond 2^53" },
		{ TEXT("-9007199254740993"), "a whole number beyond 2^53" },
		{ TEXT("99999999999999999999"), "a whole number beyond 2^53" },
		{ TEXT("{\"\xc3\xa4\xc3\xb6\": x}"),
		  "line 1, column 8:" }, /* columns are characters */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault why = { "" };
		cJSON *tree = NULL;

		if (json_tree(rows[i].text, rows[i].len, &tree, &why) != -EINVAL)
			fail_msg("row %zu was accepted", i);
		assert_null(tree);
		if (!strstr(why.text, rows[i].says))
			fail_msg("row %zu: '%s' instead of '%s'", i, why.text, rows[i].says);
	}
}

static void test_accepted(void **state)
{
	static const struct {
		const char *text;
		const char *printed;
	} rows[] = {
		{ "{}", "{}" },
		{ " [1, -2, 0.5, 1e3, true, false, null] \r\n\t",
		  "[1,-2,0.5,1000,true,false,null]" },
		{ "{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}", "{\"a\":{\"a\":1},\"b\":{\"a\":1}}" },
		{ "\"\\u00e4\\ud83d\\ude00\\/\\n\"", "\"\xc3\xa4\xf0\x9f\x98\x80/\\n\"" },
		{ "{\"a\": 1, \"A\": 2}", "{\"a\":1,\"A\":2}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault why = { "" };
		cJSON *tree = NULL;
		char *printed;

		if (json_tree(rows[i].text, strlen(rows[i].text), &tree, &why) < 0)
			fail_msg("row %zu: %s", i, why.text);
		printed = cJSON_PrintUnformatted(tree);
		assert_string_equal(printed, rows[i].printed);
		free(printed);
		cJSON_Delete(tree);
	}
}

/* `count` opening brackets, then as many closing ones. */
static int parse_nested(size_t count)
{
	char *text = malloc(2 * count);
	cJSON *tree = NULL;
	int err;

	assert_non_null(text);
	memset(text, '[', count);
	memset(text + count, ']', count);
	err = json_tree(text, 2 * count, &tree, NULL);
	cJSON_Delete(tree);
	free(text);
	return err;
}

static void test_depth(void **state)
{
	(void)state;
	assert_int_equal(parse_nested(DOCUMENT_DEPTH_MAX), 0);
	assert_int_equal(parse_nested(DOCUMENT_DEPTH_MAX + 1), -EINVAL);
	assert_int_equal(parse_nested(1000000), -EINVAL);
}

static void test_values(void **state)
{
	size_t len = 2 * DOCUMENT_VALUES_MAX + 1;
	char *text = malloc(len);
	struct fault why = { "" };
	cJSON *tree = NULL;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i + 1 < len; i += 2) {
		text[i] = '0';
		text[i + 1] = ',';
	}
	text[0] = '[';
	text[1] = ' ';
	text[len - 1] = ']';
	text[len - 2] = ' ';
	/* The list is a value too, so that one number fewer than the limit fits. */
	assert_int_equal(json_tree(text, len, &tree, &why), 0);
	cJSON_Delete(tree);
	tree = NULL;
	text[1] = '0';
	text[2] = ',';
	text[3] = '0';
	text[4] = ',';
	text[5] = '0';
	text[6] = ',';
	text[7] = '0';
	assert_int_equal(json_tree(text, len, &tree, &why), -EINVAL);
	free(text);
}

static void test_the_largest_whole_number(void **state)
{
	cJSON *tree = NULL;

	(void)state;
	assert_int_equal(json_tree(TEXT("9007199254740992"), &tree, NULL), 0);
	assert_true(tree->valuedouble == 9007199254740992.0);
	cJSON_Delete(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_the_largest_whole_number),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
