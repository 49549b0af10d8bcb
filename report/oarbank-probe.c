/* oarbank-probe: what this node's kernel enforces for confined modules. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kabi/recorded.h"
#include "report/exit.h"
#include "report/make.h"
#include "report/verbs.h"
#include "report/watch.h"

/* A descriptor opened while 0, 1 or 2 is closed would get its number, and our output. What is put
 * there can be neither read nor written, and needs no /dev.
 */
static int check_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		/* What a filter around us answers says nothing. */
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (fd == STDOUT_FILENO)
			return -EBADF;
		if (open("/", O_PATH | O_DIRECTORY) != fd)
			return -EBADF;
	}
	return 0;
}

static void put(const struct options *options, const struct report *report, FILE *out)
{
	switch (options->mode) {
	case MODE_OPENMETRICS:
		report_openmetrics(report, out);
		return;
	case MODE_NFD:
		report_nfd(report, out);
		return;
	case MODE_EXPLAIN:
		report_explain(report, (enum capability_id)options->explain, exit_wants_colour(),
			       out);
		return;
	case MODE_PAGE:
	case MODE_JSON:
	case MODE_SANDBOX:
	case MODE_WATCH:
	case MODE_HELP:
	case MODE_VERSION:
		break;
	}
	report_page(report, exit_wants_colour(), out);
}

/* What is to be printed, to be freed; NULL without memory. */
static char *compose(const struct options *options, const struct report *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	bool bad;

	if (options->mode == MODE_JSON)
		return report_document(report);
	if (options->mode == MODE_SANDBOX)
		return report_sandbox_line(report);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	put(options, report, out);
	bad = ferror(out);
	if (fclose(out) == 0 && !bad)
		return text;
	free(text);
	return NULL;
}

/* The whole output is made before its first byte is written; half of it must not end well. */
static int print(const struct options *options, const struct report *report)
{
	char *text = compose(options, report);
	struct fault why;
	int r;

	if (!text)
		return fail(EXIT_OURS, "make the report: ENOMEM");
	r = write_whole(text, strlen(text));
	if (r == 0 && (options->mode == MODE_JSON || options->mode == MODE_SANDBOX))
		r = write_whole("\n", 1);
	free(text);
	if (r == 0)
		return 0;
	fault_errno(&why, "write standard output", NULL, -r);
	return fail(EXIT_OURS, why.text);
}

/* Name on stderr what made the exit code 1. */
static int judge(const struct options *options, const struct report *report)
{
	int code = 0;

	for (int i = 0; i < CAPABILITY_COUNT; i++) {
		const struct capability *c = &report->capabilities.of[i];

		if (!options->require[i] || c->status == STATUS_ENFORCED)
			continue;
		fprintf(stderr, "oarbank-probe: required %s is %s: %s\n", capability_rows[i].name,
			status_name(c->status), c->why);
		code = EXIT_NO;
	}
	if (module_files_complain(report->modules) > 0)
		code = EXIT_NO;
	return code;
}

static int report_on(const struct options *options, const struct kernel *k)
{
	struct made made;
	struct fault why;
	int code;

	if (options->mode == MODE_WATCH)
		return watch(options, k);
	if (report_make(options, k, false, &made, &why) < 0) {
		code = fail(EXIT_OURS, why.text);
	} else {
		int judged;

		code = print(options, &made.report);
		judged = judge(options, &made.report);
		code = code ? code : judged;
	}
	report_unmake(&made);
	return code;
}

static int run(const struct options *options)
{
	struct kernel recorded;
	struct fault why;
	int code;

	if (options->mode == MODE_HELP) {
		options_help(stdout);
		return exit_flushed();
	}
	if (options->mode == MODE_VERSION) {
		puts("oarbank-probe " OARBANK_VERSION);
		return exit_flushed();
	}
	if (!options->root)
		return report_on(options, &kernel_live);
	if (recorded_open(options->root, &recorded, &why) < 0)
		return fail(EXIT_OURS, why.text);
	code = report_on(options, &recorded);
	recorded_close(&recorded);
	return code;
}

int main(int argc, char **argv)
{
	const struct verb *verb = argc > 1 ? verb_find(argv[1]) : NULL;
	struct options options;
	struct fault why;
	int code;
	int r;

	if (check_stdio() < 0)
		return fail(EXIT_OURS, "standard output is closed: nowhere to write the report");
	/* A reader that goes away, or a file that may not grow, is an error we report, not a silent
	 * end. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* To learn how the probes' processes end, whoever started us. */
	signal(SIGCHLD, SIG_DFL);
	if (verb)
		return verb->run(argc - 1, argv + 1);
	r = options_parse(argc, argv, &options, &why);
	if (r == -ENOMEM)
		return fail(EXIT_OURS, "read the command line: ENOMEM");
	if (r < 0)
		return exit_usage("", &why);
	code = run(&options);
	options_free(&options);
	return code;
}
