#include "report/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/text.h"
#include "report/field.h"
#include "report/input.h"
#include "report/strict_json.h"
#include "report/toml.h"

#define FORMAT 2

static void free_text(char **text)
{
	free(*text);
}

static void delete_tree(cJSON **tree)
{
	cJSON_Delete(*tree);
}

/* A new entry, or NULL without memory. It moves when the next one is added. */
static struct module_entry *add_entry(struct modules *list, const char *file, int index)
{
	struct module_entry *entry;

	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 4;

		entry = reallocarray(list->entries, capacity, sizeof(*entry));
		if (!entry)
			return NULL;
		list->entries = entry;
		list->capacity = capacity;
	}
	entry = &list->entries[list->count++];
	*entry = (struct module_entry){ .file = file, .index = index };
	return entry;
}

static int add_refused(struct modules *list, const char *file, const struct fault *why)
{
	struct module_entry *entry = add_entry(list, file, -1);

	if (!entry)
		return -ENOMEM;
	entry->refused = true;
	entry->error = *why;
	list->refused++;
	return 0;
}

/* Every error but the lack of memory becomes an entry. */
static int refused_or_fail(struct modules *list, const char *file, int err, const struct fault *why)
{
	return err == -ENOMEM ? err : add_refused(list, file, why);
}

static bool is_json(const char *file, const char *text, size_t len)
{
	size_t i = 0;

	if (text_ends(file, ".json"))
		return true;
	if (text_ends(file, ".toml"))
		return false;
	while (i < len && memchr(" \t\r\n", text[i], 4))
		i++;
	return i < len && text[i] == '{';
}

static int parse_manifest(const char *file, const char *text, size_t len, struct module *ret,
			  struct fault *why)
{
	cJSON *tree;
	int err;

	if (is_json(file, text, len))
		err = json_tree(text, len, &tree, why);
	else
		err = toml_tree(text, len, &tree, why);
	if (err < 0)
		return err;
	return module_read(tree, ret, why);
}

/* "modules[3] (name): " before what `why` says. */
static void name_entry(struct fault *why, int index, const char *name)
{
	char prefix[96];
	char shown[64];
	struct text t = TEXT_BUF(prefix);

	text_add(&t, "modules[");
	text_add_int(&t, index);
	text_add(&t, "]");
	if (name) {
		text_add(&t, " (");
		text_add(&t, text_copy(shown, sizeof(shown), name) ? name : "a long name");
		text_add(&t, ")");
	}
	fault_prefix(why, prefix);
}

/* Takes `entry` away from its list. */
static int add_module(struct modules *list, const char *file, int index, cJSON *entry,
		      const char *platform)
{
	struct module_entry *added = add_entry(list, file, index);
	char *name;
	int err;

	if (!added) {
		cJSON_Delete(entry);
		return -ENOMEM;
	}
	/* The entry is gone when it is refused, and its name with it. */
	name = text_of(entry, "name") ? strdup(text_of(entry, "name")) : NULL;
	err = module_read_entry(entry, platform, &added->module, &added->error);
	if (err < 0) {
		added->refused = true;
		list->refused++;
		name_entry(&added->error, index, name);
	}
	free(name);
	return err == -ENOMEM ? err : 0;
}

static int check_release(const cJSON *tree, cJSON **ret_modules, const char **ret_platform,
			 struct fault *why)
{
	const struct reading r = { .why = why };
	const cJSON *format = cJSON_GetObjectItemCaseSensitive(tree, "format");
	cJSON *modules = cJSON_GetObjectItemCaseSensitive(tree, "modules");
	int err;

	if (!cJSON_IsObject(tree) || !format) {
		fault_join(why, "this is no modules.json: it is one object with a format", NULL);
		return -EINVAL;
	}
	err = field_literal(&r, tree, NULL, "format", FORMAT);
	if (err == 0)
		err = field_needed(&r, tree, NULL, "platform");
	if (err == 0)
		err = field_text(&r, tree, NULL, "platform", &rule_platform, ret_platform);
	if (err == 0)
		err = field_needed(&r, tree, NULL, "modules");
	if (err == 0 && !cJSON_IsArray(modules))
		err = refuse_key(&r, NULL, "modules", NULL, "is not a list");
	if (err == 0)
		*ret_modules = modules;
	return err;
}

int modules_parse_manifest(struct modules *list, const char *file, const char *text, size_t len)
{
	struct module_entry *entry;
	struct module module;
	struct fault why;
	int err;

	err = parse_manifest(file, text, len, &module, &why);
	if (err < 0)
		return refused_or_fail(list, file, err, &why);
	entry = add_entry(list, file, -1);
	if (!entry) {
		module_free(&module);
		return -ENOMEM;
	}
	entry->module = module;
	return 0;
}

int modules_parse_release(struct modules *list, const char *file, const char *text, size_t len)
{
	__attribute__((cleanup(delete_tree))) cJSON *tree = NULL;
	const char *platform = NULL;
	cJSON *modules = NULL;
	struct fault why;
	cJSON *entry;
	int index = 0;
	int err;

	err = json_tree(text, len, &tree, &why);
	if (err == 0)
		err = check_release(tree, &modules, &platform, &why);
	if (err < 0)
		return refused_or_fail(list, file, err, &why);
	while ((entry = modules->child)) {
		cJSON_DetachItemViaPointer(modules, entry);
		err = add_module(list, file, index++, entry, platform);
		if (err < 0)
			return err;
	}
	return 0;
}

static int add_file(struct modules *list, const char *file,
		    int (*parse)(struct modules *list, const char *file, const char *text,
				 size_t len))
{
	__attribute__((cleanup(free_text))) char *text = NULL;
	struct fault why;
	size_t len;
	int err;

	err = input_read(file, MODULE_FILE_MIB, &text, &len, &why);
	if (err < 0)
		return refused_or_fail(list, file, err, &why);
	return parse(list, file, text, len);
}

int modules_add_manifest(struct modules *list, const char *file)
{
	return add_file(list, file, modules_parse_manifest);
}

int modules_add_release(struct modules *list, const char *file)
{
	return add_file(list, file, modules_parse_release);
}

void modules_free(struct modules *list)
{
	for (size_t i = 0; i < list->count; i++)
		module_free(&list->entries[i].module);
	free(list->entries);
	*list = (struct modules){ 0 };
}
