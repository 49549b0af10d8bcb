/* Roads out of the folders: names that lead elsewhere, descriptors that are only handles, /proc. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int read_path(const char *path)
{
	return answer_fd(open(path, O_RDONLY | O_CLOEXEC));
}

/* arg: a path below the stage's root */
static int read_below_root(const struct stage *s, const long *arg)
{
	return read_path(path_in_root(s, TEXT_OF(arg[0])));
}

static int write_below_root(const struct stage *s, const long *arg)
{
	return answer_fd(
		open(path_in_root(s, TEXT_OF(arg[0])), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

static int open_absolute(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_fd(open(TEXT_OF(arg[0]), (int)arg[1] | O_CLOEXEC, 0600));
}

/* arg: what a process's root is called */
static int read_through(const struct stage *s, const long *arg)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", TEXT_OF(arg[0]), path_at(s, OUTSIDE, "read"));
	return read_path(path);
}

/* arg: the victim's rather than the parent's */
static int read_through_process(const struct stage *s, const long *arg)
{
	char root[64];
	const long through[] = { TEXT(root) };

	snprintf(root, sizeof(root), "/proc/%d/root", arg[0] ? s->victim : s->agent);
	return read_through(s, through);
}

static int read_new_link(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, WORK, "new-link-out");

	(void)arg;
	if (symlink(path_at(s, OUTSIDE, "read"), path) < 0)
		return broken("make a link");
	return read_path(path);
}

static int create_by_link(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, WORK, "new-link-to-nothing");

	(void)arg;
	if (symlink(path_at(s, OUTSIDE, "not-yet"), path) < 0)
		return broken("make a link");
	return answer_fd(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

/* ---- handles: O_PATH asks nobody ---- */

static int handle(const char *path)
{
	return open(path, O_PATH | O_CLOEXEC);
}

static int handle_itself(const struct stage *s, const long *arg)
{
	(void)arg;
	return answer_fd(handle(path_at(s, OUTSIDE, "read")));
}

static int from_handle(const struct stage *s, const long *arg)
{
	int fd = handle(place_path(s, OUTSIDE));

	(void)arg;
	if (fd < 0)
		return broken("open a handle");
	return answer_fd(openat(fd, "read", O_RDONLY | O_CLOEXEC));
}

/* arg: folder the descriptor's number is added to */
static int reopen_handle(const struct stage *s, const long *arg)
{
	int fd = handle(path_at(s, OUTSIDE, "read"));
	char path[64];

	if (fd < 0)
		return broken("open a handle");
	snprintf(path, sizeof(path), "%s/%d", TEXT_OF(arg[0]), fd);
	return read_path(path);
}

static int stand_there(const struct stage *s, const long *arg)
{
	(void)arg;
	if (chdir(place_path(s, OUTSIDE)) < 0)
		return broken("chdir");
	return read_path("read");
}

static int resolve(const struct stage *s, const long *arg)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC, .resolve = (uint64_t)arg[0] };
	int fd = handle(s->root);

	if (fd < 0)
		return broken("open a handle");
	return answer_fd((int)syscall(SYS_openat2, fd, "outside/read", &how, sizeof(how)));
}

/* An unnamed file of the work folder gets a name elsewhere. arg: AT_ flag */
static int name_elsewhere(const struct stage *s, const long *arg)
{
	int fd = open(place_path(s, WORK), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
	char path[32];

	if (fd < 0)
		return broken("make an unnamed file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return answer_zero(
		linkat(AT_FDCWD, path, AT_FDCWD, path_at(s, OUTSIDE, "named"), (int)arg[0]));
}

/* A file outside gets a name in the work folder. arg: AT_ flag */
static int link_by_handle(const struct stage *s, const long *arg)
{
	int fd = handle(path_at(s, OUTSIDE, "read"));
	char path[32];

	if (fd < 0)
		return broken("open a handle");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return answer_zero(linkat(fd, arg[0] == AT_EMPTY_PATH ? "" : path, AT_FDCWD,
				  path_at(s, WORK, arg[0] == AT_EMPTY_PATH ? "by-fd" : "by-proc"),
				  (int)arg[0]));
}

/* What may only be written is opened again to be read. */
static int reopen_outbox(const struct stage *s, const long *arg)
{
	int fd = open(path_at(s, OUTBOX, "write"), O_WRONLY | O_CLOEXEC);
	char path[32];

	(void)arg;
	if (fd < 0)
		return broken("open to write");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return read_path(path);
}

/* Remove by a handle on the folder. */
static int remove_at(const struct stage *s, const long *arg)
{
	int fd = handle(place_path(s, OUTSIDE));

	(void)arg;
	if (fd < 0)
		return broken("open a handle");
	return answer_zero(unlinkat(fd, "linkin", 0));
}

/* A folder we stand in is moved by itself; ".." then leads elsewhere. */
static int climb(const struct stage *s, const long *arg)
{
	const char *deep = path_at(s, WORK, "a");

	(void)arg;
	if (mkdir(deep, 0755) < 0 || mkdir(path_at(s, WORK, "a/b"), 0755) < 0 ||
	    chdir(path_at(s, WORK, "a/b")) < 0 ||
	    rename(path_at(s, WORK, "a/b"), path_at(s, WORK, "b")) < 0)
		return broken("move a folder");
	return read_path("../../outside/read");
}

static const struct row table[] = {
	{ DENY("road_up", EACCES, read_below_root, TEXT("work/../outside/read")) },
	{ DENY("road_up_from_bundle", EACCES, read_below_root, TEXT("bundle/../outside/read")) },
	{ DENY("road_link", EACCES, read_below_root, TEXT("work/to-outside/read")) },
	{ DENY("road_link_of_bundle", EACCES, read_below_root, TEXT("bundle/to-outside/read")) },
	{ DENY("road_link_write", EACCES, write_below_root, TEXT("work/to-outside/write")) },
	{ DENY("road_link_create", EACCES, write_below_root, TEXT("work/to-outside/fresh")) },
	{ DENY("road_new_link", EACCES, read_new_link) },
	{ DENY("road_new_link_create", EACCES, create_by_link) },
	{ DENY("road_policy", EACCES, read_below_root, TEXT("plain.sb")) },
	{ DENY("road_policy_write", EACCES, write_below_root, TEXT("plain.sb")) },
	{ DENY("road_launcher", EACCES, read_below_root, TEXT("oarbank-sandbox")) },
	{ DENY("road_handle_at", EACCES, from_handle) },
	{ DENY("road_handle_reopened", EACCES, reopen_handle, TEXT("/proc/self/fd")) },
	{ DENY("road_handle_thread", EACCES, reopen_handle, TEXT("/proc/thread-self/fd")) },
	{ DENY("road_handle_dev", EACCES, reopen_handle, TEXT("/dev/fd")) },
	{ DENY("road_handle_unlink", EACCES, remove_at) },
	{ DENY("road_stand_there", EACCES, stand_there) },
	{ DENY("road_beneath", ENOSYS, resolve, RESOLVE_BENEATH) },
	{ DENY("road_in_root", ENOSYS, resolve, RESOLVE_IN_ROOT) },
	{ DENY("road_moved_folder", EACCES, climb) },
	{ DENY("road_name_elsewhere", EACCES, name_elsewhere, AT_SYMLINK_FOLLOW) },
	{ DENY("road_link_by_handle", EXDEV, link_by_handle, AT_EMPTY_PATH) },
	{ DENY("road_link_by_proc", EXDEV, link_by_handle, AT_SYMLINK_FOLLOW) },
	{ DENY("road_outbox_reopened", EACCES, reopen_outbox) },
	{ DENY("road_own_root", EACCES, read_through, TEXT("/proc/self/root")) },
	{ DENY("road_thread_root", EACCES, read_through, TEXT("/proc/thread-self/root")) },
	{ DENY("road_parent_root", EACCES, read_through_process) },
	{ DENY("road_victim_root", EACCES, read_through_process, true) },
	{ DENY("road_first_root", EACCES, read_through, TEXT("/proc/1/root")) },
	{ DENY("road_own_cwd", EACCES, open_absolute, TEXT("/proc/self/cwd/../outside/read"),
	       O_RDONLY) },
	{ KNOWN("handle_outside", handle_itself) },

	{ DENY("list_root", EACCES, open_absolute, TEXT("/"), O_RDONLY | O_DIRECTORY) },
	{ DENY("list_tmp", EACCES, open_absolute, TEXT("/tmp"), O_RDONLY | O_DIRECTORY) },
	{ DENY("list_home", EACCES, open_absolute, TEXT("/home"), O_RDONLY | O_DIRECTORY) },
	{ DENY("list_var", EACCES, open_absolute, TEXT("/var"), O_RDONLY | O_DIRECTORY) },
	{ DENY("list_run", EACCES, open_absolute, TEXT("/run"), O_RDONLY | O_DIRECTORY) },
	{ DENY("list_shm", EACCES, open_absolute, TEXT("/dev/shm"), O_RDONLY | O_DIRECTORY) },
	{ DENY("write_tmp", EACCES, open_absolute, TEXT("/tmp"), O_TMPFILE | O_RDWR) },
	{ DENY("write_shm", EACCES, open_absolute, TEXT("/dev/shm"), O_TMPFILE | O_RDWR) },
	{ DENY("write_etc", EACCES, open_absolute, TEXT("/etc"), O_TMPFILE | O_RDWR) },
	{ DENY("write_usr", EACCES, open_absolute, TEXT("/usr"), O_TMPFILE | O_RDWR) },
	{ ALLOW("read_etc", open_absolute, TEXT("/etc/passwd"), O_RDONLY) },
	{ ALLOW("list_usr", open_absolute, TEXT("/usr"), O_RDONLY | O_DIRECTORY) },
	{ KNOWN("list_proc", open_absolute, TEXT("/proc"), O_RDONLY | O_DIRECTORY) },
	{ KNOWN("mounts", open_absolute, TEXT("/proc/self/mountinfo"), O_RDONLY) },
	{ KNOWN("sockets_of_others", open_absolute, TEXT("/proc/self/net/unix"), O_RDONLY) },
};

ROWS_TOGETHER(road_rows, table);
