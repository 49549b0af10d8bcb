#include "probe/trial/confine.h"

#include "launch/launch.h"

/* The launcher's notes are large, and nothing of them is touched but what is used. */
static struct launch launch;

static const struct kernel *real;

/* A few hundred denials are meant to happen: none of them goes to the audit log (ABI 7). The
 * sandbox itself is the same.
 */
static int restrict_quietly(const struct kernel *k, int ruleset, uint32_t flags)
{
	(void)k;
	return real->ll_restrict(real, ruleset, flags ? LL_RESTRICT_LOG_SAME_EXEC_OFF : 0);
}

static void add_root(const struct stage *s, struct policy *p, enum root_kind kind, enum place place)
{
	static char paths[PLACE_COUNT][STAGE_PATH_MAX];

	p->roots[p->root_count++] = (struct root){ .kind = kind,
						   .path = stage_path(s, place, "", paths[place]) };
}

int trial_confine(const struct stage *s, const struct trial_grants *grants, int parent,
		  struct fault *why)
{
	struct policy *p = &launch.policy;
	struct kernel k = *s->k;
	int r;

	p->module = "trial";
	p->kind = "probe";
	p->net = grants->egress ? NET_EGRESS_ALLOWLIST : NET_NONE;
	p->proxy_port = grants->egress ? s->proxy_port : 0;
	p->broker_socket = grants->broker ? s->broker.sun_path : NULL;
	p->gpu = grants->gpu;
	p->exec_rw = grants->exec_rw;
	p->root_count = 0;
	add_root(s, p, ROOT_RO, PLACE_BUNDLE);
	add_root(s, p, ROOT_EXE, PLACE_TOOLS);
	add_root(s, p, ROOT_RW, PLACE_WORK);
	add_root(s, p, ROOT_RD, PLACE_IN);
	add_root(s, p, ROOT_WO, PLACE_OUT);
	launch.signal_fd = -1;
	real = s->k;
	k.ll_restrict = restrict_quietly;
	launch.ask = (struct ask){ .socket = parent };
	if (parent >= 0)
		launch.ask.what = ASK_CONNECT | ASK_METADATA;
	r = launch_confine(&k, &launch, why);
	return r == 0 && parent >= 0 ? ask_parent(&k, &launch.ask, why) : r;
}
