#include "kabi/text.h"

#include <errno.h>
#include <string.h>

struct text text_start(char *buf, size_t size)
{
	if (size > 0)
		buf[0] = '\0';
	return (struct text){ .buf = buf, .size = size };
}

void text_add_bytes(struct text *t, const char *s, size_t len)
{
	size_t room = t->size > t->len ? t->size - t->len - 1 : 0;

	if (t->size == 0 || t->cut)
		return;
	if (len > room) {
		t->cut = true;
		len = room;
	}
	memcpy(t->buf + t->len, s, len);
	t->len += len;
	t->buf[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

static void add_digits(struct text *t, uint64_t value, unsigned base)
{
	static const char digits[] = "0123456789abcdef";
	char buf[20];
	size_t at = sizeof(buf);

	do {
		buf[--at] = digits[value % base];
		value /= base;
	} while (value > 0);
	text_add_bytes(t, buf + at, sizeof(buf) - at);
}

void text_add_int(struct text *t, int64_t value)
{
	if (value < 0)
		text_add(t, "-");
	add_digits(t, value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
}

void text_add_hex(struct text *t, uint64_t value)
{
	text_add(t, "0x");
	add_digits(t, value, 16);
}

bool text_copy(char *buf, size_t size, const char *s)
{
	struct text t = text_start(buf, size);

	text_add(&t, s);
	return size > 0 && !t.cut;
}

int text_uint(const char *s, unsigned base, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		unsigned digit;

		if (*s >= '0' && *s <= '9')
			digit = (unsigned)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			digit = (unsigned)(*s - 'a') + 10;
		else if (*s >= 'A' && *s <= 'F')
			digit = (unsigned)(*s - 'A') + 10;
		else
			return -EINVAL;
		if (digit >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return -ERANGE;
	}
	if (value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

int text_int(const char *s, int64_t min, int64_t max, int64_t *ret)
{
	bool negative = *s == '-';
	uint64_t size;
	int64_t value;
	int r;

	r = text_uint(negative ? s + 1 : s, 10, (uint64_t)INT64_MAX, &size);
	if (r < 0)
		return r;
	value = negative ? -(int64_t)size : (int64_t)size;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

static bool continues(const char *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return false;
	return true;
}

size_t utf8_sequence(const char *s, size_t len)
{
	unsigned char c;
	unsigned char next;
	size_t n;

	if (len == 0)
		return 0;
	c = (unsigned char)s[0];
	if (c < 0x80)
		return 1;
	n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
	if (c < 0xc2 || c > 0xf4 || len < n || !continues(s, n))
		return 0;

	next = (unsigned char)s[1];
	if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next > 0x9f) ||
	    (c == 0xf0 && next < 0x90) || (c == 0xf4 && next > 0x8f))
		return 0;
	return n;
}

struct utf8 utf8_next(const char *s)
{
	size_t n = utf8_sequence(s, strnlen(s, 4));

	if (n == 0)
		return (struct utf8){ .bytes = "\xef\xbf\xbd", .len = 3, .taken = 1 };
	return (struct utf8){ .bytes = s, .len = n, .taken = n };
}

/* Controls above ASCII: U+0080 to U+009F, ends of lines, and marks that turn the order of what is
 * shown around, so that a text could look like another.
 */
static bool is_control(const char *s, size_t n)
{
	unsigned char second = n > 1 ? (unsigned char)s[1] : 0;
	unsigned char third = n > 2 ? (unsigned char)s[2] : 0;

	switch ((unsigned char)s[0]) {
	case 0xc2:
		return second < 0xa0;
	case 0xd8: /* U+061C */
		return second == 0x9c;
	case 0xe2: /* U+200E, U+200F, U+2028 to U+202E; U+2066 to U+2069 */
		return (second == 0x80 &&
			(third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae))) ||
		       (second == 0x81 && third >= 0xa6 && third <= 0xa9);
	default:
		return false;
	}
}

void text_add_shown(struct text *t, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	size_t len = strlen(s);

	while (len > 0) {
		size_t n = utf8_sequence(s, len);
		unsigned char c = (unsigned char)*s;

		if (n == 0 || c < 0x20 || c == 0x7f || (n > 1 && is_control(s, n))) {
			char escaped[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

			text_add_bytes(t, escaped, sizeof(escaped));
			n = 1;
		} else {
			text_add_bytes(t, s, n);
		}
		s += n;
		len -= n;
	}
}

void text_add_json(struct text *t, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	size_t left = strlen(s);

	text_add(t, "\"");
	while (left > 0) {
		size_t n = utf8_sequence(s, left);
		unsigned char c = (unsigned char)*s;
		const char code[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15], '\0' };

		if (n == 0)
			text_add(t, "\\ufffd");
		else if (c < ' ' || c == 0x7f)
			text_add(t, code);
		else if (c == '"' || c == '\\')
			text_add(t, c == '"' ? "\\\"" : "\\\\");
		else
			text_add_bytes(t, s, n);
		s += n ? n : 1;
		left -= n ? n : 1;
	}
	text_add(t, "\"");
}

size_t utf8_put(uint32_t c, char out[4])
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	/* The first byte begins with as many bits as there are bytes, and a 0. */
	out[0] = (char)(n == 1 ? c : (0xf00U >> n & 0xff) | c);
	return n;
}

char *text_line(char **cursor)
{
	char *line = *cursor;
	char *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end++ = '\0';
	*cursor = end;
	return line;
}

char *text_word(char **cursor)
{
	char *word = *cursor;
	char *end;

	if (!word)
		return NULL;
	word += strspn(word, " \t");
	if (!*word)
		return NULL;
	end = word + strcspn(word, " \t");
	*cursor = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

bool text_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s);
	size_t n = strlen(suffix);

	return len >= n && strcmp(s + len - n, suffix) == 0;
}

bool text_in_list(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, word, len) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}
