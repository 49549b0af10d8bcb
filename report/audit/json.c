#include <errno.h>
#include <stdlib.h>

#include "report/audit/audit.h"

#include "report/json.h"

static void columns_json(cJSON *root, const struct audit *audit)
{
	cJSON *list = json_array(root, "capabilities");

	for (unsigned i = 0; i < audit->column_count; i++) {
		const struct audit_column *c = &audit->columns[i];
		cJSON *item = json_add_object(list);

		json_text(item, "name", c->name);
		json_number(item, "enforced", c->enforced);
		json_number(item, "cooperative", c->cooperative);
		json_number(item, "unavailable", c->unavailable);
		json_number(item, "untold", c->untold);
	}
}

static void kernels_json(cJSON *root, const struct audit *audit)
{
	cJSON *list = json_array(root, "kernels");

	for (uint32_t i = 0; i < audit->kernel_count; i++) {
		const struct audit_kernel *k = &audit->kernels[i];
		cJSON *item = json_add_object(list);
		cJSON *enforced;

		json_text_or_null(item, "kernel", k->release);
		json_number(item, "landlock_abi", k->abi);
		json_number(item, "nodes", k->nodes);
		enforced = json_object(item, "enforced");
		for (unsigned j = 0; j < audit->column_count; j++)
			json_number(enforced, audit->columns[j].name, k->enforced[j]);
	}
}

static void reasons_json(cJSON *root, const struct audit *audit)
{
	cJSON *list = json_array(root, "reasons");

	for (uint32_t i = 0; i < audit->reason_count; i++) {
		const struct audit_reason *r = &audit->reasons[i];
		cJSON *item = json_add_object(list);

		json_text(item, "capability", audit->columns[r->column].name);
		json_number(item, "nodes", r->nodes);
		json_text(item, "why", r->why);
		json_text_or_null(item, "remedy", r->remedy);
	}
}

static void findings_json(cJSON *root, const struct audit *audit)
{
	cJSON *list = json_array(root, "findings");

	for (uint32_t i = 0; i < audit->finding_count; i++) {
		const struct audit_finding_count *f = &audit->findings[i];
		cJSON *item = json_add_object(list);

		json_text(item, "id", f->id);
		json_text(item, "severity",
			  severity_name(f->warning ? SEVERITY_WARNING : SEVERITY_NOTE));
		json_number(item, "nodes", f->nodes);
		json_text_or_null(item, "remedy", f->remedy);
	}
}

static void modules_json(cJSON *root, const struct audit *audit)
{
	cJSON *list = json_array(root, "modules");

	for (size_t i = 0; i < audit->modules.count; i++) {
		const struct module_entry *entry = &audit->modules.entries[i];
		const uint32_t *codes = audit->module_counts[i].codes;
		cJSON *item = json_add_object(list);
		cJSON *refused;

		json_text(item, "file", entry->file);
		if (entry->refused) {
			json_text(item, "error", entry->error.text);
			continue;
		}
		json_text(item, "name", entry->module.name);
		json_text_or_null(item, "version", entry->module.version);
		json_number(item, "runs", codes[VERDICT_RUNS]);
		refused = json_object(item, "refused");
		for (int j = 0; j < VERDICT_RUNS; j++)
			json_number(refused, verdict_code_name((enum verdict_code)j), codes[j]);
	}
}

static void change_json(cJSON *item, const struct audit *audit, const struct audit_change *c)
{
	cJSON *list;

	json_text(item, "change", c->text);
	json_text_or_null(item, "kernel", c->kernel);
	json_number(item, "nodes", c->nodes);
	json_bool(item, "at_most", c->at_most);
	json_number(item, "container_leaf", c->leaf);
	json_number(item, "gpu", c->gpu);
	list = json_object(item, "capabilities");
	for (unsigned i = 0; i < audit->column_count; i++)
		if (c->capabilities[i])
			json_number(list, audit->columns[i].name, c->capabilities[i]);
	list = json_array(item, "modules");
	for (size_t i = 0; i < audit->modules.count; i++) {
		cJSON *module;

		if (!c->modules[i])
			continue;
		module = json_add_object(list);
		json_text(module, "name", audit->modules.entries[i].module.name);
		json_text_or_null(module, "version", audit->modules.entries[i].module.version);
		json_number(module, "nodes", c->modules[i]);
	}
}

static void profile_json(cJSON *item, const struct audit *audit, uint32_t number)
{
	const struct audit_profile *p = &audit->table.profiles[number];
	const uint8_t *codes = &audit->codes[number * audit->modules.count];
	cJSON *list;

	json_number(item, "nodes", p->nodes);
	json_text_or_null(item, "kernel", p->kernel);
	json_text_or_null(item, "arch", p->arch);
	json_number(item, "landlock_abi", p->abi);
	json_bool(item, "backend", p->backend);
	json_bool(item, "assumed", p->assumed);
	list = json_array(item, "status");
	for (unsigned i = 0; i < audit->column_count; i++) {
		const struct audit_status *s = audit_status_of(audit, p, i);

		if (s)
			json_add_text(list, status_name(s->status));
		else
			json_add(list, cJSON_CreateNull());
	}
	list = json_array(item, "why");
	for (unsigned i = 0; i < audit->column_count; i++) {
		const struct audit_status *s = audit_status_of(audit, p, i);

		json_add_text(list, s && s->status != STATUS_ENFORCED ? s->why : "");
	}
	list = json_array(item, "modules");
	for (size_t i = 0; i < audit->modules.count; i++) {
		const char *code = verdict_code_name((enum verdict_code)codes[i]);

		if (audit->modules.entries[i].refused)
			json_add(list, cJSON_CreateNull());
		else
			json_add_text(list, code ? code : "RUNS");
	}
}

static void head_json(cJSON *root, const struct audit *audit)
{
	uint32_t kept = audit->damaged < AUDIT_DAMAGED_KEPT ? audit->damaged : AUDIT_DAMAGED_KEPT;
	cJSON *list;

	json_number(root, "audit", 1);
	json_text(root, "generator", "oarbank-probe " OARBANK_VERSION);
	json_number(root, "node_count", audit->table.node_count);
	json_number(root, "superseded", audit->superseded);
	json_number(root, "damaged", audit->damaged);
	list = json_array(root, "damaged_reports");
	for (uint32_t i = 0; i < kept; i++)
		json_add_text(list, audit->damaged_texts[i]);
}

/* All but the nodes, without the bracket at its end; to be freed. NULL without memory. */
static char *summary(const struct audit *audit)
{
	cJSON *root = cJSON_CreateObject();
	char *text;
	cJSON *list;

	head_json(root, audit);
	columns_json(root, audit);
	kernels_json(root, audit);
	reasons_json(root, audit);
	findings_json(root, audit);
	modules_json(root, audit);
	list = json_array(root, "changes");
	for (uint32_t i = 0; i < audit->change_count; i++)
		change_json(json_add_object(list), audit, &audit->changes[i]);
	list = json_array(root, "profiles");
	for (uint32_t i = 0; i < audit->table.profile_count; i++)
		profile_json(json_add_object(list), audit, i);
	text = json_failed() ? NULL : cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	return text;
}

/* '<' is escaped too, so that the text may stand in a page. The scanner took nothing but UTF-8. */
static void put_string(const char *s, FILE *out)
{
	putc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c == '<')
			fprintf(out, "\\u%04x", c);
		else
			putc(c, out);
	}
	putc('"', out);
}

int audit_json(const struct audit *audit, FILE *out)
{
	char *text = summary(audit);

	if (!text)
		return -ENOMEM;
	for (const char *c = text; *c; c++)
		if (*c == '<')
			fputs("\\u003c", out);
		else if (c[1])
			putc(*c, out);
	free(text);
	/* One by one: a tree of all nodes would take ten times the table. */
	fputs(",\"nodes\":[", out);
	for (uint32_t i = 0; i < audit->table.node_count; i++) {
		const struct audit_node *n = &audit->table.nodes[i];

		fputs(i ? ",{\"name\":" : "{\"name\":", out);
		put_string(n->name, out);
		fputs(",\"time\":", out);
		if (n->time[0])
			put_string(n->time, out);
		else
			fputs("null", out);
		fprintf(out, ",\"profile\":%u}", n->profile);
	}
	fputs("]}\n", out);
	return 0;
}
