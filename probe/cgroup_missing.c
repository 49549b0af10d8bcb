#include "probe/cgroup.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "kabi/fault.h"
#include "kabi/text.h"

/* Add a sentence of the joined strings; the list ends with NULL. */
static void __attribute__((sentinel)) say(struct cgroup_facts *f, ...)
{
	va_list parts;
	const char *part;

	if (f->missing_count == CGROUP_MISSING_MAX)
		return;

	struct text t = TEXT_BUF(f->missing[f->missing_count]);

	va_start(parts, f);
	while ((part = va_arg(parts, const char *)))
		text_add(&t, part);
	va_end(parts);
	f->missing_count++;
}

static void say_unmounted(const struct cgroup_place *place, struct cgroup_facts *f)
{
	switch (place->mounted.answer) {
	case ANSWER_YES:
		break;
	case ANSWER_NO:
		say(f, "no cgroup v2 hierarchy is mounted", NULL);
		break;
	case ANSWER_UNKNOWN:
		say(f, "whether cgroup v2 is mounted is unknown (", place->mounted.call, ": ",
		    place->mounted.got, ")", NULL);
		break;
	}
}

static void say_invisible(const struct cgroup_place *place, struct cgroup_facts *f)
{
	struct fault why;

	if (place->own_error < 0) {
		fault_errno(&why, "read", "/proc/self/cgroup", -place->own_error);
		say(f, "the cgroup of this process is unknown: ", why.text, NULL);
	} else if (!f->own[0]) {
		say(f, "the cgroup of this process is unknown: '/proc/self/cgroup' has no 0:: line",
		    NULL);
	} else if (place->deleted) {
		say(f, "the cgroup of this process has been removed", NULL);
	} else if (place->v2.dir_error < 0) {
		fault_errno(&why, "stat", "its directory", -place->v2.dir_error);
		say(f, "the cgroup of this process is unknown: ", why.text, NULL);
	} else {
		say(f,
		    "the cgroup directory is not visible here (cgroup namespace or container "
		    "mount)",
		    NULL);
	}
}

/* Does the path name a unit of systemd's? Only then is a unit's setting the remedy. */
static bool in_unit(const char *own)
{
	return strstr(own, ".service") || strstr(own, ".scope") || strstr(own, ".slice");
}

static bool is_got(const struct fact *f, int err)
{
	char name[ERRNO_NAME_MAX];

	return strcmp(f->got, errno_name(err, name)) == 0;
}

static void say_unwritable(const struct cgroup_place *place, const struct ids *ids,
			   struct cgroup_facts *f)
{
	char user[32];
	struct text t = TEXT_BUF(user);

	text_add(&t, ids ? "uid " : "this user");
	if (ids)
		text_add_int(&t, ids->uid);

	if (f->dir_writable.answer == ANSWER_NO) {
		if (place->v2.read_only || is_got(&f->dir_writable, EROFS))
			say(f, "the cgroup2 mount is read-only", NULL);
		else if (in_unit(f->own) && f->delegate_xattr.answer != ANSWER_YES)
			say(f, "the unit has no Delegate=yes: ", user,
			    " may not make cgroups in its own", NULL);
		else
			say(f, "the cgroup directory is not writable by ", user, NULL);
		return;
	}
	if (f->procs_writable.answer == ANSWER_NO)
		say(f, "cgroup.procs is not writable by ", user, NULL);
	if (f->subtree_writable.answer == ANSWER_NO)
		say(f, "cgroup.subtree_control is not writable by ", user, NULL);
}

static void say_controller(enum controller c, enum answer root, struct cgroup_facts *f)
{
	const struct controller_facts *own = &f->controllers[c];
	const char *name = controller_names[c];

	if (own->owned_by_v1)
		say(f, "v1 owns the ", name, " controller", NULL);
	else if (own->available.answer == ANSWER_NO && root == ANSWER_YES)
		say(f, "the ", name,
		    " controller is not available: it is not in this kernel, or cgroup_disable= is "
		    "on its boot line",
		    NULL);
	else if (own->available.answer == ANSWER_NO)
		say(f, "the ", name,
		    " controller is not available in this cgroup: the parent's "
		    "cgroup.subtree_control does not list it",
		    NULL);
}

void cgroup_say_missing(const struct cgroup_place *place, enum answer root, const struct ids *ids,
			struct cgroup_facts *f)
{
	/* What limits a container leaf: wire.md section 7. */
	static const enum controller needed[] = { CONTROLLER_CPU, CONTROLLER_MEMORY,
						  CONTROLLER_PIDS };

	if (place->mounted.answer != ANSWER_YES)
		say_unmounted(place, f);
	else if (!f->dir[0])
		say_invisible(place, f);
	else
		say_unwritable(place, ids, f);

	if (f->type[0] && strcmp(f->type, "domain") != 0)
		say(f, "this cgroup is of type '", f->type,
		    "': a leaf with limits needs a domain outside threaded subtrees", NULL);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		say_controller(needed[i], root, f);
	if (f->kill.answer == ANSWER_NO)
		say(f, "this kernel has no cgroup.kill, which comes with Linux 5.14", NULL);
	if (f->freeze.answer == ANSWER_NO)
		say(f, "this kernel has no cgroup.freeze, which comes with Linux 5.2", NULL);
}
