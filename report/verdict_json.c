#include "report/verdict_json.h"

#include "kabi/landlock.h"
#include "report/json.h"

static void missing_json(cJSON *item, const struct missing *missing)
{
	json_text(item, "capability", missing->need->name);
	json_text(item, "status", status_name(missing->status));
	json_text(item, "rule", missing->need->always_on ? "contract" : "placement");
	json_text_or_null(item, "why", missing->why);
	json_text_or_null(item, "kernel", ll_abi_linux(missing->needed_abi));
}

void verdict_fill_json(cJSON *object, const struct module_entry *entry, const struct verdict *v)
{
	cJSON *list;

	json_text(object, "file", entry->file);
	if (entry->refused) {
		json_text(object, "error", entry->error.text);
		return;
	}
	json_text(object, "name", entry->module.name);
	json_text_or_null(object, "version", entry->module.version);
	json_bool(object, "runs", v->code == VERDICT_RUNS);
	json_text_or_null(object, "code", verdict_code_name(v->code));
	json_text(object, "message", v->message);
	json_bool(object, "placed", v->placed);
	list = json_array(object, "missing");
	for (unsigned i = 0; i < v->missing_count; i++)
		missing_json(json_add_object(list), &v->missing[i]);
	list = json_array(object, "needs");
	for (unsigned i = 0; i < v->needs.count; i++)
		json_add_text(list, v->needs.need[i].name);
	json_text_or_null(object, "kernel", v->kernel);
	if (v->kernel_abi)
		json_number(object, "landlock_abi", v->kernel_abi);
	else
		json_null(object, "landlock_abi");
	json_put(object, "unknown_keys", cJSON_Duplicate(entry->module.unknown, true));
}
