#include "launch/json.h"

#include <errno.h>
#include <string.h>

#include "kabi/text.h"

int json_syntax(const struct json *j, const char *what)
{
	char number[24];
	struct text t = TEXT_BUF(number);

	text_add_int(&t, j->at - j->start);
	fault_join(j->why, "not JSON at byte ", number, ": ", what, NULL);
	return -EINVAL;
}

char json_peek(struct json *j)
{
	while (j->at < j->end &&
	       (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
		j->at++;
	return j->at < j->end ? *j->at : '\0';
}

bool json_take(struct json *j, char c)
{
	if (json_peek(j) != c || j->at == j->end)
		return false;
	j->at++;
	return true;
}

bool json_word(struct json *j, const char *word)
{
	size_t len = strlen(word);

	json_peek(j);
	if ((size_t)(j->end - j->at) < len || memcmp(j->at, word, len) != 0)
		return false;
	j->at += len;
	return true;
}

/* Four hexadecimal digits. */
static int read_unit(struct json *j, uint32_t *ret)
{
	char digits[5];
	uint64_t value;

	if (j->end - j->at < 4)
		return json_syntax(j, "a \\u escape is cut short");
	memcpy(digits, j->at, 4);
	digits[4] = '\0';
	if (strlen(digits) != 4 || text_uint(digits, 16, 0xffff, &value) < 0)
		return json_syntax(j, "a \\u escape needs four hexadecimal digits");
	j->at += 4;
	*ret = (uint32_t)value;
	return 0;
}

/* What follows \u: one unit, or two that make a surrogate pair. */
static int read_unicode(struct json *j, char **out)
{
	uint32_t c;
	uint32_t low;
	int r;

	r = read_unit(j, &c);
	if (r < 0)
		return r;
	if (c == 0)
		return json_syntax(j, "a string has a NUL character");
	if (c >= 0xd800 && c <= 0xdbff) {
		if (j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
			return json_syntax(j, "half a surrogate pair");
		j->at += 2;
		r = read_unit(j, &low);
		if (r < 0)
			return r;
		if (low < 0xdc00 || low > 0xdfff)
			return json_syntax(j, "half a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	} else if (c >= 0xdc00 && c <= 0xdfff) {
		return json_syntax(j, "half a surrogate pair");
	}
	*out += utf8_put(c, *out);
	return 0;
}

/* What follows a backslash. The shortest escape is longer than what it stands for. */
static int read_escape(struct json *j, char **out)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char c;

	if (j->at == j->end)
		return json_syntax(j, "a string does not end");
	c = *j->at;
	if (c == 'u') {
		j->at++;
		return read_unicode(j, out);
	}
	found = memchr(from, c, sizeof(from) - 1);
	if (!found)
		return json_syntax(j, "an unknown escape");
	j->at++;
	*(*out)++ = to[found - from];
	return 0;
}

static int read_character(struct json *j, char **out)
{
	unsigned char c = (unsigned char)*j->at;
	size_t n;

	if (c == '\\') {
		j->at++;
		return read_escape(j, out);
	}
	if (c < 0x20)
		return json_syntax(j, "a control character in a string");
	n = utf8_sequence(j->at, (size_t)(j->end - j->at));
	if (n == 0)
		return json_syntax(j, "not UTF-8");
	while (n-- > 0)
		*(*out)++ = *j->at++;
	return 0;
}

int json_string(struct json *j, char **ret)
{
	char *start;
	char *out;

	if (!json_take(j, '"'))
		return json_syntax(j, "a string is expected");
	start = out = j->at;
	while (j->at < j->end && *j->at != '"') {
		int r = read_character(j, &out);

		if (r < 0)
			return r;
	}
	if (j->at == j->end)
		return json_syntax(j, "a string does not end");
	j->at++;
	*out = '\0';
	*ret = start;
	return 0;
}

int json_uint(struct json *j, uint64_t max, uint64_t *ret)
{
	char digits[24];
	size_t len = 0;
	char c = json_peek(j);

	if (c != '-' && (c < '0' || c > '9'))
		return -EINVAL;
	while (j->at < j->end && strchr("+-.eE0123456789", *j->at) && *j->at) {
		if (len == sizeof(digits) - 1)
			return -ERANGE;
		digits[len++] = *j->at++;
	}
	digits[len] = '\0';
	if (len > 1 && digits[0] == '0')
		return -ERANGE;
	return text_uint(digits, 10, max, ret) < 0 ? -ERANGE : 0;
}

bool json_nothing(struct json *j)
{
	if (json_word(j, "null") || json_word(j, "false"))
		return true;
	if (json_take(j, '"'))
		return j->at < j->end && *j->at++ == '"';
	if (json_take(j, '['))
		return json_take(j, ']');
	return json_take(j, '{') && json_take(j, '}');
}
