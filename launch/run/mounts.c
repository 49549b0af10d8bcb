#include "launch/run/mounts.h"

#include <errno.h>
#include <string.h>

#include "kabi/kernelfs.h"
#include "kabi/mountinfo.h"
#include "kabi/path.h"
#include "kabi/text.h"
#include "launch/resolve.h"

#define REAL_TEXT_MAX (256 * 1024)

/* A writable root. */
struct writable {
	const struct root *root;
	const char *real; /* where it is */
	size_t depth;	  /* length of the mount point that holds it, as far as it is known */
	char holder[32];  /* that mount's type, if it is an interface; else "" */
};

struct writables {
	size_t count;
	struct writable of[POLICY_ROOTS_MAX];
	char text[REAL_TEXT_MAX];
};

static int find_writables(const struct kernel *k, const struct policy *policy, struct writables *w,
			  struct fault *why)
{
	size_t used = 0;

	w->count = 0;
	for (size_t i = 0; i < policy->root_count; i++) {
		const struct root *root = &policy->roots[i];
		char *real = w->text + used;
		int r;

		if (root->kind != ROOT_RW && root->kind != ROOT_WO)
			continue;
		r = resolve_path(k, root->path, false, real, sizeof(w->text) - used);
		if (r == -ENAMETOOLONG)
			return fault_errno(why, "find", root->path, -r);
		if (r < 0)
			continue;
		w->of[w->count++] = (struct writable){ .root = root, .real = real };
		used += strlen(real) + 1;
	}
	return 0;
}

static int refuse(const struct writable *w, const char *relation, const char *type, const char *at,
		  struct fault *why)
{
	fault_join(why, root_kind_name(w->root->kind), " '", w->root->path, "': ", relation, type,
		   *at ? " at '" : "", at, *at ? "'" : "", ", which is no folder to grant", NULL);
	return -EINVAL;
}

static int see_mount(const struct mount *m, struct writable *w, struct fault *why)
{
	size_t depth = strlen(m->point);

	if (path_is_within(m->point, w->real) && kernelfs_is(m->type))
		return refuse(w, "it holds ", m->type, m->point, why);
	/* Of two at one place the later one is on top. */
	if (path_is_within(w->real, m->point) && depth >= w->depth) {
		w->depth = depth;
		text_copy(w->holder, sizeof(w->holder), kernelfs_is(m->type) ? m->type : "");
	}
	return 0;
}

int mounts_check(const struct kernel *k, const struct policy *policy, struct fault *why)
{
	static struct writables w;
	struct mountinfo mounts;
	struct mount m;
	int r = find_writables(k, policy, &w, why);

	if (r < 0 || w.count == 0)
		return r;
	r = mountinfo_open(k, &mounts);
	if (r < 0)
		return fault_errno(why, "read", "/proc/self/mountinfo", -r);
	while (r == 0 && mountinfo_next(&mounts, &m))
		for (size_t i = 0; r == 0 && i < w.count; i++)
			r = see_mount(&m, &w.of[i], why);
	for (size_t i = 0; r == 0 && i < w.count; i++)
		if (w.of[i].holder[0])
			r = refuse(&w.of[i], "it lies in ", w.of[i].holder, "", why);
	if (r == 0 && mounts.skipped) {
		fault_join(why, "a line of /proc/self/mountinfo is no mount", NULL);
		r = -EINVAL;
	}
	return r;
}
