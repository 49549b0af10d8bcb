/* The files named with --module and --modules. */
#ifndef REPORT_MODULE_FILES_H
#define REPORT_MODULE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/fault.h"
#include "report/modules.h"

#define MODULE_FILES_MAX 4096

/* One --module or --modules. */
struct module_file {
	const char *path;
	bool release; /* modules.json of a release, not one manifest */
};

/* In the order given. Start with a zeroed struct; free with module_files_free(). */
struct module_files {
	struct module_file *of;
	uint32_t count;
};

/* Returns 0, or -EINVAL with `why`, or -ENOMEM. `path` stays the caller's. */
int module_files_add(struct module_files *files, const char *path, bool release, struct fault *why);

/* Read them all into *ret. 0, or -ENOMEM; what is refused is an entry with its error. */
int module_files_load(const struct module_files *files, struct modules *ret);

/* Name every refused entry on standard error. Returns how many there are. */
size_t module_files_complain(const struct modules *modules);

void module_files_free(struct module_files *files);

#endif
