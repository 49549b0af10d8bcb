/* The command line of oarbank-probe, from one table. */
#ifndef REPORT_OPTIONS_H
#define REPORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kabi/fault.h"
#include "probe/probe.h"

enum mode {
	MODE_PAGE,
	MODE_JSON,
	MODE_SANDBOX,
	MODE_EXPLAIN,
	MODE_HELP,
	MODE_VERSION,
};

/* One --module or --modules, in the order given. */
struct module_file {
	const char *path;
	bool release; /* modules.json of a release, not one manifest */
};

#define MODULE_FILES_MAX 4096

struct options {
	enum mode mode;
	const char *root; /* NULL: this machine */
	uint32_t without; /* PROBE_BIT() of what not to run */
	int explain;	  /* enum capability_id of --explain */
	bool require[CAPABILITY_COUNT];
	struct module_file *files; /* freed by options_free() */
	uint32_t file_count;
};

/* Returns 0, or -EINVAL with `why`, or -ENOMEM. Strings point into argv. */
int options_parse(int argc, char **argv, struct options *ret, struct fault *why);
void options_free(struct options *options);

/* What --help prints. */
void options_help(FILE *out);

#endif
