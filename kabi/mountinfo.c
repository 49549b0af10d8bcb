#include "kabi/mountinfo.h"

#include <stddef.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/text.h"

/* Some 100 bytes a mount: a node full of containers has thousands. */
#define MOUNTINFO_SIZE (1 << 20)

static bool octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The kernel writes space, tab, newline, backslash and '#' as a backslash and three octal digits.
 * A code for NUL, or for more than a byte, is not one of its own: it stays as it is.
 */
static void decode(char *s)
{
	char *to = s;

	while (*s) {
		unsigned value = 0;

		if (s[0] == '\\' && octal(s[1]) && octal(s[2]) && octal(s[3]))
			value = (unsigned)(s[1] - '0') << 6 | (unsigned)(s[2] - '0') << 3 |
				(unsigned)(s[3] - '0');
		if (value > 0 && value <= 0xff) {
			*to++ = (char)value;
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* Cut the next field off. Fields are separated by exactly one space: a source may be empty. */
static char *field(char **cursor)
{
	char *start = *cursor;
	char *end;

	if (!start)
		return NULL;
	end = strchr(start, ' ');
	if (end)
		*end++ = '\0';
	*cursor = end;
	return start;
}

/* Pass the optional fields ("shared:2 master:1"), of which there may be any number, and their end
 * mark "-". */
static bool pass_optional(char **cursor)
{
	const char *word;

	while ((word = field(cursor)))
		if (strcmp(word, "-") == 0)
			return true;
	return false;
}

static bool parse_line(char *line, struct mount *ret)
{
	char *cursor = line;
	const char *id = field(&cursor);
	const char *parent = field(&cursor);
	const char *device = field(&cursor);
	char *root = field(&cursor);
	char *point = field(&cursor);
	char *options = field(&cursor);
	char *type;
	char *source;
	char *super;
	struct mount m = { 0 };

	if (!options || !pass_optional(&cursor) || !device)
		return false;
	type = field(&cursor);
	source = field(&cursor);
	super = field(&cursor);
	if (!type || !*type || !source || point[0] != '/' || text_uint(id, 10, UINT64_MAX, &m.id) ||
	    text_uint(parent, 10, UINT64_MAX, &m.parent))
		return false;

	decode(root);
	decode(point);
	decode(source);
	m.root = root;
	m.point = point;
	m.options = options;
	m.type = type;
	m.source = source;
	m.super = super ? super : "";
	*ret = m;
	return true;
}

struct mountinfo mountinfo_start(char *text)
{
	return (struct mountinfo){ .cursor = text };
}

bool mountinfo_next(struct mountinfo *it, struct mount *ret)
{
	char *line;

	while ((line = text_line(&it->cursor))) {
		if (parse_line(line, ret))
			return true;
		it->skipped++;
	}
	return false;
}

int mountinfo_open(const struct kernel *k, struct mountinfo *ret)
{
	static char text[MOUNTINFO_SIZE];
	ssize_t n = file_read(k, "/proc/self/mountinfo", text, sizeof(text));

	if (n < 0)
		return (int)n;
	*ret = mountinfo_start(text);
	return 0;
}
