/* A CDI spec, YAML or JSON: both scanners see every input. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cdi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void scan(const char *before, const uint8_t *data, size_t size)
{
	size_t len = strlen(before);
	char *text = malloc(len + size + 1);
	char kind[24];

	if (!text)
		abort();
	memcpy(text, before, len);
	memcpy(text + len, data, size);
	text[len + size] = '\0';
	if (cdi_scan(text, kind, sizeof(kind)) != (strchr(kind, '/') != NULL))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scan("", data, size);
	scan("{", data, size);
	return 0;
}
