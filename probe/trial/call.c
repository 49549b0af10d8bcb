#include "probe/trial/call.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/trial/stage.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static long argument(const struct stage *s, long arg, int *ret_opened)
{
	switch (arg) {
	case ARG_VICTIM:
		return s->victim;
	case ARG_VICTIMS:
		return -(long)s->victim;
	case ARG_HOST:
		return s->host;
	case ARG_STREAM:
		return s->fd;
	case ARG_FILE:
		return s->file;
	case ARG_VICTIM_FD:
		*ret_opened = (int)syscall(SYS_pidfd_open, s->victim, 0);
		return *ret_opened;
	default:
		return arg;
	}
}

int try_call(const struct stage *s, const struct trial *t)
{
	long a[TRIAL_ARGS_MAX];
	int opened = -1;
	long r;

	if (t->number == NO_CALL)
		return -ENOSYS;
	for (int i = 0; i < TRIAL_ARGS_MAX; i++)
		a[i] = argument(s, t->args[i], &opened);
	r = syscall(t->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	r = r < 0 ? -errno : 0;
	if (opened >= 0)
		close(opened);
	return (int)r;
}
