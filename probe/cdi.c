#include "probe/cdi.h"

#include <string.h>

#include "kabi/text.h"

struct spec {
	char *kind; /* the caller's buffer, "" until found */
	size_t size;
	bool has_all;
};

static void take_kind(struct spec *s, const char *kind)
{
	if (!strchr(kind, '/') || s->kind[0])
		return;
	if (!text_copy(s->kind, s->size, kind))
		s->kind[0] = '\0';
}

/* ---- YAML, line by line ---- */

static void trim_end(char *s)
{
	size_t len = strlen(s);

	while (len > 0 && strchr(" \t\r", s[len - 1]))
		s[--len] = '\0';
}

/* The value after "key:": without spaces around it, quotes, or a comment behind it. */
static char *yaml_value(char *s)
{
	char *end;

	s += strspn(s, " \t");
	if (*s == '"' || *s == '\'') {
		end = strchr(s + 1, *s);
		if (end)
			*end = '\0';
		return s + 1;
	}
	end = strstr(s, " #");
	if (end)
		*end = '\0';
	trim_end(s);
	return s;
}

static void yaml_line(struct spec *s, char *line)
{
	if (text_starts(line, "kind:")) {
		take_kind(s, yaml_value(line + strlen("kind:")));
		return;
	}
	line += strspn(line, " \t");
	if (*line == '-')
		line += 1 + strspn(line + 1, " \t");
	if (text_starts(line, "name:") && strcmp(yaml_value(line + strlen("name:")), "all") == 0)
		s->has_all = true;
}

/* ---- JSON: {"kind": K, "devices": [{"name": N, …}, …], …} ---- */

#define KIND_DEPTH 1 /* braces and brackets around the key */
#define NAME_DEPTH 3

/* Cut out the string that starts behind the quote at *cursor. Only "\/" is decoded: neither a kind
 * nor the name "all" needs another escape, and a text that has one is not what we look for. NULL
 * when it does not end.
 */
static const char *json_string(char **cursor)
{
	char *from = *cursor + 1;
	char *start = from;
	char *to = from;

	while (*from && *from != '"') {
		if (*from == '\\' && from[1] == '/')
			from++;
		else if (*from == '\\' && from[1])
			*to++ = *from++;
		*to++ = *from++;
	}
	if (!*from)
		return NULL;
	*cursor = from + 1;
	*to = '\0';
	return start;
}

static char *skip_space(char *s)
{
	return s + strspn(s, " \t\r\n");
}

static void json_member(struct spec *s, const char *key, const char *value, int depth)
{
	if (depth == KIND_DEPTH && strcmp(key, "kind") == 0)
		take_kind(s, value);
	else if (depth == NAME_DEPTH && strcmp(key, "name") == 0 && strcmp(value, "all") == 0)
		s->has_all = true;
}

/* A string, and the string it is the key of, if it is one. Returns false at the end of the text. */
static bool json_strings(struct spec *s, char **cursor, int depth)
{
	const char *key = json_string(cursor);
	const char *value;
	char *next;

	if (!key)
		return false;
	next = skip_space(*cursor);
	if (*next != ':')
		return true;
	next = skip_space(next + 1);
	*cursor = next;
	if (*next != '"')
		return true;
	value = json_string(cursor);
	if (value)
		json_member(s, key, value, depth);
	return value;
}

static void json_scan(struct spec *s, char *cursor)
{
	int depth = 0;

	while (*cursor) {
		switch (*cursor) {
		case '"':
			if (!json_strings(s, &cursor, depth))
				return;
			continue;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			depth--;
			break;
		default:
			break;
		}
		cursor++;
	}
}

bool cdi_scan(char *text, char *buf, size_t size)
{
	struct spec s = { .kind = buf, .size = size };
	char *start = skip_space(text);
	char *line;

	buf[0] = '\0';
	if (*start == '{')
		json_scan(&s, start);
	else
		while ((line = text_line(&text)))
			yaml_line(&s, line);
	if (!s.has_all)
		buf[0] = '\0';
	return buf[0] != '\0';
}
