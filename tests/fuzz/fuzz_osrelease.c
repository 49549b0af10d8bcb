/* os-release(5). */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kabi/lines.h"
#include "probe/osrelease.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool each(void *arg, char *line)
{
	osrelease_line(arg, line);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct osrelease o = { .id = "linux" };
	struct lines l;

	lines_start(&l, '\n', each, &o);
	lines_feed(&l, (const char *)data, size);
	lines_end(&l);
	if (!memchr(o.id, '\0', sizeof(o.id)) ||
	    !memchr(o.version_id, '\0', sizeof(o.version_id)) ||
	    !memchr(o.pretty_name, '\0', sizeof(o.pretty_name)))
		__builtin_trap();
	return 0;
}
