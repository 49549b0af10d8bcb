#include "probe/capability.h"

#include <stddef.h>

#include "kabi/text.h"
#include "probe/capability_container.h"
#include "probe/capability_parts.h"
#include "probe/trial/trial.h"

/* ---- the backend ---- */

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

static void needs_abi(struct capability *c, uint32_t abi)
{
	say_needs_abi(c->remedy, abi);
	c->kernel = ll_abi_linux(abi);
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

/* The ABI has the right, so that a newer kernel is no remedy. */
static void lose_right(const struct landlock_facts *l, int right, struct capability *ret)
{
	ret->status = STATUS_UNAVAILABLE;
	set(ret->why,
	    l->rights[right].answer == ANSWER_NO
		    ? "this kernel refuses the Landlock right "
		    : "unknown: no clear answer about the Landlock right ",
	    ll_rights[right].name, "");
	set(ret->remedy, "find out what patches or filters Landlock here: its ABI has this right",
	    "", "");
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
			needs_abi(ret, row->needed_abi);
		else
			set(ret->remedy, backend->remedy, "", "");
		if (facts->landlock.state == LANDLOCK_NOT_BUILT &&
		    facts->seccomp.mode.answer == ANSWER_YES)
			ret->kernel = ll_abi_linux(row->needed_abi);
		return;
	}
	missing = missing_right(row, &facts->landlock, ret);
	if (backend->abi < row->needed_abi) {
		say_abi(ret->why, backend->abi, row->needed_abi);
		needs_abi(ret, row->needed_abi);
		return;
	}
	if (missing >= 0) {
		lose_right(&facts->landlock, missing, ret);
		return;
	}
	ret->status = STATUS_ENFORCED;
	set(ret->why, "this kernel accepts Landlock",
	    row->net	 ? ", TCP rules"
	    : row->scope ? ", scopes"
			 : "",
	    " and seccomp filters");
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
			lose_right(&facts->landlock, i, gpu);
			return;
		}
	}
	if (facts->gpu.searched.answer == ANSWER_YES && !facts->gpu.truncated &&
	    facts->gpu.gpu_count == 0)
		set(gpu->why,
		    "this kernel accepts Landlock and seccomp filters; no GPU was found here to ",
		    "grant", "");
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
	container_derive(facts, ret);
	trials_merge(facts, ret);
}
