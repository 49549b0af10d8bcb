#include "launch/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "kabi/kernelfs.h"
#include "kabi/text.h"
#include "launch/resolve.h"

/* For the real paths of roots that are given by way of a symbolic link. */
#define REAL_TEXT_MAX (64 * 1024)

/* A rule's path, opened. */
struct place {
	const char *path; /* where it really is */
	int fd;		  /* -1: skipped, or not yet */
	bool is_dir;
	uint64_t device; /* which file it is, of a root of the policy; else 0 */
	uint64_t inode;
};

struct places {
	bool moved; /* a root is not where the policy says */
	size_t used;
	struct place of[PLAN_RULES_MAX]; /* by rule */
	char text[REAL_TEXT_MAX];
};

static int rule_fault(const struct rule *rule, int err, struct fault *why)
{
	char name[ERRNO_NAME_MAX];

	fault_join(why, rule_kinds[rule->source].name, " '", rule->path,
		   "': ", errno_name(-err, name), NULL);
	return err;
}

/* ---- opening ---- */

static int open_path(const struct kernel *k, const char *path, bool links)
{
	int fd;

	do
		fd = links ? k->open(k, path, O_PATH) : k->open_nolinks(k, path, O_PATH);
	while (fd == -EINTR);
	return fd;
}

/* The path has a link on its way: find the place and open that. */
static int open_resolved(const struct kernel *k, const struct rule *rule, struct places *places,
			 const char **ret_path)
{
	char *real = places->text + places->used;
	size_t room = sizeof(places->text) - places->used;
	int r;

	r = resolve_path(k, rule->path, rule_kinds[rule->source].links, real, room);
	if (r < 0)
		return r;
	r = open_path(k, real, false);
	if (r < 0)
		return r;
	places->used += strlen(real) + 1;
	places->moved = true;
	*ret_path = real;
	return r;
}

static int check_type(const struct kernel *k, const struct rule *rule, struct place *place,
		      struct fault *why)
{
	static const char *const words[] = {
		[NODE_OTHER] = "something odd",	    [NODE_FILE] = "a file",
		[NODE_DIR] = "a directory",	    [NODE_LINK] = "a symbolic link",
		[NODE_CHAR] = "a character device", [NODE_BLOCK] = "a block device",
		[NODE_SOCKET] = "a socket",	    [NODE_FIFO] = "a FIFO",
	};
	struct node node;
	int r = k->fstat(k, place->fd, &node);

	if (r < 0)
		return rule_fault(rule, r, why);
	if (!(rule_kinds[rule->source].types & 1U << node.type)) {
		fault_join(why, rule_kinds[rule->source].name, " '", rule->path,
			   "': ", words[node.type], " cannot be granted here", NULL);
		return -EINVAL;
	}
	place->is_dir = node.type == NODE_DIR;
	place->device = node.device;
	place->inode = node.inode;
	return 0;
}

/* A file system that is an interface to the kernel may be mounted anywhere. */
static int check_filesystem(const struct kernel *k, const struct rule *rule,
			    const struct place *place, struct fault *why)
{
	const char *type;
	struct fs_info fs;
	int r;

	if (rule->source != RULE_RW && rule->source != RULE_WO)
		return 0;
	r = k->fstatfs(k, place->fd, &fs);
	if (r < 0)
		return rule_fault(rule, r, why);
	type = kernelfs_of_magic(fs.magic);
	if (!type)
		return 0;
	fault_join(why, rule_kinds[rule->source].name, " '", rule->path, "': a place in ", type,
		   " is no folder to grant", NULL);
	return -EINVAL;
}

/* On a merged system "/lib" is a link to "usr/lib", and the rule on /usr covers it. */
static bool is_covered_or_absent(const struct kernel *k, const char *path)
{
	char target[64];
	ssize_t n = k->readlink(k, path, target, sizeof(target));

	if (n == -ENOENT)
		return true;
	return n > 0 && text_starts(target, "usr") && strcmp(target + 3, path) == 0;
}

static int open_rule(const struct kernel *k, const struct rule *rule, struct places *places,
		     struct place *place, struct fault *why)
{
	const struct rule_kind *kind = &rule_kinds[rule->source];
	/* No policy names these, so where they lead widens no root. */
	bool device = rule->source == RULE_DEVICE;
	int fd;
	int r;

	if (rule->source == RULE_BASE_USR && is_covered_or_absent(k, rule->path))
		return 0;
	fd = open_path(k, rule->path, device);
	if (fd == -ELOOP && !device)
		fd = open_resolved(k, rule, places, &place->path);
	if (fd == -ENOENT && kind->may_miss)
		return 0;
	if (fd < 0)
		return rule_fault(rule, fd, why);
	place->fd = fd;
	r = kind->types ? check_type(k, rule, place, why) : 0;
	return r == 0 ? check_filesystem(k, rule, place, why) : r;
}

static int open_rules(const struct kernel *k, const struct plan *plan, struct places *places,
		      struct fault *why)
{
	int r = 0;

	places->moved = false;
	places->used = 0;
	for (size_t i = 0; i < plan->rule_count; i++)
		places->of[i] =
			(struct place){ .path = plan->rules[i].path, .fd = -1, .is_dir = true };
	for (size_t i = 0; r == 0 && i < plan->rule_count; i++)
		r = open_rule(k, &plan->rules[i], places, &places->of[i], why);
	return r;
}

/* Landlock's rules are about files, whatever the path: a hard link or a bind mount gives one file
 * two names, and both roots' rights.
 */
static int check_same(const struct plan *plan, const struct places *places, struct fault *why)
{
	for (size_t i = 0; i < plan->rule_count; i++) {
		const struct place *a = &places->of[i];

		for (size_t j = i + 1; a->inode && j < plan->rule_count; j++) {
			const struct place *b = &places->of[j];
			int r = 0;

			if (a->inode == b->inode && a->device == b->device)
				r = plan_same_file(plan, i, j, why);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int check_overlap(const struct plan *plan, const struct places *places, struct fault *why)
{
	const char *paths[PLAN_RULES_MAX];
	int r = check_same(plan, places, why);

	if (r < 0 || !places->moved)
		return r;
	for (size_t i = 0; i < plan->rule_count; i++)
		paths[i] = places->of[i].path;
	return plan_overlap(plan, paths, why);
}

/* Descriptors are handed out lowest first, so most of them are neighbours. */
static void close_all(const struct kernel *k, const struct places *places, size_t count)
{
	int first = -1;
	int last = -1;

	for (size_t i = 0; i < count; i++) {
		int fd = places->of[i].fd;

		if (fd < 0)
			continue;
		if (first >= 0 && fd != last + 1)
			k->close_range(k, (unsigned)first, (unsigned)last, 0);
		if (first < 0 || fd != last + 1)
			first = fd;
		last = fd;
	}
	if (first >= 0)
		k->close_range(k, (unsigned)first, (unsigned)last, 0);
}

/* ---- the ruleset ---- */

static int create_ruleset(const struct kernel *k, const struct plan *plan, struct fault *why)
{
	const struct ll_ruleset_attr attr = {
		.handled_fs = plan->handled_fs,
		.handled_net = plan->handled_net,
		.scoped = plan->scoped,
	};
	int ruleset = k->ll_create(k, &attr, ll_attr_size(&attr), 0);

	return ruleset < 0 ? fault_errno(why, "create a ruleset", NULL, -ruleset) : ruleset;
}

static int add_rules(const struct kernel *k, const struct plan *plan, const struct places *places,
		     int ruleset, struct fault *why)
{
	for (size_t i = 0; i < plan->rule_count; i++) {
		const struct rule *rule = &plan->rules[i];
		struct ll_path_beneath_attr attr = {
			.allowed_access = rule->rights,
			.parent_fd = places->of[i].fd,
		};
		int r;

		if (places->of[i].fd < 0)
			continue;
		if (!places->of[i].is_dir)
			attr.allowed_access &= plan->file_rights;
		r = k->ll_add_path(k, ruleset, &attr);
		if (r < 0)
			return rule_fault(rule, r, why);
	}
	return 0;
}

static int add_port(const struct kernel *k, const struct plan *plan, int ruleset, struct fault *why)
{
	const struct ll_net_port_attr attr = {
		.allowed_access = LL_NET_CONNECT_TCP,
		.port = plan->port,
	};
	int r;

	if (plan->port == 0)
		return 0;
	r = k->ll_add_port(k, ruleset, &attr);
	return r < 0 ? fault_errno(why, "add the proxy's port", NULL, -r) : 0;
}

static int restrict_with(const struct kernel *k, const struct plan *plan,
			 const struct places *places, struct fault *why)
{
	int ruleset = create_ruleset(k, plan, why);
	int r;

	if (ruleset < 0)
		return ruleset;
	r = add_rules(k, plan, places, ruleset, why);
	if (r == 0)
		r = add_port(k, plan, ruleset, why);
	if (r == 0) {
		r = k->ll_restrict(k, ruleset, plan->restrict_flags);
		if (r < 0)
			fault_errno(why, "restrict itself", NULL, -r);
	}
	k->close(k, ruleset);
	return r;
}

/* ---- public ---- */

int landlock_apply(const struct kernel *k, const struct plan *plan, struct fault *why)
{
	static struct places places;
	int r;

	r = open_rules(k, plan, &places, why);
	if (r == 0)
		r = check_overlap(plan, &places, why);
	if (r == 0)
		r = restrict_with(k, plan, &places, why);
	close_all(k, &places, plan->rule_count);
	return r;
}

int landlock_abi(const struct kernel *k)
{
	return k->ll_create(k, NULL, 0, LL_CREATE_VERSION);
}
