/* The files given with --module and --modules: read, parsed, and kept as one list in the order
 * given. What is refused takes nothing else with it: a bad file is one entry with an error, and so
 * is a bad module in a release.
 */
#ifndef REPORT_MODULES_H
#define REPORT_MODULES_H

#include <stdbool.h>
#include <stddef.h>

#include "kabi/fault.h"
#include "report/manifest.h"

#define MODULE_FILE_MIB 4

struct module_entry {
	const char *file; /* the caller's; "-" is standard input */
	/* Which module of a release, from 0; -1 for a manifest, and for the error of a whole file.
	 */
	int index;
	bool refused;
	struct module module; /* all zero when refused */
	struct fault error;   /* when refused: the place in the release, the key and the rule */
};

/* Start with a zeroed struct; free with modules_free(). */
struct modules {
	struct module_entry *entries;
	size_t count;
	size_t capacity;
	size_t refused; /* how many entries are errors: the program exits 1 when there are any */
};

/* Add the manifest in `file`: TOML or JSON by its ending (.toml, .json), otherwise JSON when its
 * first character other than white space is '{'. Adds exactly one entry. 0 also when it is refused;
 * -ENOMEM.
 */
int modules_add_manifest(struct modules *list, const char *file);

/* Add every module of a release's modules.json (format 2), or one refused entry. 0 or -ENOMEM. */
int modules_add_release(struct modules *list, const char *file);

/* The same two with the text in memory; `file` names it. */
int modules_parse_manifest(struct modules *list, const char *file, const char *text, size_t len);
int modules_parse_release(struct modules *list, const char *file, const char *text, size_t len);

void modules_free(struct modules *list);

#endif
