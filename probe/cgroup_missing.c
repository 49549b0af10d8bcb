#include "probe/cgroup.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "kabi/fault.h"
#include "kabi/text.h"

#define UNIFIED "the unified cgroup hierarchy (boot with systemd.unified_cgroup_hierarchy=1)"

/* ---- names and remedies ---- */

static const struct {
	const char *name;
	const char *remedy;
} obstacles[] = {
	[LEAF_UNKNOWN] = { "unknown", "a report that can tell: with trials, and with /proc and "
				      "/sys/fs/cgroup readable" },
	[LEAF_NO_HIERARCHY] = { "no-hierarchy", UNIFIED },
	[LEAF_NOT_VISIBLE] = { "not-visible",
			       "a cgroup2 mount that shows the cgroup of this process" },
	[LEAF_READ_ONLY] = { "read-only", "a writable cgroup2 mount in the container" },
	[LEAF_NOT_DELEGATED] = { "not-delegated", "Delegate=yes in the agent's unit" },
	[LEAF_NOT_WRITABLE] = { "not-writable", "a cgroup that belongs to the agent's account" },
	[LEAF_THREADED] = { "threaded", "a cgroup outside threaded subtrees" },
	[LEAF_V1_CONTROLLER] = { "controller-in-v1", UNIFIED },
	[LEAF_NO_CONTROLLER] = { "controller-not-passed-down",
				 "the cpu, memory and pids controllers in the "
				 "cgroup.subtree_control of the cgroup above" },
	[LEAF_CONTROLLER_OFF] = { "controller-off", "a kernel with the cpu, memory and pids "
						    "controllers, without cgroup_disable=" },
	[LEAF_OLD_KERNEL] = { "old-kernel", "Linux 5.14 or later" },
};
_Static_assert(sizeof(obstacles) / sizeof(obstacles[0]) == LEAF_OBSTACLE_COUNT, "one row each");

const char *leaf_obstacle_name(enum leaf_obstacle obstacle)
{
	return obstacles[obstacle].name;
}

enum leaf_obstacle leaf_obstacle_find(const char *name)
{
	for (int i = 0; i < LEAF_OBSTACLE_COUNT; i++)
		if (strcmp(obstacles[i].name, name) == 0)
			return (enum leaf_obstacle)i;
	return LEAF_UNKNOWN;
}

uint32_t leaf_obstacles(const struct cgroup_facts *f)
{
	uint32_t mask = 0;

	for (uint32_t i = 0; i < f->missing_count; i++)
		mask |= 1U << f->missing[i].obstacle;
	return mask;
}

void leaf_remedy(uint32_t mask, char buf[FACTS_LINE_MAX])
{
	struct text t = text_start(buf, FACTS_LINE_MAX);

	if (mask & 1U << LEAF_NO_HIERARCHY)
		mask &= ~(1U << LEAF_V1_CONTROLLER); /* one remedy for both */
	if (mask & ~(1U << LEAF_UNKNOWN))
		mask &= ~(1U << LEAF_UNKNOWN);
	else
		mask = 1U << LEAF_UNKNOWN;
	for (int i = 0; i < LEAF_OBSTACLE_COUNT; i++) {
		if (!(mask & 1U << i))
			continue;
		if (t.len > 0)
			text_add(&t, ", and ");
		text_add(&t, obstacles[i].remedy);
	}
}

/* ---- what there is to say ---- */

/* Add a sentence of the joined strings; the list ends with NULL. */
static void __attribute__((sentinel)) say(struct cgroup_facts *f, enum leaf_obstacle obstacle, ...)
{
	va_list parts;
	const char *part;

	if (f->missing_count == CGROUP_MISSING_MAX)
		return;

	struct text t = TEXT_BUF(f->missing[f->missing_count].text);

	f->missing[f->missing_count].obstacle = obstacle;
	va_start(parts, obstacle);
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
		say(f, LEAF_NO_HIERARCHY, "no cgroup v2 hierarchy is mounted", NULL);
		break;
	case ANSWER_UNKNOWN:
		say(f, LEAF_UNKNOWN, "whether cgroup v2 is mounted is unknown (",
		    place->mounted.call, ": ", place->mounted.got, ")", NULL);
		break;
	}
}

static void say_invisible(const struct cgroup_place *place, struct cgroup_facts *f)
{
	struct fault why;

	if (place->own_error < 0) {
		fault_errno(&why, "read", "/proc/self/cgroup", -place->own_error);
		say(f, LEAF_UNKNOWN, "the cgroup of this process is unknown: ", why.text, NULL);
	} else if (!f->own[0]) {
		say(f, LEAF_UNKNOWN,
		    "the cgroup of this process is unknown: '/proc/self/cgroup' has no 0:: line",
		    NULL);
	} else if (place->deleted) {
		say(f, LEAF_NOT_VISIBLE, "the cgroup of this process has been removed", NULL);
	} else if (place->v2.dir_error < 0) {
		fault_errno(&why, "stat", "its directory", -place->v2.dir_error);
		say(f, LEAF_UNKNOWN, "the cgroup of this process is unknown: ", why.text, NULL);
	} else {
		say(f, LEAF_NOT_VISIBLE,
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

static void say_unwritable(const struct cgroup_place *place, const struct ids *ids,
			   struct cgroup_facts *f)
{
	char user[32];
	struct text t = TEXT_BUF(user);

	text_add(&t, ids ? "uid " : "this user");
	if (ids)
		text_add_int(&t, ids->uid);

	if (f->dir_writable.answer == ANSWER_NO) {
		if (place->v2.read_only || f->dir_writable.error == EROFS)
			say(f, LEAF_READ_ONLY, "the cgroup2 mount is read-only", NULL);
		else if (in_unit(f->own) && f->delegate_xattr.answer != ANSWER_YES)
			say(f, LEAF_NOT_DELEGATED, "the unit has no Delegate=yes: ", user,
			    " may not make cgroups in its own", NULL);
		else
			say(f, LEAF_NOT_WRITABLE, "the cgroup directory is not writable by ", user,
			    NULL);
		return;
	}
	if (f->procs_writable.answer == ANSWER_NO)
		say(f, LEAF_NOT_WRITABLE, "cgroup.procs is not writable by ", user, NULL);
	if (f->subtree_writable.answer == ANSWER_NO)
		say(f, LEAF_NOT_WRITABLE, "cgroup.subtree_control is not writable by ", user, NULL);
}

static void say_controller(enum controller c, enum answer root, struct cgroup_facts *f)
{
	struct controller_facts *own = &f->controllers[c];
	const char *name = controller_names[c];

	if (own->owned_by_v1) {
		own->obstacle = LEAF_V1_CONTROLLER;
		say(f, own->obstacle, "v1 owns the ", name, " controller", NULL);
	} else if (own->available.answer == ANSWER_NO && root == ANSWER_YES) {
		own->obstacle = LEAF_CONTROLLER_OFF;
		say(f, own->obstacle, "the ", name,
		    " controller is not available: it is not in this kernel, or cgroup_disable= is "
		    "on its boot line",
		    NULL);
	} else if (own->available.answer == ANSWER_NO) {
		own->obstacle = LEAF_NO_CONTROLLER;
		say(f, own->obstacle, "the ", name,
		    " controller is not available in this cgroup: the parent's "
		    "cgroup.subtree_control does not list it",
		    NULL);
	}
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
		say(f, LEAF_THREADED, "this cgroup is of type '", f->type,
		    "': a leaf with limits needs a domain outside threaded subtrees", NULL);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		say_controller(needed[i], root, f);
	if (f->kill.answer == ANSWER_NO)
		say(f, LEAF_OLD_KERNEL,
		    "this kernel has no cgroup.kill, which comes with Linux 5.14", NULL);
	if (f->freeze.answer == ANSWER_NO)
		say(f, LEAF_OLD_KERNEL,
		    "this kernel has no cgroup.freeze, which comes with Linux 5.2", NULL);
}
