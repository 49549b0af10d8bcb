/* Laying text out for a terminal of 80 columns. */
#ifndef REPORT_LAYOUT_H
#define REPORT_LAYOUT_H

#include <stdbool.h>
#include <stdio.h>

#define LAYOUT_COLUMNS 80

enum ink {
	INK_PLAIN,
	INK_BOLD,
	INK_DIM,
	INK_GREEN,
	INK_YELLOW,
	INK_RED,
};

struct layout {
	FILE *out;
	bool colour;
};

/* A heading, bold, on a line of its own after an empty line. */
void layout_heading(const struct layout *l, const char *text);

/* `mark` in `ink` and `label`, padded to `width` columns, then `text` wrapped into the columns that
 * are left, further lines under its start. Control characters in any of them are written as \xNN.
 */
void layout_row(const struct layout *l, enum ink ink, const char *mark, const char *label,
		int width, const char *text);

/* What would change that, if anything: "fix: " and the text, below the texts of rows. */
void layout_fix(const struct layout *l, int width, const char *text);

/* `text` wrapped, indented by `indent`, in `ink`. */
void layout_text(const struct layout *l, enum ink ink, int indent, const char *text);

#endif
