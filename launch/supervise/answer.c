#include <errno.h>

#include "launch/supervise/state.h"

void call_answer(struct supervisor *s, uint64_t id, int error)
{
	notify_answer(s->listener, id, 0, error);
}

bool call_plant(struct supervisor *s, const struct call *call)
{
	int r = planter_put(&s->planter, s->listener, &call->place, call->socket);

	if (r == -EINTR)
		return false;
	s->counts.connected += r == 0;
	s->counts.failed += r < 0;
	call_answer(s, call->place.id, r < 0 ? -r : call->error);
	return true;
}

void call_fail(struct supervisor *s, uint64_t id, int error)
{
	s->counts.failed++;
	call_answer(s, id, error);
}
