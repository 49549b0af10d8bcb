/* The command line of oarbank-probe, from one table. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kabi/fault.h"
#include "probe/probe.h"
#include "report/assume.h"
#include "report/command.h"
#include "report/module_files.h"

enum mode {
	MODE_PAGE,
	MODE_JSON,
	MODE_SANDBOX,
	MODE_EXPLAIN,
	MODE_OPENMETRICS,
	MODE_NFD,
	MODE_WATCH,
	MODE_HELP,
	MODE_VERSION,
};

struct options {
	enum mode mode;
	const char *root; /* NULL: this machine */
	uint32_t without; /* PROBE_BIT() of what not to run */
	bool no_trials;
	bool supervised; /* --parent run */
	struct assumption assumption;
	int explain;   /* enum capability_id of --explain */
	bool required; /* any of these: */
	bool require[CAPABILITY_COUNT];
	struct module_files files; /* freed by options_free() */
};

/* Returns 0, or -EINVAL with `why`, or -ENOMEM. Strings point into argv. */
int options_parse(int argc, char **argv, struct options *ret, struct fault *why);
void options_free(struct options *options);

/* Without a verb. */
extern const struct command options_command;

/* What --help prints. */
void options_help(FILE *out);

#endif
