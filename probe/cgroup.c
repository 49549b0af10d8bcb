#include "probe/cgroup.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "kabi/fault.h"
#include "kabi/file.h"
#include "kabi/path.h"
#include "kabi/recorded.h"
#include "kabi/text.h"
#include "probe/ask.h"
#include "probe/probes.h"

#define CONTROLLERS_SIZE 1024

/* ---- what may be written ---- */

static void ask_writable(const struct kernel *k, const char *path, int mode, struct fact *ret)
{
	char call[sizeof(ret->call)];
	enum answer answer = ANSWER_UNKNOWN;
	int r = k->access(k, path, mode);

	ask_name(call, sizeof(call), mode == W_OK ? "access w" : "access wx", path);
	if (r == 0)
		answer = ANSWER_YES;
	else if (r == -EACCES || r == -EPERM || r == -EROFS)
		answer = ANSWER_NO;
	fact_call(ret, answer, call, r);
}

static void ask_file_writable(const struct kernel *k, const char *dir, const char *name,
			      struct fact *ret)
{
	char path[FACTS_PATH_MAX];

	if (path_join(path, sizeof(path), dir, name))
		ask_writable(k, path, W_OK, ret);
}

static void ask_owner(const struct kernel *k, const char *dir, uint32_t uid, struct fact *ret)
{
	char call[sizeof(ret->call)];
	char got[sizeof(ret->got)];
	struct text t = TEXT_BUF(got);
	struct node node = { 0 };
	int r = k->stat(k, dir, &node);

	ask_name(call, sizeof(call), "stat", dir);
	if (r < 0) {
		fact_call(ret, ANSWER_UNKNOWN, call, r);
		return;
	}
	text_add(&t, "uid ");
	text_add_int(&t, node.uid);
	fact_text(ret, node.uid == uid ? ANSWER_YES : ANSWER_NO, BASIS_OBSERVED, call, got);
}

/* ---- the delegate attribute ---- */

static enum answer attribute_answer(ssize_t n, const char *value, bool sees)
{
	if (n >= 0)
		return strcmp(value, "1") == 0 ? ANSWER_YES : ANSWER_NO;
	return sees && (n == -ENODATA || n == -EOPNOTSUPP) ? ANSWER_NO : ANSWER_UNKNOWN;
}

/* `sees`: not finding the attribute says that it is not there. */
static void ask_attribute(const struct kernel *k, const char *dir, const char *name, bool sees,
			  struct fact *ret)
{
	char verb[sizeof(ret->call)];
	char call[sizeof(ret->call)];
	struct text t = TEXT_BUF(verb);
	char value[16] = "";
	ssize_t n = k->getxattr(k, dir, name, value, sizeof(value));

	text_add(&t, "getxattr ");
	text_add(&t, name);
	ask_name(call, sizeof(call), verb, dir);
	if (n >= 0)
		fact_text(ret, attribute_answer(n, value, sees), BASIS_OBSERVED, call, value);
	else
		fact_call(ret, attribute_answer(n, value, sees), call, n);
}

/* systemd marks the cgroup of a unit with Delegate= by trusted.delegate, and in newer releases by
 * user.delegate too. To a process without CAP_SYS_ADMIN the kernel says that a trusted attribute
 * does not exist.
 */
static void ask_attributes(const struct kernel *k, const char *dir, bool sees_trusted,
			   struct fact *ret)
{
	struct fact trusted = { 0 };

	ask_attribute(k, dir, "user.delegate", true, ret);
	if (ret->answer == ANSWER_YES)
		return;
	ask_attribute(k, dir, "trusted.delegate", sees_trusted, &trusted);
	if (trusted.answer == ANSWER_YES || ret->answer == ANSWER_NO)
		*ret = trusted;
}

static bool sees_trusted_attributes(const struct kernel *k)
{
	struct cap_sets caps;

	return k->capget(k, &caps) == 0 && (caps.effective & 1ULL << CAP_SYS_ADMIN);
}

/* What is below a marked cgroup is given away with it, so the search goes up. Without a mark, what
 * our own cgroup answered is the evidence.
 */
static void ask_delegate(const struct kernel *k, const struct hierarchy *h, struct fact *ret)
{
	bool sees = sees_trusted_attributes(k);
	char dir[FACTS_PATH_MAX];

	text_copy(dir, sizeof(dir), h->dir);
	ask_attributes(k, dir, sees, ret);
	while (ret->answer != ANSWER_YES && path_parent(dir, h->mount)) {
		struct fact above = { 0 };

		ask_attributes(k, dir, sees, &above);
		if (above.answer == ANSWER_YES)
			*ret = above;
	}
}

/* ---- whose it is ---- */

/* May this process do all three things that making a leaf takes? */
static enum answer may_write(const struct cgroup_facts *f)
{
	const enum answer a[] = { f->dir_writable.answer, f->procs_writable.answer,
				  f->subtree_writable.answer };
	enum answer all = ANSWER_YES;

	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++) {
		if (a[i] == ANSWER_NO)
			return ANSWER_NO;
		if (a[i] == ANSWER_UNKNOWN)
			all = ANSWER_UNKNOWN;
	}
	return all;
}

/* uid 0 may write nearly everywhere, so that it can says nothing about whose the cgroup is. */
static enum cgroup_delegation delegation_of(const struct cgroup_place *place, const struct ids *ids,
					    const struct cgroup_facts *f)
{
	if (place->mounted.answer == ANSWER_NO)
		return DELEGATION_NONE;
	if (place->mounted.answer == ANSWER_UNKNOWN || !f->own[0] || place->v2.dir_error < 0)
		return DELEGATION_UNKNOWN;
	if (!f->dir[0])
		return DELEGATION_NONE;
	switch (may_write(f)) {
	case ANSWER_NO:
		return DELEGATION_NONE;
	case ANSWER_UNKNOWN:
		return DELEGATION_UNKNOWN;
	case ANSWER_YES:
		break;
	}
	if (f->delegate_xattr.answer == ANSWER_YES)
		return DELEGATION_DELEGATED;
	if (ids && ids->uid == 0)
		return DELEGATION_WRITABLE;
	switch (f->owned.answer) {
	case ANSWER_YES:
		return DELEGATION_DELEGATED;
	case ANSWER_NO:
		return DELEGATION_WRITABLE;
	case ANSWER_UNKNOWN:
		break;
	}
	return DELEGATION_UNKNOWN;
}

/* ---- controllers ---- */

/* Is `name` one of the words of `list`? The list is as the kernel writes it: "cpu io memory". */
static bool has_word(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += len) {
		bool starts = at == list || at[-1] == ' ';

		if (starts && (at[len] == ' ' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* Put "is it in this list?" to a file of controllers, for each of them. `which` is the offset of
 * the fact in struct controller_facts.
 */
static void ask_list(const struct kernel *k, const char *name, size_t which, struct cgroup_facts *f)
{
	char list[CONTROLLERS_SIZE];
	char path[FACTS_PATH_MAX];
	char call[sizeof(f->kill.call)];
	ssize_t n;

	if (!path_join(path, sizeof(path), f->dir, name))
		return;
	n = file_read_line(k, path, list, sizeof(list));
	ask_name(call, sizeof(call), "read", path);
	for (size_t c = 0; c < CONTROLLER_COUNT; c++) {
		struct fact *fact = (struct fact *)((char *)&f->controllers[c] + which);

		if (n < 0)
			fact_call(fact, ANSWER_UNKNOWN, call, n);
		else
			fact_text(fact,
				  has_word(list, controller_names[c]) ? ANSWER_YES : ANSWER_NO,
				  BASIS_OBSERVED, call, list);
	}
}

/* In a threaded subtree the controllers of memory and I/O cannot be enabled, and below an invalid
 * domain none can (the kernel's cgroup-v2 document, "Threads").
 */
static bool type_forbids(const char *type, enum controller c)
{
	if (strcmp(type, "domain invalid") == 0)
		return true;
	if (strcmp(type, "threaded") != 0 && strcmp(type, "domain threaded") != 0)
		return false;
	return c == CONTROLLER_MEMORY || c == CONTROLLER_IO;
}

static void judge_enableable(enum controller c, const struct cgroup_facts *f, struct fact *ret)
{
	const struct controller_facts *own = &f->controllers[c];

	if (own->available.answer != ANSWER_YES)
		*ret = own->available;
	else if (type_forbids(f->type, c))
		fact_text(ret, ANSWER_NO, BASIS_OBSERVED, "read cgroup.type", f->type);
	else
		*ret = f->subtree_writable;
}

static void ask_controllers(const struct kernel *k, struct cgroup_facts *f)
{
	ask_list(k, "cgroup.controllers", offsetof(struct controller_facts, available), f);
	ask_list(k, "cgroup.subtree_control", offsetof(struct controller_facts, enabled), f);
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		judge_enableable((enum controller)c, f, &f->controllers[c].enableable);
}

/* ---- all of it ---- */

/* Every cgroup has cgroup.events, but for the machine's root cgroup, and one that was removed. */
static enum answer is_root(const struct kernel *k, const char *dir)
{
	char path[FACTS_PATH_MAX];
	struct node node;
	int r;

	if (!path_join(path, sizeof(path), dir, "cgroup.events"))
		return ANSWER_UNKNOWN;
	r = k->access(k, path, F_OK);
	if (r == 0)
		return ANSWER_NO;
	return r == -ENOENT && k->stat(k, dir, &node) == 0 ? ANSWER_YES : ANSWER_UNKNOWN;
}

static void ask_type(const struct kernel *k, struct cgroup_facts *f)
{
	char path[FACTS_PATH_MAX];

	if (!path_join(path, sizeof(path), f->dir, "cgroup.type") ||
	    file_read_line(k, path, f->type, sizeof(f->type)) < 0)
		f->type[0] = '\0';
}

static void look_into(const struct kernel *k, const struct cgroup_place *place, enum answer root,
		      const struct ids *ids, struct cgroup_facts *f)
{
	f->namespaced = root == ANSWER_NO && strcmp(f->dir, f->mount) == 0;
	ask_type(k, f);
	ask_writable(k, f->dir, W_OK | X_OK, &f->dir_writable);
	ask_file_writable(k, f->dir, "cgroup.procs", &f->procs_writable);
	ask_file_writable(k, f->dir, "cgroup.subtree_control", &f->subtree_writable);
	ask_delegate(k, &place->v2, &f->delegate_xattr);
	if (ids)
		ask_owner(k, f->dir, ids->uid, &f->owned);
	ask_controllers(k, f);
	cgroup_ask_files(k, root, f);
}

/* What is missing of /proc says something where /proc is there, and is not one of processes alone
 * (subset=pid). */
static bool has_whole_proc(const struct kernel *k)
{
	struct node node;

	return k->stat(k, "/proc/meminfo", &node) == 0;
}

static void ask_pressure(const struct kernel *k, struct cgroup_facts *f)
{
	static const char *const paths[] = { "/proc/pressure/cpu", "/proc/pressure/memory",
					     "/proc/pressure/io" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char text[1024];
		char call[sizeof(f->psi[i].call)];
		enum answer answer = ANSWER_UNKNOWN;
		ssize_t n = file_read(k, paths[i], text, sizeof(text));

		if (n >= 0)
			answer = ANSWER_YES;
		else if ((n == -ENOENT && has_whole_proc(k)) || n == -EOPNOTSUPP)
			answer = ANSWER_NO; /* not built; psi=0 on the boot line */
		ask_name(call, sizeof(call), "read", paths[i]);
		fact_call(&f->psi[i], answer, call, n);
	}
}

void probe_cgroup(const struct kernel *k, struct cgroup_facts *ret)
{
	struct cgroup_place place;
	struct ids ids;
	const struct ids *known = k->ids(k, &ids) == 0 ? &ids : NULL;
	enum answer root = ANSWER_UNKNOWN;

	cgroup_find(k, &place);
	ret->layout = place.layout;
	ret->mounted = place.mounted;
	text_copy(ret->mount, sizeof(ret->mount), place.v2.mount);
	text_copy(ret->own, sizeof(ret->own), place.v2.own);
	text_copy(ret->dir, sizeof(ret->dir), place.v2.dir);
	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		ret->controllers[c].owned_by_v1 = place.v1_controllers & 1U << c;

	if (ret->dir[0]) {
		root = is_root(k, ret->dir);
		look_into(k, &place, root, known, ret);
	}
	ask_pressure(k, ret);
	ret->delegation = delegation_of(&place, known, ret);
	cgroup_say_missing(&place, root, known, ret);
}
