/* A release's modules.json: whatever it holds, each entry is a module or an error with a text. */
#include <stdint.h>
#include <stdlib.h>

#include "report/modules.h"
#include "report/needs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct modules list = { 0 };
	size_t refused = 0;

	if (modules_parse_release(&list, "modules.json", (const char *)data, size) < 0)
		abort();
	for (size_t i = 0; i < list.count; i++) {
		const struct module_entry *entry = &list.entries[i];
		struct needs needs;

		if (entry->refused) {
			refused++;
			if (!entry->error.text[0] || entry->module.document)
				abort();
			continue;
		}
		needs_of(&entry->module, &needs);
		if (!entry->module.name || needs.count < 3)
			abort();
	}
	if (refused != list.refused)
		abort();
	modules_free(&list);
	return 0;
}
