#include "report/marks.h"

#include <string.h>

static const struct {
	enum ink ink;
	const char *mark;
} marks[] = {
	[STATUS_UNAVAILABLE] = { INK_RED, "✗" },
	[STATUS_COOPERATIVE] = { INK_YELLOW, "~" },
	[STATUS_ENFORCED] = { INK_GREEN, "✓" },
};

enum ink status_ink(enum status status)
{
	return marks[status].ink;
}

const char *status_mark(enum status status)
{
	return marks[status].mark;
}

enum status status_named(const char *name)
{
	for (int i = STATUS_COOPERATIVE; i <= STATUS_ENFORCED; i++)
		if (strcmp(name, status_name((enum status)i)) == 0)
			return (enum status)i;
	return STATUS_UNAVAILABLE;
}
