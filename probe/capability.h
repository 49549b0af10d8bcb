/* What this node can promise to enforce, derived from facts. Pure: no system calls. */
#ifndef PROBE_CAPABILITY_H
#define PROBE_CAPABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/facts.h"

/* In the order of the report. The names of those on the wire are the wire's (spec/wire.md §3.2). */
enum capability_id {
	CAPABILITY_FILESYSTEM,
	CAPABILITY_IPC,
	CAPABILITY_NET_NONE,
	CAPABILITY_NET_EGRESS_ALLOWLIST,
	CAPABILITY_NO_LOOPBACK,
	CAPABILITY_NO_LINK_LOCAL,
	CAPABILITY_NET_EGRESS_ANY,
	CAPABILITY_GPU_COMPUTE,
	CAPABILITY_EXEC_WRITABLE_DENY,
	CAPABILITY_FOLDERS_READ,
	CAPABILITY_FOLDERS_WRITE,
	/* Not on the wire: */
	CAPABILITY_IPC_BROKER,
	CAPABILITY_PROCESS_CONTAINER,
	CAPABILITY_FREEZE,
	CAPABILITY_LIMITS_CPU,
	CAPABILITY_LIMITS_MEMORY,
	CAPABILITY_LIMITS_PIDS,
	CAPABILITY_COUNT,
};

/* The safe one first. */
enum status {
	STATUS_UNAVAILABLE,
	STATUS_COOPERATIVE,
	STATUS_ENFORCED,
};

/* What a capability stands on; one row each. */
struct capability_row {
	const char *name;
	bool on_wire;	     /* one of the names an agent sends */
	uint32_t needed_abi; /* of Landlock; 0: no kernel brings it */
	uint64_t fs;	     /* rights this kernel must have accepted one by one */
	uint64_t net;
	uint64_t scope;
	const char *promise; /* what a module cannot do when this is enforced */
	const char *means;   /* how the launcher brings that about */
	const char *limit;   /* what stays open even then; NULL: nothing known */
};
extern const struct capability_row capability_rows[CAPABILITY_COUNT];

#define EVIDENCE_MAX 24

/* What its trials showed, counted; see probe/trial/trial.h. */
struct trial_tally {
	uint32_t denied;   /* attempts denied, with a control that succeeded */
	uint32_t allowed;  /* attempts that succeeded, as granted */
	uint32_t open;	   /* known gaps, seen */
	uint32_t unseen;   /* not run, without a control, or not in this kernel */
	uint32_t failures; /* not as promised */
};

struct capability {
	enum status status;
	char why[FACTS_LINE_MAX];
	char remedy[FACTS_LINE_MAX]; /* "" when nothing is to be done, or nothing helps */
	const char *kernel; /* the Linux release from which on it would be better, or NULL */
	/* The facts that decided, pointing into struct facts. */
	const struct fact *evidence[EVIDENCE_MAX];
	uint32_t evidence_count;
	struct trial_tally tally;
};

/* What the whole sandbox stands on. */
struct backend {
	bool present; /* Landlock of a sufficient ABI, and seccomp filters: the wire's "landlock" */
	uint32_t abi; /* 0 without Landlock */
	char why[FACTS_LINE_MAX]; /* why it is not present */
	char remedy[FACTS_LINE_MAX];
};

struct capabilities {
	struct backend backend;
	struct capability of[CAPABILITY_COUNT];
};

/* Judge `facts`. The status table is the contract's "Enforcement report" (contract-linux.md); a
 * status is worse than the table when a right it stands on was not accepted or a trial did not go
 * as it must (probe/trial/trial.h has the rules), and never better. What is unknown is unavailable,
 * and says that it is unknown. When no trials were asked for, what is enforced is so as the kernel
 * claims, and says that. *ret points into `facts`.
 */
void capabilities_derive(const struct facts *facts, struct capabilities *ret);

/* "enforced", "cooperative", "unavailable" */
const char *status_name(enum status status);

/* The capability with that whole name, or -1. */
int capability_find(const char *name);

#endif
