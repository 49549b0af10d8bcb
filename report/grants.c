#include "report/grants.h"

#include <string.h>

#include "kabi/host.h"

static const struct at at_sandbox = { .key = "sandbox" };

static int read_allow(const struct reading *r, const cJSON *net, const struct at *at,
		      const char *mode)
{
	const struct at list_at = { .up = at, .key = "allow" };
	struct at entry_at = { .up = &list_at };
	const cJSON *allow = NULL;
	const cJSON *entry;
	int err;

	err = field_texts(r, net, at, "allow", &rule_host, &allow);
	if (err < 0)
		return err;
	if (strcmp(mode, "egress-allowlist") == 0 && cJSON_GetArraySize(allow) == 0)
		return refuse(r, &list_at, NULL, "has no host, and net.mode is egress-allowlist");
	if ((strcmp(mode, "none") == 0 || strcmp(mode, "egress-any") == 0) &&
	    cJSON_GetArraySize(allow) > 0)
		return refuse(r, &list_at, NULL, "has hosts, and net.mode is not egress-allowlist");
	cJSON_ArrayForEach(entry, allow)
	{
		if (host_entry_is_address(entry->valuestring))
			return refuse(r, &entry_at, entry->valuestring,
				      "is an address, not a host's name");
		entry_at.index++;
	}
	return 0;
}

static int read_net(const struct reading *r, const cJSON *sandbox, struct grants *g)
{
	static const char *const known[] = { "mode", "allow", NULL };
	const struct at at = { .up = &at_sandbox, .key = "net" };
	const cJSON *net = NULL;
	int err;

	err = field_table(r, sandbox, &at_sandbox, "net", &net);
	if (err == 0)
		err = field_text(r, net, &at, "mode", &rule_word, &g->net_mode);
	if (err == 0)
		err = read_allow(r, net, &at, g->net_mode);
	if (err == 0)
		field_unknown(r, net, &at, known);
	return err;
}

static int read_tool(const struct reading *r, const cJSON *tool, const struct at *at)
{
	static const char *const known[] = { "id", "version", "arch", "trust", "paths", NULL };
	const char *unused;
	int err;

	err = field_needed(r, tool, at, "id");
	if (err == 0)
		err = field_text(r, tool, at, "id", &rule_id, &unused);
	if (err == 0)
		err = field_text(r, unless_null(tool, "version"), at, "version", &rule_tool_version,
				 &unused);
	if (err == 0)
		err = field_text(r, tool, at, "arch", &rule_arch, &unused);
	if (err == 0)
		err = field_text(r, tool, at, "trust", &rule_trust, &unused);
	if (err == 0)
		field_unknown(r, tool, at, known);
	return err;
}

static int read_image(const struct reading *r, const cJSON *image, const struct at *at)
{
	static const char *const known[] = { "image", "platform", NULL };
	const char *unused;
	int err;

	err = field_needed(r, image, at, "image");
	if (err == 0)
		err = field_text(r, image, at, "image", &rule_image, &unused);
	if (err == 0)
		err = field_text(r, image, at, "platform", &rule_oci_platform, &unused);
	if (err == 0)
		field_unknown(r, image, at, known);
	return err;
}

static int read_set(const struct reading *r, const cJSON *set, const struct at *at)
{
	static const struct {
		const char *key;
		const struct rule *rule;
		bool needed;
	} keys[] = {
		{ "name", &rule_name, true },
		{ "registry", &rule_registry, true },
		{ "repository", &rule_repository, true },
		{ "platform", &rule_oci_platform, false },
		{ "key", &rule_path, true },
	};
	static const char *const known[] = { "name", "registry", "repository", "platform",
					     "key",  "index",	 NULL };
	const char *unused;
	int err = 0;

	for (size_t i = 0; err == 0 && i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i].needed)
			err = field_needed(r, set, at, keys[i].key);
		if (err == 0)
			err = field_text(r, set, at, keys[i].key, keys[i].rule, &unused);
	}
	if (err == 0)
		err = field_text(r, unless_null(set, "index"), at, "index", &rule_image_index,
				 &unused);
	if (err == 0)
		field_unknown(r, set, at, known);
	return err;
}

static int read_folder(const struct reading *r, const cJSON *folder, const struct at *at)
{
	static const char *const known[] = { "id", "access", NULL };
	const char *unused;
	int err;

	err = field_needed(r, folder, at, "id");
	if (err == 0)
		err = field_text(r, folder, at, "id", &rule_id, &unused);
	if (err == 0)
		err = field_needed(r, folder, at, "access");
	if (err == 0)
		err = field_text(r, folder, at, "access", &rule_access, &unused);
	if (err == 0)
		field_unknown(r, folder, at, known);
	return err;
}

/* A list of tables under `key`, each read by `read`, with the string under `id` in each once only.
 */
static int read_tables(const struct reading *r, const cJSON *sandbox, const char *key,
		       const char *id,
		       int (*read)(const struct reading *, const cJSON *, const struct at *),
		       const cJSON **ret)
{
	const struct at list_at = { .up = &at_sandbox, .key = key };
	struct at entry_at = { .up = &list_at };
	const cJSON *entry;
	int err;

	err = field_list(r, sandbox, &at_sandbox, key, ret);
	if (err < 0)
		return err;
	cJSON_ArrayForEach(entry, *ret)
	{
		if (!cJSON_IsObject(entry))
			return refuse(r, &entry_at, NULL, "is not a table");
		err = read(r, entry, &entry_at);
		if (err < 0)
			return err;
		entry_at.index++;
	}
	return id ? field_unique(r, sandbox, &at_sandbox, key, id) : 0;
}

static int read_lists(const struct reading *r, const cJSON *sandbox, struct grants *g)
{
	const cJSON *tools = NULL;
	const cJSON *images = NULL;
	const cJSON *sets = NULL;
	const cJSON *folders = NULL;
	const cJSON *folder;
	int err;

	err = read_tables(r, sandbox, "tools", "id", read_tool, &tools);
	if (err == 0)
		err = read_tables(r, sandbox, "containers", NULL, read_image, &images);
	if (err == 0)
		err = read_tables(r, sandbox, "container_sets", "name", read_set, &sets);
	if (err == 0)
		err = read_tables(r, sandbox, "folders", "id", read_folder, &folders);
	if (err < 0)
		return err;

	cJSON_ArrayForEach(folder, folders)
	{
		if (strcmp(text_of(folder, "access"), "read") == 0)
			g->folders_read = true;
		else
			g->folders_write = true;
	}
	g->containers = cJSON_GetArraySize(images) > 0 || cJSON_GetArraySize(sets) > 0;
	if (cJSON_GetArraySize(folders) > 0)
		g->needs_core = "sandbox.folders";
	else if (cJSON_GetArraySize(sets) > 0)
		g->needs_core = "sandbox.container_sets";
	return 0;
}

static int read_devices(const struct reading *r, const cJSON *sandbox, struct grants *g)
{
	static const char *const known[] = { "gpu", NULL };
	const struct at at = { .up = &at_sandbox, .key = "devices" };
	const cJSON *devices = NULL;
	int err;

	err = field_table(r, sandbox, &at_sandbox, "devices", &devices);
	if (err == 0)
		err = field_text(r, devices, &at, "gpu", &rule_word, &g->gpu);
	if (err == 0)
		field_unknown(r, devices, &at, known);
	return err;
}

int grants_read(const struct reading *r, const cJSON *document, struct grants *ret)
{
	static const char *const known[] = { "contract",      "net",	    "tools",
					     "devices",	      "containers", "container_sets",
					     "exec_writable", "folders",    NULL };
	struct grants g = { .net_mode = "none", .gpu = "none" };
	const cJSON *sandbox = NULL;
	int err;

	err = field_table(r, document, NULL, "sandbox", &sandbox);
	if (err == 0)
		err = field_literal(r, sandbox, &at_sandbox, "contract", 1);
	if (err == 0)
		err = read_net(r, sandbox, &g);
	if (err == 0)
		err = read_devices(r, sandbox, &g);
	if (err == 0)
		err = field_bool(r, sandbox, &at_sandbox, "exec_writable", &g.exec_writable);
	if (err == 0)
		err = read_lists(r, sandbox, &g);
	if (err < 0)
		return err;
	field_unknown(r, sandbox, &at_sandbox, known);
	*ret = g;
	return 0;
}
