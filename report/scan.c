#include "report/scan.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "kabi/text.h"
#include "report/strict_json.h"

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

static bool wrong(struct scan *s, const char *problem)
{
	if (!s->problem)
		s->problem = s->at >= s->end ? "the text ends in the middle" : problem;
	return false;
}

static inline void spaces(struct scan *s)
{
	while (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r')
		s->at++;
}

struct scan scan_start(const char *text, size_t len)
{
	struct scan s = { .text = text, .at = text, .end = text + len };

	spaces(&s);
	return s;
}

/* ---- strings ---- */

/* How many of the eight bytes at `at` are, from the first, neither a quote nor a backslash nor a
 * control character nor beyond ASCII. A borrow may mark a byte above a true one, never below it.
 */
static inline unsigned plain(const char *at)
{
	uint64_t w, marks;

	memcpy(&w, at, sizeof(w));
	w = le64toh(w);
	marks = ((w ^ ONES * '"') - ONES) | ((w ^ ONES * '\\') - ONES) | (w - ONES * 0x20) | w;
	marks &= HIGHS;
	return marks ? (unsigned)__builtin_ctzll(marks) / 8 : 8;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits at `at`, or -1. */
static long hex4(const char *at)
{
	long value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(at[i]);

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/* Pass the escape at the backslash. Surrogates must come in pairs. */
static bool skip_escape(struct scan *s)
{
	long unit;

	if (s->at[1] != 'u') {
		if (!s->at[1] || !strchr("\"\\/bfnrt", s->at[1]))
			return wrong(s, "there is no such escape");
		s->at += 2;
		return true;
	}
	unit = hex4(s->at + 2);
	if (unit < 0)
		return wrong(s, "\\u needs four hexadecimal digits");
	if (unit >= 0xdc00 && unit <= 0xdfff)
		return wrong(s, "a surrogate without its other half");
	s->at += 6;
	if (unit < 0xd800 || unit > 0xdbff)
		return true;
	if (s->at[0] != '\\' || s->at[1] != 'u')
		return wrong(s, "a surrogate without its other half");
	unit = hex4(s->at + 2);
	if (unit < 0xdc00 || unit > 0xdfff)
		return wrong(s, "a surrogate without its other half");
	s->at += 6;
	return true;
}

/* From behind the opening quote to behind the closing one. */
static bool pass_string(struct scan *s)
{
	for (;;) {
		unsigned char c;
		unsigned n;

		while ((n = plain(s->at)) == 8)
			s->at += 8;
		s->at += n;
		c = (unsigned char)*s->at;
		if (c == '"') {
			s->at++;
			return true;
		}
		if (c == '\\') {
			if (!skip_escape(s))
				return false;
		} else if (c >= 0x80) {
			size_t len = utf8_sequence(s->at, (size_t)(s->end - s->at));

			if (len == 0)
				return wrong(s, "not UTF-8");
			s->at += len;
		} else {
			return wrong(s, "a control character in a string");
		}
	}
}

/* ---- numbers and words ---- */

static bool digits(struct scan *s)
{
	if (*s->at < '0' || *s->at > '9')
		return wrong(s, "a digit is missing");
	while (*s->at >= '0' && *s->at <= '9')
		s->at++;
	return true;
}

static bool pass_number(struct scan *s)
{
	s->at += *s->at == '-';
	if (*s->at == '0')
		s->at++;
	else if (!digits(s))
		return false;
	if (*s->at == '.') {
		s->at++;
		if (!digits(s))
			return false;
	}
	if (*s->at == 'e' || *s->at == 'E') {
		s->at++;
		s->at += *s->at == '+' || *s->at == '-';
		return digits(s);
	}
	return true;
}

static bool pass_word(struct scan *s, const char *word, size_t len)
{
	if (strncmp(s->at, word, len) != 0)
		return wrong(s, "a value was expected");
	s->at += len;
	return true;
}

static bool pass_scalar(struct scan *s)
{
	switch (*s->at) {
	case '"':
		s->at++;
		return pass_string(s);
	case 't':
		return pass_word(s, "true", 4);
	case 'f':
		return pass_word(s, "false", 5);
	case 'n':
		return pass_word(s, "null", 4);
	default:
		if (*s->at == '-' || (*s->at >= '0' && *s->at <= '9'))
			return pass_number(s);
		return wrong(s, "a value was expected");
	}
}

/* ---- structure ---- */

/* A key and its colon, up to the value. *ret is what stands between its quotes. */
static bool pass_key(struct scan *s, struct span *ret)
{
	const char *key = s->at + 1;

	if (*s->at != '"')
		return wrong(s, "a key was expected");
	s->at++;
	if (!pass_string(s))
		return false;
	*ret = (struct span){ key, (size_t)(s->at - 1 - key) };
	spaces(s);
	if (*s->at != ':')
		return wrong(s, "':' was expected");
	s->at++;
	spaces(s);
	return true;
}

/* Behind a value: leave every object and array that ends here. Returns with s->at at the next
 * value, or with *depth 0. Bit n of `objects` tells that the one at depth n + 1 is an object.
 */
static bool pass_ends(struct scan *s, unsigned *depth, uint64_t objects)
{
	while (*depth > 0) {
		bool object = objects >> (*depth - 1) & 1;

		spaces(s);
		if (*s->at == ',') {
			s->at++;
			spaces(s);
			return object ? pass_key(s, &(struct span){ 0 }) : true;
		}
		if (*s->at != (object ? '}' : ']'))
			return wrong(s, object ? "',' or '}' was expected"
					       : "',' or ']' was expected");
		s->at++;
		(*depth)--;
	}
	return true;
}

bool scan_skip(struct scan *s)
{
	uint64_t objects = 0;
	unsigned depth = 0;

	if (s->problem)
		return false;
	do {
		if (*s->at == '{' || *s->at == '[') {
			bool object = *s->at == '{';

			if (s->depth + depth == SCAN_DEPTH_MAX)
				return wrong(s, "too many levels");
			objects &= ~(1ULL << depth);
			objects |= (uint64_t)object << depth++;
			s->at++;
			spaces(s);
			if (*s->at != (object ? '}' : ']')) {
				if (object && !pass_key(s, &(struct span){ 0 }))
					return false;
				continue;
			}
			s->at++;
			depth--;
		} else if (!pass_scalar(s)) {
			return false;
		}
		if (!pass_ends(s, &depth, objects))
			return false;
	} while (depth > 0);
	return true;
}

static bool enter(struct scan *s, char open)
{
	if (s->problem)
		return false;
	spaces(s);
	if (*s->at != open) {
		scan_skip(s);
		return false;
	}
	if (s->depth == SCAN_DEPTH_MAX)
		return wrong(s, "too many levels");
	s->depth++;
	s->at++;
	return true;
}

bool scan_enter_object(struct scan *s)
{
	return enter(s, '{');
}

bool scan_enter_array(struct scan *s)
{
	return enter(s, '[');
}

/* To the next member; false at the end, which is passed. Behind the opening bracket there is none
 * before it, behind a member a comma.
 */
static bool next(struct scan *s, char open, char close)
{
	bool first;

	if (s->problem)
		return false;
	first = s->at[-1] == open;
	spaces(s);
	if (*s->at == close) {
		s->at++;
		s->depth--;
		return false;
	}
	if (!first) {
		if (*s->at != ',')
			return wrong(s, "',' or the end was expected");
		s->at++;
		spaces(s);
	}
	return true;
}

bool scan_key(struct scan *s, struct span *ret)
{
	return next(s, '{', '}') && pass_key(s, ret);
}

bool scan_element(struct scan *s)
{
	return next(s, '[', ']');
}

/* ---- values ---- */

bool scan_string(struct scan *s, struct span *ret)
{
	const char *start = s->at + 1;

	if (s->problem)
		return false;
	if (*s->at != '"') {
		scan_skip(s);
		return false;
	}
	s->at++;
	if (!pass_string(s))
		return false;
	*ret = (struct span){ start, (size_t)(s->at - 1 - start) };
	return true;
}

bool scan_integer(struct scan *s, long *ret)
{
	const char *start = s->at;
	char buf[24];
	int64_t value;
	size_t len;

	if (!scan_skip(s))
		return false;
	len = (size_t)(s->at - start);
	if (len >= sizeof(buf))
		return false;
	memcpy(buf, start, len);
	buf[len] = '\0';
	if (text_int(buf, -EXACT_INTEGER_MAX, EXACT_INTEGER_MAX, &value) < 0)
		return false;
	*ret = value;
	return true;
}

bool scan_finish(struct scan *s)
{
	if (s->problem)
		return false;
	spaces(s);
	return s->at >= s->end || wrong(s, "something follows the value");
}

/* ---- spans ---- */

/* The character of an escape at `at`, whose length goes to *ret_len. */
static uint32_t escape_value(const char *at, size_t *ret_len)
{
	static const char letters[] = "bfnrt";
	static const char values[] = "\b\f\n\r\t";
	const char *letter;
	long unit;

	*ret_len = 2;
	if (at[1] != 'u') {
		letter = strchr(letters, at[1]);
		return (unsigned char)(letter ? values[letter - letters] : at[1]);
	}
	*ret_len = 6;
	unit = hex4(at + 2);
	if (unit == 0)
		return 0xfffd;
	if (unit < 0xd800 || unit > 0xdbff)
		return (uint32_t)unit;
	*ret_len = 12;
	return 0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(hex4(at + 8) - 0xdc00);
}

/* The longest start of at[0..len) that fits into `room` bytes and cuts no character. */
static size_t fitting(const char *at, size_t len, size_t room)
{
	if (len <= room)
		return len;
	while (room > 0 && ((unsigned char)at[room] & 0xc0) == 0x80)
		room--;
	return room;
}

void span_copy(const struct span *span, char *buf, size_t size)
{
	const char *end = span->at + span->len;
	const char *at = span->at;
	size_t used = 0;
	bool fits = true;

	while (at < end && fits) {
		const char *escape = memchr(at, '\\', (size_t)(end - at));
		size_t len = (size_t)((escape ? escape : end) - at);
		size_t n = fitting(at, len, size - 1 - used);
		char bytes[4];
		size_t taken;

		memcpy(buf + used, at, n);
		used += n;
		at += len;
		fits = n == len;
		if (!escape || !fits)
			continue;
		n = utf8_put(escape_value(at, &taken), bytes);
		fits = used + n < size;
		if (fits)
			memcpy(buf + used, bytes, n);
		used += fits ? n : 0;
		at += taken;
	}
	buf[used] = '\0';
}

bool span_is(const struct span *span, const char *text)
{
	char buf[128];

	if (!memchr(span->at, '\\', span->len))
		return strlen(text) == span->len && memcmp(span->at, text, span->len) == 0;
	span_copy(span, buf, sizeof(buf));
	return strcmp(buf, text) == 0;
}

void scan_fault(const struct scan *s, struct fault *why)
{
	size_t line = 1;
	size_t column = 1;

	for (const char *c = s->text; c < s->at; c++) {
		column += ((unsigned char)*c & 0xc0) != 0x80;
		if (*c == '\n') {
			line++;
			column = 1;
		}
	}
	fault_place(why, line, column, s->problem);
}
