#include "kabi/status.h"

#include <string.h>

#include "kabi/lines.h"
#include "kabi/text.h"

static const struct status_row {
	const char *name;
	unsigned base;
	unsigned column; /* which of the numbers, from 0 */
} status_rows[PROC_LINE_COUNT] = {
	[PROC_PPID] = { "PPid", 10, 0 },
	[PROC_TRACER] = { "TracerPid", 10, 0 },
	[PROC_UID] = { "Uid", 10, 1 },
	[PROC_GID] = { "Gid", 10, 1 },
	[PROC_THREADS] = { "Threads", 10, 0 },
	[PROC_CAP_INHERITABLE] = { "CapInh", 16, 0 },
	[PROC_CAP_PERMITTED] = { "CapPrm", 16, 0 },
	[PROC_CAP_EFFECTIVE] = { "CapEff", 16, 0 },
	[PROC_CAP_BOUNDING] = { "CapBnd", 16, 0 },
	[PROC_CAP_AMBIENT] = { "CapAmb", 16, 0 },
	[PROC_NO_NEW_PRIVS] = { "NoNewPrivs", 10, 0 },
	[PROC_SECCOMP] = { "Seccomp", 10, 0 },
	[PROC_SECCOMP_FILTERS] = { "Seccomp_filters", 10, 0 },
	[PROC_OUTER_PID] = { "NSpid", 10, 1 },
};

static const char *column(char *values, unsigned wanted)
{
	const char *word;

	do
		word = text_word(&values);
	while (word && wanted-- > 0);
	return word;
}

void proc_status_line(struct proc_status *s, char *line)
{
	char *colon = strchr(line, ':');

	if (!colon)
		return;
	*colon = '\0';
	for (size_t i = 0; i < PROC_LINE_COUNT; i++) {
		const struct status_row *row = &status_rows[i];
		const char *word;

		if (s->has[i] || strcmp(row->name, line) != 0)
			continue;
		word = column(colon + 1, row->column);
		s->has[i] = word && text_uint(word, row->base, UINT64_MAX, &s->value[i]) == 0;
		return;
	}
}

static bool each_line(void *arg, char *line)
{
	proc_status_line(arg, line);
	return true;
}

int proc_status_read(const struct kernel *k, const char *path, struct proc_status *ret)
{
	struct proc_status s = { 0 };
	int r = lines_read(k, path, '\n', each_line, &s);

	if (r == 0)
		*ret = s;
	return r;
}
