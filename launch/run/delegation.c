#include "launch/run/delegation.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "kabi/file.h"
#include "kabi/path.h"
#include "kabi/procstat.h"
#include "kabi/text.h"

#define LIST_MAX 1024

/* Another process of ours may be on its way out of the same cgroup. */
#define ENABLE_TRIES 20
#define ENABLE_PAUSE_MS 5

static const enum controller wanted[] = { CONTROLLER_CPU, CONTROLLER_MEMORY, CONTROLLER_PIDS };
#define WANTED_COUNT (sizeof(wanted) / sizeof(wanted[0]))

/* ---- finding it ---- */

static int not_visible(const struct cgroup_place *place, struct fault *why)
{
	if (place->mounted.answer == ANSWER_NO) {
		fault_join(why, "no cgroup v2 hierarchy is mounted", NULL);
		return -ENOENT;
	}
	if (place->mounted.answer == ANSWER_UNKNOWN) {
		fault_join(why, "whether cgroup v2 is mounted is unknown: ", place->mounted.call,
			   ": ", place->mounted.got, NULL);
		return -ENOENT;
	}
	if (place->own_error < 0)
		return fault_errno(why, "read", "/proc/self/cgroup", -place->own_error);
	if (place->v2.dir_error < 0)
		return fault_errno(why, "look at the cgroup of this process", NULL,
				   -place->v2.dir_error);
	fault_join(why, "the cgroup of this process, '", place->v2.own, "', is not visible below '",
		   place->v2.mount, "'", NULL);
	return -ENOENT;
}

static int check_writable(const struct kernel *k, const char *dir, struct fault *why)
{
	char procs[CGROUP_PATH_MAX];
	int r = k->access(k, dir, W_OK | X_OK);

	if (r < 0)
		return fault_errno(why, "make a cgroup in", dir, -r);
	if (!path_join(procs, sizeof(procs), dir, "cgroup.procs"))
		return fault_errno(why, "make a cgroup in", dir, ENAMETOOLONG);
	r = k->access(k, procs, W_OK);
	return r < 0 ? fault_errno(why, "write", procs, -r) : 0;
}

/* Which of the wanted controllers does the file list? Sets bits 1 << enum controller. */
static int read_list(const struct kernel *k, const char *dir, const char *name, unsigned *ret,
		     struct fault *why)
{
	char path[CGROUP_PATH_MAX];
	char list[LIST_MAX];
	char *cursor = list;
	const char *word;
	ssize_t n = -ENAMETOOLONG;

	if (path_join(path, sizeof(path), dir, name))
		n = file_read_line(k, path, list, sizeof(list));
	if (n < 0)
		return fault_errno(why, "read", path, (int)-n);
	*ret = 0;
	while ((word = text_word(&cursor)))
		for (size_t i = 0; i < WANTED_COUNT; i++)
			if (strcmp(word, controller_names[wanted[i]]) == 0)
				*ret |= 1U << wanted[i];
	return 0;
}

int delegation_find(const struct kernel *k, struct delegation *ret, struct fault *why)
{
	static struct cgroup_place place;
	const char *last;
	int r;

	cgroup_find(k, &place);
	if (place.mounted.answer != ANSWER_YES || !place.v2.dir[0])
		return not_visible(&place, why);
	*ret = (struct delegation){ .enabled = 0 };
	text_copy(ret->dir, sizeof(ret->dir), place.v2.dir);
	last = strrchr(ret->dir, '/');
	if (last && strcmp(last + 1, DELEGATION_OWN_LEAF) == 0)
		path_parent(ret->dir, place.v2.mount);
	r = check_writable(k, ret->dir, why);
	return r < 0 ? r : read_list(k, ret->dir, "cgroup.subtree_control", &ret->enabled, why);
}

/* ---- handing controllers down ---- */

/* The v2 cgroup of `pid`, "" if unknown. */
static void cgroup_of(const struct kernel *k, pid_t pid, char *buf, size_t size)
{
	static struct cgroup_place place;
	static char text[16384];
	char path[PROC_PATH_MAX];

	proc_path(path, pid, "cgroup");
	place.v2.own[0] = '\0';
	if (file_read(k, path, text, sizeof(text)) >= 0)
		cgroup_read_own(text, &place);
	text_copy(buf, size, place.v2.own);
}

static int move_into(const struct kernel *k, const char *leaf, pid_t pid, struct fault *why)
{
	char procs[CGROUP_PATH_MAX];
	char number[24];
	struct text t = TEXT_BUF(number);
	int r;

	if (!path_join(procs, sizeof(procs), leaf, "cgroup.procs"))
		return fault_errno(why, "move into", leaf, ENAMETOOLONG);
	text_add_int(&t, pid);
	r = file_write(k, procs, number);
	return r < 0 ? fault_errno(why, "move into", leaf, -r) : 0;
}

/* Our own leaf is shared by all runs below this cgroup, so finding it there is no error. */
static int step_aside(const struct kernel *k, const struct delegation *d, pid_t launcher,
		      struct fault *why)
{
	char leaf[CGROUP_PATH_MAX];
	char own[CGROUP_PATH_MAX];
	char other[CGROUP_PATH_MAX];
	pid_t self = k->getpid(k);
	int r;

	if (!path_join(leaf, sizeof(leaf), d->dir, DELEGATION_OWN_LEAF))
		return fault_errno(why, "make", d->dir, ENAMETOOLONG);
	r = k->mkdir(k, leaf, 0755);
	if (r < 0 && r != -EEXIST)
		return fault_errno(why, "make", leaf, -r);
	if (launcher > 0) {
		cgroup_of(k, self, own, sizeof(own));
		cgroup_of(k, launcher, other, sizeof(other));
		if (own[0] && strcmp(own, other) == 0)
			r = move_into(k, leaf, launcher, why);
		if (r < 0 && r != -EEXIST && r != -ESRCH)
			return r;
	}
	return move_into(k, leaf, self, why);
}

static int enable(const struct kernel *k, const struct delegation *d, enum controller c,
		  struct fault *why)
{
	char path[CGROUP_PATH_MAX];
	char change[16];
	char name[ERRNO_NAME_MAX];
	struct text t = TEXT_BUF(change);
	int r = -ENAMETOOLONG;

	text_add(&t, "+");
	text_add(&t, controller_names[c]);
	if (path_join(path, sizeof(path), d->dir, "cgroup.subtree_control"))
		r = file_write(k, path, change);
	for (int i = 0; r == -EBUSY && i < ENABLE_TRIES; i++) {
		k->poll(k, NULL, 0, ENABLE_PAUSE_MS);
		r = file_write(k, path, change);
	}
	if (r < 0)
		fault_join(why, "enable ", change, " in '", d->dir, "': ", errno_name(-r, name),
			   r == -EBUSY ? ": other processes stand in it" : "", NULL);
	return r;
}

int delegation_enable(const struct kernel *k, struct delegation *d, pid_t launcher,
		      struct fault *why)
{
	unsigned missing;
	int r = read_list(k, d->dir, "cgroup.controllers", &missing, why);

	if (r < 0)
		return r;
	missing &= ~d->enabled;
	if (!missing)
		return 0;
	r = step_aside(k, d, launcher, why);
	if (r < 0)
		return r;
	for (size_t i = 0; i < WANTED_COUNT; i++) {
		int one;

		if (!(missing & 1U << wanted[i]))
			continue;
		one = enable(k, d, wanted[i], r < 0 ? NULL : why);
		if (one == 0)
			d->enabled |= 1U << wanted[i];
		else if (r == 0)
			r = one;
	}
	return r;
}
