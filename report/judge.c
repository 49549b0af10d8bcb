#include <stdlib.h>
#include <string.h>

#include "report/report.h"

#include "kabi/text.h"
#include "report/facts_json.h"

/* The Landlock ABI that would bring a backend here; 0 when the kernel is not what keeps it away. */
static unsigned helping_abi(const struct facts *facts)
{
	switch (facts->landlock.state) {
	case LANDLOCK_NOT_BUILT:
	case LANDLOCK_PRESENT:
		return facts->seccomp.mode.answer == ANSWER_YES ? LL_ABI_NEEDED : 0;
	case LANDLOCK_UNKNOWN:
	case LANDLOCK_OFF_AT_BOOT:
	case LANDLOCK_FILTERED:
		return 0;
	}
	return 0;
}

/* What the verdicts look at, in the words of the wire. */
static void view_node(const struct report *report,
		      struct node_capability capabilities[CAPABILITY_COUNT], char platform[32],
		      struct node_view *ret)
{
	const struct host_facts *host = &report->facts->host;
	const struct backend *backend = &report->capabilities.backend;
	struct text token = text_start(platform, 32);

	text_add(&token, "linux-");
	text_add(&token, wire_arch(host->uts.machine));
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		capabilities[i] = (struct node_capability){
			.name = capability_rows[i].name,
			.status = report->capabilities.of[i].status,
			.needed_abi = capability_rows[i].needed_abi,
			.why = report->capabilities.of[i].why,
		};
	*ret = (struct node_view){
		.backend = backend->present,
		.backend_why = backend->present ? NULL : backend->why,
		.backend_abi = helping_abi(report->facts),
		.abi = backend->abi,
		.platform = host->uts.machine[0] ? platform : NULL,
		.os_version = host->os_version[0] ? host->os_version : NULL,
		.kernel = host->uts.release[0] ? host->uts.release : NULL,
		.glibc = strcmp(host->libc, "glibc") == 0 && host->libc_version[0]
				 ? host->libc_version
				 : NULL,
		.capabilities = capabilities,
		.capability_count = CAPABILITY_COUNT,
	};
}

struct verdict *report_verdicts(const struct report *report)
{
	struct node_capability capabilities[CAPABILITY_COUNT];
	const struct modules *modules = report->modules;
	struct verdict *verdicts = calloc(modules->count + 1, sizeof(*verdicts));
	struct node_view node;
	char platform[32];

	if (!verdicts)
		return NULL;
	view_node(report, capabilities, platform, &node);
	for (size_t i = 0; i < modules->count; i++)
		if (!modules->entries[i].refused)
			verdict_decide(&modules->entries[i].module, &node, &verdicts[i]);
	return verdicts;
}
