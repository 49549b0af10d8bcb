#include "report/strict_json.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/text.h"

#define NUMBER_TEXT_MAX 64

struct scan {
	const char *text;
	const char *at;
	const char *end;
	unsigned depth;
	size_t values;
	struct fault *why;
};

static int scan_value(struct scan *s);

static int wrong(const struct scan *s, const char *problem)
{
	size_t line = 1;
	size_t column = 1;

	for (const char *c = s->text; c < s->at; c++) {
		column++;
		if (((unsigned char)*c & 0xc0) == 0x80)
			column--;
		if (*c == '\n') {
			line++;
			column = 1;
		}
	}
	return fault_place(s->why, line, column, problem);
}

static char peek(const struct scan *s)
{
	return s->at < s->end ? *s->at : '\0';
}

static void skip_spaces(struct scan *s)
{
	while (s->at < s->end && memchr(" \t\r\n", *s->at, 4))
		s->at++;
}

static bool take(struct scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* Four hexadecimal digits at `from`, or -1. */
static int hex4(const struct scan *s, const char *from)
{
	char digits[5];
	uint64_t value;

	if (s->end - from < 4)
		return -1;
	memcpy(digits, from, 4);
	digits[4] = '\0';
	return text_uint(digits, 16, 0xffff, &value) < 0 || strlen(digits) != 4 ? -1 : (int)value;
}

/* s->at is behind a backslash. */
static int scan_escape(struct scan *s)
{
	int unit;

	if (s->at < s->end && memchr("\"\\/bfnrt", *s->at, 8)) {
		s->at++;
		return 0;
	}
	unit = peek(s) == 'u' ? hex4(s, s->at + 1) : -1;
	if (unit < 0)
		return wrong(s, "an escape JSON does not have");
	if (unit == 0)
		return wrong(s, "a NUL in a string");
	if (unit >= 0xdc00 && unit <= 0xdfff)
		return wrong(s, "half of a surrogate pair");
	s->at += 5;
	if (unit < 0xd800 || unit > 0xdbff)
		return 0;
	if (s->end - s->at < 6 || s->at[0] != '\\' || s->at[1] != 'u')
		return wrong(s, "half of a surrogate pair");
	unit = hex4(s, s->at + 2);
	if (unit < 0xdc00 || unit > 0xdfff)
		return wrong(s, "half of a surrogate pair");
	s->at += 6;
	return 0;
}

static int scan_string(struct scan *s)
{
	if (!take(s, '"'))
		return wrong(s, "a string was expected");
	while (s->at < s->end) {
		size_t n;
		int err;

		if (take(s, '"'))
			return 0;
		if ((unsigned char)*s->at < 0x20)
			return wrong(s, "a control character in a string");
		if (take(s, '\\')) {
			err = scan_escape(s);
			if (err < 0)
				return err;
			continue;
		}
		n = utf8_sequence(s->at, (size_t)(s->end - s->at));
		if (n == 0)
			return wrong(s, "a byte that is not UTF-8");
		s->at += n;
	}
	return wrong(s, "a string without an end");
}

static bool skip_digits(struct scan *s)
{
	const char *start = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > start;
}

static int scan_number(struct scan *s)
{
	const char *start = s->at;
	char copy[NUMBER_TEXT_MAX];
	bool whole = true;
	int64_t value;
	size_t len;

	take(s, '-');
	if (!take(s, '0') && !skip_digits(s))
		return wrong(s, "a value was expected");
	if (take(s, '.')) {
		whole = false;
		if (!skip_digits(s))
			return wrong(s, "a digit was expected");
	}
	if (take(s, 'e') || take(s, 'E')) {
		whole = false;
		if (!take(s, '+'))
			take(s, '-');
		if (!skip_digits(s))
			return wrong(s, "a digit was expected");
	}

	len = (size_t)(s->at - start);
	s->at = start;
	if (len >= sizeof(copy))
		return wrong(s, "a number of more than 63 characters");
	memcpy(copy, start, len);
	copy[len] = '\0';
	if (whole && text_int(copy, -EXACT_INTEGER_MAX, EXACT_INTEGER_MAX, &value) < 0)
		return wrong(s, "a whole number beyond 2^53");
	if (!isfinite(strtod(copy, NULL)))
		return wrong(s, "a number that is too large");
	s->at = start + len;
	return 0;
}

static int scan_word(struct scan *s, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
		return wrong(s, "a value was expected");
	s->at += len;
	return 0;
}

/* The rest of an array or object, behind its opening bracket. */
static int scan_members(struct scan *s, bool keys, char close)
{
	int err;

	skip_spaces(s);
	if (take(s, close))
		return 0;
	do {
		skip_spaces(s);
		if (keys) {
			err = scan_string(s);
			if (err < 0)
				return err;
			skip_spaces(s);
			if (!take(s, ':'))
				return wrong(s, "':' was expected");
		}
		err = scan_value(s);
		if (err < 0)
			return err;
	} while (take(s, ','));
	return take(s, close)
		       ? 0
		       : wrong(s, keys ? "',' or '}' was expected" : "',' or ']' was expected");
}

static int scan_nested(struct scan *s, bool keys, char close)
{
	int err;

	if (s->depth == DOCUMENT_DEPTH_MAX)
		return wrong(s, "nested too deep");
	s->depth++;
	s->at++;
	err = scan_members(s, keys, close);
	s->depth--;
	return err;
}

/* One value and the white space around it. */
static int scan_value(struct scan *s)
{
	int err;

	skip_spaces(s);
	if (s->values++ == DOCUMENT_VALUES_MAX)
		return wrong(s, "more values than a document may have");
	switch (peek(s)) {
	case '{':
		err = scan_nested(s, true, '}');
		break;
	case '[':
		err = scan_nested(s, false, ']');
		break;
	case '"':
		err = scan_string(s);
		break;
	case 't':
		err = scan_word(s, "true");
		break;
	case 'f':
		err = scan_word(s, "false");
		break;
	case 'n':
		err = scan_word(s, "null");
		break;
	default:
		err = scan_number(s);
		break;
	}
	skip_spaces(s);
	return err;
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void free_keys(const char ***keys)
{
	free(*keys);
}

static int check_keys(const cJSON *object, struct fault *why)
{
	int count = cJSON_GetArraySize(object);
	__attribute__((cleanup(free_keys))) const char **keys = NULL;
	const cJSON *member;
	int n = 0;

	if (count < 2)
		return 0;
	keys = calloc((size_t)count, sizeof(*keys));
	if (!keys)
		return fault_errno(why, "read the document", NULL, ENOMEM);
	cJSON_ArrayForEach(member, object) keys[n++] = member->string;
	qsort(keys, (size_t)n, sizeof(*keys), compare_keys);
	for (int i = 1; i < n; i++) {
		if (strcmp(keys[i - 1], keys[i]) != 0)
			continue;
		fault_join(why, "key '", keys[i], "' is there twice in one object", NULL);
		return -EINVAL;
	}
	return 0;
}

/* The scan has bounded the depth. */
static int check_all_keys(const cJSON *value, struct fault *why)
{
	const cJSON *member;
	int err = cJSON_IsObject(value) ? check_keys(value, why) : 0;

	if (err < 0)
		return err;
	cJSON_ArrayForEach(member, value)
	{
		err = check_all_keys(member, why);
		if (err < 0)
			return err;
	}
	return 0;
}

int fault_place(struct fault *why, size_t line, size_t column, const char *problem)
{
	char place[64];
	struct text t = TEXT_BUF(place);

	text_add(&t, "line ");
	text_add_int(&t, (int64_t)line);
	text_add(&t, ", column ");
	text_add_int(&t, (int64_t)column);
	text_add(&t, ": ");
	fault_join(why, place, problem, NULL);
	return -EINVAL;
}

int json_tree(const char *text, size_t len, cJSON **ret, struct fault *why)
{
	struct scan s = { .text = text, .at = text, .end = text + len, .why = why };
	cJSON *tree;
	int err;

	err = scan_value(&s);
	if (err < 0)
		return err;
	if (s.at < s.end)
		return wrong(&s, "something follows the document");
	tree = cJSON_ParseWithLength(text, len);
	if (!tree)
		return fault_errno(why, "read the document", NULL, ENOMEM);
	err = check_all_keys(tree, why);
	if (err < 0) {
		cJSON_Delete(tree);
		return err;
	}
	*ret = tree;
	return 0;
}
