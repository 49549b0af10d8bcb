#include "kabi/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/text.h"

#define KEY_MAX 1200

const char *rows_find(const struct rows *r, const char *call, const char *a, const char *b)
{
	char key[KEY_MAX];
	struct text t = TEXT_BUF(key);

	text_add(&t, call);
	if (a) {
		text_add(&t, " ");
		text_add(&t, a);
	}
	if (b) {
		text_add(&t, " ");
		text_add(&t, b);
	}
	for (size_t i = 0; !t.cut && i < r->count; i++)
		if (strcmp(r->row[i].key, key) == 0)
			return r->row[i].answer;
	return NULL;
}

int rows_number(const char *answer, int64_t *ret)
{
	uint64_t value;

	if (text_int(answer, INT64_MIN + 1, INT64_MAX, ret) == 0)
		return 0;
	if (text_starts(answer, "0x") && text_uint(answer + 2, 16, INT64_MAX, &value) == 0) {
		*ret = (int64_t)value;
		return 0;
	}
	if (!errno_from_name(answer))
		return -EINVAL;
	*ret = -errno_from_name(answer);
	return 0;
}

static void line_number(char buf[24], int64_t at)
{
	struct text t = text_start(buf, 24);

	text_add_int(&t, at);
}

int rows_parse(struct rows *r, char *text, const char *name, struct fault *why)
{
	size_t lines = 1;
	char *cursor = text;
	char *line;
	int64_t at = 0;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	r->text = text;
	r->row = calloc(lines, sizeof(*r->row));
	if (!r->row)
		return fault_errno(why, "read", name, ENOMEM);

	while ((line = text_line(&cursor))) {
		char *equals = strstr(line, " =");
		char where[24];

		at++;
		if (!*line || *line == '#')
			continue;
		if (!equals || (equals[2] && equals[2] != ' ')) {
			line_number(where, at);
			fault_join(why, "'", name, "' line ", where,
				   ": not 'call operands = answer'", NULL);
			return -EINVAL;
		}
		*equals = '\0';
		r->row[r->count++] = (struct row){ line, equals[2] ? equals + 3 : "" };
	}
	return 0;
}

void rows_free(struct rows *r)
{
	free(r->row);
	free(r->text);
	*r = (struct rows){ 0 };
}
