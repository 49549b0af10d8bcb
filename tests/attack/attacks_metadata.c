/* What Landlock does not see of a file: attributes, flags, leases, modes, times. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NR_SETXATTRAT 463
#define NR_GETXATTRAT 464
#define NR_LISTXATTRAT 465
#define NR_REMOVEXATTRAT 466
#define NR_FILE_SETATTR 469
#ifndef F_SETDELEG
#define F_SETDELEG 1040
#endif
#define NAME "user.attack"

/* Every attempt's arg[0] is the place of the file "attr". */
static const char *file(const struct stage *s, const long *arg)
{
	return path_at(s, (enum place)arg[0], "attr");
}

static int opened(const struct stage *s, const long *arg)
{
	return open(file(s, arg), O_RDONLY | O_CLOEXEC);
}

/* ---- extended attributes ---- */

struct xattr_args {
	uint64_t value;
	uint32_t size;
	uint32_t flags;
};

enum way {
	BY_PATH,
	BY_LINK_PATH,
	BY_FD,
	BY_AT,
};

static int set_attribute(const struct stage *s, const long *arg)
{
	struct xattr_args args = { .value = (uintptr_t) "x", .size = 1 };
	int fd;

	switch ((enum way)arg[1]) {
	case BY_PATH:
		return answer_zero(setxattr(file(s, arg), NAME, "x", 1, 0));
	case BY_LINK_PATH:
		return answer_zero(lsetxattr(file(s, arg), NAME, "x", 1, 0));
	case BY_AT:
		return answer_zero(syscall(NR_SETXATTRAT, AT_FDCWD, file(s, arg), 0, NAME, &args,
					   sizeof(args)));
	case BY_FD:
		fd = opened(s, arg);
		return fd < 0 ? broken("open") : answer_zero(fsetxattr(fd, NAME, "x", 1, 0));
	}
	return BROKEN;
}

static int get_attribute(const struct stage *s, const long *arg)
{
	char value[8];
	struct xattr_args args = { .value = (uintptr_t)value, .size = sizeof(value) };
	int fd;

	switch ((enum way)arg[1]) {
	case BY_PATH:
		return answer_zero(getxattr(file(s, arg), NAME, value, sizeof(value)));
	case BY_LINK_PATH:
		return answer_zero(lgetxattr(file(s, arg), NAME, value, sizeof(value)));
	case BY_AT:
		return answer_zero(syscall(NR_GETXATTRAT, AT_FDCWD, file(s, arg), 0, NAME, &args,
					   sizeof(args)));
	case BY_FD:
		fd = opened(s, arg);
		return fd < 0 ? broken("open")
			      : answer_zero(fgetxattr(fd, NAME, value, sizeof(value)));
	}
	return BROKEN;
}

static int list_attributes(const struct stage *s, const long *arg)
{
	char names[256];
	int fd;

	switch ((enum way)arg[1]) {
	case BY_PATH:
		return answer_zero(listxattr(file(s, arg), names, sizeof(names)));
	case BY_LINK_PATH:
		return answer_zero(llistxattr(file(s, arg), names, sizeof(names)));
	case BY_AT:
		return answer_zero(
			syscall(NR_LISTXATTRAT, AT_FDCWD, file(s, arg), 0, names, sizeof(names)));
	case BY_FD:
		fd = opened(s, arg);
		return fd < 0 ? broken("open") : answer_zero(flistxattr(fd, names, sizeof(names)));
	}
	return BROKEN;
}

static int remove_attribute(const struct stage *s, const long *arg)
{
	int fd;

	switch ((enum way)arg[1]) {
	case BY_PATH:
		return answer_zero(removexattr(file(s, arg), NAME));
	case BY_LINK_PATH:
		return answer_zero(lremovexattr(file(s, arg), NAME));
	case BY_AT:
		return answer_zero(syscall(NR_REMOVEXATTRAT, AT_FDCWD, file(s, arg), 0, NAME));
	case BY_FD:
		fd = opened(s, arg);
		return fd < 0 ? broken("open") : answer_zero(fremovexattr(fd, NAME));
	}
	return BROKEN;
}

/* ---- flags, by a descriptor that may only read ---- */

static int set_flags(const struct stage *s, const long *arg)
{
	int fd = opened(s, arg);
	unsigned long flags = 0;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return broken("read the flags");
	return answer_zero(syscall(SYS_ioctl, fd, arg[1] | (long)FS_IOC_SETFLAGS, &flags));
}

static int set_more_flags(const struct stage *s, const long *arg)
{
	int fd = opened(s, arg);
	struct fsxattr flags;

	if (fd < 0 || ioctl(fd, FS_IOC_FSGETXATTR, &flags) < 0)
		return broken("read the flags");
	return answer_zero(ioctl(fd, FS_IOC_FSSETXATTR, &flags));
}

/* arg: place, request */
static int set_by_request(const struct stage *s, const long *arg)
{
	int fd = opened(s, arg);
	long value[32] = { 1 };

	if (fd < 0)
		return broken("open");
	return answer_zero(syscall(SYS_ioctl, fd, arg[1], value));
}

static int set_by_path(const struct stage *s, const long *arg)
{
	struct {
		uint64_t flags;
		uint32_t extent, extents, project, cow;
	} attr = { 0 };

	return answer_zero(
		syscall(NR_FILE_SETATTR, AT_FDCWD, file(s, arg), &attr, sizeof(attr), 0));
}

/* ---- holding up whoever opens it ---- */

/* arg: place, command, argument */
static int lease(const struct stage *s, const long *arg)
{
	int fd = opened(s, arg);

	if (fd < 0)
		return broken("open");
	return answer_zero(syscall(SYS_fcntl, fd, arg[1], arg[2]));
}

static int notify_folder(const struct stage *s, const long *arg)
{
	int fd = open(place_path(s, (enum place)arg[0]), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return broken("open the folder");
	return answer_zero(fcntl(fd, F_NOTIFY, DN_MODIFY));
}

static int lock_file(const struct stage *s, const long *arg)
{
	int fd = opened(s, arg);

	return fd < 0 ? broken("open") : answer_zero(flock(fd, LOCK_EX | LOCK_NB));
}

/* ---- modes, owners, times; knowing ---- */

static int change_mode(const struct stage *s, const long *arg)
{
	return answer_zero(chmod(file(s, arg), 0755));
}

/* A program that is setuid, left for whoever finds it. */
static int leave_setuid(const struct stage *s, const long *arg)
{
	return answer_zero(chmod(file(s, arg), 04755));
}

static int create_setuid(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, (enum place)arg[0], "new-setuid");

	return answer_fd(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 06755));
}

static int change_mode_fd(const struct stage *s, const long *arg)
{
	int fd = opened(s, arg);

	return fd < 0 ? broken("open") : answer_zero(fchmod(fd, 0755));
}

static int change_owner(const struct stage *s, const long *arg)
{
	return answer_zero(chown(file(s, arg), getuid(), getgid()));
}

static int change_times(const struct stage *s, const long *arg)
{
	return answer_zero(utimensat(AT_FDCWD, file(s, arg), NULL, 0));
}

static int look(const struct stage *s, const long *arg)
{
	struct stat st;

	return answer_zero(stat(file(s, arg), &st));
}

static int ask_access(const struct stage *s, const long *arg)
{
	return answer_zero(access(file(s, arg), R_OK));
}

static int read_link(const struct stage *s, const long *arg)
{
	char buf[256];

	return answer_zero(
		readlink(path_at(s, (enum place)arg[0], "to-outside"), buf, sizeof(buf)));
}

static int watch(const struct stage *s, const long *arg)
{
	int fd = inotify_init1(IN_CLOEXEC);

	if (fd < 0)
		return broken("inotify");
	return answer_zero(inotify_add_watch(fd, file(s, arg), IN_OPEN));
}

static int look_at_filesystem(const struct stage *s, const long *arg)
{
	struct statfs st;

	return answer_zero(statfs(file(s, arg), &st));
}

#define HIGH (1L << 32)
#define XATTR(what, fn, control_answer)                                                       \
	{ DENY(what, EOPNOTSUPP, fn, OUTSIDE, BY_PATH), .control = (control_answer) },        \
		{ DENY(what "_link", EOPNOTSUPP, fn, OUTSIDE, BY_LINK_PATH),                  \
		  .control = (control_answer) },                                              \
	{                                                                                     \
		DENY(what "_at", EOPNOTSUPP, fn, OUTSIDE, BY_AT), .control = (control_answer) \
	}

static const struct row table[] = {
	XATTR("xattr_set", set_attribute, 0),
	{ DENY("xattr_set_fd", EOPNOTSUPP, set_attribute, BUNDLE, BY_FD) },
	{ DENY("xattr_set_work", EOPNOTSUPP, set_attribute, WORK, BY_PATH) },
	XATTR("xattr_list", list_attributes, 0),
	XATTR("xattr_get", get_attribute, 0),
	{ ALLOW("xattr_list_fd", list_attributes, WORK, BY_FD) },
	{ DENY("xattr_get_fd", ENODATA, get_attribute, INPUT, BY_FD), .control = -ENODATA },
	{ DENY("xattr_remove", EOPNOTSUPP, remove_attribute, OUTSIDE, BY_PATH) },
	{ DENY("xattr_remove_link", EOPNOTSUPP, remove_attribute, OUTSIDE, BY_LINK_PATH),
	  .control = -ENODATA },
	{ DENY("xattr_remove_at", EOPNOTSUPP, remove_attribute, OUTSIDE, BY_AT),
	  .control = -ENODATA },
	{ DENY("xattr_remove_fd", EOPNOTSUPP, remove_attribute, INPUT, BY_FD),
	  .control = -ENODATA },

	{ DENY("flags_ro", EPERM, set_flags, BUNDLE) },
	{ DENY("flags_rd", EPERM, set_flags, INPUT) },
	{ DENY("flags_rw", EPERM, set_flags, WORK) },
	{ DENY("flags_high_half", EPERM, set_flags, INPUT, HIGH) },
	{ DENY("flags_more", EPERM, set_more_flags, INPUT) },
	{ DENY("flags_by_path", EPERM, set_by_path, OUTSIDE) },
	{ DENY("flags_generation", EPERM, set_by_request, INPUT, FS_IOC_SETVERSION),
	  .absent = -ENOTTY },
	{ DENY("flags_ext4_generation", EPERM, set_by_request, INPUT, 0x40086604),
	  .absent = -ENOTTY },
	{ DENY("flags_ext4_format", EPERM, set_by_request, INPUT, 0x6609), .control = -EINVAL,
	  .absent = -ENOTTY },
	{ DENY("flags_verity", EPERM, set_by_request, INPUT, 0x40806685), .control = -EOPNOTSUPP,
	  .absent = -ENOTTY },
	{ DENY("lease_read", EPERM, lease, INPUT, F_SETLEASE, F_RDLCK) },
	{ DENY("lease_ro", EPERM, lease, BUNDLE, F_SETLEASE, F_RDLCK) },
	{ DENY("lease_high_half", EPERM, lease, INPUT, HIGH | F_SETLEASE, F_RDLCK) },
	{ DENY("delegation", EPERM, lease, INPUT, F_SETDELEG, 1), .control = -EFAULT,
	  .absent = -EINVAL },
	{ DENY("notify_signal", EPERM, notify_folder, INPUT) },

	{ KNOWN("chmod_outside", change_mode, OUTSIDE) },
	{ KNOWN("chmod_ro", change_mode_fd, BUNDLE) },
	{ DENY("setuid_left", EPERM, leave_setuid, WORK) },
	{ DENY("setuid_created", EPERM, create_setuid, WORK) },
	{ KNOWN("chown_outside", change_owner, OUTSIDE) },
	{ KNOWN("utimes_outside", change_times, OUTSIDE) },
	{ KNOWN("stat_outside", look, OUTSIDE) },
	{ KNOWN("access_outside", ask_access, OUTSIDE) },
	{ KNOWN("readlink_outside", read_link, OUTSIDE) },
	{ KNOWN("inotify_outside", watch, OUTSIDE) },
	{ KNOWN("statfs_outside", look_at_filesystem, OUTSIDE) },
	{ KNOWN("flock_ro", lock_file, BUNDLE) },
	{ ALLOW("chmod_work", change_mode, WORK) },
	{ ALLOW("utimes_work", change_times, WORK) },
	{ ALLOW("flock_work", lock_file, WORK) },
	{ ALLOW("inotify_work", watch, WORK) },
};

ROWS_TOGETHER(metadata_rows, table);
