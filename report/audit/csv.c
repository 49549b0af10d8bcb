#include <string.h>

#include "report/audit/audit.h"

#include "kabi/text.h"

/* RFC 4180, in UTF-8. A name that a spreadsheet would take for a formula gets an apostrophe before
 * it: host names are what a node says of itself.
 */
static void put_field(const char *s, FILE *out)
{
	bool formula = s[0] && strchr("=+-@\t\r", s[0]);

	bool quoted = formula || s[strcspn(s, "\",\r\n")];

	if (quoted)
		fputs(formula ? "\"'" : "\"", out);
	while (*s) {
		struct utf8 next = utf8_next(s);

		if (*s == '"')
			putc('"', out);
		fwrite(next.bytes, 1, next.len, out);
		s += next.taken;
	}
	if (quoted)
		putc('"', out);
}

static void put_number(int64_t number, FILE *out)
{
	fprintf(out, ",%lld", (long long)number);
}

static void put_header(const struct audit *audit, FILE *out)
{
	fputs("node,time,kernel,arch,landlock_abi", out);
	for (unsigned i = 0; i < audit->column_count; i++) {
		putc(',', out);
		put_field(audit->columns[i].name, out);
	}
	for (size_t i = 0; i < audit->modules.count; i++) {
		const struct module_entry *entry = &audit->modules.entries[i];

		putc(',', out);
		put_field(entry->refused ? entry->file : entry->module.name, out);
	}
	fputs("\r\n", out);
}

static void put_node(const struct audit *audit, const struct audit_node *node, FILE *out)
{
	const struct audit_profile *p = &audit->table.profiles[node->profile];
	const uint8_t *codes = &audit->codes[node->profile * audit->modules.count];

	put_field(node->name, out);
	putc(',', out);
	put_field(node->time, out);
	putc(',', out);
	put_field(p->kernel, out);
	putc(',', out);
	put_field(p->arch, out);
	put_number(p->abi, out);
	for (unsigned i = 0; i < audit->column_count; i++) {
		const struct audit_status *s = audit_status_of(audit, p, i);

		putc(',', out);
		fputs(s ? status_name(s->status) : "", out);
	}
	for (size_t i = 0; i < audit->modules.count; i++) {
		const char *code = verdict_code_name((enum verdict_code)codes[i]);

		putc(',', out);
		if (!audit->modules.entries[i].refused)
			fputs(code ? code : "RUNS", out);
	}
	fputs("\r\n", out);
}

void audit_csv(const struct audit *audit, FILE *out)
{
	put_header(audit, out);
	for (uint32_t i = 0; i < audit->table.node_count; i++)
		put_node(audit, &audit->table.nodes[i], out);
}
