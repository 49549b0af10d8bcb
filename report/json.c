#include "report/json.h"

#include <stdlib.h>
#include <string.h>

#include "kabi/text.h"

static bool failed;

bool json_failed(void)
{
	return failed;
}

/* Give `item` to `object`, or note that one of them is missing. */
static cJSON *put(cJSON *object, const char *key, cJSON *item)
{
	if (object && item && cJSON_AddItemToObject(object, key, item))
		return item;
	cJSON_Delete(item);
	failed = true;
	return NULL;
}

static cJSON *append(cJSON *array, cJSON *item)
{
	if (array && item && cJSON_AddItemToArray(array, item))
		return item;
	cJSON_Delete(item);
	failed = true;
	return NULL;
}

cJSON *json_object(cJSON *object, const char *key)
{
	return put(object, key, cJSON_CreateObject());
}

cJSON *json_array(cJSON *object, const char *key)
{
	return put(object, key, cJSON_CreateArray());
}

void json_put(cJSON *object, const char *key, cJSON *item)
{
	put(object, key, item);
}

void json_number(cJSON *object, const char *key, double value)
{
	put(object, key, cJSON_CreateNumber(value));
}

void json_bool(cJSON *object, const char *key, bool value)
{
	put(object, key, cJSON_CreateBool(value));
}

void json_null(cJSON *object, const char *key)
{
	put(object, key, cJSON_CreateNull());
}

static cJSON *utf8_string(const char *value)
{
	size_t size = strlen(value) * 3 + 1;
	char *buf = malloc(size);
	struct text t;
	cJSON *item;

	if (!buf)
		return NULL;
	t = text_start(buf, size);
	while (*value) {
		struct utf8 next = utf8_next(value);

		text_add_bytes(&t, next.bytes, next.len);
		value += next.taken;
	}
	item = cJSON_CreateString(buf);
	free(buf);
	return item;
}

void json_text(cJSON *object, const char *key, const char *value)
{
	put(object, key, utf8_string(value));
}

void json_text_or_null(cJSON *object, const char *key, const char *value)
{
	if (value && *value)
		json_text(object, key, value);
	else
		json_null(object, key);
}

void json_add_text(cJSON *array, const char *value)
{
	append(array, utf8_string(value));
}

cJSON *json_add_object(cJSON *array)
{
	return append(array, cJSON_CreateObject());
}

void json_add(cJSON *array, cJSON *item)
{
	append(array, item);
}
