#include "launch/supervise/metadata_call.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6, the same everywhere */
#endif

/* Which argument is what; -1: there is none. */
struct shape {
	int number;
	enum metadata_kind kind;
	int8_t dir;
	int8_t path;
	int8_t value; /* the mode, the user (the group follows), the times */
	int8_t flags;
	bool no_follow;
	enum times_form form;
};

static const struct shape shapes[] = {
#ifdef SYS_chmod
	{ SYS_chmod, METADATA_MODE, -1, 0, 1, -1, false, 0 },
	{ SYS_chown, METADATA_OWNER, -1, 0, 1, -1, false, 0 },
	{ SYS_lchown, METADATA_OWNER, -1, 0, 1, -1, true, 0 },
	{ SYS_utime, METADATA_TIMES, -1, 0, 1, -1, false, TIMES_SECONDS },
	{ SYS_utimes, METADATA_TIMES, -1, 0, 1, -1, false, TIMES_MICRO },
	{ SYS_futimesat, METADATA_TIMES, 0, 1, 2, -1, false, TIMES_MICRO },
#endif
	{ SYS_fchmod, METADATA_MODE, 0, -1, 1, -1, false, 0 },
	{ SYS_fchmodat, METADATA_MODE, 0, 1, 2, -1, false, 0 },
	{ SYS_fchmodat2, METADATA_MODE, 0, 1, 2, 3, false, 0 },
	{ SYS_fchown, METADATA_OWNER, 0, -1, 1, -1, false, 0 },
	{ SYS_fchownat, METADATA_OWNER, 0, 1, 2, 4, false, 0 },
	{ SYS_utimensat, METADATA_TIMES, 0, 1, 2, 3, false, TIMES_NANO },
};

static void read_value(const struct shape *s, const uint64_t args[6], struct metadata_call *call)
{
	switch (s->kind) {
	case METADATA_NONE:
		return;
	case METADATA_MODE:
		call->mode = (uint32_t)args[s->value] & 07777;
		return;
	case METADATA_OWNER:
		call->uid = (uint32_t)args[s->value];
		call->gid = (uint32_t)args[s->value + 1];
		return;
	case METADATA_TIMES:
		call->times = args[s->value];
		call->form = s->form;
		return;
	}
}

static int read_shape(const struct shape *s, const uint64_t args[6], struct metadata_call *ret)
{
	uint32_t flags = s->flags < 0 ? 0 : (uint32_t)args[s->flags];
	struct metadata_call call = {
		.kind = s->kind,
		.dir = s->dir < 0 ? AT_FDCWD : (int)(uint32_t)args[s->dir],
		.by_path = s->path >= 0,
		.path = s->path < 0 ? 0 : args[s->path],
		.may_be_empty = flags & AT_EMPTY_PATH,
		.no_follow = s->no_follow || flags & AT_SYMLINK_NOFOLLOW,
	};

	if (flags & ~(uint32_t)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	/* Without a path the times of the descriptor are meant: utimensat(2), and futimesat(2). */
	if (s->kind == METADATA_TIMES && s->dir >= 0 && call.path == 0)
		call.by_path = false;
	read_value(s, args, &call);
	*ret = call;
	return 0;
}

int metadata_read(int number, const uint64_t args[6], struct metadata_call *ret)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (shapes[i].number == number)
			return read_shape(&shapes[i], args, ret);
	*ret = (struct metadata_call){ .kind = METADATA_NONE };
	return 0;
}

/* ---- who may ---- */

static bool in_group(const struct metadata_caller *caller, uint32_t gid)
{
	bool in = caller->gid == gid;

	for (uint32_t i = 0; i < caller->group_count; i++)
		in |= caller->groups[i] == gid;
	return in;
}

int metadata_judge(const struct metadata_caller *caller, const struct metadata_object *object,
		   struct metadata_call *call)
{
	if (object->uid != caller->uid)
		return -EPERM;
	switch (call->kind) {
	case METADATA_NONE:
		return -EPERM;
	case METADATA_MODE:
		if (!in_group(caller, object->gid))
			call->mode &= ~(uint32_t)S_ISGID;
		return 0;
	case METADATA_OWNER:
		if (call->uid != UINT32_MAX && call->uid != object->uid)
			return -EPERM;
		if (call->gid != UINT32_MAX && call->gid != object->gid &&
		    !in_group(caller, call->gid))
			return -EPERM;
		return 0;
	case METADATA_TIMES:
		return 0;
	}
	return -EPERM;
}
