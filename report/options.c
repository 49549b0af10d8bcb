#include "report/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	struct options *ret;
	struct fault *why;
	const char *mode_option; /* the option that chose the mode */
};

static int refuse(struct fault *why, const char *a, const char *b, const char *c)
{
	fault_join(why, a, b, c, NULL);
	return -EINVAL;
}

static int set_mode(struct parser *p, enum mode mode, const char *option)
{
	if (p->mode_option && p->ret->mode != mode)
		return refuse(p->why, p->mode_option, " and ", option);
	p->ret->mode = mode;
	p->mode_option = option;
	return 0;
}

static int take_json(struct parser *p, const char *arg)
{
	(void)arg;
	return set_mode(p, MODE_JSON, "--json");
}

static int take_sandbox(struct parser *p, const char *arg)
{
	(void)arg;
	return set_mode(p, MODE_SANDBOX, "--sandbox");
}

static int unknown_capability(struct parser *p, const char *name)
{
	char names[FAULT_TEXT_MAX] = "";
	struct fault list;

	for (int i = 0; i < CAPABILITY_COUNT; i++) {
		fault_join(&list, names, i ? ", " : "", capability_rows[i].name, NULL);
		memcpy(names, list.text, sizeof(names));
	}
	fault_join(p->why, "no capability is named '", name, "'; there are ", names, NULL);
	return -EINVAL;
}

static int take_explain(struct parser *p, const char *arg)
{
	p->ret->explain = capability_find(arg);
	if (p->ret->explain < 0)
		return unknown_capability(p, arg);
	return set_mode(p, MODE_EXPLAIN, "--explain");
}

/* Call `each` with every name of a comma-separated list. */
static int each_name(struct parser *p, const char *list, int (*each)(struct parser *, const char *))
{
	for (;;) {
		size_t len = strcspn(list, ",");
		char name[64];
		int r;

		if (len == 0 || len >= sizeof(name))
			return refuse(p->why, "'", list, "' is not a list NAME[,NAME]");
		memcpy(name, list, len);
		name[len] = '\0';
		r = each(p, name);
		if (r < 0 || !list[len])
			return r;
		list += len + 1;
	}
}

static int require_one(struct parser *p, const char *name)
{
	int id = capability_find(name);

	if (id < 0)
		return unknown_capability(p, name);
	p->ret->require[id] = true;
	return 0;
}

static int take_require(struct parser *p, const char *arg)
{
	return each_name(p, arg, require_one);
}

static int without_one(struct parser *p, const char *name)
{
	for (int id = 0; id < PROBE_COUNT; id++) {
		if (strcmp(name, probe_name((enum probe_id)id)) != 0)
			continue;
		if (id == PROBE_LANDLOCK || id == PROBE_SECCOMP)
			return refuse(p->why, "without ", name, " there is nothing to report");
		p->ret->without |= PROBE_BIT(id);
		return 0;
	}
	return refuse(p->why, "no probe is named '", name,
		      "'; there are host, cgroup, gpu, settings, engine, net, bpf");
}

static int take_without(struct parser *p, const char *arg)
{
	return each_name(p, arg, without_one);
}

static int add_file(struct parser *p, const char *path, bool release)
{
	struct options *o = p->ret;
	struct module_file *grown;

	if (!*path)
		return refuse(p->why, release ? "--modules" : "--module", " needs a file name", "");
	if (o->file_count == MODULE_FILES_MAX)
		return refuse(p->why, "more than 4096 module files", "", "");
	grown = realloc(o->files, (o->file_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	o->files = grown;
	o->files[o->file_count++] = (struct module_file){ path, release };
	return 0;
}

static int take_module(struct parser *p, const char *arg)
{
	return add_file(p, arg, false);
}

static int take_modules(struct parser *p, const char *arg)
{
	return add_file(p, arg, true);
}

static int take_root(struct parser *p, const char *arg)
{
	if (!*arg)
		return refuse(p->why, "--root needs a directory", "", "");
	p->ret->root = arg;
	return 0;
}

static int take_help(struct parser *p, const char *arg)
{
	(void)arg;
	return set_mode(p, MODE_HELP, "--help");
}

static int take_version(struct parser *p, const char *arg)
{
	(void)arg;
	return set_mode(p, MODE_VERSION, "--version");
}

static const struct option_row {
	const char *name;
	const char *arg; /* NULL: takes none */
	int (*take)(struct parser *p, const char *arg);
	const char *help;
} option_rows[] = {
	{ "--json", NULL, take_json, "print the whole report as one line of JSON" },
	{ "--sandbox", NULL, take_sandbox,
	  "print the sandbox report of the wire, one line of JSON" },
	{ "--explain", "CAPABILITY", take_explain, "tell one capability in full" },
	{ "--require", "NAME[,NAME]", take_require,
	  "exit 1 when one of these capabilities is not enforced" },
	{ "--module", "FILE", take_module,
	  "say whether the module of this manifest (TOML or JSON) runs here" },
	{ "--modules", "FILE", take_modules,
	  "the same for every module of a release's modules.json" },
	{ "--without", "PROBE[,PROBE]", take_without,
	  "leave out host, cgroup, gpu, settings, engine, net or bpf" },
	{ "--root", "DIR", take_root, "read a recorded machine instead of this one" },
	{ "--help", NULL, take_help, "print this" },
	{ "--version", NULL, take_version, "print the version" },
};
#define OPTION_COUNT (sizeof(option_rows) / sizeof(option_rows[0]))

static const struct option_row *find_option(const char *word, size_t len)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strlen(option_rows[i].name) == len &&
		    strncmp(option_rows[i].name, word, len) == 0)
			return &option_rows[i];
	return NULL;
}

/* Take argv[*at], and the word after it when the option has an argument that is not behind '='. */
static int take_word(struct parser *p, int argc, char **argv, int *at)
{
	const char *word = argv[*at];
	size_t len = strcspn(word, "=");
	const struct option_row *row = find_option(word, len);
	const char *arg = NULL;

	if (!row)
		return refuse(p->why, *word == '-' ? "unknown option '" : "unexpected argument '",
			      word, "'");
	if (word[len] == '=')
		arg = word + len + 1;
	if (!row->arg && arg)
		return refuse(p->why, row->name, " takes no argument", "");
	if (row->arg && !arg) {
		if (*at + 1 == argc)
			return refuse(p->why, row->name, " needs ", row->arg);
		arg = argv[++*at];
	}
	return row->take(p, arg);
}

int options_parse(int argc, char **argv, struct options *ret, struct fault *why)
{
	struct options options = { .explain = -1 };
	struct parser p = { .ret = &options, .why = why };

	for (int at = 1; at < argc; at++) {
		int r = take_word(&p, argc, argv, &at);

		if (r < 0) {
			options_free(&options);
			return r;
		}
	}
	if (options.file_count && (options.mode == MODE_SANDBOX || options.mode == MODE_EXPLAIN)) {
		options_free(&options);
		return refuse(why, "modules are part of the whole report, not of ", p.mode_option,
			      "");
	}
	*ret = options;
	return 0;
}

void options_free(struct options *options)
{
	free(options->files);
	options->files = NULL;
}

void options_help(FILE *out)
{
	fputs("usage: oarbank-probe [OPTION]...\n"
	      "\n"
	      "Tell what this node's kernel enforces for confined modules, why not the rest,\n"
	      "and what would change that. Without an option: a page for people.\n"
	      "\n",
	      out);
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];
		int width = fprintf(out, "  %s%s%s", row->name, row->arg ? " " : "",
				    row->arg ? row->arg : "");

		fprintf(out, "%*s%s\n", width < 25 ? 27 - width : 2, "", row->help);
	}
	fputs("\n"
	      "Capabilities:",
	      out);
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		fprintf(out, "%s%s", i % 5 == 0 ? "\n  " : " ", capability_rows[i].name);
	fputs("\n"
	      "\n"
	      "FILE may be - for standard input. NO_COLOR and OARBANK_NODE_NAME are honoured;\n"
	      "with SOURCE_DATE_EPOCH the report's time is that, and nothing is timed.\n"
	      "\n"
	      "Exit: 0 the report was written, 1 a required capability is not enforced or a\n"
	      "manifest was refused, 64 usage, 70 the report could not be made or written.\n"
	      "\n"
	      "Example: oarbank-probe --json --modules modules.json | jq '.modules[] | select(.runs)'\n",
	      out);
}
