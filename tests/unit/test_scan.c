/* The pull scanner: what it takes, what it refuses, and that it agrees with the strict reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/scan.h"
#include "report/strict_json.h"

/* A copy of exactly the bytes that may be read, so that a sanitizer sees one too many. */
static char *padded(const char *text)
{
	char *copy = calloc(1, strlen(text) + SCAN_PADDING);

	assert_non_null(copy);
	memcpy(copy, text, strlen(text));
	return copy;
}

static const char *problem_of(const char *text)
{
	char *copy = padded(text);
	struct scan s = scan_start(copy, strlen(text));

	scan_skip(&s);
	scan_finish(&s);
	free(copy);
	return s.problem;
}

static void good_texts_are_passed(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"0",
		"-0.5e+10",
		"true",
		"false",
		"null",
		"\"\"",
		"{\"a\":[1,2,{\"b\":null}],\"c\":\"x\"}",
		" [ 1 , { \"a\" : [ ] } ]\r\n\t",
		"\"\\u00e9 \\ud83d\\ude00 \\\\ \\\" \\/ \\n\"",
		"\"\xc3\xa9 \xf0\x9f\x98\x80\"",
		"\"a string that is longer than two words of the machine\"",
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cJSON *tree = NULL;

		assert_null(problem_of(texts[i]));
		assert_int_equal(json_tree(texts[i], strlen(texts[i]), &tree, &why), 0);
		cJSON_Delete(tree);
	}
}

static void bad_texts_say_why(void **state)
{
	static const struct {
		const char *text;
		const char *problem;
	} rows[] = {
		{ "", "the text ends in the middle" },
		{ "{", "the text ends in the middle" },
		{ "{\"a\"", "the text ends in the middle" },
		{ "{\"a\":", "the text ends in the middle" },
		{ "{\"a\":1", "the text ends in the middle" },
		{ "\"abc", "the text ends in the middle" },
		{ "\"abcdefgh", "the text ends in the middle" },
		{ "tru", "a value was expected" },
		{ "{\"a\":1,}", "a key was expected" },
		{ "[1,]", "a value was expected" },
		{ "[1 2]", "',' or ']' was expected" },
		{ "{\"a\" 1}", "':' was expected" },
		{ "{\"a\":1 \"b\":2}", "',' or '}' was expected" },
		{ "[1}", "',' or ']' was expected" },
		{ "01", "something follows the value" },
		{ "1.", "the text ends in the middle" },
		{ "1.x", "a digit is missing" },
		{ "-x", "a digit is missing" },
		{ "{} {}", "something follows the value" },
		{ "\"\\x\"", "there is no such escape" },
		{ "\"\\u12g4\"", "\\u needs four hexadecimal digits" },
		{ "\"\\ud83d\"", "a surrogate without its other half" },
		{ "\"\\ude00\"", "a surrogate without its other half" },
		{ "\"a\nb\"", "a control character in a string" },
		{ "\"\xff\"", "not UTF-8" },
		{ "\"\xc0\xaf\"", "not UTF-8" },
		{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
		  "too many levels" },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cJSON *tree = NULL;

		assert_string_equal(problem_of(rows[i].text), rows[i].problem);
		assert_true(json_tree(rows[i].text, strlen(rows[i].text), &tree, &why) < 0);
	}
}

static void members_are_pulled(void **state)
{
	char *text = padded("{\"skip\":[{\"a\":\"}\"}],\"name\":\"a\\u0062c\",\"n\":-12,\"b\":true,"
			    "\"list\":[1,\"x\",{}],\"\\u006cast\":7}");
	struct scan s = scan_start(text, strlen(text));
	unsigned elements = 0;
	struct span key;
	struct span value;
	char buf[8] = "";
	long n = 0;
	long last = 0;

	(void)state;
	assert_true(scan_enter_object(&s));
	while (scan_key(&s, &key)) {
		if (span_is(&key, "name") && scan_string(&s, &value)) {
			span_copy(&value, buf, sizeof(buf));
		} else if (span_is(&key, "n")) {
			scan_integer(&s, &n);
		} else if (span_is(&key, "last")) {
			scan_integer(&s, &last);
		} else if (span_is(&key, "list") && scan_enter_array(&s)) {
			while (scan_element(&s)) {
				elements++;
				scan_skip(&s);
			}
		} else {
			scan_skip(&s);
		}
	}
	assert_true(scan_finish(&s));
	assert_string_equal(buf, "abc");
	assert_int_equal(n, -12);
	assert_int_equal(elements, 3);
	assert_int_equal(last, 7);
	free(text);
}

/* Another type than the one asked for is passed over, without an error. */
static void other_types_are_skipped(void **state)
{
	char *text = padded("[{},[],\"x\",1.5,null,99999999999999999999]");
	struct scan s = scan_start(text, strlen(text));
	struct span value;
	long n;

	(void)state;
	assert_true(scan_enter_array(&s));
	assert_true(scan_element(&s));
	assert_false(scan_string(&s, &value));
	assert_true(scan_element(&s));
	assert_false(scan_enter_object(&s));
	assert_true(scan_element(&s));
	assert_false(scan_integer(&s, &n));
	assert_true(scan_element(&s));
	assert_false(scan_integer(&s, &n));
	assert_true(scan_element(&s));
	assert_false(scan_string(&s, &value));
	assert_true(scan_element(&s));
	assert_false(scan_integer(&s, &n));
	assert_false(scan_element(&s));
	assert_true(scan_finish(&s));
	free(text);
}

static void copies_are_cut_between_characters(void **state)
{
	const struct span span = { "\xc3\xa9\\u00e9\\ud83d\\ude00\\u0000", 26 };
	char buf[32];

	(void)state;
	span_copy(&span, buf, sizeof(buf));
	assert_string_equal(buf, "\xc3\xa9\xc3\xa9\xf0\x9f\x98\x80\xef\xbf\xbd");
	span_copy(&span, buf, 6);
	assert_string_equal(buf, "\xc3\xa9\xc3\xa9");
	span_copy(&span, buf, 1);
	assert_string_equal(buf, "");
}

static void faults_tell_the_place(void **state)
{
	char *text = padded("{\n \"\xc3\xa9\": x}");
	struct scan s = scan_start(text, strlen(text));
	struct fault why;

	(void)state;
	assert_false(scan_skip(&s));
	scan_fault(&s, &why);
	assert_string_equal(why.text, "line 2, column 7: a value was expected");
	assert_false(scan_finish(&s));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_texts_are_passed),
		cmocka_unit_test(bad_texts_say_why),
		cmocka_unit_test(members_are_pulled),
		cmocka_unit_test(other_types_are_skipped),
		cmocka_unit_test(copies_are_cut_between_characters),
		cmocka_unit_test(faults_tell_the_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
