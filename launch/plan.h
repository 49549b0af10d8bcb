/* The plan: what will be done on this kernel for a policy. Data only, so that it can be printed,
 * tested for kernels that are not here, and carried out by launch/landlock.h and launch/steps.h.
 *
 * Grants: contract-linux.md "Mapping" and spec/wire.md §1.2, less what attacks.md takes away: no
 * root may make devices or sockets, ioctl on devices is for GPU nodes alone, and of the GPU nodes
 * only those of launch/gpu.h.
 *
 * Rights on one path add up: Landlock grants what any rule above a file grants. So overlapping
 * roots widen each other, and are refused unless they grant the same:
 * - `ro` and `exe` with one another and with the base system; rw in rw; rd in rd; wo in wo:
 * allowed.
 * - Any other pair of lists, in either direction: refused. An `ro` in an `rw` would be writable; an
 *   `rw` in an `ro`, executable although exec_rw is false, and part of the read-only root writable;
 *   an `rd` in an `ro`, executable; a `wo` in an `ro`, readable. Agents emit none of them (wire.md
 *   §11.2 fails a job whose folders overlap its other roots).
 * - With exec_rw two of these change nothing and are allowed: an `exe` in an `rw`, and an `rw` in
 * the base system (/opt), which would otherwise make what is written there executable.
 * - No list may hold the base system or a part of it but `ro` and `exe`; none may hold a place in
 * /dev but below /dev/shm; `rw` and `wo` nothing in /sys or /proc, nor in such a file system
 * wherever it is mounted (kabi/kernelfs.h; asked when the root is opened). The kernel's interfaces
 * are not folders.
 */
#ifndef LAUNCH_PLAN_H
#define LAUNCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/fault.h"
#include "launch/filter/filter.h"
#include "launch/gpu.h"
#include "launch/policy.h"

/* Where a rule comes from. */
enum rule_source {
	RULE_RD,
	RULE_WO,
	RULE_RO,
	RULE_EXE,
	RULE_RW,
	RULE_BASE,     /* the platform's base system */
	RULE_BASE_USR, /* a part of it that on merged systems is a link to its namesake in /usr */
	RULE_DEVICE,   /* null, zero, random, urandom, full */
	RULE_GPU,      /* a GPU's device node */
	RULE_GPU_LIST, /* a directory of such nodes */
	RULE_BROKER,   /* the broker's socket */
};
#define RULE_SOURCE_COUNT 11

/* How the path of a rule is opened, and what must be there. */
struct rule_kind {
	const char *name;
	bool may_miss;	/* a path that is not there is skipped; else the launch fails */
	bool links;	/* symbolic links are followed; else the last component must not be one */
	unsigned types; /* bits 1 << enum node_type that it may be */
};
extern const struct rule_kind rule_kinds[RULE_SOURCE_COUNT];

struct rule {
	enum rule_source source;
	const char *path;
	uint64_t rights; /* on a directory. What is not one gets those of them a file may have. */
};

#define PLAN_RULES_MAX (POLICY_ROOTS_MAX + GPU_NODES_MAX + 32)

/* What was asked, or is promised to every module, and this kernel does not have. */
enum shortfall {
	SHORT_LANDLOCK, /* the contract's lowest ABI */
	SHORT_PORT,	/* TCP by port, for an egress allow list */
	SHORT_SIGNALS,	/* signal scope */
	SHORT_ABSTRACT, /* abstract unix socket scope */
	SHORT_IOCTL,	/* ioctl on devices */
	SHORT_AUDIT,	/* denials of the module in the audit log */
	SHORT_BROKER,	/* unix sockets other than the broker's */
	SHORT_GPU,	/* no GPU node on this machine */
};
#define SHORTFALL_COUNT 8

struct shortfall_kind {
	unsigned since_abi; /* the first ABI without it; 0: not a matter of the ABI */
	bool fatal;	    /* the launch is refused; else the report and the plan say it */
	const char *text;
};
extern const struct shortfall_kind shortfall_kinds[SHORTFALL_COUNT];

struct plan {
	int abi;	     /* of Landlock, as the kernel said */
	uint64_t handled_fs; /* all three: everything this ABI and this build know */
	uint64_t handled_net;
	uint64_t scoped;
	uint32_t restrict_flags;
	uint64_t file_rights; /* those that a rule on a file may carry */
	uint16_t port;	      /* TCP may be connected to it; 0: to none */
	unsigned asked;	      /* what the parent decides instead, as bits of launch/ask.h */
	uint16_t proxy_port;  /* where the parent then connects to; 0: no proxy */
	const char *broker;   /* and this; NULL: no broker */
	bool exec_rw;
	struct filter_choice filter;
	unsigned shortfalls; /* bits 1 << enum shortfall */
	size_t rule_count;
	struct rule rules[PLAN_RULES_MAX];
};

/* What the kernel and the machine have. */
struct plan_input {
	int abi;		     /* answer to the version question: an ABI, or -errno */
	const struct gpu_nodes *gpu; /* looked for if the policy grants a GPU; else may be NULL */
	unsigned asked; /* of the parent, as bits of launch/ask.h. With ASK_CONNECT it makes every
			   connection, and the ruleset allows none */
};

/* Make the plan for `policy`. Pure. The strings stay the policy's and the nodes'. Returns 0 even
 * when something is missing: see plan_check(). -EINVAL, with `why` naming two paths, when roots
 * overlap. *ret is to be used only on success.
 */
int plan_make(const struct policy *policy, const struct plan_input *input, struct plan *ret,
	      struct fault *why);

/* 0 when the plan may be carried out; -ENOTSUP, with `why`, when a fatal shortfall forbids it. */
int plan_check(const struct plan *plan, struct fault *why);

/* Whether the rules overlap in a way that is refused, if rule i's path really is paths[i], or what
 * it says if `paths` is NULL. Where a root inside another of the same list really is outside of it,
 * that is refused as well: one of them is not the place it was meant to be. Returns 0, or -EINVAL
 * with `why`.
 */
int plan_overlap(const struct plan *plan, const char *const paths[], struct fault *why);

/* Whether rules i and j, found to be one file by two names, may both stand. Returns 0, or -EINVAL
 * with `why`. A bind mount that shows only a part of one root inside another is not found this way:
 * whoever makes mounts for modules keeps their roots apart.
 */
int plan_same_file(const struct plan *plan, size_t i, size_t j, struct fault *why);

/* Tell the plan, one call of `line` a line, without a newline. */
void plan_print(const struct plan *plan, void (*line)(void *arg, const char *text), void *arg);

#endif
