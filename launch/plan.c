#include "launch/plan.h"

#include <errno.h>
#include <string.h>

#include "kabi/path.h"
#include "kabi/text.h"
#include "launch/ask.h"

#define RIGHTS_EXECUTE (LL_FS_EXECUTE | LL_FS_READ_FILE | LL_FS_READ_DIR)
#define RIGHTS_READ (LL_FS_READ_FILE | LL_FS_READ_DIR)
#define RIGHTS_OUTBOX (LL_FS_MAKE_REG | LL_FS_MAKE_DIR | LL_FS_WRITE_FILE | LL_FS_TRUNCATE)
#define RIGHTS_DEVICE (LL_FS_READ_FILE | LL_FS_WRITE_FILE)
/* Of a writable root: a module makes no devices, and no socket that someone else would connect to.
 * MAKE_FIFO stays: make 4.4 and later keep their job server in one.
 */
#define RIGHTS_NEVER                                                              \
	(LL_FS_MAKE_CHAR | LL_FS_MAKE_BLOCK | LL_FS_MAKE_SOCK | LL_FS_IOCTL_DEV | \
	 LL_FS_RESOLVE_UNIX)

#define FILE_OR_DIR (1U << NODE_FILE | 1U << NODE_DIR)

const struct rule_kind rule_kinds[RULE_SOURCE_COUNT] = {
	[RULE_RD] = { "rd", .types = FILE_OR_DIR },
	[RULE_WO] = { "wo", .types = FILE_OR_DIR },
	[RULE_RO] = { "ro", .links = true, .types = FILE_OR_DIR },
	[RULE_EXE] = { "exe", .links = true, .types = FILE_OR_DIR },
	[RULE_RW] = { "rw", .types = FILE_OR_DIR },
	[RULE_BASE] = { "base system", .may_miss = true, .links = true },
	[RULE_BASE_USR] = { "base system", .may_miss = true, .links = true },
	[RULE_DEVICE] = { "device", .may_miss = true, .links = true },
	[RULE_GPU] = { "gpu", .may_miss = true, .types = 1U << NODE_CHAR },
	[RULE_GPU_LIST] = { "gpu list", .may_miss = true, .types = 1U << NODE_DIR },
	[RULE_BROKER] = { "broker_socket", .types = 1U << NODE_SOCKET },
};

static const struct {
	enum rule_source source;
	const char *path;
} base[] = {
	{ RULE_BASE, "/usr" },	     { RULE_BASE_USR, "/lib" },
	{ RULE_BASE_USR, "/lib32" }, { RULE_BASE_USR, "/lib64" },
	{ RULE_BASE_USR, "/bin" },   { RULE_BASE_USR, "/sbin" },
	{ RULE_BASE, "/etc" },	     { RULE_BASE, "/opt" },
	{ RULE_BASE, "/proc" },	     { RULE_BASE, "/sys/devices/system/cpu" },
};

static const char *const device_paths[] = {
	"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full",
};

const struct shortfall_kind shortfall_kinds[SHORTFALL_COUNT] = {
	[SHORT_LANDLOCK] = { LL_ABI_NEEDED, true, "the file system cannot be confined" },
	[SHORT_PORT] = { 4, true, "net 'egress-allowlist' cannot be limited to the proxy's port" },
	[SHORT_SIGNALS] = { 6, false, "other processes of this user can be signalled" },
	[SHORT_ABSTRACT] = { 6, false, "abstract unix sockets of others are within reach" },
	[SHORT_IOCTL] = { 5, false, "ioctl on the devices of the base system is not limited" },
	[SHORT_AUDIT] = { 7, false, "what the module is denied is not in the audit log" },
	[SHORT_BROKER] = { 9, false, "unix sockets other than the broker's are within reach" },
	[SHORT_GPU] = { 0, false, "no GPU device node is here" },
};

/* ---- rules ---- */

static int add_rule(struct plan *plan, enum rule_source source, const char *path, uint64_t rights,
		    struct fault *why)
{
	if (plan->rule_count == PLAN_RULES_MAX)
		return fault_errno(why, "too many rules at", path, E2BIG);
	plan->rules[plan->rule_count++] = (struct rule){
		.source = source,
		.path = path,
		.rights = rights & plan->handled_fs,
	};
	return 0;
}

static uint64_t root_rights(const struct plan *plan, enum root_kind kind)
{
	switch (kind) {
	case ROOT_RD:
		return RIGHTS_READ;
	case ROOT_WO:
		return RIGHTS_OUTBOX;
	case ROOT_RO:
	case ROOT_EXE:
		return RIGHTS_EXECUTE;
	case ROOT_RW:
		return plan->handled_fs & ~RIGHTS_NEVER & ~(plan->exec_rw ? 0 : LL_FS_EXECUTE);
	}
	return 0;
}

static enum rule_source root_source(enum root_kind kind)
{
	switch (kind) {
	case ROOT_RD:
		return RULE_RD;
	case ROOT_WO:
		return RULE_WO;
	case ROOT_RO:
		return RULE_RO;
	case ROOT_EXE:
		return RULE_EXE;
	case ROOT_RW:
		return RULE_RW;
	}
	return RULE_RD;
}

static int add_rules(struct plan *plan, const struct policy *policy, const struct plan_input *input,
		     struct fault *why)
{
	const struct gpu_nodes *gpu = input->gpu;
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(base) / sizeof(base[0]); i++)
		r = add_rule(plan, base[i].source, base[i].path, RIGHTS_EXECUTE, why);
	for (size_t i = 0; r == 0 && i < sizeof(device_paths) / sizeof(device_paths[0]); i++)
		r = add_rule(plan, RULE_DEVICE, device_paths[i], RIGHTS_DEVICE, why);
	for (size_t i = 0; r == 0 && i < policy->root_count; i++) {
		const struct root *root = &policy->roots[i];

		r = add_rule(plan, root_source(root->kind), root->path,
			     root_rights(plan, root->kind), why);
	}
	for (size_t i = 0; r == 0 && policy->gpu && gpu && i < gpu->count; i++) {
		const struct gpu_node *node = &gpu->nodes[i];

		r = node->is_dir ? add_rule(plan, RULE_GPU_LIST, node->path, LL_FS_READ_DIR, why)
				 : add_rule(plan, RULE_GPU, node->path,
					    RIGHTS_DEVICE | LL_FS_IOCTL_DEV, why);
	}
	if (r == 0 && policy->broker_socket && !(input->asked & ASK_CONNECT) &&
	    plan->handled_fs & LL_FS_RESOLVE_UNIX)
		r = add_rule(plan, RULE_BROKER, policy->broker_socket, LL_FS_RESOLVE_UNIX, why);
	return r;
}

/* ---- overlaps ---- */

static bool is_root(const struct rule *rule)
{
	return rule->source <= RULE_RW;
}

static bool is_base(enum rule_source source)
{
	return source == RULE_BASE || source == RULE_BASE_USR;
}

static bool only_read_and_run(enum rule_source source)
{
	return source == RULE_RO || source == RULE_EXE || is_base(source);
}

static bool is_writable(enum rule_source source)
{
	return source == RULE_RW || source == RULE_WO;
}

/* See the table in the header. */
static bool may_overlap(enum rule_source inner, enum rule_source outer, bool exec_rw)
{
	if (inner == outer || (only_read_and_run(inner) && only_read_and_run(outer)))
		return true;
	if (!exec_rw)
		return false;
	return (inner == RULE_EXE && outer == RULE_RW) || (inner == RULE_RW && is_base(outer));
}

static int refuse_pair(const struct rule *a, const char *a_path, const char *relation,
		       const struct rule *b, const char *b_path, const char *because,
		       struct fault *why)
{
	bool moved = strcmp(a->path, a_path) != 0 || strcmp(b->path, b_path) != 0;

	fault_join(why, rule_kinds[a->source].name, " '", a->path, "' ", relation, " ",
		   rule_kinds[b->source].name, " '", b->path, "': ", because,
		   moved ? "; really they are '" : "", moved ? a_path : "", moved ? "' and '" : "",
		   moved ? b_path : "", moved ? "'" : "", NULL);
	return -EINVAL;
}

static const char *place_of(const struct plan *plan, const char *const paths[], size_t i)
{
	return paths ? paths[i] : plan->rules[i].path;
}

/* Rule i, a root of the policy, against rule j. */
static int check_pair(const struct plan *plan, const char *const paths[], size_t i, size_t j,
		      struct fault *why)
{
	const struct rule *a = &plan->rules[i];
	const struct rule *b = &plan->rules[j];
	const char *a_path = place_of(plan, paths, i);
	const char *b_path = place_of(plan, paths, j);

	if (path_is_within(a_path, b_path) && !may_overlap(a->source, b->source, plan->exec_rw))
		return refuse_pair(a, a_path, "lies in", b, b_path,
				   "rights add up, so it would get more than its list grants", why);
	if (is_base(b->source) && path_is_within(b_path, a_path) &&
	    !may_overlap(b->source, a->source, plan->exec_rw))
		return refuse_pair(a, a_path, "holds", b, b_path,
				   "rights add up, so the base system would be widened", why);
	if (a->source == b->source && !rule_kinds[a->source].links &&
	    path_is_within(a->path, b->path) && !path_is_within(a_path, b_path))
		return refuse_pair(a, a_path, "leads out of", b, b_path,
				   "a symbolic link inside a root", why);
	return 0;
}

static int check_place(const struct rule *rule, const char *path, struct fault *why)
{
	const char *place = NULL;

	if (path_is_within("/dev", path) ||
	    (path_is_within(path, "/dev") && !path_is_within(path, "/dev/shm")))
		place = "/dev";
	else if (is_writable(rule->source) &&
		 (path_is_within("/sys", path) || path_is_within(path, "/sys")))
		place = "/sys";
	else if (is_writable(rule->source) &&
		 (path_is_within("/proc", path) || path_is_within(path, "/proc")))
		place = "/proc";
	if (!place)
		return 0;
	fault_join(why, rule_kinds[rule->source].name, " '", rule->path, "': '", place,
		   "' is no folder to grant", NULL);
	return -EINVAL;
}

int plan_overlap(const struct plan *plan, const char *const paths[], struct fault *why)
{
	for (size_t i = 0; i < plan->rule_count; i++) {
		int r;

		if (!is_root(&plan->rules[i]))
			continue;
		r = check_place(&plan->rules[i], place_of(plan, paths, i), why);
		for (size_t j = 0; r == 0 && j < plan->rule_count; j++)
			if (j != i && (is_root(&plan->rules[j]) || is_base(plan->rules[j].source)))
				r = check_pair(plan, paths, i, j, why);
		if (r < 0)
			return r;
	}
	return 0;
}

int plan_same_file(const struct plan *plan, size_t i, size_t j, struct fault *why)
{
	const struct rule *a = &plan->rules[i];
	const struct rule *b = &plan->rules[j];

	if (!is_root(a) || !is_root(b) ||
	    (may_overlap(a->source, b->source, plan->exec_rw) &&
	     may_overlap(b->source, a->source, plan->exec_rw)))
		return 0;
	return refuse_pair(a, a->path, "is the same file as", b, b->path,
			   "rights add up, so it would get more than its list grants", why);
}

/* ---- the plan ---- */

static unsigned find_shortfalls(const struct policy *policy, const struct plan_input *input)
{
	unsigned asked = 1U << SHORT_LANDLOCK | 1U << SHORT_SIGNALS | 1U << SHORT_ABSTRACT |
			 1U << SHORT_IOCTL | 1U << SHORT_AUDIT;
	unsigned missing = 0;

	if (policy->net == NET_EGRESS_ALLOWLIST && !(input->asked & ASK_CONNECT))
		asked |= 1U << SHORT_PORT;
	if (policy->broker_socket && !(input->asked & ASK_CONNECT))
		asked |= 1U << SHORT_BROKER;
	for (unsigned i = 0; i < SHORTFALL_COUNT; i++)
		if (asked & 1U << i && input->abi < (int)shortfall_kinds[i].since_abi)
			missing |= 1U << i;
	if (policy->gpu && (!input->gpu || input->gpu->count == 0))
		missing |= 1U << SHORT_GPU;
	return missing;
}

int plan_make(const struct policy *policy, const struct plan_input *input, struct plan *ret,
	      struct fault *why)
{
	unsigned abi = input->abi > 0 ? (unsigned)input->abi : 0;
	bool net = policy->net == NET_EGRESS_ALLOWLIST;
	int r;

	ret->abi = input->abi;
	ret->handled_fs = ll_mask(LL_KIND_FS, abi, false);
	ret->handled_net = ll_mask(LL_KIND_NET, abi, false);
	ret->scoped = ll_mask(LL_KIND_SCOPE, abi, false);
	ret->file_rights = ll_mask(LL_KIND_FS, abi, true);
	ret->restrict_flags = (uint32_t)ll_mask(LL_KIND_RESTRICT, abi, false) &
			      LL_RESTRICT_LOG_NEW_EXEC_ON;
	ret->port = net && !(input->asked & ASK_CONNECT) ? policy->proxy_port : 0;
	ret->asked = input->asked;
	ret->proxy_port = net && input->asked & ASK_CONNECT ? policy->proxy_port : 0;
	ret->broker = input->asked & ASK_CONNECT ? policy->broker_socket : NULL;
	ret->exec_rw = policy->exec_rw;
	ret->filter = (struct filter_choice){
		.net = net ? FILTER_NET_STREAM : FILTER_NET_NONE,
		.broker = policy->broker_socket != NULL,
		.exec_rw = policy->exec_rw,
	};
	ret->shortfalls = find_shortfalls(policy, input);
	ret->rule_count = 0;
	r = add_rules(ret, policy, input, why);
	return r < 0 ? r : plan_overlap(ret, NULL, why);
}

int plan_check(const struct plan *plan, struct fault *why)
{
	char name[ERRNO_NAME_MAX];
	char needed[24];
	char found[24];

	for (unsigned i = 0; i < SHORTFALL_COUNT; i++) {
		const struct shortfall_kind *kind = &shortfall_kinds[i];
		struct text t = TEXT_BUF(needed);

		if (!(plan->shortfalls & 1U << i) || !kind->fatal)
			continue;
		text_add_int(&t, kind->since_abi);
		t = TEXT_BUF(found);
		text_add_int(&t, plan->abi);
		fault_join(why, kind->text, ": Landlock ABI ", needed, " (Linux ",
			   ll_abi_linux(kind->since_abi), ") is needed, this kernel has ",
			   plan->abi > 0 ? "ABI " : "none", plan->abi > 0 ? found : "",
			   plan->abi < 0 ? " (" : "",
			   plan->abi < 0 ? errno_name(-plan->abi, name) : "",
			   plan->abi < 0 ? ")" : "", NULL);
		return -ENOTSUP;
	}
	return 0;
}
