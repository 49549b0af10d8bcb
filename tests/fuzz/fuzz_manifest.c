/* A manifest, JSON when it starts with '{' and TOML otherwise, all the way to its verdict. What
 * comes out must be JSON whatever went in.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/modules.h"
#include "report/strict_json.h"
#include "report/verdict_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct module_entry *entry)
{
	static const struct node_capability caps[] = {
		{ .name = "filesystem", .status = STATUS_ENFORCED },
		{ .name = "ipc", .needed_abi = 6, .why = "no scopes" },
		{ .name = "net.none", .status = STATUS_ENFORCED },
	};
	static const struct node_view node = {
		.backend = true,
		.abi = 5,
		.platform = "linux-amd64",
		.kernel = "6.10.1",
		.glibc = "2.36",
		.capabilities = caps,
		.capability_count = sizeof(caps) / sizeof(caps[0]),
	};
	struct verdict verdict;
	cJSON *again = NULL;
	cJSON *json;
	char *text;

	if (!entry->refused)
		verdict_decide(&entry->module, &node, &verdict);
	json = cJSON_CreateObject();
	verdict_fill_json(json, entry, &verdict);
	text = cJSON_PrintUnformatted(json);
	if (!text || json_tree(text, strlen(text), &again, NULL) < 0)
		abort();
	cJSON_Delete(again);
	free(text);
	cJSON_Delete(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct modules list = { 0 };

	if (modules_parse_manifest(&list, "m", (const char *)data, size) == 0)
		for (size_t i = 0; i < list.count; i++)
			check(&list.entries[i]);
	modules_free(&list);
	return 0;
}
