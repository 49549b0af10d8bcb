#include <stdlib.h>

#include "report/diff.h"

#include "report/exit.h"
#include "report/input.h"
#include "report/strict_json.h"

#define REPORT_MIB 16

struct diff_options {
	bool json;
	bool help;
	const char *files[2];
	int count;
};

static int take_json(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	(void)why;
	((struct diff_options *)state)->json = true;
	return 0;
}

static int take_help(void *state, const char *arg, struct fault *why)
{
	(void)arg;
	(void)why;
	((struct diff_options *)state)->help = true;
	return 0;
}

static int take_file(void *state, const char *word, struct fault *why)
{
	struct diff_options *o = state;

	if (o->count == 2)
		return command_refuse(why, "diff compares two reports, '", word, "' is a third");
	o->files[o->count++] = word;
	return 0;
}

static const struct command_option rows[] = {
	{ "--json", NULL, take_json, "print one JSON object", NULL },
	{ "--help", NULL, take_help, "print this", NULL },
};

const struct command diff_command = {
	.name = "diff",
	.summary = "what changed between two reports of a node",
	.options = rows,
	.option_count = sizeof(rows) / sizeof(rows[0]),
	.operand = take_file,
};

static void help(void)
{
	fputs("usage: oarbank-probe diff [--json] A B\n"
	      "\n"
	      "Tell what changed from report A to report B, two files that\n"
	      "'oarbank-probe --json' wrote; - is standard input. Times, durations and free\n"
	      "disk space are not compared.\n"
	      "\n",
	      stdout);
	command_help(&diff_command, stdout);
	fputs("\n"
	      "Exit: 0 nothing changed, 1 something did, 64 usage, 70 a report could not be\n"
	      "read or the difference not written.\n",
	      stdout);
}

static cJSON *read_report(const char *file, struct fault *why)
{
	cJSON *tree = NULL;
	char *text = NULL;
	size_t len = 0;

	if (input_read(file, REPORT_MIB, &text, &len, why) < 0)
		return NULL;
	if (json_tree(text, len, &tree, why) < 0) {
		fault_prefix(why, file);
	} else if (!cJSON_IsObject(tree) ||
		   !cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(tree, "sandbox"))) {
		fault_join(why, file, ": no report: it has no 'sandbox'", NULL);
		cJSON_Delete(tree);
		tree = NULL;
	}
	free(text);
	return tree;
}

static int run_diff(const struct diff_options *options)
{
	struct diff diff = { 0 };
	cJSON *from = NULL;
	cJSON *to = NULL;
	struct fault why;
	int code = EXIT_OURS;
	int r;

	from = read_report(options->files[0], &why);
	to = from ? read_report(options->files[1], &why) : NULL;
	if (!to) {
		fail(EXIT_OURS, why.text);
		goto out;
	}
	r = diff_make(from, to, DIFF_REPORTS, &diff);
	if (r == 0 && options->json)
		r = diff_json(&diff, from, to, stdout);
	else if (r == 0)
		diff_page(&diff, from, to, exit_wants_colour(), stdout);
	if (r < 0)
		fail(EXIT_OURS, "compare the reports: ENOMEM");
	else
		code = exit_flushed();
	if (code == 0 && diff.count > 0)
		code = EXIT_NO;
out:
	diff_free(&diff);
	cJSON_Delete(from);
	cJSON_Delete(to);
	return code;
}

int diff_main(int argc, char **argv)
{
	struct diff_options options = { 0 };
	struct fault why;
	int r = command_parse(&diff_command, argc, argv, &options, &why);

	if (r == 0 && options.help) {
		help();
		return exit_flushed();
	}
	if (r == 0 && options.count < 2)
		r = command_refuse(&why, "diff needs two reports", "", "");
	if (r < 0)
		return exit_usage("diff ", &why);
	return run_diff(&options);
}
