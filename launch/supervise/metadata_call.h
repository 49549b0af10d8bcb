/* A call of the chmod, chown and utime families, taken apart and judged. Pure. Inside this folder
 * only.
 */
#ifndef LAUNCH_SUPERVISE_METADATA_CALL_H
#define LAUNCH_SUPERVISE_METADATA_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum metadata_kind {
	METADATA_NONE, /* another call */
	METADATA_MODE,
	METADATA_OWNER,
	METADATA_TIMES,
};

/* How the times are written in the caller's memory. */
enum times_form {
	TIMES_SECONDS, /* two long: struct utimbuf */
	TIMES_MICRO,   /* two pairs of long: struct timeval */
	TIMES_NANO,    /* two pairs of long: struct timespec */
};

struct metadata_call {
	enum metadata_kind kind;
	int dir;	   /* a descriptor of the caller's, or AT_FDCWD */
	bool by_path;	   /* `path` counts; else the object is `dir` */
	uint64_t path;	   /* an address; 0: there is none, and the object is `dir` */
	bool may_be_empty; /* an empty path means `dir` */
	bool no_follow;
	uint32_t mode;
	uint32_t uid; /* UINT32_MAX: as it is */
	uint32_t gid;
	uint64_t times; /* an address; 0: now */
	enum times_form form;
};

/* Take the call `number` with its arguments apart. Returns 0 with ret->kind METADATA_NONE for any
 * other call; -EINVAL for flags that the kernel does not have.
 */
int metadata_read(int number, const uint64_t args[6], struct metadata_call *ret);

/* Who calls, and what it wants to change. */
#define METADATA_GROUPS_MAX 64
struct metadata_caller {
	uint32_t uid; /* both of the file system's */
	uint32_t gid;
	uint32_t groups[METADATA_GROUPS_MAX];
	uint32_t group_count;
};

struct metadata_object {
	uint32_t uid;
	uint32_t gid;
	bool is_dir;
};

/* May the caller do it, as a user without capabilities may? This process may have more rights than
 * the caller, so the kernel's own check of the call is not enough. Returns 0 or -EPERM; the mode
 * may lose the group bit, as in the kernel.
 */
int metadata_judge(const struct metadata_caller *caller, const struct metadata_object *object,
		   struct metadata_call *call);

#endif
