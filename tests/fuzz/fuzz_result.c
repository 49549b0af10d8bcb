/* The result of a run, read again; and the same bytes as /proc/PID/stat. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/procstat.h"
#include "launch/run/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *result = text_of(data, size);
	char *stat = text_of(data, size);
	struct proc_stat s;
	struct result_run run;
	struct fault why = { "" };

	if (result_parse(result, size, &run, &why) < 0) {
		if (!why.text[0])
			abort();
	} else if (run.container.keeper < 0 || run.container.leader < 0 ||
		   (run.container.kind == CONTAINER_LEAF &&
		    strlen(run.container.leaf.dir) >= sizeof(run.container.leaf.dir))) {
		abort();
	}
	if (proc_stat_parse(stat, &s) &&
	    (s.parent < 0 || strlen(s.name) >= sizeof(s.name) || s.state == '\0'))
		abort();
	free(stat);
	free(result);
	return 0;
}
