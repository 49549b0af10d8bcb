#include "report/verdict_json.h"

#include "kabi/landlock.h"

static bool put(cJSON *object, const char *key, cJSON *value)
{
	if (value && cJSON_AddItemToObject(object, key, value))
		return true;
	cJSON_Delete(value);
	return false;
}

static bool append(cJSON *list, cJSON *value)
{
	if (value && cJSON_AddItemToArray(list, value))
		return true;
	cJSON_Delete(value);
	return false;
}

/* A string, or null for NULL. */
static bool put_text(cJSON *object, const char *key, const char *text)
{
	return put(object, key, text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

/* A file's name may hold any bytes; a fault's text is UTF-8. */
static bool put_shown(cJSON *object, const char *key, const char *text)
{
	struct fault shown;

	fault_join(&shown, text, NULL);
	return put_text(object, key, shown.text);
}

static bool put_list(cJSON *object, const char *key, cJSON **ret)
{
	*ret = cJSON_AddArrayToObject(object, key);
	return *ret;
}

static bool append_missing(cJSON *list, const struct missing *missing)
{
	cJSON *item = cJSON_CreateObject();

	if (!append(list, item))
		return false;
	return put_text(item, "capability", missing->need->name) &&
	       put_text(item, "status", status_name(missing->status)) &&
	       put_text(item, "rule", missing->need->always_on ? "contract" : "placement") &&
	       put_text(item, "why", missing->why) &&
	       put_text(item, "kernel", ll_abi_linux(missing->needed_abi));
}

static bool put_missing(cJSON *object, const struct verdict *v)
{
	cJSON *list;

	if (!put_list(object, "missing", &list))
		return false;
	for (unsigned i = 0; i < v->missing_count; i++)
		if (!append_missing(list, &v->missing[i]))
			return false;
	return true;
}

static bool put_needs(cJSON *object, const struct verdict *v)
{
	cJSON *list;

	if (!put_list(object, "needs", &list))
		return false;
	for (unsigned i = 0; i < v->needs.count; i++)
		if (!append(list, cJSON_CreateString(v->needs.need[i].name)))
			return false;
	return true;
}

static bool fill(cJSON *object, const struct module_entry *entry, const struct verdict *v)
{
	const struct module *m = &entry->module;

	if (!put_shown(object, "file", entry->file))
		return false;
	if (entry->refused || !v)
		return put_text(object, "error", entry->error.text);
	return put_text(object, "name", m->name) && put_text(object, "version", m->version) &&
	       put(object, "runs", cJSON_CreateBool(v->code == VERDICT_RUNS)) &&
	       put_text(object, "code", verdict_code_name(v->code)) &&
	       put_shown(object, "message", v->message) &&
	       put(object, "placed", cJSON_CreateBool(v->placed)) && put_missing(object, v) &&
	       put_needs(object, v) &&
	       put_text(object, "kernel", v->kernel[0] ? v->kernel : NULL) &&
	       put(object, "landlock_abi",
		   v->kernel_abi ? cJSON_CreateNumber(v->kernel_abi) : cJSON_CreateNull()) &&
	       put(object, "unknown_keys", cJSON_Duplicate(m->unknown, true));
}

cJSON *verdict_json(const struct module_entry *entry, const struct verdict *v)
{
	cJSON *object = cJSON_CreateObject();

	if (object && fill(object, entry, v))
		return object;
	cJSON_Delete(object);
	return NULL;
}
