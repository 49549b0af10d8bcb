/* /proc/cpuinfo, and sysfs's lists of CPUs when the input starts with a comma. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/lines.h"
#include "probe/cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool each(void *arg, char *line)
{
	return cpuinfo_line(arg, line);
}

static void parse_list(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct cpus set;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	cpus_parse(text, &set);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cpuinfo c = { .has_flags = false };
	struct lines l;

	if (size > 0 && data[0] == ',') {
		parse_list(data + 1, size - 1);
		return 0;
	}
	lines_start(&l, '\n', each, &c);
	lines_feed(&l, (const char *)data, size);
	lines_end(&l);
	if (!memchr(c.model, '\0', sizeof(c.model)))
		__builtin_trap();
	return 0;
}
