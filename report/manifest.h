/* One module, as the node report needs it: from its manifest (oarbank-module.toml, or the same as
 * JSON) or from its entry in a release's modules.json (wire.md 6.1, 6.3).
 *
 * How we read what wire.md leaves open:
 * - A manifest names the module by `module.id`, whose last part is the short name, unless
 * `module.name` or a top-level `name` gives it; the version is `module.version` or a top-level
 * `version`.
 * - `requires.platforms` must be there and not be empty. `requires.core`, when there, must begin
 * at 2.5 or later if the manifest has folders or container sets.
 * - A release's entry is rendered for one platform, the release's: its own `requires` is a list of
 *   capabilities and says nothing about platforms. A table there is read as a manifest's.
 * - `requires.features` must be understood: an unknown one is an error. Every other unknown key is
 *   tolerated, and noted when it is in a table we read.
 */
#ifndef REPORT_MANIFEST_H
#define REPORT_MANIFEST_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "kabi/fault.h"
#include "report/grants.h"
#include "report/version.h"

/* A range of `requires`: without text it admits everything. */
struct requirement {
	const char *text; /* as written, or NULL */
	struct version_range range;
};

struct module {
	cJSON *document; /* owns every string here */
	cJSON *unknown;	 /* paths of the first unknown keys, a list of strings */
	const char *name;
	const char *version;	/* NULL when the document has none */
	const cJSON *platforms; /* a list of strings, or one string */
	struct requirement kernel;
	struct requirement glibc;
	struct requirement agent;
	struct grants grants;
	bool endpoint; /* a service is handed its connections by the agent */
};

/* Read a manifest. `document` is ours from now on, also on failure. 0, or -EINVAL with `why` saying
 * which key breaks which rule, or -ENOMEM. *ret is set only on success; free with module_free().
 */
int module_read(cJSON *document, struct module *ret, struct fault *why);

/* The same for an entry of modules.json, of a release for `platform`. */
int module_read_entry(cJSON *entry, const char *platform, struct module *ret, struct fault *why);

void module_free(struct module *m);

/* Does the module list that platform, "linux-amd64"? */
bool module_lists(const struct module *m, const char *platform);

#endif
