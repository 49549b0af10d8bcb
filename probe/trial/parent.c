#include "probe/trial/parent.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/launch.h"

/* One child at a time has such a parent. What the supervisor points to stays. */
static struct supervise_rules rules;

static void set_rules(const struct stage *s, const struct trial_grants *grants)
{
	static char paths[2][STAGE_PATH_MAX];
	static const char *const writable[2] = { paths[0], paths[1] };

	stage_path(s, PLACE_WORK, "", paths[0]);
	stage_path(s, PLACE_OUT, "", paths[1]);
	rules = (struct supervise_rules){
		.proxy_port = grants->egress ? s->proxy_port : 0,
		.broker = grants->broker ? s->broker.sun_path : NULL,
		.writable = writable,
		.writable_count = 2,
	};
}

void trial_parent_init(struct trial_parent *p)
{
	*p = (struct trial_parent){ .theirs = -1 };
}

void trial_parent_started(struct trial_parent *p)
{
	if (p->theirs >= 0)
		close(p->theirs);
	p->theirs = -1;
}

int trial_parent_begin(struct trial_parent *p, const struct stage *s,
		       const struct trial_grants *grants)
{
	int ends[2];
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	p->theirs = ends[1];
	set_rules(s, grants);
	r = supervisor_new(ends[0], &rules, &p->supervisor, NULL);
	if (r < 0)
		trial_parent_started(p);
	return r;
}

int trial_parent_fd(const struct trial_parent *p)
{
	return p->supervisor ? supervisor_fd(p->supervisor) : -1;
}

void trial_parent_serve(struct trial_parent *p)
{
	if (p->supervisor && !supervisor_run(p->supervisor)) {
		supervisor_free(p->supervisor);
		p->supervisor = NULL;
	}
}

void trial_parent_end(struct trial_parent *p)
{
	trial_parent_started(p);
	supervisor_free(p->supervisor);
	trial_parent_init(p);
}
