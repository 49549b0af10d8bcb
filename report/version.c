#include "report/version.h"

#include <errno.h>
#include <string.h>

#include "kabi/text.h"

#define DIGITS "0123456789"
#define WORD DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static const struct {
	const char *text;
	enum version_op op;
} operators[] = {
	/* A longer one before its own start. */
	{ "==", VERSION_EQUAL },   { "!=", VERSION_UNEQUAL },	 { ">=", VERSION_AT_LEAST },
	{ "<=", VERSION_AT_MOST }, { "~=", VERSION_SAME_MINOR }, { ">", VERSION_ABOVE },
	{ "<", VERSION_BELOW },	   { "^", VERSION_SAME_MAJOR },	 { "", VERSION_EQUAL },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int read_number(const char **at, uint32_t *ret)
{
	uint32_t value = 0;

	for (; is_digit(**at); (*at)++)
		if (__builtin_mul_overflow(value, 10U, &value) ||
		    __builtin_add_overflow(value, (uint32_t)(**at - '0'), &value))
			return -EINVAL;
	*ret = value;
	return 0;
}

/* Read numbers with single dots between them; *at is left behind the last number. */
static int read_parts(const char **at, struct version *ret)
{
	struct version v = { 0 };
	unsigned n = 0;

	if (!is_digit(**at))
		return -EINVAL;
	for (;;) {
		uint32_t number;

		if (read_number(at, &number) < 0)
			return -EINVAL;
		if (n < VERSION_PARTS)
			v.part[n++] = number;
		if ((*at)[0] != '.' || !is_digit((*at)[1]))
			break;
		(*at)++;
	}
	*ret = v;
	return 0;
}

static enum version_op read_operator(const char **at)
{
	size_t i = 0;

	while (!text_starts(*at, operators[i].text))
		i++;
	*at += strlen(operators[i].text);
	return operators[i].op;
}

static void skip_spaces(const char **at)
{
	*at += strspn(*at, " \t");
}

static bool clause_holds(const struct version_clause *clause, const struct version *v)
{
	const struct version *want = &clause->version;
	int order = version_compare(v, want);

	switch (clause->op) {
	case VERSION_NEVER:
		return false;
	case VERSION_EQUAL:
		return order == 0;
	case VERSION_UNEQUAL:
		return order != 0;
	case VERSION_AT_LEAST:
		return order >= 0;
	case VERSION_ABOVE:
		return order > 0;
	case VERSION_AT_MOST:
		return order <= 0;
	case VERSION_BELOW:
		return order < 0;
	case VERSION_SAME_MINOR:
		return order >= 0 && v->part[0] == want->part[0] && v->part[1] == want->part[1];
	case VERSION_SAME_MAJOR:
		return order >= 0 && v->part[0] == want->part[0];
	}
	return false;
}

static bool clause_floor(const struct version_clause *clause, struct version *ret)
{
	switch (clause->op) {
	case VERSION_EQUAL:
	case VERSION_AT_LEAST:
	case VERSION_SAME_MINOR:
	case VERSION_SAME_MAJOR:
		*ret = clause->version;
		return true;
	case VERSION_ABOVE:
		*ret = clause->version;
		return !__builtin_add_overflow(ret->part[VERSION_PARTS - 1], 1U,
					       &ret->part[VERSION_PARTS - 1]);
	case VERSION_NEVER:
	case VERSION_UNEQUAL:
	case VERSION_AT_MOST:
	case VERSION_BELOW:
		break;
	}
	return false;
}

static bool read_tool_clause(const char **at)
{
	static const char *const ops[] = { "==", "!=", ">=", "<=", "~>", "=", ">", "<" };
	size_t i = 0;
	size_t n;

	skip_spaces(at);
	while (i < sizeof(ops) / sizeof(ops[0]) && !text_starts(*at, ops[i]))
		i++;
	if (i == sizeof(ops) / sizeof(ops[0]))
		return false;
	*at += strlen(ops[i]);
	skip_spaces(at);

	for (;;) {
		n = strspn(*at, DIGITS);
		if (n == 0)
			return false;
		*at += n;
		if (**at != '.' && **at != '_')
			break;
		(*at)++;
	}
	for (const char *mark = "-+"; *mark; mark++) {
		if (**at != *mark)
			continue;
		n = strspn(++*at, WORD ".-");
		if (n == 0)
			return false;
		*at += n;
	}
	skip_spaces(at);
	return true;
}

int version_read(const char *text, struct version *ret)
{
	return read_parts(&text, ret);
}

int version_compare(const struct version *a, const struct version *b)
{
	for (unsigned i = 0; i < VERSION_PARTS; i++)
		if (a->part[i] != b->part[i])
			return a->part[i] < b->part[i] ? -1 : 1;
	return 0;
}

int version_compare_texts(const char *a, const char *b)
{
	struct version x = { 0 };
	struct version y = { 0 };

	version_read(a, &x);
	version_read(b, &y);
	return version_compare(&x, &y);
}

void version_text(const struct version *v, char buf[VERSION_TEXT_MAX])
{
	struct text t = text_start(buf, VERSION_TEXT_MAX);

	text_add_int(&t, v->part[0]);
	text_add(&t, ".");
	text_add_int(&t, v->part[1]);
	if (v->part[2] == 0)
		return;
	text_add(&t, ".");
	text_add_int(&t, v->part[2]);
}

int version_range_parse(const char *text, struct version_range *ret, struct fault *why)
{
	struct version_range range = { 0 };
	const char *at = text;

	for (;;) {
		struct version_clause *clause = &range.clause[range.count];

		if (range.count == VERSION_CLAUSES_MAX) {
			fault_join(why, "'", text, "' has more than 8 comparisons", NULL);
			return -EINVAL;
		}
		skip_spaces(&at);
		clause->op = read_operator(&at);
		skip_spaces(&at);
		if (read_parts(&at, &clause->version) < 0)
			break;
		range.count++;
		skip_spaces(&at);
		if (!*at) {
			*ret = range;
			return 0;
		}
		if (*at++ != ',')
			break;
	}
	fault_join(why, "'", text, "' is not a version range such as '>=6.1,<7'", NULL);
	return -EINVAL;
}

bool version_in(const struct version_range *range, const char *version)
{
	struct version v;

	if (range->count == 0)
		return true;
	if (!version || version_read(version, &v) < 0)
		return false;
	for (unsigned i = 0; i < range->count; i++)
		if (!clause_holds(&range->clause[i], &v))
			return false;
	return true;
}

bool version_range_floor(const struct version_range *range, struct version *ret)
{
	bool found = false;

	for (unsigned i = 0; i < range->count; i++) {
		struct version v;

		if (!clause_floor(&range->clause[i], &v))
			continue;
		if (!found || version_compare(&v, ret) > 0)
			*ret = v;
		found = true;
	}
	return found;
}

bool tool_constraint_ok(const char *text)
{
	for (;;) {
		if (!read_tool_clause(&text))
			return false;
		if (!*text)
			return true;
		if (*text++ != ',')
			return false;
	}
}
