/* What an audit wants of one report, read without a tree. */
#ifndef REPORT_AUDIT_READ_H
#define REPORT_AUDIT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/fault.h"
#include "probe/probe.h"

#define AUDIT_CAPABILITIES_MAX 32
#define AUDIT_FINDINGS_MAX 64
#define AUDIT_GROUPS_MAX 4
#define AUDIT_WORD_MAX 96
#define AUDIT_LINE_MAX 512

struct audit_capability {
	char name[AUDIT_WORD_MAX];
	enum status status;
	char why[AUDIT_LINE_MAX];
	char remedy[AUDIT_LINE_MAX];
	char kernel[AUDIT_WORD_MAX]; /* from which on it would be better */
};

struct audit_finding {
	char id[AUDIT_WORD_MAX];
	bool warning;
	char remedy[AUDIT_LINE_MAX];
};

/* "" is null, or not in the report. */
struct audit_facts {
	char hostname[AUDIT_LINE_MAX];
	char time[AUDIT_WORD_MAX]; /* the report's */
	bool assumed;		   /* it tells what would be after an upgrade, not what is */

	char os[AUDIT_WORD_MAX];
	char arch[AUDIT_WORD_MAX];
	char os_version[AUDIT_WORD_MAX];
	char kernel[AUDIT_WORD_MAX];
	char libc[AUDIT_WORD_MAX];
	char libc_version[AUDIT_WORD_MAX];

	bool backend;
	unsigned abi;			     /* of Landlock */
	char landlock_state[AUDIT_WORD_MAX]; /* kernel.landlock.state */
	char seccomp[AUDIT_WORD_MAX];	     /* kernel.seccomp.mode.answer */
	struct audit_capability capabilities[AUDIT_CAPABILITIES_MAX];
	unsigned capability_count;

	uint32_t obstacles; /* to a container leaf with limits: 1 << enum leaf_obstacle */
	char groups[AUDIT_GROUPS_MAX][AUDIT_WORD_MAX]; /* whose members could open a GPU here */
	unsigned group_count;
	struct audit_finding findings[AUDIT_FINDINGS_MAX];
	unsigned finding_count;
};

/* Read a report of any schema version so far, and the bare facts an agent registers with: where
 * they tell no reasons, the contract's table does. `text` is followed as in scan.h.
 * Returns 0, or -EINVAL with `why`: it is not JSON, or no report, or has more of something than
 * fits.
 */
int audit_read(const char *text, size_t len, struct audit_facts *ret, struct fault *why);

#endif
