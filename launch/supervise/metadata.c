#include "launch/supervise/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kabi/file.h"
#include "kabi/procstat.h"
#include "kabi/text.h"
#include "launch/supervise/metadata_call.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define RESOLVE_NO_MAGICLINKS 0x02
#define RESOLVE_NO_SYMLINKS 0x04
#define RESOLVE_BENEATH 0x08
#define STATUS_MAX 8192

static int open_at(int dir, const char *path, int flags, uint64_t resolve)
{
	/* struct open_how */
	uint64_t how[3] = { (uint64_t)(flags | O_PATH | O_CLOEXEC), 0, resolve };
	int fd = (int)syscall(SYS_openat2, dir, path, how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static struct text fd_path(char buf[64], int fd)
{
	struct text t = text_start(buf, 64);

	text_add(&t, "/proc/self/fd/");
	text_add_int(&t, fd);
	return t;
}

/* ---- the caller ---- */

static int open_proc(pid_t pid, const char *name)
{
	char path[PROC_PATH_MAX];
	int fd;

	proc_path(path, pid, name);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Not a copy of the descriptor (kabi/notify.h): what it leads to is enough. */
static int open_descriptor(pid_t pid, int fd)
{
	char name[32];
	struct text t = TEXT_BUF(name);
	int r;

	text_add(&t, "fd/");
	text_add_int(&t, fd);
	r = open_proc(pid, name);
	return r == -ENOENT ? -EBADF : r;
}

/* "/proc/self/fd/N" and its like name a descriptor of whoever says it. Returns N, or -1. */
static int named_descriptor(const char *path)
{
	static const char *const places[] = { "/proc/self/fd/", "/proc/thread-self/fd/",
					      "/dev/fd/" };
	int64_t fd;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (text_starts(path, places[i]) &&
		    text_int(path + strlen(places[i]), 0, INT_MAX, &fd) == 0)
			return (int)fd;
	return -1;
}

static int open_path(pid_t pid, const struct metadata_call *call, const char *path)
{
	int fd = call->no_follow ? -1 : named_descriptor(path);
	int dir;

	if (fd >= 0)
		return open_descriptor(pid, fd);
	if (path[0] == '/')
		dir = open_proc(pid, "root");
	else if (call->dir == AT_FDCWD)
		dir = open_proc(pid, "cwd");
	else
		dir = open_descriptor(pid, call->dir);
	if (dir < 0)
		return dir;
	while (*path == '/')
		path++;
	fd = open_at(dir, *path ? path : ".", call->no_follow ? O_NOFOLLOW : 0,
		     RESOLVE_NO_MAGICLINKS);
	close(dir);
	return fd;
}

/* What the call is about; *ret_held: it is a descriptor that the caller has. */
static int open_object(pid_t pid, const struct metadata_call *call, bool *ret_held)
{
	char path[PATH_MAX];
	int r = call->by_path ? caller_text(pid, call->path, path, sizeof(path)) : 0;

	if (r < 0)
		return r;
	*ret_held = !call->by_path || (call->may_be_empty && !path[0]);
	if (call->by_path && path[0])
		return open_path(pid, call, path);
	if (!*ret_held)
		return -ENOENT;
	return call->dir == AT_FDCWD ? open_proc(pid, "cwd") : open_descriptor(pid, call->dir);
}

/* The last of the four numbers is the file system's. */
static int read_fourth(char *line, uint32_t *ret)
{
	uint64_t value = 0;
	char *word;

	for (int i = 0; i < 4; i++) {
		word = text_word(&line);
		if (!word || text_uint(word, 10, UINT32_MAX, &value) < 0)
			return -EINVAL;
	}
	*ret = (uint32_t)value;
	return 0;
}

static void read_groups(char *line, struct metadata_caller *ret)
{
	char *word;
	uint64_t value;

	while (ret->group_count < METADATA_GROUPS_MAX && (word = text_word(&line)))
		if (text_uint(word, 10, UINT32_MAX, &value) == 0)
			ret->groups[ret->group_count++] = (uint32_t)value;
}

static int read_caller(pid_t pid, struct metadata_caller *ret)
{
	char path[PROC_PATH_MAX];
	char buf[STATUS_MAX];
	char *cursor = buf;
	char *line;
	int found = 0;
	ssize_t n;

	proc_path(path, pid, "status");
	n = file_read(&kernel_live, path, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	*ret = (struct metadata_caller){ .group_count = 0 };
	while ((line = text_line(&cursor))) {
		if (text_starts(line, "Uid:\t"))
			found += read_fourth(line + 5, &ret->uid) == 0;
		else if (text_starts(line, "Gid:\t"))
			found += read_fourth(line + 5, &ret->gid) == 0;
		else if (text_starts(line, "Groups:\t"))
			read_groups(line + 8, ret);
	}
	return found == 2 ? 0 : -EINVAL;
}

static int read_times(pid_t pid, const struct metadata_call *call, struct timespec ret[2])
{
	int64_t words[4];
	int r;

	if (call->kind != METADATA_TIMES || call->times == 0)
		return 0;
	r = caller_memory(pid, call->times, words,
			  call->form == TIMES_SECONDS ? 2 * sizeof(words[0]) : sizeof(words));
	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++) {
		if (call->form == TIMES_SECONDS)
			ret[i] = (struct timespec){ .tv_sec = words[i] };
		else
			ret[i] = (struct timespec){ .tv_sec = words[2 * i],
						    .tv_nsec = words[2 * i + 1] };
		if (call->form == TIMES_MICRO && (ret[i].tv_nsec < 0 || ret[i].tv_nsec > 999999))
			return -EINVAL;
		if (call->form == TIMES_MICRO)
			ret[i].tv_nsec *= 1000;
	}
	return 0;
}

/* ---- the object ---- */

static bool same_file(int fd, const struct stat *st)
{
	struct stat other;

	return fstat(fd, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

/* Where a descriptor's file is. */
static ssize_t path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	ssize_t n;

	fd_path(link, fd);
	n = readlink(link, path, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	return n;
}

/* Open the object beneath a root once more, without any link on the way. */
static int open_beneath(const struct metadata_roots *roots, const char *path, const struct stat *st)
{
	for (size_t i = 0; i < roots->count; i++) {
		char root[PATH_MAX];
		ssize_t len = path_of(roots->fds[i], root);
		const char *rest;
		int fd;

		if (len <= 0 || strncmp(path, root, (size_t)len) != 0 ||
		    (path[len] != '/' && path[len] != '\0'))
			continue;
		rest = path + len + strspn(path + len, "/");
		fd = open_at(roots->fds[i], *rest ? rest : ".", O_NOFOLLOW,
			     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
		if (fd >= 0 && same_file(fd, st))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -EACCES;
}

/* The object as something that may be changed, or -EACCES. A file without a name, of which the
 * caller has a descriptor, is nobody else's.
 */
static int open_changeable(const struct metadata_roots *roots, int object, bool held,
			   struct stat *ret)
{
	char path[PATH_MAX];
	ssize_t n;

	if (fstat(object, ret) < 0)
		return -errno;
	if (S_ISCHR(ret->st_mode) || S_ISBLK(ret->st_mode))
		return -EACCES;
	if (held && ret->st_nlink == 0) {
		int fd = dup(object);

		return fd < 0 ? -errno : fd;
	}
	n = path_of(object, path);
	return n < 0 ? (int)n : open_beneath(roots, path, ret);
}

/* ---- the change ---- */

static int set_mode(int fd, uint32_t mode)
{
	char path[64];

	if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
	fd_path(path, fd);
	return chmod(path, mode) < 0 ? -errno : 0;
}

static int set_times(int fd, const struct timespec *times)
{
	char path[64];

	if (syscall(SYS_utimensat, fd, "", times, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	fd_path(path, fd);
	return utimensat(AT_FDCWD, path, times, 0) < 0 ? -errno : 0;
}

static int change(int fd, const struct metadata_call *call, const struct timespec times[2])
{
	switch (call->kind) {
	case METADATA_NONE:
		break;
	case METADATA_MODE:
		return set_mode(fd, call->mode);
	case METADATA_OWNER:
		return fchownat(fd, "", call->uid, call->gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
	case METADATA_TIMES:
		return set_times(fd, call->times ? times : NULL);
	}
	return -EACCES;
}

static int change_object(int listener, const struct sc_notif *notif, struct metadata_call *call,
			 int object, const struct stat *st)
{
	const struct metadata_object what = {
		.uid = st->st_uid,
		.gid = st->st_gid,
		.is_dir = S_ISDIR(st->st_mode),
	};
	struct timespec times[2];
	struct metadata_caller caller;
	int r = read_times((pid_t)notif->pid, call, times);

	if (r == 0)
		r = read_caller((pid_t)notif->pid, &caller);
	/* All that was learned of the caller is true of it only if it still waits. */
	if (r == 0 && notify_is_valid(listener, notif->id) < 0)
		r = -ENOENT;
	if (r == 0)
		r = metadata_judge(&caller, &what, call);
	return r < 0 ? r : change(object, call, times);
}

/* ---- public ---- */

int metadata_change(int listener, const struct sc_notif *notif, const struct metadata_roots *roots)
{
	struct metadata_call call;
	struct stat st;
	bool held = false;
	int object;
	int fd;
	int r = metadata_read(notif->data.nr, notif->data.args, &call);

	if (r < 0 || call.kind == METADATA_NONE)
		return r < 0 ? r : -EACCES;
	object = open_object((pid_t)notif->pid, &call, &held);
	if (object < 0)
		return object;
	fd = open_changeable(roots, object, held, &st);
	close(object);
	if (fd < 0)
		return fd;
	r = change_object(listener, notif, &call, fd, &st);
	close(fd);
	return r;
}

/* As the launcher does: without following the last link. */
static int open_root(const char *path)
{
	struct stat st;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : S_ISLNK(st.st_mode) ? -ELOOP : fd;

	if (r < 0 && fd >= 0)
		close(fd);
	return r;
}

int metadata_roots_open(const char *const paths[], size_t count, struct metadata_roots *ret,
			struct fault *why)
{
	ret->count = 0;
	for (size_t i = 0; i < count && i < METADATA_ROOTS_MAX; i++) {
		int fd = open_root(paths[i]);

		if (fd < 0) {
			metadata_roots_close(ret);
			return fault_errno(why, "open the root", paths[i], -fd);
		}
		ret->fds[ret->count++] = fd;
	}
	return 0;
}

void metadata_roots_close(struct metadata_roots *roots)
{
	while (roots->count > 0)
		close(roots->fds[--roots->count]);
}
