/* oarbank-probe: what this node's kernel enforces for confined modules. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kabi/recorded.h"
#include "kabi/text.h"
#include "report/exit.h"
#include "report/options.h"
#include "report/report.h"
#include "report/verbs.h"

/* A descriptor opened while 0, 1 or 2 is closed would get its number, and our output. What is put
 * there can be neither read nor written, and needs no /dev.
 */
static int check_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (fd == STDOUT_FILENO)
			return -EBADF;
		if (open("/", O_PATH | O_DIRECTORY) != fd)
			return -EBADF;
	}
	return 0;
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The report's time: now, or SOURCE_DATE_EPOCH (reproducible-builds.org), which also stops timing.
 */
static int set_time(struct report *report, double start_ms)
{
	const char *fixed = getenv("SOURCE_DATE_EPOCH");
	int64_t epoch = 0;
	struct tm tm;
	time_t t;

	if (fixed && text_int(fixed, 0, 253402300799, &epoch) < 0)
		return -EINVAL;
	t = fixed ? (time_t)epoch : time(NULL);
	report->duration_ms = fixed ? -1 : now_ms() - start_ms;
	if (!gmtime_r(&t, &tm) ||
	    strftime(report->time, sizeof(report->time), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return -EINVAL;
	return 0;
}

/* The agent's home, for the free disk space (wire.md §2.1): where it is or would be. */
static const char *agent_home(char buf[FACTS_PATH_MAX])
{
	const char *home = getenv("OARBANK_AGENT_HOME");
	const char *data = getenv("XDG_DATA_HOME");
	const char *user = getenv("HOME");
	struct text t = text_start(buf, FACTS_PATH_MAX);

	if (home && *home == '/') {
		text_add(&t, home);
	} else if (data && *data == '/') {
		text_add(&t, data);
		text_add(&t, "/oarbank/agent");
	} else if (user && *user == '/') {
		text_add(&t, user);
		text_add(&t, "/.local/share/oarbank/agent");
	}
	return t.len && !t.cut ? buf : "/";
}

static uint32_t wanted_probes(const struct options *options)
{
	switch (options->mode) {
	case MODE_SANDBOX:
		return PROBE_BIT(PROBE_LANDLOCK) | PROBE_BIT(PROBE_SECCOMP);
	case MODE_EXPLAIN:
	case MODE_PAGE:
	case MODE_JSON:
	case MODE_HELP:
	case MODE_VERSION:
		break;
	}
	return PROBE_ALL & ~options->without;
}

/* What the page or the explanation prints, to be freed; NULL without memory. */
static char *compose_page(const struct options *options, const struct report *report)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool bad;

	if (!out)
		return NULL;
	if (options->mode == MODE_EXPLAIN)
		report_explain(report, (enum capability_id)options->explain, exit_wants_colour(),
			       out);
	else
		report_page(report, exit_wants_colour(), out);
	bad = ferror(out);
	if (fclose(out) != 0 || bad) {
		free(text);
		return NULL;
	}
	return text;
}

static char *compose(const struct options *options, const struct report *report)
{
	switch (options->mode) {
	case MODE_JSON:
		return report_document(report);
	case MODE_SANDBOX:
		return report_sandbox_line(report);
	case MODE_PAGE:
	case MODE_EXPLAIN:
	case MODE_HELP:
	case MODE_VERSION:
		break;
	}
	return compose_page(options, report);
}

/* Somebody we share the pipe with may have made it non-blocking. */
static int wait_writable(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

static int write_all(const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, text, len);

		if (n < 0 && errno == EAGAIN && wait_writable() == 0)
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The whole output is made before its first byte is written; half of it must not end well. */
static int print(const struct options *options, const struct report *report)
{
	char *text = compose(options, report);
	struct fault why;
	int r;

	if (!text)
		return fail(EXIT_OURS, "make the report: ENOMEM");
	r = write_all(text, strlen(text));
	if (r == 0 && (options->mode == MODE_JSON || options->mode == MODE_SANDBOX))
		r = write_all("\n", 1);
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

static int run_report(const struct options *options, struct report *report)
{
	struct verdict *verdicts;
	int code;
	int judged;

	capabilities_derive(report->facts, &report->capabilities);
	findings_derive(report->facts, &report->capabilities, &report->findings);
	verdicts = report_verdicts(report);
	if (!verdicts)
		return fail(EXIT_OURS, "decide on the modules: ENOMEM");
	report->verdicts = verdicts;
	code = print(options, report);
	judged = judge(options, report);
	free(verdicts);
	return code ? code : judged;
}

/* What the kernel says, and what it does. A recorded machine cannot be tried. */
static int ask(const struct options *options, const struct kernel *k, struct facts **ret,
	       struct fault *why)
{
	char home[FACTS_PATH_MAX];
	const struct gather_options gather = {
		.want = wanted_probes(options),
		.home = options->root ? "/" : agent_home(home),
	};
	const struct trials_options trials = { 0 };
	int r = facts_gather(k, &gather, ret, why);

	if (r == 0 && !options->root && !options->no_trials)
		trials_run(k, &trials, *ret);
	return r;
}

static int gather_and_report(const struct options *options, const struct kernel *k)
{
	double start = now_ms();
	struct modules modules = { 0 };
	struct report report = { .modules = &modules, .root = options->root };
	struct facts *facts = NULL;
	struct fault why;
	int code = EXIT_OURS;

	if (ask(options, k, &facts, &why) < 0) {
		fail(EXIT_OURS, why.text);
	} else if (module_files_load(&options->files, &modules) < 0) {
		fail(EXIT_OURS, "read the modules: ENOMEM");
	} else if (set_time(&report, start) < 0) {
		fail(EXIT_OURS, "SOURCE_DATE_EPOCH is not a time in seconds");
	} else {
		report.facts = facts;
		code = run_report(options, &report);
	}
	modules_free(&modules);
	facts_free(facts);
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
		return gather_and_report(options, &kernel_live);
	if (recorded_open(options->root, &recorded, &why) < 0)
		return fail(EXIT_OURS, why.text);
	code = gather_and_report(options, &recorded);
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
