#include "probe/osrelease.h"

#include <string.h>

#include "kabi/lines.h"
#include "kabi/text.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* What a backslash stands before, inside double quotes, to be taken as itself. */
static bool is_escapable(char c)
{
	return c == '"' || c == '\\' || c == '$' || c == '`';
}

/* Undo the quoting in place. Spaces inside an unquoted value are kept, as careless files mean
 * them. Returns false when a quote is not closed.
 */
static bool unquote(char *s)
{
	char *out = s;
	char *kept = s; /* the end of what trailing spaces may be cut back to */
	char quote = '\0';

	while (is_space(*s))
		s++;
	for (; *s; s++) {
		if (!quote && *s == '#' && out > kept)
			break;
		if (!quote && (*s == '"' || *s == '\'')) {
			quote = *s;
		} else if (quote && *s == quote) {
			quote = '\0';
		} else if (*s == '\\' && quote != '\'' && s[1] && (!quote || is_escapable(s[1]))) {
			*out++ = *++s;
		} else {
			*out++ = *s;
			if (!quote && is_space(*s))
				continue;
		}
		kept = out;
	}
	*kept = '\0';
	return !quote;
}

void osrelease_line(struct osrelease *o, char *line)
{
	const struct {
		const char *name;
		char *value;
		size_t size;
	} known[] = {
		{ "ID", o->id, sizeof(o->id) },
		{ "VERSION_ID", o->version_id, sizeof(o->version_id) },
		{ "PRETTY_NAME", o->pretty_name, sizeof(o->pretty_name) },
	};
	char *value;

	while (is_space(*line))
		line++;
	value = strchr(line, '=');
	if (*line == '#' || !value)
		return;
	*value++ = '\0';
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].name, line) != 0)
			continue;
		if (unquote(value) && strlen(value) < known[i].size)
			text_copy(known[i].value, known[i].size, value);
		return;
	}
}

static bool each_line(void *arg, char *line)
{
	osrelease_line(arg, line);
	return true;
}

int osrelease_read(const struct kernel *k, struct osrelease *ret, const char **ret_path)
{
	static const char *const paths[] = { "/etc/os-release", "/usr/lib/os-release" };
	int r = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct osrelease o = { .id = "linux" };

		r = lines_read(k, paths[i], '\n', each_line, &o);
		if (r < 0)
			continue;
		*ret = o;
		*ret_path = paths[i];
		return 0;
	}
	return r;
}
