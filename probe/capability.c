#include "probe/capability.h"

#include <stddef.h>
#include <string.h>

#include "kabi/text.h"

/* Every filesystem right of the oldest kernel the contract accepts (ABI 3). */
#define FS_ABI_3 0x7fffULL
#define NET_TCP (LL_NET_BIND_TCP | LL_NET_CONNECT_TCP)
#define SCOPES (LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL)
#define PORT_ONLY                                                                         \
	"Landlock knows ports, not addresses: the proxy's port is open on every address " \
	"(finding egress_port_only)"

const struct capability_row capability_rows[CAPABILITY_COUNT] = {
	[CAPABILITY_FILESYSTEM] = {
		.name = "filesystem",
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "files outside the granted directories cannot be read, written, created, "
			   "removed, truncated or executed",
		.means = "a Landlock ruleset that handles every filesystem right of the kernel, with one "
			 "rule for each granted path",
		.limit = "that a file exists, its size, owner and times can be seen; metadata of the "
			 "user's own files can be changed (finding metadata_writable)",
	},
	[CAPABILITY_IPC] = {
		.name = "ipc",
		.needed_abi = 6,
		.fs = FS_ABI_3,
		.scope = SCOPES,
		.promise = "other processes cannot be reached: no signals to them, no sockets, pipes, "
			   "shared memory or queues but the job's broker",
		.means = "Landlock scopes for signals and abstract unix sockets; a seccomp filter for "
			 "every other socket family, System V and POSIX queues, ptrace and its relatives",
		.limit = "once a broker is granted below ABI 9, other unix sockets of the same user "
			 "(finding broker_not_exclusive)",
	},
	[CAPABILITY_NET_NONE] = {
		.name = "net.none",
		.needed_abi = 3,
		.promise = "no network socket can be made",
		.means = "a seccomp filter that refuses every socket family, io_uring and foreign "
			 "system call entries",
	},
	[CAPABILITY_NET_EGRESS_ALLOWLIST] = {
		.name = "net.egress-allowlist",
		.needed_abi = 4,
		.net = NET_TCP,
		.promise = "the only network is a TCP connection to the agent's proxy, which enforces the "
			   "module's allow list",
		.means = "Landlock allows TCP connect to the proxy's port alone and no bind; the seccomp "
			 "filter leaves TCP streams only, without listen and fast open",
		.limit = PORT_ONLY,
	},
	[CAPABILITY_NO_LOOPBACK] = {
		.name = "no_loopback",
		.needed_abi = 4,
		.net = NET_TCP,
		.promise = "services on this node's loopback cannot be reached, but the agent's proxy",
		.means = "as net.egress-allowlist",
		.limit = PORT_ONLY,
	},
	[CAPABILITY_NO_LINK_LOCAL] = {
		.name = "no_link_local",
		.needed_abi = 4,
		.net = NET_TCP,
		.promise = "link-local addresses, cloud metadata services among them, cannot be reached",
		.means = "as net.egress-allowlist",
		.limit = PORT_ONLY,
	},
	[CAPABILITY_NET_EGRESS_ANY] = {
		.name = "net.egress-any",
		.needed_abi = 0,
		.promise = "outbound connections to public addresses only",
		.means = "none: Landlock filters ports, not addresses, so loopback and link-local cannot "
			 "be refused",
	},
	[CAPABILITY_GPU_COMPUTE] = {
		.name = "gpu.compute",
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "GPU compute nodes can be opened with the grant, and no device without it",
		.means = "Landlock rules on render and compute nodes, with the ioctl right from ABI 5 on",
	},
	[CAPABILITY_EXEC_WRITABLE_DENY] = {
		.name = "exec_writable_deny",
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "a file the module wrote cannot be executed",
		.means = "Landlock grants no execute right on writable directories; the seccomp filter "
			 "refuses memory files without the no-exec seal",
		.limit = "the dynamic loader, interpreters and mmap can still run written code (finding "
			 "exec_deny_partial)",
	},
	[CAPABILITY_FOLDERS_READ] = {
		.name = "folders.read",
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "a granted input folder can be read, and not written or executed",
		.means = "a Landlock rule with the read rights alone",
	},
	[CAPABILITY_FOLDERS_WRITE] = {
		.name = "folders.write",
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "a granted output folder can be written into, and not read, listed or emptied",
		.means = "a Landlock rule with the create and write rights alone",
	},
};

const char *status_name(enum status status)
{
	switch (status) {
	case STATUS_UNAVAILABLE:
		return "unavailable";
	case STATUS_COOPERATIVE:
		return "cooperative";
	case STATUS_ENFORCED:
		return "enforced";
	}
	return "unavailable";
}

int capability_find(const char *name)
{
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		if (strcmp(capability_rows[i].name, name) == 0)
			return i;
	return -1;
}

/* ---- the backend ---- */

static void set(char buf[FACTS_LINE_MAX], const char *a, const char *b, const char *c)
{
	struct text t = text_start(buf, FACTS_LINE_MAX);

	text_add(&t, a);
	text_add(&t, b);
	text_add(&t, c);
}

static void say_needs_abi(char buf[FACTS_LINE_MAX], uint32_t abi)
{
	struct text t = text_start(buf, FACTS_LINE_MAX);
	const char *release = ll_abi_linux(abi);

	text_add(&t, "Linux ");
	text_add(&t, release ? release : "of the future");
	text_add(&t, " or later (Landlock ABI ");
	text_add_int(&t, abi);
	text_add(&t, ")");
}

static void say_abi(char buf[FACTS_LINE_MAX], uint32_t found, uint32_t needed)
{
	struct text t = text_start(buf, FACTS_LINE_MAX);

	text_add(&t, "Landlock ABI ");
	text_add_int(&t, found);
	text_add(&t, " found, ");
	text_add_int(&t, needed);
	text_add(&t, " needed");
}

/* Returns whether Landlock can be used at all. */
static bool judge_landlock(const struct landlock_facts *l, struct backend *ret)
{
	switch (l->state) {
	case LANDLOCK_UNKNOWN:
		set(ret->why, "unknown: Landlock was not asked",
		    l->abi.got[0] ? ", or answered " : "", l->abi.got);
		set(ret->remedy, "see what became of the landlock probe (\"probes\" in the report)",
		    "", "");
		return false;
	case LANDLOCK_NOT_BUILT:
		set(ret->why, "the kernel has no Landlock (", l->abi.got, ")");
		set(ret->remedy, "Linux 6.12 or later, built with CONFIG_SECURITY_LANDLOCK=y", "",
		    "");
		return false;
	case LANDLOCK_OFF_AT_BOOT:
		set(ret->why, "Landlock is built in but off since boot (", l->abi.got, ")");
		set(ret->remedy, "boot with landlock in the lsm= list, or set CONFIG_LSM so", "",
		    "");
		return false;
	case LANDLOCK_FILTERED:
		set(ret->why, "something around this process refuses Landlock's calls (",
		    l->abi.got, ")");
		set(ret->remedy,
		    "allow the landlock_* calls in the seccomp profile of the container "
		    "engine or service",
		    "", "");
		return false;
	case LANDLOCK_PRESENT:
		break;
	}
	ret->abi = (uint32_t)l->abi.value;
	if (ret->abi >= LL_ABI_NEEDED)
		return true;
	say_abi(ret->why, ret->abi, LL_ABI_NEEDED);
	say_needs_abi(ret->remedy, 6);
	return false;
}

/* The actions and the call the launcher's filter needs. */
static bool judge_seccomp(const struct seccomp_facts *s, struct backend *ret)
{
	static const uint32_t needed[] = { SC_RET_KILL_PROCESS, SC_RET_ERRNO, SC_RET_ALLOW };

	if (s->mode.answer == ANSWER_UNKNOWN) {
		set(ret->why, "unknown: whether this kernel has seccomp was not answered", "", "");
		set(ret->remedy, "see what became of the seccomp probe (\"probes\" in the report)",
		    "", "");
		return false;
	}
	if (s->mode.answer == ANSWER_NO) {
		set(ret->why, "the kernel has no seccomp (", s->mode.got, ")");
		set(ret->remedy, "a kernel built with CONFIG_SECCOMP_FILTER=y", "", "");
		return false;
	}
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		for (size_t j = 0; j < SC_ACTION_COUNT; j++) {
			if (sc_actions[j].value != needed[i] || s->actions[j].answer == ANSWER_YES)
				continue;
			set(ret->why, "seccomp's action ", sc_actions[j].name,
			    s->actions[j].answer == ANSWER_NO ? " is missing" : " is unknown");
			set(ret->remedy,
			    "allow the seccomp call in the filter around this process, on "
			    "Linux 4.14 or later",
			    "", "");
			return false;
		}
	return true;
}

/* ---- one capability ---- */

static void add_evidence(struct capability *c, const struct fact *f)
{
	if (c->evidence_count < EVIDENCE_MAX)
		c->evidence[c->evidence_count++] = f;
}

static uint64_t needed_mask(const struct capability_row *row, enum ll_kind kind)
{
	switch (kind) {
	case LL_KIND_FS:
		return row->fs;
	case LL_KIND_NET:
		return row->net;
	case LL_KIND_SCOPE:
		return row->scope;
	case LL_KIND_RESTRICT:
		return 0;
	}
	return 0;
}

/* The first right the capability stands on that this kernel did not accept, or -1. */
static int missing_right(const struct capability_row *row, const struct landlock_facts *l,
			 struct capability *ret)
{
	int missing = -1;

	for (int i = 0; i < LL_RIGHT_COUNT; i++) {
		if (!(needed_mask(row, ll_rights[i].kind) & 1ULL << ll_rights[i].bit))
			continue;
		add_evidence(ret, &l->rights[i]);
		if (l->rights[i].answer != ANSWER_YES && missing < 0)
			missing = i;
	}
	return missing;
}

static void derive_one(const struct facts *facts, const struct backend *backend,
		       const struct capability_row *row, struct capability *ret)
{
	int missing;

	add_evidence(ret, &facts->landlock.abi);
	add_evidence(ret, &facts->seccomp.mode);
	if (row->needed_abi == 0) {
		set(ret->why,
		    "Landlock filters ports, not addresses: loopback and link-local cannot be refused",
		    "", "");
		return;
	}
	if (!backend->present) {
		set(ret->why, backend->why, "", "");
		if (backend->abi && backend->abi < row->needed_abi)
			say_needs_abi(ret->remedy, row->needed_abi);
		else
			set(ret->remedy, backend->remedy, "", "");
		return;
	}
	missing = missing_right(row, &facts->landlock, ret);
	if (backend->abi < row->needed_abi) {
		say_abi(ret->why, backend->abi, row->needed_abi);
		say_needs_abi(ret->remedy, row->needed_abi);
		return;
	}
	if (missing >= 0) {
		const struct fact *right = &facts->landlock.rights[missing];

		set(ret->why,
		    right->answer == ANSWER_NO
			    ? "this kernel refuses the Landlock right "
			    : "unknown: no clear answer about the Landlock right ",
		    ll_rights[missing].name, "");
		say_needs_abi(ret->remedy, ll_rights[missing].since_abi > row->needed_abi
						   ? ll_rights[missing].since_abi
						   : row->needed_abi);
		return;
	}
	ret->status = STATUS_ENFORCED;
	set(ret->why, "asked of this kernel: Landlock",
	    row->net	 ? ", TCP rules"
	    : row->scope ? ", scopes"
			 : "",
	    " and seccomp filters are there");
}

/* From ABI 5 on the ruleset handles device ioctls, so that a grant without that right is useless.
 */
static void check_gpu(const struct facts *facts, const struct backend *backend,
		      struct capability *gpu)
{
	if (gpu->status != STATUS_ENFORCED)
		return;
	for (int i = 0; i < LL_RIGHT_COUNT; i++) {
		const struct ll_right *right = &ll_rights[i];

		if (right->kind != LL_KIND_FS || 1ULL << right->bit != LL_FS_IOCTL_DEV ||
		    backend->abi < right->since_abi)
			continue;
		add_evidence(gpu, &facts->landlock.rights[i]);
		if (facts->landlock.rights[i].answer != ANSWER_YES) {
			gpu->status = STATUS_UNAVAILABLE;
			set(gpu->why, "the Landlock right IOCTL_DEV was not accepted: ",
			    facts->landlock.rights[i].got, "");
			say_needs_abi(gpu->remedy, right->since_abi);
			return;
		}
	}
	if (facts->outcomes[PROBE_GPU].outcome == OUTCOME_DONE && facts->gpu.gpu_count == 0)
		set(gpu->why,
		    "asked of this kernel: Landlock and seccomp filters are there; no GPU was ",
		    "found here to grant", "");
}

void capabilities_derive(const struct facts *facts, struct capabilities *ret)
{
	bool landlock;

	*ret = (struct capabilities){ 0 };
	landlock = judge_landlock(&facts->landlock, &ret->backend);
	ret->backend.present = landlock && judge_seccomp(&facts->seccomp, &ret->backend);
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		derive_one(facts, &ret->backend, &capability_rows[i], &ret->of[i]);
	check_gpu(facts, &ret->backend, &ret->of[CAPABILITY_GPU_COMPUTE]);
}
