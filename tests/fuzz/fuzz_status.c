/* /proc/PID/status, fed in two pieces: the first byte of the input says where it is cut. */
#include <stddef.h>
#include <stdint.h>

#include "kabi/lines.h"
#include "kabi/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool each(void *arg, char *line)
{
	proc_status_line(arg, line);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_status s = { 0 };
	struct lines l;
	size_t cut;

	if (size == 0)
		return 0;
	cut = data[0] % size;
	lines_start(&l, '\n', each, &s);
	lines_feed(&l, (const char *)data + 1, cut);
	lines_feed(&l, (const char *)data + 1 + cut, size - 1 - cut);
	lines_end(&l);
	for (size_t i = 0; i < PROC_LINE_COUNT; i++)
		if (!s.has[i] && s.value[i])
			__builtin_trap();
	return 0;
}
