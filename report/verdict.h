/* Whether a module runs on a node: the coordinator's decision (wire.md 5.2), as far as a node can
 * make it, from the node's facts and the module's needs. Pure: no system calls, no allocation.
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/probe.h"
#include "report/manifest.h"
#include "report/needs.h"

struct node_capability {
	const char *name;
	enum status status;
	/* The Landlock ABI a node needs to enforce it; 0 when no kernel brings it. */
	unsigned needed_abi;
	const char *why; /* why it is not enforced, for a person; NULL: no reason known */
};

/* What the report found out about the node. A capability that is not in the list is unavailable.
 * All strings are the caller's.
 */
struct node_view {
	bool backend;		 /* facts.sandbox.backend is not null */
	const char *backend_why; /* why it is null, or NULL */
	unsigned backend_abi;	 /* the ABI a backend needs; 0: something else is missing too */
	unsigned abi;		 /* Landlock's here; 0 without it */
	const char *platform;	 /* "linux-amd64"; NULL: not known */
	const char *os_version;	 /* of os-release; NULL: not known */
	const char *kernel;	 /* uname's release; NULL: not known */
	const char *glibc;	 /* NULL when the C library is another one or unknown */
	const struct node_capability *capabilities;
	size_t capability_count;
};

/* In the order in which the coordinator checks. */
enum verdict_code {
	VERDICT_SANDBOX_BACKEND_MISSING,
	VERDICT_PLATFORM_UNSUPPORTED,
	VERDICT_OS_VERSION_UNSUPPORTED,
	VERDICT_CAPABILITY_NOT_ENFORCED,
	VERDICT_RUNS,
};

/* "SANDBOX_BACKEND_MISSING"; NULL for VERDICT_RUNS. */
const char *verdict_code_name(enum verdict_code code);

struct missing {
	const struct need *need; /* in the verdict's own `needs` */
	enum status status;
	unsigned needed_abi; /* 0: no newer kernel helps */
	const char *why;     /* the view's, or NULL */
};

#define VERDICT_MESSAGE_MAX 640

struct verdict {
	enum verdict_code code; /* the first reason, or VERDICT_RUNS */
	char message[VERDICT_MESSAGE_MAX];
	struct needs needs;
	/* Every need that is not enforced, in the order of `needs`, whatever the code is. */
	unsigned missing_count;
	struct missing missing[NEEDS_MAX];
	/* The published coordinator would place the module: only always-on rules are missing. */
	bool placed;
	/* The first kernel on which this node would run the module, "6.12"; "" when it runs already
	 * or when no kernel alone changes that. kernel_abi is the Landlock ABI that takes, or 0.
	 */
	char kernel[VERSION_TEXT_MAX];
	unsigned kernel_abi;
};

/* Decide. *ret points into itself, into `node` and into constants: pass it by pointer. */
void verdict_decide(const struct module *m, const struct node_view *node, struct verdict *ret);

#endif
