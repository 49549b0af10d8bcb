#include "report/layout.h"

#include <stdlib.h>
#include <string.h>

#include "kabi/text.h"

static const char *ink_code(enum ink ink)
{
	switch (ink) {
	case INK_PLAIN:
		return "";
	case INK_BOLD:
		return "\033[1m";
	case INK_DIM:
		return "\033[2m";
	case INK_GREEN:
		return "\033[32m";
	case INK_YELLOW:
		return "\033[33m";
	case INK_RED:
		return "\033[31m";
	}
	return "";
}

static void put(const struct layout *l, enum ink ink, const char *text, size_t len)
{
	bool coloured = l->colour && ink != INK_PLAIN;

	fprintf(l->out, "%s%.*s%s", coloured ? ink_code(ink) : "", (int)len, text,
		coloured ? "\033[0m" : "");
}

/* Characters, as a terminal counts them for the scripts that machines name themselves in. */
static int columns(const char *text, size_t len)
{
	int n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* Put `text` from column `at`, breaking at spaces; a word longer than a line stays whole. */
static void wrap(const struct layout *l, enum ink ink, int indent, int at, const char *text)
{
	bool first = true;

	while (*text) {
		size_t len;
		int width;

		text += strspn(text, " ");
		len = strcspn(text, " ");
		width = columns(text, len);
		if (len == 0)
			break;
		if (!first && at + 1 + width > LAYOUT_COLUMNS) {
			fprintf(l->out, "\n%*s", indent, "");
			at = indent;
			first = true;
		}
		if (!first)
			fputc(' ', l->out);
		at += width + !first;
		put(l, ink, text, len);
		first = false;
		text += len;
	}
	fputc('\n', l->out);
}

/* A copy that is safe to show, to be freed; NULL without memory. */
static char *shown(const char *text)
{
	size_t size = strlen(text) * 4 + 1;
	char *copy = malloc(size);

	if (copy) {
		struct text t = text_start(copy, size);

		text_add_shown(&t, text);
	}
	return copy;
}

void layout_heading(const struct layout *l, const char *text)
{
	fputc('\n', l->out);
	put(l, INK_BOLD, text, strlen(text));
	fputc('\n', l->out);
}

void layout_row(const struct layout *l, enum ink ink, const char *mark, const char *label,
		int width, const char *text)
{
	char *safe_label = shown(label);
	char *safe_text = shown(text);
	int at = 2;

	if (safe_label && safe_text) {
		fputs("  ", l->out);
		put(l, ink, mark, strlen(mark));
		at += columns(mark, strlen(mark));
		if (*mark) {
			fputc(' ', l->out);
			at++;
		}
		fputs(safe_label, l->out);
		at += columns(safe_label, strlen(safe_label));
		if (at >= width && *safe_text)
			fprintf(l->out, "\n%*s", width, "");
		else if (*safe_text)
			fprintf(l->out, "%*s", width - at, "");
		wrap(l, INK_PLAIN, width, width, safe_text);
	} else {
		fputs("  (out of memory)\n", l->out);
	}
	free(safe_label);
	free(safe_text);
}

void layout_text(const struct layout *l, enum ink ink, int indent, const char *text)
{
	char *safe = shown(text);

	fprintf(l->out, "%*s", indent, "");
	wrap(l, ink, indent, indent, safe ? safe : "(out of memory)");
	free(safe);
}

void layout_fix(const struct layout *l, int width, const char *text)
{
	static const char prefix[] = "fix: ";
	size_t size = sizeof(prefix) + strlen(text);
	char *line = *text ? malloc(size) : NULL;
	struct text t;

	if (!*text)
		return;
	if (line) {
		t = text_start(line, size);
		text_add(&t, prefix);
		text_add(&t, text);
	}
	layout_text(l, INK_DIM, width, line ? line : "(out of memory)");
	free(line);
}
