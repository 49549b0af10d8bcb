#include "report/make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kabi/text.h"
#include "report/module_files.h"

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
	report->epoch = t;
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

/* What the quick look leaves out: what takes long, and what comes and goes by itself. */
#define SLOW (PROBE_BIT(PROBE_BPF) | PROBE_BIT(PROBE_NET))

static uint32_t wanted_probes(const struct options *options, bool quick)
{
	uint32_t all = PROBE_ALL & ~options->without;

	if (options->mode == MODE_SANDBOX)
		return PROBE_BIT(PROBE_LANDLOCK) | PROBE_BIT(PROBE_SECCOMP);
	return quick ? all & ~SLOW : all;
}

/* What the kernel says, and what it does. Neither a recorded nor an assumed kernel can be tried. */
static int ask(const struct options *options, const struct kernel *k, bool quick,
	       struct facts **ret, struct fault *why)
{
	char home[FACTS_PATH_MAX];
	const struct gather_options gather = {
		.want = wanted_probes(options, quick),
		.home = options->root ? "/" : agent_home(home),
	};
	const struct trials_options trials = {
		.wire_only = options->mode == MODE_SANDBOX,
		.supervised = options->supervised,
	};
	bool assumed = assumption_made(&options->assumption);
	int r = facts_gather(k, &gather, ret, why);

	if (r < 0)
		return r;
	if (assumed)
		assume_facts(&options->assumption, *ret);
	else if (!options->root && !options->no_trials && !quick)
		trials_run(k, &trials, *ret);
	return 0;
}

static int judge(const struct options *options, struct made *made, struct fault *why)
{
	struct report *report = &made->report;

	report->facts = made->facts;
	report->modules = &made->modules;
	report->root = options->root;
	capabilities_derive(report->facts, &report->capabilities);
	if (assumption_made(&options->assumption)) {
		report->assumption = &options->assumption;
		assume_reasons(&options->assumption, &report->capabilities);
	}
	findings_derive(report->facts, &report->capabilities, &report->findings);
	made->verdicts = report_verdicts(report);
	report->verdicts = made->verdicts;
	return made->verdicts ? 0 : fault_errno(why, "decide on the modules", NULL, ENOMEM);
}

int report_make(const struct options *options, const struct kernel *k, bool quick, struct made *ret,
		struct fault *why)
{
	double start = now_ms();
	int r;

	*ret = (struct made){ 0 };
	r = ask(options, k, quick, &ret->facts, why);
	if (r < 0)
		return r;
	if (module_files_load(&options->files, &ret->modules) < 0)
		return fault_errno(why, "read the modules", NULL, ENOMEM);
	if (set_time(&ret->report, start) < 0) {
		fault_join(why, "SOURCE_DATE_EPOCH is not a time in seconds", NULL);
		return -EINVAL;
	}
	return judge(options, ret, why);
}

void report_unmake(struct made *made)
{
	free(made->verdicts);
	modules_free(&made->modules);
	facts_free(made->facts);
	*made = (struct made){ 0 };
}
