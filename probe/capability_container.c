#include "probe/capability_container.h"

#include <stddef.h>
#include <string.h>

#include "probe/capability_parts.h"
#include "probe/trial/trial.h"

static bool is_yes(const struct fact *f)
{
	return f->answer == ANSWER_YES;
}

/* ---- the leaf ---- */

/* What keeps even a leaf without limits from being made; NULL: nothing. */
static const char *no_leaf(const struct facts *facts)
{
	const struct cgroup_facts *c = &facts->cgroup;

	if (facts->outcomes[PROBE_CGROUP].outcome != OUTCOME_DONE)
		return "the cgroup probe gave no answer";
	if (!is_yes(&c->mounted))
		return "no cgroup v2 hierarchy is mounted";
	if (!c->dir[0])
		return "the cgroup of this process is not visible here";
	if (!is_yes(&c->dir_writable) || !is_yes(&c->procs_writable))
		return c->missing_count ? c->missing[0].text
					: "this user may not make cgroups in its own";
	return NULL;
}

static uint32_t obstacles_of_leaf(const struct cgroup_facts *c)
{
	return leaf_obstacles(c) & ~LEAF_LESSER;
}

/* A fact that is not known may have been seen: in a cgroup without others to look into, for one. */
static void derive_container(const struct facts *facts, struct capability *c, const char *trial,
			     const struct fact *file, const char *name, const char *instead)
{
	const char *reason = no_leaf(facts);
	bool seen = file->answer == ANSWER_UNKNOWN && trial_verdict_on(facts, trial) == TRIAL_HELD;

	if (c->status != STATUS_ENFORCED)
		return;
	add_evidence(c, &facts->cgroup.dir_writable);
	add_evidence(c, &facts->cgroup.procs_writable);
	add_evidence(c, file);
	if (!reason && (is_yes(file) || seen)) {
		set(c->why, "a leaf can be made here, with ", name, "");
		return;
	}
	c->status = STATUS_COOPERATIVE;
	if (reason)
		set(c->why, reason, instead, "");
	else if (file->answer == ANSWER_NO)
		set(c->why, "a leaf here would be without ", name, instead);
	else
		set(c->why, "unknown whether a leaf here would have ", name, instead);
	if (reason) {
		leaf_remedy(obstacles_of_leaf(&facts->cgroup), c->remedy);
	} else if (file->answer == ANSWER_NO) {
		c->kernel = "5.14";
		leaf_remedy(1U << LEAF_OLD_KERNEL, c->remedy);
	} else {
		leaf_remedy(1U << LEAF_UNKNOWN, c->remedy);
	}
}

static void derive_limit(const struct facts *facts, struct capability *c, enum controller id,
			 const struct fact *files)
{
	const struct controller_facts *controller = &facts->cgroup.controllers[id];
	const char *reason = no_leaf(facts);

	if (c->status != STATUS_ENFORCED)
		return;
	add_evidence(c, &controller->available);
	add_evidence(c, &controller->enableable);
	add_evidence(c, files);
	if (!reason && is_yes(&controller->enableable) && is_yes(files)) {
		set(c->why, "the ", controller_names[id], " controller can be had for a leaf here");
		return;
	}
	c->status = STATUS_UNAVAILABLE;
	leaf_remedy((reason ? obstacles_of_leaf(&facts->cgroup) : 0) | 1U << controller->obstacle,
		    c->remedy);
	if (controller->owned_by_v1)
		set(c->why, "a version 1 hierarchy owns the ", controller_names[id], " controller");
	else if (reason)
		set(c->why, reason, "", "");
	else
		set(c->why, files->answer == ANSWER_UNKNOWN ? "unknown whether the " : "the ",
		    controller_names[id],
		    files->answer == ANSWER_UNKNOWN ? " controller can be had for a leaf here"
						    : " controller cannot be had for a leaf here");
}

/* ---- the broker ---- */

static const struct fact *right(const struct facts *facts, enum ll_kind kind, uint64_t bit)
{
	for (int i = 0; i < LL_RIGHT_COUNT; i++)
		if (ll_rights[i].kind == kind && 1ULL << ll_rights[i].bit == bit)
			return &facts->landlock.rights[i];
	return NULL;
}

/* A parent that makes every connection stands in for both rights, where the trials saw it. */
static bool parent_was_seen(const struct facts *facts)
{
	static const char *const others[] = { "broker.other", "broker.other-link",
					      "broker.abstract" };
	bool seen = facts->trials.supervised;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		seen = seen && trial_verdict_on(facts, others[i]) == TRIAL_HELD;
	return seen;
}

static void derive_broker(const struct facts *facts, struct capability *c)
{
	const struct fact *path = right(facts, LL_KIND_FS, LL_FS_RESOLVE_UNIX);
	const struct fact *name = right(facts, LL_KIND_SCOPE, LL_SCOPE_ABSTRACT_UNIX);

	if (c->status != STATUS_ENFORCED || !path || !name)
		return;
	add_evidence(c, path);
	add_evidence(c, name);
	if ((is_yes(path) && is_yes(name)) || parent_was_seen(facts))
		return;
	c->status = STATUS_COOPERATIVE;
	set(c->why,
	    is_yes(name)
		    ? "with a broker grant other unix sockets of this user can be reached by path"
		    : "with a broker grant other unix sockets of this user can be reached",
	    "", "");
	set(c->remedy,
	    "a parent that connects for modules (oarbank-run --supervise auto), Linux 7.1 or later "
	    "(Landlock ABI 9), or an account for each agent",
	    "", "");
	c->kernel = "7.1";
}

/* ---- all of them ---- */

static void derive_each(const struct facts *facts, struct capability of[CAPABILITY_COUNT])
{
	const struct cgroup_facts *c = &facts->cgroup;

	derive_broker(facts, &of[CAPABILITY_IPC_BROKER]);
	derive_container(facts, &of[CAPABILITY_PROCESS_CONTAINER], "container.escape", &c->kill,
			 "cgroup.kill",
			 ": a module is its process group, which a process may leave");
	derive_container(facts, &of[CAPABILITY_FREEZE], "container.frozen", &c->freeze,
			 "cgroup.freeze", ": a module is stopped by SIGSTOP to its process group");
	derive_limit(facts, &of[CAPABILITY_LIMITS_CPU], CONTROLLER_CPU, &c->cpu_files);
	derive_limit(facts, &of[CAPABILITY_LIMITS_MEMORY], CONTROLLER_MEMORY, &c->memory_files);
	derive_limit(facts, &of[CAPABILITY_LIMITS_PIDS], CONTROLLER_PIDS, &c->pids_files);
}

/* `rest` is in the way as well: what takes away the first would not be enough. */
static void add_rest(struct capability *c, const struct capability *rest)
{
	char first[FACTS_LINE_MAX];

	if (c->kernel && rest->kernel && strverscmp(rest->kernel, c->kernel) <= 0)
		return;
	c->kernel = c->kernel ? rest->kernel : NULL;
	text_copy(first, sizeof(first), c->remedy);
	set(c->remedy, first, first[0] && rest->remedy[0] ? ", and " : "", rest->remedy);
}

void container_derive(const struct facts *facts, struct capabilities *all)
{
	static const enum capability_id judged[] = {
		CAPABILITY_IPC_BROKER, CAPABILITY_PROCESS_CONTAINER, CAPABILITY_FREEZE,
		CAPABILITY_LIMITS_CPU, CAPABILITY_LIMITS_MEMORY,     CAPABILITY_LIMITS_PIDS,
	};
	struct capability with_backend[CAPABILITY_COUNT] = { 0 };

	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++)
		with_backend[judged[i]].status = STATUS_ENFORCED;
	derive_each(facts, with_backend);
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		struct capability *c = &all->of[judged[i]];

		if (c->status != STATUS_ENFORCED &&
		    with_backend[judged[i]].status != STATUS_ENFORCED)
			add_rest(c, &with_backend[judged[i]]);
	}
	derive_each(facts, all->of);
}
