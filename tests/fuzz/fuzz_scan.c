/* The pull scanner beside the strict reader: what that takes, this takes; and an audit of the text
 * reads nothing beyond it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/audit/read.h"
#include "report/audit/table.h"
#include "report/scan.h"
#include "report/strict_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void audit(const char *text, size_t len)
{
	static struct audit_facts facts;
	static char bytes[64 * 1024];
	struct audit_table table = { 0 };
	struct audit_key key;
	struct fault why;
	uint32_t dropped;

	if (audit_read(text, len, &facts, &why) < 0 ||
	    audit_key_make(&facts, bytes, sizeof(bytes), &key) < 0)
		return;
	if (audit_table_add(&table, &facts, &key) < 0 ||
	    audit_table_finish(&table, false, &dropped) < 0 || table.profile_count != 1 ||
	    table.profiles[0].capability_count != facts.capability_count ||
	    table.profiles[0].finding_count != facts.finding_count)
		abort();
	audit_table_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + SCAN_PADDING);
	cJSON *tree = NULL;
	struct fault why;
	struct scan s;

	if (!text)
		return 0;
	memcpy(text, data, size);
	s = scan_start(text, size);
	scan_skip(&s);
	scan_finish(&s);
	if (s.at > text + size)
		abort();
	if (!memchr(text, '\0', size) && json_tree(text, size, &tree, &why) == 0 && s.problem)
		abort();
	cJSON_Delete(tree);
	audit(text, size);
	free(text);
	return 0;
}
