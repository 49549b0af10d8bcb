#include "probe/finding.h"

#include <stddef.h>

#include "kabi/text.h"
#include "probe/gather.h"
#include "probe/trial/trial.h"

struct view {
	const struct facts *facts;
	const struct capabilities *capabilities;
	char *remedy; /* of FACTS_LINE_MAX bytes: what to do, instead of the row's */
};

static bool enforced(const struct view *v, enum capability_id id)
{
	return v->capabilities->of[id].status == STATUS_ENFORCED;
}

static bool is_yes(const struct fact *f)
{
	return f->answer == ANSWER_YES;
}

/* ---- when each finding holds; `say` may put detail behind the row's text ---- */

static bool runs_as_root(const struct view *v, struct text *say)
{
	(void)say;
	return v->facts->outcomes[PROBE_HOST].outcome == OUTCOME_DONE &&
	       is_yes(&v->facts->host.caps_asked) && v->facts->host.ids.uid == 0;
}

static bool parent_filter(const struct view *v, struct text *say)
{
	const struct seccomp_facts *s = &v->facts->seccomp;

	if (s->filters.answer == ANSWER_YES && s->filters.value > 0) {
		text_add(say, ": ");
		text_add_int(say, s->filters.value);
		text_add(say, s->filters.value == 1 ? " filter" : " filters");
		return true;
	}
	return s->mode.answer == ANSWER_YES && s->mode.value == 2;
}

/* What a trial saw of a known gap goes before what the kernel makes likely. */
static bool gap(const struct view *v, const char *trial, bool likely, struct text *say)
{
	switch (trial_verdict_on(v->facts, trial)) {
	case TRIAL_NOT_RUN:
	case TRIAL_TOO_OLD:
	case TRIAL_NO_CONTROL:
	case TRIAL_LOST:
		return likely;
	case TRIAL_HELD:
		return false;
	case TRIAL_OPEN:
	case TRIAL_BROKEN:
		text_add(say, " (seen here)");
		return true;
	}
	return likely;
}

static bool egress_port_only(const struct view *v, struct text *say)
{
	return enforced(v, CAPABILITY_NET_EGRESS_ALLOWLIST) &&
	       gap(v, "egress.other-address", true, say);
}

static bool without_resolve(const struct view *v)
{
	for (int i = 0; i < LL_RIGHT_COUNT; i++)
		if (ll_rights[i].kind == LL_KIND_FS &&
		    1ULL << ll_rights[i].bit == LL_FS_RESOLVE_UNIX)
			return v->facts->landlock.rights[i].answer != ANSWER_YES;
	return false;
}

static bool broker_not_exclusive(const struct view *v, struct text *say)
{
	return v->capabilities->backend.present && gap(v, "broker.other", without_resolve(v), say);
}

static bool metadata_writable(const struct view *v, struct text *say)
{
	return v->capabilities->backend.present && gap(v, "metadata.chmod", true, say);
}

static bool files_visible(const struct view *v, struct text *say)
{
	return v->capabilities->backend.present && gap(v, "metadata.stat", true, say);
}

/* Three roads; those that were seen are named. */
static bool exec_deny_partial(const struct view *v, struct text *say)
{
	static const struct {
		const char *trial;
		const char *name;
	} roads[] = {
		{ "exec.loader", "the loader" },
		{ "exec.map", "mmap" },
		{ "exec.interpreter", "an interpreter" },
	};
	unsigned seen = 0;

	for (size_t i = 0; i < sizeof(roads) / sizeof(roads[0]); i++) {
		if (trial_verdict_on(v->facts, roads[i].trial) != TRIAL_OPEN)
			continue;
		text_add(say, seen++ ? ", " : " (seen here: ");
		text_add(say, roads[i].name);
	}
	text_add(say, seen ? ")" : "");
	return v->capabilities->backend.present;
}

static bool trial_broken(const struct view *v, struct text *say)
{
	const struct trial_facts *trials = &v->facts->trials;
	const char *first = NULL;
	unsigned count = 0;

	for (size_t i = 0; trials->state == TRIALS_DONE && i < trial_count(); i++) {
		if (trial_judge(trial_at(i), &trials->of[i], v->capabilities->backend.abi) !=
		    TRIAL_BROKEN)
			continue;
		first = count++ ? first : trial_at(i)->id;
	}
	if (!first)
		return false;
	text_add(say, ": ");
	text_add(say, first);
	if (count > 1) {
		text_add(say, " and ");
		text_add_int(say, count - 1);
		text_add(say, count == 2 ? " other" : " others");
	}
	return true;
}

static bool trials_impossible(const struct view *v, struct text *say)
{
	if (v->facts->trials.state != TRIALS_IMPOSSIBLE || !v->capabilities->backend.present)
		return false;
	text_add(say, ": ");
	text_add(say, v->facts->trials.why);
	return true;
}

static bool abi_newer(const struct view *v, struct text *say)
{
	if (v->facts->landlock.abi.value <= LL_ABI_KNOWN)
		return false;
	text_add(say, ": ");
	text_add_int(say, v->facts->landlock.abi.value);
	return true;
}

/* The number promises a right that the kernel then refuses, or the other way round. */
static bool abi_contradicts(const struct view *v, struct text *say)
{
	const struct landlock_facts *l = &v->facts->landlock;

	if (l->state != LANDLOCK_PRESENT)
		return false;
	for (int i = 0; i < LL_RIGHT_COUNT; i++) {
		enum answer promised = ll_rights[i].since_abi <= l->abi.value ? ANSWER_YES
									      : ANSWER_NO;

		if (l->rights[i].answer == ANSWER_UNKNOWN || l->rights[i].answer == promised)
			continue;
		text_add(say, ": ");
		text_add(say, ll_rights[i].name);
		text_add(say, " answered ");
		text_add(say, l->rights[i].got);
		return true;
	}
	return false;
}

static bool erratum_missing(const struct view *v, unsigned bit)
{
	const struct landlock_facts *l = &v->facts->landlock;

	return l->state == LANDLOCK_PRESENT && is_yes(&l->errata) && !(l->errata.value & 1 << bit);
}

static bool errata_signal(const struct view *v, struct text *say)
{
	(void)say;
	return v->facts->landlock.abi.value >= 6 && erratum_missing(v, 1);
}

static bool errata_directory(const struct view *v, struct text *say)
{
	(void)say;
	return erratum_missing(v, 2);
}

static bool stream_protocols(const struct view *v, struct text *say)
{
	(void)say;
	/* The fix takes MPTCP and SCTP out of the TCP rules: the seccomp filter must refuse them.
	 */
	return v->facts->landlock.abi.value >= 4 && is_yes(&v->facts->landlock.errata) &&
	       (v->facts->landlock.errata.value & 1);
}

static bool user_namespaces(const struct view *v, struct text *say)
{
	(void)say;
	return is_yes(&v->facts->settings.user_namespace);
}

static bool io_uring(const struct view *v, struct text *say)
{
	(void)say;
	return is_yes(&v->facts->settings.io_uring);
}

static bool unprivileged_bpf(const struct view *v, struct text *say)
{
	(void)say;
	return v->facts->bpf.unprivileged.answer != ANSWER_UNKNOWN &&
	       v->facts->bpf.unprivileged.value == 0;
}

static bool legacy_tiocsti(const struct view *v, struct text *say)
{
	(void)say;
	return v->facts->settings.tiocsti.answer != ANSWER_UNKNOWN &&
	       v->facts->settings.tiocsti.value == 1;
}

static bool foreign_entry(const struct view *v, struct text *say)
{
	const struct seccomp_facts *s = &v->facts->seccomp;

	if (!is_yes(&s->entry_i386) && !is_yes(&s->entry_x32))
		return false;
	text_add(say, is_yes(&s->entry_i386) ? ": i386" : ": x32");
	text_add(say, is_yes(&s->entry_i386) && is_yes(&s->entry_x32) ? ", x32" : "");
	return true;
}

/* A mount that could not be looked at is unknown, which is no finding. */
static uint32_t known_obstacles(const struct view *v)
{
	const struct cgroup_facts *c = &v->facts->cgroup;

	if (v->facts->outcomes[PROBE_CGROUP].outcome != OUTCOME_DONE ||
	    c->mounted.answer == ANSWER_UNKNOWN)
		return 0;
	return leaf_obstacles(c);
}

static bool leaf_lacks(const struct view *v, uint32_t obstacles, struct text *say)
{
	text_add(say, ": ");
	text_add(say, v->facts->cgroup.missing[0].text);
	leaf_remedy(obstacles, v->remedy);
	return true;
}

static bool no_leaf(const struct view *v, struct text *say)
{
	uint32_t obstacles = known_obstacles(v);

	return obstacles & ~LEAF_LESSER ? leaf_lacks(v, obstacles, say) : false;
}

static bool lesser_leaf(const struct view *v, struct text *say)
{
	uint32_t obstacles = known_obstacles(v);

	return obstacles && !(obstacles & ~LEAF_LESSER) ? leaf_lacks(v, obstacles, say) : false;
}

static bool gpu_display_only(const struct view *v, struct text *say)
{
	const struct gpu_facts *g = &v->facts->gpu;
	bool card = false;

	(void)say;
	for (uint32_t i = 0; i < g->node_count; i++) {
		if (!g->nodes[i].device)
			continue;
		if (g->nodes[i].kind == GPU_NODE_DRM_CARD)
			card = true;
		else if (g->nodes[i].kind != GPU_NODE_OTHER)
			return false;
	}
	return card && !g->truncated;
}

static bool gpu_unreadable(const struct view *v, struct text *say)
{
	const struct gpu_facts *g = &v->facts->gpu;

	for (uint32_t i = 0; i < g->node_count; i++) {
		const struct gpu_node *n = &g->nodes[i];

		if (!n->device || n->kind == GPU_NODE_DRM_CARD || n->openable.answer != ANSWER_NO)
			continue;
		text_add(say, ": ");
		text_add(say, n->path);
		text_add(say, " (");
		text_add(say, n->openable.got);
		text_add(say, n->group[0] ? "; group " : "");
		text_add(say, n->group);
		text_add(say, ")");
		return true;
	}
	return false;
}

static bool probe_lost(const struct view *v, struct text *say)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (v->facts->outcomes[i].outcome != OUTCOME_LOST)
			continue;
		text_add(say, ": ");
		text_add(say, probe_name((enum probe_id)i));
		text_add(say, " ");
		text_add(say, v->facts->outcomes[i].why);
		return true;
	}
	return false;
}

static const struct finding_row {
	const char *id;
	enum severity severity;
	const char *capability;
	bool (*holds)(const struct view *v, struct text *say);
	const char *text;
	const char *remedy;
} finding_rows[] = {
	{ "probe_lost", SEVERITY_WARNING, NULL, probe_lost,
	  "a probe was lost, its facts are unknown",
	  "run again; if it is lost again, report it with the output of --json" },
	{ "trial_broken", SEVERITY_WARNING, NULL, trial_broken,
	  "an attempt in the sandbox did not end as it must",
	  "read its trials with --explain, and report them with the output of --json" },
	{ "trials_impossible", SEVERITY_WARNING, NULL, trials_impossible,
	  "nothing could be tried, so nothing is enforced", TRIALS_REMEDY },
	{ "runs_as_root", SEVERITY_WARNING, "filesystem", runs_as_root,
	  "this runs as root: files that root owns stay reachable wherever a path is granted",
	  "run the agent under an account of its own" },
	{ "parent_filter", SEVERITY_NOTE, NULL, parent_filter,
	  "a seccomp filter is already around this process",
	  "none needed; whoever verifies a child must compare Seccomp_filters with its own" },
	{ "egress_port_only", SEVERITY_NOTE, "net.egress-allowlist", egress_port_only,
	  "with an allow list, the proxy's port number is open on every address: Landlock knows ports only",
	  "a parent that connects for modules (oarbank-run --supervise auto), or a proxy port nothing else "
	  "listens on" },
	{ "broker_not_exclusive", SEVERITY_NOTE, "ipc", broker_not_exclusive,
	  "a module with a broker grant can reach other unix sockets of the same user",
	  "a parent that connects for modules (oarbank-run --supervise auto), Linux 7.1 or later (Landlock "
	  "ABI 9), or an account for each agent" },
	{ "metadata_writable", SEVERITY_NOTE, "filesystem", metadata_writable,
	  "mode, owner and times of the user's own files can be changed outside the granted paths too",
	  "a parent that changes them for modules (oarbank-run --supervise metadata), or an account for "
	  "modules that owns nothing else" },
	{ "exec_deny_partial", SEVERITY_NOTE, "exec_writable_deny", exec_deny_partial,
	  "written code still runs through the dynamic loader, interpreters and mmap",
	  "mount work and data directories noexec: it closes the loader and mmap" },
	{ "files_visible", SEVERITY_NOTE, "filesystem", files_visible,
	  "names, sizes, owners and times of files outside can be seen (stat), and world-readable files "
	  "below /etc and /proc read",
	  "keep secrets out of paths and out of world-readable files" },
	{ "landlock_abi_newer", SEVERITY_NOTE, NULL, abi_newer,
	  "the kernel's Landlock is newer than this program knows", "a newer oarbank-probe" },
	{ "landlock_abi_contradicts", SEVERITY_WARNING, "filesystem", abi_contradicts,
	  "the Landlock ABI number and a right asked for by itself disagree",
	  "find out what patches or filters Landlock here; the rights count, not the number" },
	{ "errata_signal_scope", SEVERITY_NOTE, "ipc", errata_signal,
	  "threads of one confined process cannot signal each other (Landlock erratum 2 is not fixed)",
	  "a later stable kernel of the same series" },
	{ "errata_disconnected_directory", SEVERITY_NOTE, "filesystem", errata_directory,
	  "rules may not hold for directories moved out of a bind mount (Landlock erratum 3 is not fixed)",
	  "a later stable kernel of the same series" },
	{ "streams_beyond_tcp", SEVERITY_NOTE, "net.egress-allowlist", stream_protocols,
	  "Landlock's TCP rules do not see MPTCP, SCTP and SMC streams",
	  "none needed with oarbank-sandbox: its filter refuses those protocols" },
	{ "io_uring_open", SEVERITY_NOTE, "ipc", io_uring, "io_uring is open to this user",
	  "sysctl kernel.io_uring_disabled=2 where nothing needs it; the launcher's filter refuses it" },
	{ "user_namespaces_open", SEVERITY_NOTE, NULL, user_namespaces,
	  "this user may make user namespaces: a wide kernel surface for whatever runs unconfined",
	  "sysctl user.max_user_namespaces=0 where nothing needs them; the launcher's filter refuses them" },
	{ "bpf_unprivileged", SEVERITY_WARNING, NULL, unprivileged_bpf,
	  "unprivileged BPF is allowed (kernel.unprivileged_bpf_disabled is 0)",
	  "sysctl kernel.unprivileged_bpf_disabled=2" },
	{ "tiocsti_open", SEVERITY_NOTE, NULL, legacy_tiocsti,
	  "a process can type into its terminal (dev.tty.legacy_tiocsti is 1)",
	  "sysctl dev.tty.legacy_tiocsti=0; the launcher's filter refuses it" },
	{ "foreign_entry_open", SEVERITY_NOTE, NULL, foreign_entry,
	  "another instruction set's system calls can be entered here",
	  "none needed with oarbank-sandbox: its filter kills or refuses them" },
	{ "no_container_leaf", SEVERITY_NOTE, NULL, no_leaf,
	  "no cgroup leaf for a module: its container is the process group, without hard limits",
	  "find out why: the report has it below kernel.cgroup" },
	{ "lesser_container_leaf", SEVERITY_NOTE, NULL, lesser_leaf,
	  "a module's cgroup leaf can be made, and lacks limits or files",
	  "find out why: the report has it below kernel.cgroup" },
	{ "gpu_display_only", SEVERITY_NOTE, "gpu.compute", gpu_display_only,
	  "the only GPU nodes are display nodes, which are not granted",
	  "a driver that offers a render node" },
	{ "gpu_not_openable", SEVERITY_WARNING, "gpu.compute", gpu_unreadable,
	  "a GPU node cannot be opened by this user", "add the agent's account to that group" },
};
_Static_assert(sizeof(finding_rows) / sizeof(finding_rows[0]) <= FINDINGS_MAX,
	       "all may hold at once");

const char *severity_name(enum severity severity)
{
	switch (severity) {
	case SEVERITY_NOTE:
		return "note";
	case SEVERITY_WARNING:
		return "warning";
	}
	return "note";
}

void findings_derive(const struct facts *facts, const struct capabilities *capabilities,
		     struct findings *ret)
{
	ret->count = 0;
	for (size_t i = 0; i < sizeof(finding_rows) / sizeof(finding_rows[0]); i++) {
		const struct finding_row *row = &finding_rows[i];
		struct finding *f = &ret->of[ret->count];
		const struct view v = { facts, capabilities, f->remedy };
		struct text text = TEXT_BUF(f->text);

		f->remedy[0] = '\0';
		text_add(&text, row->text);
		if (!row->holds(&v, &text))
			continue;
		f->id = row->id;
		f->severity = row->severity;
		if (!f->remedy[0])
			text_copy(f->remedy, sizeof(f->remedy), row->remedy);
		f->capability = row->capability;
		ret->count++;
	}
}
