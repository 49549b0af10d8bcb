#include "report/options.h"

#include <errno.h>
#include <string.h>

#include "report/verbs.h"

struct parser {
	struct options *ret;
	const char *mode_option; /* the option that chose the mode */
};

static int set_mode(struct parser *p, enum mode mode, const char *option, struct fault *why)
{
	if (p->mode_option && p->ret->mode != mode)
		return command_refuse(why, option, " does not go with ", p->mode_option);
	p->ret->mode = mode;
	p->mode_option = option;
	return 0;
}

static int take_json(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	return set_mode(state, MODE_JSON, "--json", why);
}

static int take_sandbox(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	return set_mode(state, MODE_SANDBOX, "--sandbox", why);
}

static const struct format {
	const char *name;
	enum mode mode;
} formats[] = {
	{ "page", MODE_PAGE },	     { "json", MODE_JSON },
	{ "sandbox", MODE_SANDBOX }, { "openmetrics", MODE_OPENMETRICS },
	{ "nfd", MODE_NFD },
};
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

static const char *format_word(size_t i)
{
	return i < FORMAT_COUNT ? formats[i].name : NULL;
}

static int take_format(void *state, const char *arg, struct fault *why)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (strcmp(formats[i].name, arg) == 0)
			return set_mode(state, formats[i].mode, "--format", why);
	return command_no_such(why, "format", arg, format_word);
}

static int take_watch(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	return set_mode(state, MODE_WATCH, "--watch", why);
}

static int take_assume_abi(void *state, const char *arg, struct fault *why)
{
	return assumption_take_abi(arg, &((struct parser *)state)->ret->assumption, why);
}

static int take_assume_kernel(void *state, const char *arg, struct fault *why)
{
	return assumption_take_kernel(arg, &((struct parser *)state)->ret->assumption, why);
}

static const char *capability_word(size_t i)
{
	return i < CAPABILITY_COUNT ? capability_rows[i].name : NULL;
}

static int unknown_capability(const char *name, struct fault *why)
{
	return command_no_such(why, "capability", name, capability_word);
}

static int take_explain(void *state, const char *arg, struct fault *why)
{
	struct parser *p = state;

	p->ret->explain = capability_find(arg);
	if (p->ret->explain < 0)
		return unknown_capability(arg, why);
	return set_mode(state, MODE_EXPLAIN, "--explain", why);
}

/* Call `each` with every name of a comma-separated list. */
static int each_name(struct options *o, const char *list,
		     int (*each)(struct options *, const char *, struct fault *), struct fault *why)
{
	for (;;) {
		size_t len = strcspn(list, ",");
		char name[64];
		int r;

		if (len == 0 || len >= sizeof(name))
			return command_refuse(why, "'", list, "' is not a list NAME[,NAME]");
		memcpy(name, list, len);
		name[len] = '\0';
		r = each(o, name, why);
		if (r < 0 || !list[len])
			return r;
		list += len + 1;
	}
}

static int require_one(struct options *o, const char *name, struct fault *why)
{
	int id = capability_find(name);

	if (id < 0)
		return unknown_capability(name, why);
	o->require[id] = true;
	o->required = true;
	return 0;
}

static int take_require(void *state, const char *arg, struct fault *why)
{
	return each_name(((struct parser *)state)->ret, arg, require_one, why);
}

/* Landlock and seccomp, which come first, cannot be left out. */
static const char *probe_word(size_t i)
{
	_Static_assert(PROBE_SECCOMP < 2 && PROBE_LANDLOCK < 2, "the first two");
	return i + 2 < PROBE_COUNT ? probe_name((enum probe_id)(i + 2)) : NULL;
}

static int without_one(struct options *o, const char *name, struct fault *why)
{
	for (int id = 0; id < PROBE_COUNT; id++) {
		if (strcmp(name, probe_name((enum probe_id)id)) != 0)
			continue;
		if (id == PROBE_LANDLOCK || id == PROBE_SECCOMP)
			return command_refuse(why, "without ", name, " there is nothing to report");
		o->without |= PROBE_BIT(id);
		return 0;
	}
	return command_no_such(why, "probe", name, probe_word);
}

static int take_without(void *state, const char *arg, struct fault *why)
{
	return each_name(((struct parser *)state)->ret, arg, without_one, why);
}

static int take_module(void *state, const char *arg, struct fault *why)
{
	return module_files_add(&((struct parser *)state)->ret->files, arg, false, why);
}

static int take_modules(void *state, const char *arg, struct fault *why)
{
	return module_files_add(&((struct parser *)state)->ret->files, arg, true, why);
}

static int take_root(void *state, const char *arg, struct fault *why)
{
	if (!*arg)
		return command_refuse(why, "--root needs a directory", "", "");
	((struct parser *)state)->ret->root = arg;
	return 0;
}

static int take_no_trials(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	(void)why;
	((struct parser *)state)->ret->no_trials = true;
	return 0;
}

static const char *const parents[] = { "none", "run" };

static const char *parent_word(size_t i)
{
	return i < sizeof(parents) / sizeof(parents[0]) ? parents[i] : NULL;
}

static int take_parent(void *state, const char *arg, struct fault *why)
{
	for (size_t i = 0; parent_word(i); i++) {
		if (strcmp(arg, parent_word(i)) != 0)
			continue;
		((struct parser *)state)->ret->supervised = i > 0;
		return 0;
	}
	return command_no_such(why, "parent", arg, parent_word);
}

static int take_help(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	return set_mode(state, MODE_HELP, "--help", why);
}

static int take_version(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	return set_mode(state, MODE_VERSION, "--version", why);
}

static const struct command_option option_rows[] = {
	{ "--json", NULL, take_json, "print the whole report as one line of JSON", NULL },
	{ "--sandbox", NULL, take_sandbox,
	  "print the sandbox report that a coordinator reads, one line of JSON", NULL },
	{ "--format", "NAME", take_format, "one of:", format_word },
	{ "--watch", NULL, take_watch, "print a line of JSON now and at every change", NULL },
	{ "--explain", "CAPABILITY", take_explain, "tell one capability in full", capability_word },
	{ "--require", "NAME[,NAME]", take_require,
	  "exit 1 when one of these capabilities is not enforced", capability_word },
	{ "--module", "FILE", take_module,
	  "say whether the module of this manifest (TOML or JSON) runs here", NULL },
	{ "--modules", "FILE", take_modules,
	  "the same for every module of a release's modules.json", NULL },
	{ "--without", "PROBE[,PROBE]", take_without, "leave out some of:", probe_word },
	{ "--no-trials", NULL, take_no_trials, "take the kernel's word: try nothing, and say so",
	  NULL },
	{ "--parent", "NAME", take_parent,
	  "try under the supervisor of oarbank-run --supervise metadata (run), or without (none)",
	  parent_word },
	{ "--assume-abi", "N", take_assume_abi,
	  "tell what it would be with that Landlock ABI, marked as assumed", NULL },
	{ "--assume-kernel", "X.Y", take_assume_kernel,
	  "the same for the Landlock of that kernel release", NULL },
	{ "--root", "DIR", take_root, "read a recorded machine instead of this one", NULL },
	{ "--help", NULL, take_help, "print this", NULL },
	{ "--version", NULL, take_version, "print the version", NULL },
};

const struct command options_command = {
	.name = "",
	.options = option_rows,
	.option_count = sizeof(option_rows) / sizeof(option_rows[0]),
};

/* What does not go together. */
static int check_together(const struct options *o, const char *mode, struct fault *why)
{
	bool whole = o->mode != MODE_SANDBOX && o->mode != MODE_EXPLAIN;
	bool shown = o->mode == MODE_PAGE || o->mode == MODE_JSON || o->mode == MODE_EXPLAIN;

	if (o->files.count && !whole)
		return command_refuse(why, "modules are part of the whole report, not of ", mode,
				      "");
	if (assumption_made(&o->assumption) && !shown)
		return command_refuse(why, mode, " tells what is, and cannot be marked as assumed",
				      "");
	if (o->required && o->mode == MODE_WATCH)
		return command_refuse(why, "--require is an exit code, and ", mode, " has no end");
	if (o->root && o->mode == MODE_WATCH)
		return command_refuse(why, "a recorded machine does not change: --root and ", mode,
				      "");
	return 0;
}

int options_parse(int argc, char **argv, struct options *ret, struct fault *why)
{
	struct options options = { .explain = -1 };
	struct parser p = { .ret = &options };
	int r = command_parse(&options_command, argc, argv, &p, why);

	if (r == 0)
		r = check_together(&options, p.mode_option, why);
	if (r < 0)
		options_free(&options);
	else
		*ret = options;
	return r;
}

void options_free(struct options *options)
{
	module_files_free(&options->files);
}

void options_help(FILE *out)
{
	fputs("usage: oarbank-probe [OPTION]...\n"
	      "       oarbank-probe VERB [--help] ...\n"
	      "\n"
	      "Tell what this node's kernel enforces for confined modules, why not the rest,\n"
	      "and what would change that. Without an option: a page for people.\n"
	      "\n",
	      out);
	command_help(&options_command, out);
	fputs("\nVerbs:\n", out);
	for (size_t i = 0; i < verb_count; i++)
		if (verbs[i].command->summary)
			fprintf(out, "  %-23s  %s\n", verbs[i].command->name,
				verbs[i].command->summary);
	fputs("\n"
	      "Capabilities:",
	      out);
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		fprintf(out, "%s%s", i % 5 == 0 ? "\n  " : " ", capability_rows[i].name);
	fputs("\n"
	      "\n"
	      "What is enforced was tried by a confined process, for --sandbox and --require\n"
	      "too, in a private directory (in TMPDIR, or in memory) of which nothing is left.\n"
	      "That takes some 20 ms; --no-trials leaves it out.\n"
	      "\n"
	      "FILE may be - for standard input. NO_COLOR and OARBANK_NODE_NAME are honoured;\n"
	      "with SOURCE_DATE_EPOCH the report's time is that, and nothing is timed.\n"
	      "\n"
	      "Exit: 0 the report was written, 1 a required capability is not enforced or a\n"
	      "manifest was refused, 64 usage, 70 the report could not be made or written.\n"
	      "\n"
	      "Example:\n"
	      "  oarbank-probe --json --modules modules.json | jq '.modules[] | select(.runs)'\n",
	      out);
}
