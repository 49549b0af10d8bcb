#include "report/field.h"

#include <errno.h>
#include <string.h>

#include "kabi/text.h"

#define PATH_TEXT_MAX 200
#define VALUE_TEXT_MAX 84
#define UNKNOWN_MAX 16

static void add_path(struct text *t, const struct at *at)
{
	if (!at)
		return;
	add_path(t, at->up);
	if (at->key) {
		if (at->up)
			text_add(t, ".");
		text_add(t, at->key);
	} else {
		text_add(t, "[");
		text_add_int(t, at->index);
		text_add(t, "]");
	}
}

static const cJSON *value_of(const cJSON *from, const char *key)
{
	return from ? cJSON_GetObjectItemCaseSensitive(from, key) : NULL;
}

static int check_text(const struct reading *r, const struct at *at, const cJSON *value,
		      const struct rule *rule)
{
	char says[96];
	struct text t = TEXT_BUF(says);

	if (!cJSON_IsString(value))
		return refuse(r, at, NULL, "is not a string");
	if (strlen(value->valuestring) <= rule->max && rule->fits(value->valuestring))
		return 0;
	text_add(&t, "is not ");
	text_add(&t, rule->says);
	if (strlen(value->valuestring) > rule->max) {
		text_add(&t, " of at most ");
		text_add_int(&t, (int64_t)rule->max);
		text_add(&t, " bytes");
	}
	return refuse(r, at, value->valuestring, says);
}

int refuse(const struct reading *r, const struct at *at, const char *value, const char *rule)
{
	char path[PATH_TEXT_MAX];
	char shown[VALUE_TEXT_MAX];
	struct text t = TEXT_BUF(path);

	add_path(&t, at);
	if (!value)
		fault_join(r->why, path, ": ", rule, NULL);
	else
		fault_join(r->why, path, ": '", shown,
			   text_copy(shown, sizeof(shown), value) ? "' " : "...' ", rule, NULL);
	return -EINVAL;
}

int refuse_key(const struct reading *r, const struct at *at, const char *key, const char *value,
	       const char *rule)
{
	return refuse(r, &(struct at){ .up = at, .key = key }, value, rule);
}

int field_text(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
	       const struct rule *rule, const char **ret)
{
	const cJSON *value = value_of(from, key);
	int err;

	if (!value)
		return 0;
	err = check_text(r, &(struct at){ .up = at, .key = key }, value, rule);
	if (err < 0)
		return err;
	*ret = value->valuestring;
	return 0;
}

int field_bool(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
	       bool *ret)
{
	const cJSON *value = value_of(from, key);

	if (!value)
		return 0;
	if (!cJSON_IsBool(value))
		return refuse_key(r, at, key, NULL, "is not true or false");
	*ret = cJSON_IsTrue(value);
	return 0;
}

int field_number(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		 bool above_zero)
{
	const cJSON *value = value_of(from, key);

	if (!value)
		return 0;
	if (!cJSON_IsNumber(value))
		return refuse_key(r, at, key, NULL, "is not a number");
	if (above_zero && !(value->valuedouble > 0))
		return refuse_key(r, at, key, NULL, "is not above 0");
	if (!(value->valuedouble >= 0))
		return refuse_key(r, at, key, NULL, "is below 0");
	return 0;
}

int field_literal(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		  int want)
{
	const cJSON *value = value_of(from, key);
	char says[48];
	struct text t = TEXT_BUF(says);

	if (!value || (cJSON_IsNumber(value) && value->valuedouble == want))
		return 0;
	text_add(&t, "is not ");
	text_add_int(&t, want);
	text_add(&t, ", the only one known here");
	return refuse_key(r, at, key, NULL, says);
}

int field_table(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		const cJSON **ret)
{
	const cJSON *value = value_of(from, key);

	if (!value)
		return 0;
	if (!cJSON_IsObject(value))
		return refuse_key(r, at, key, NULL, "is not a table");
	if (cJSON_GetArraySize(value) > LIST_MAX)
		return refuse_key(r, at, key, NULL, "has more than 1024 keys");
	*ret = value;
	return 0;
}

int field_list(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
	       const cJSON **ret)
{
	const cJSON *value = value_of(from, key);

	if (!value)
		return 0;
	if (!cJSON_IsArray(value))
		return refuse_key(r, at, key, NULL, "is not a list");
	if (cJSON_GetArraySize(value) > LIST_MAX)
		return refuse_key(r, at, key, NULL, "has more than 1024 entries");
	*ret = value;
	return 0;
}

int field_texts(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		const struct rule *rule, const cJSON **ret)
{
	const struct at list_at = { .up = at, .key = key };
	struct at entry_at = { .up = &list_at };
	const cJSON *list = NULL;
	const cJSON *entry;
	int err;

	err = field_list(r, from, at, key, &list);
	if (err < 0 || !list)
		return err;
	cJSON_ArrayForEach(entry, list)
	{
		err = check_text(r, &entry_at, entry, rule);
		if (err < 0)
			return err;
		entry_at.index++;
	}
	*ret = list;
	return 0;
}

int field_needed(const struct reading *r, const cJSON *from, const struct at *at, const char *key)
{
	return value_of(from, key) ? 0 : refuse_key(r, at, key, NULL, "is missing");
}

int field_unique(const struct reading *r, const cJSON *from, const struct at *at, const char *key,
		 const char *part)
{
	const struct at list_at = { .up = at, .key = key };
	struct at entry_at = { .up = &list_at };
	const cJSON *list = value_of(from, key);
	const cJSON *entry;

	cJSON_ArrayForEach(entry, list)
	{
		const char *mine = text_of(entry, part);

		for (const cJSON *other = list->child; mine && other != entry;
		     other = other->next) {
			const char *theirs = text_of(other, part);

			if (theirs && strcmp(mine, theirs) == 0)
				return refuse_key(r, &entry_at, part, mine,
						  "is there more than once");
		}
		entry_at.index++;
	}
	return 0;
}

void field_unknown(const struct reading *r, const cJSON *from, const struct at *at,
		   const char *const *known)
{
	int noted = cJSON_GetArraySize(r->unknown);
	const cJSON *value;

	cJSON_ArrayForEach(value, from)
	{
		const struct at here = { .up = at, .key = value->string };
		char path[PATH_TEXT_MAX];
		struct text t = TEXT_BUF(path);
		struct fault shown;
		size_t i = 0;

		while (known[i] && strcmp(known[i], value->string) != 0)
			i++;
		if (known[i])
			continue;
		if (noted++ >= UNKNOWN_MAX)
			return;
		add_path(&t, &here);
		/* A fault's text can be shown whatever the key holds. */
		fault_join(&shown, path, NULL);
		cJSON_AddItemToArray(r->unknown, cJSON_CreateString(shown.text));
	}
}

const cJSON *unless_null(const cJSON *from, const char *key)
{
	return cJSON_IsNull(value_of(from, key)) ? NULL : from;
}

const char *text_of(const cJSON *from, const char *key)
{
	return cJSON_GetStringValue(value_of(from, key));
}

bool list_holds(const cJSON *list, const char *s)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, list) if (cJSON_IsString(entry) &&
					    strcmp(entry->valuestring, s) == 0) return true;
	return false;
}
