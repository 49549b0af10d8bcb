#include "report/manifest.h"

#include <errno.h>
#include <string.h>

#include "report/field.h"
#include "report/services.h"

static const struct at at_requires = { .key = "requires" };

static int read_requirement(const struct reading *r, const cJSON *from, const struct at *at,
			    const char *key, struct requirement *ret)
{
	const char *text = NULL;
	struct version_range range;
	int err;

	err = field_text(r, unless_null(from, key), at, key, &rule_any, &text);
	if (err < 0 || !text)
		return err;
	if (version_range_parse(text, &range, NULL) < 0)
		return refuse_key(r, at, key, text, "is not a version range such as '>=6.1,<7'");
	*ret = (struct requirement){ .text = text, .range = range };
	return 0;
}

static int read_os(const struct reading *r, const cJSON *requires, struct module *m)
{
	static const char *const known[] = { "darwin", "linux", "windows", NULL };
	static const char *const known_linux[] = { "kernel", "glibc", NULL };
	const struct at at = { .up = &at_requires, .key = "os" };
	const struct at linux_at = { .up = &at, .key = "linux" };
	const cJSON *os = NULL;
	const cJSON *needs = NULL;
	struct requirement unused;
	int err;

	err = field_table(r, unless_null(requires, "os"), &at_requires, "os", &os);
	if (err == 0)
		err = read_requirement(r, os, &at, "darwin", &unused);
	if (err == 0)
		err = read_requirement(r, os, &at, "windows", &unused);
	if (err == 0)
		err = field_table(r, unless_null(os, "linux"), &at, "linux", &needs);
	if (err == 0)
		err = read_requirement(r, needs, &linux_at, "kernel", &m->kernel);
	if (err == 0)
		err = read_requirement(r, needs, &linux_at, "glibc", &m->glibc);
	if (err < 0)
		return err;
	field_unknown(r, os, &at, known);
	field_unknown(r, needs, &linux_at, known_linux);
	return 0;
}

static int read_features(const struct reading *r, const cJSON *requires)
{
	const struct at at = { .up = &at_requires, .key = "features" };
	struct at entry_at = { .up = &at };
	const cJSON *features = NULL;
	const cJSON *feature;
	int err;

	err = field_texts(r, requires, &at_requires, "features", &rule_capability, &features);
	if (err < 0)
		return err;
	cJSON_ArrayForEach(feature, features)
	{
		if (strcmp(feature->valuestring, "placement") != 0)
			return refuse(
				r, &entry_at, feature->valuestring,
				"is a feature that must be understood, and is not known here");
		entry_at.index++;
	}
	return 0;
}

/* Cores before 2.5 would run the module without a grant they do not know. */
static int check_core(const struct reading *r, const struct requirement *core,
		      const char *needs_core)
{
	static const struct version first = { { 2, 5, 0 } };
	struct version floor;

	if (!core->text || !needs_core)
		return 0;
	if (version_range_floor(&core->range, &floor) && version_compare(&floor, &first) >= 0)
		return 0;
	return refuse_key(r, &at_requires, "core", core->text,
			  "admits cores before 2.5, which know neither folders nor container_sets");
}

static int read_requires(const struct reading *r, const cJSON *requires, struct module *m)
{
	static const char *const known[] = { "core",
					     "agent",
					     "os",
					     "platforms",
					     "module_protocol",
					     "runner_protocol",
					     "experimental",
					     "service_protocol",
					     "ui_contract",
					     "unsupported",
					     "features",
					     "coordinator_platforms",
					     NULL };
	struct requirement core = { 0 };
	int err;

	err = field_texts(r, requires, &at_requires, "platforms", &rule_platform, &m->platforms);
	if (err < 0)
		return err;
	if (cJSON_GetArraySize(m->platforms) == 0)
		return refuse_key(r, &at_requires, "platforms", NULL,
				  "names no platform to run on");
	err = read_os(r, requires, m);
	if (err == 0)
		err = read_requirement(r, requires, &at_requires, "agent", &m->agent);
	if (err == 0)
		err = read_requirement(r, requires, &at_requires, "core", &core);
	if (err == 0)
		err = read_features(r, requires);
	if (err == 0)
		err = check_core(r, &core, m->grants.needs_core);
	if (err == 0)
		field_unknown(r, requires, &at_requires, known);
	return err;
}

/* A manifest has [module]; a document without it names the module at its top, as an entry does. */
static int read_identity(const struct reading *r, const cJSON *document, struct module *m)
{
	static const struct at at = { .key = "module" };
	const cJSON *module = NULL;
	const char *id = NULL;
	int err;

	err = field_table(r, document, NULL, "module", &module);
	if (err == 0)
		err = field_text(r, document, NULL, "name", &rule_module_name, &m->name);
	if (err == 0)
		err = field_text(r, document, NULL, "version", &rule_module_version, &m->version);
	if (err == 0)
		err = field_text(r, module, &at, "id", &rule_module_id, &id);
	if (err == 0 && id)
		m->name = strrchr(id, '.') + 1;
	if (err == 0)
		err = field_text(r, module, &at, "name", &rule_module_name, &m->name);
	if (err == 0)
		err = field_text(r, module, &at, "version", &rule_module_version, &m->version);
	if (err == 0 && !m->name)
		err = refuse_key(r, module ? &at : NULL, module ? "id" : "name", NULL,
				 "is missing");
	return err;
}

static int read_manifest(const struct reading *r, struct module *m)
{
	const cJSON *requires = NULL;
	int err;

	/* What somebody may well pass by mistake deserves its own words. */
	if (cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(m->document, "modules"))) {
		fault_join(r->why, "this is a list of modules, not one: pass it with --modules",
			   NULL);
		return -EINVAL;
	}
	err = read_identity(r, m->document, m);
	if (err == 0)
		err = field_literal(r, m->document, NULL, "manifest", 1);
	if (err == 0)
		err = field_table(r, m->document, NULL, "requires", &requires);
	if (err == 0)
		err = grants_read(r, m->document, &m->grants);
	if (err == 0)
		err = read_requires(r, requires, m);
	if (err == 0)
		err = services_read(r, m->document, FORM_MANIFEST, &m->grants, &m->endpoint);
	return err;
}

static int read_entry(const struct reading *r, const char *platform, struct module *m)
{
	const cJSON *requires = cJSON_GetObjectItemCaseSensitive(m->document, "requires");
	const cJSON *unused;
	const char *id;
	int err;

	err = field_needed(r, m->document, NULL, "name");
	if (err == 0)
		err = field_text(r, m->document, NULL, "name", &rule_module_name, &m->name);
	if (err == 0)
		err = field_text(r, m->document, NULL, "version", &rule_module_version,
				 &m->version);
	if (err == 0)
		err = field_text(r, m->document, NULL, "module_id", &rule_module_id, &id);
	if (err == 0)
		err = grants_read(r, m->document, &m->grants);
	if (err == 0 && cJSON_IsObject(requires))
		err = read_requires(r, requires, m);
	else if (err == 0)
		err = field_texts(r, m->document, NULL, "requires", &rule_capability, &unused);
	if (err == 0)
		err = services_read(r, m->document, FORM_ENTRY, &m->grants, &m->endpoint);
	if (err < 0 || m->platforms)
		return err;
	/* Kept in the entry, so that the entry goes on owning every string. */
	m->platforms = cJSON_AddStringToObject(m->document, " platform", platform);
	return m->platforms ? 0 : -ENOMEM;
}

static int finish(int err, struct module *m, struct module *ret, struct fault *why)
{
	if (err == -ENOMEM)
		fault_errno(why, "read the module", NULL, ENOMEM);
	if (err < 0)
		module_free(m);
	else
		*ret = *m;
	return err;
}

int module_read(cJSON *document, struct module *ret, struct fault *why)
{
	struct module m = { .document = document, .unknown = cJSON_CreateArray() };
	const struct reading r = { .why = why, .unknown = m.unknown };

	if (!m.unknown)
		return finish(-ENOMEM, &m, ret, why);
	if (!cJSON_IsObject(document)) {
		fault_join(why, "a manifest is one table", NULL);
		return finish(-EINVAL, &m, ret, why);
	}
	return finish(read_manifest(&r, &m), &m, ret, why);
}

int module_read_entry(cJSON *entry, const char *platform, struct module *ret, struct fault *why)
{
	struct module m = { .document = entry, .unknown = cJSON_CreateArray() };
	const struct reading r = { .why = why, .unknown = m.unknown };

	if (!m.unknown)
		return finish(-ENOMEM, &m, ret, why);
	if (!cJSON_IsObject(entry)) {
		fault_join(why, "an entry is one object", NULL);
		return finish(-EINVAL, &m, ret, why);
	}
	return finish(read_entry(&r, platform, &m), &m, ret, why);
}

void module_free(struct module *m)
{
	cJSON_Delete(m->document);
	cJSON_Delete(m->unknown);
	*m = (struct module){ 0 };
}

bool module_lists(const struct module *m, const char *platform)
{
	if (cJSON_IsString(m->platforms))
		return strcmp(m->platforms->valuestring, platform) == 0;
	return list_holds(m->platforms, platform);
}
