/* What can be done in each of the folders: outside, ro, rd, wo and rw. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Every attempt's arg[0] is the place. */

/* arg: place, file, flags */
static int open_file(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, (enum place)arg[0], TEXT_OF(arg[1]));

	return answer_fd(open(path, (int)arg[2] | O_CLOEXEC, 0644));
}

static int open_unnamed(const struct stage *s, const long *arg)
{
	const char *path = place_path(s, (enum place)arg[0]);

	return answer_fd(open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0644));
}

static int cut_file(const struct stage *s, const long *arg)
{
	return answer_zero(truncate(path_at(s, (enum place)arg[0], "truncate"), 0));
}

static int make_folder(const struct stage *s, const long *arg)
{
	return answer_zero(mkdir(path_at(s, (enum place)arg[0], "new-folder"), 0755));
}

static int remove_folder(const struct stage *s, const long *arg)
{
	return answer_zero(rmdir(path_at(s, (enum place)arg[0], "rmdir")));
}

static int remove_file(const struct stage *s, const long *arg)
{
	return answer_zero(unlink(path_at(s, (enum place)arg[0], "unlink")));
}

static int make_link(const struct stage *s, const long *arg)
{
	return answer_zero(symlink("read", path_at(s, (enum place)arg[0], "new-link")));
}

/* arg: place, type, device */
static int make_node(const struct stage *s, const long *arg)
{
	char name[32];

	snprintf(name, sizeof(name), "new-node-%lo", arg[1]);
	return answer_zero(
		mknod(path_at(s, (enum place)arg[0], name), (mode_t)arg[1] | 0644, (dev_t)arg[2]));
}

static int rename_within(const struct stage *s, const long *arg)
{
	const char *from = path_at(s, (enum place)arg[0], "in");

	return answer_zero(rename(from, path_at(s, (enum place)arg[0], "renamed")));
}

static int exchange_within(const struct stage *s, const long *arg)
{
	const char *a = path_at(s, (enum place)arg[0], "exchange");
	const char *b = path_at(s, (enum place)arg[0], "onto");

	return answer_zero(syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
}

/* ---- between a place and the work folder ---- */

/* A file of the work folder that nothing else uses. */
static const char *own_file(const struct stage *s, bool exists)
{
	static unsigned n;
	char name[32];
	const char *path;

	snprintf(name, sizeof(name), "own-%d-%u", getpid(), n++);
	path = path_at(s, WORK, name);
	if (exists)
		write_text(path, "own\n");
	return path;
}

/* arg: place, name */
static int rename_out(const struct stage *s, const long *arg)
{
	const char *from = path_at(s, (enum place)arg[0], TEXT_OF(arg[1]));

	return answer_zero(rename(from, own_file(s, false)));
}

static int rename_in(const struct stage *s, const long *arg)
{
	return answer_zero(rename(own_file(s, true), path_at(s, (enum place)arg[0], "moved-in")));
}

static int rename_onto(const struct stage *s, const long *arg)
{
	return answer_zero(rename(own_file(s, true), path_at(s, (enum place)arg[0], "onto")));
}

static int exchange(const struct stage *s, const long *arg)
{
	return answer_zero(syscall(SYS_renameat2, AT_FDCWD, own_file(s, true), AT_FDCWD,
				   path_at(s, (enum place)arg[0], "exchange"), RENAME_EXCHANGE));
}

static int link_out(const struct stage *s, const long *arg)
{
	return answer_zero(link(path_at(s, (enum place)arg[0], "linkin"), own_file(s, false)));
}

static int link_in(const struct stage *s, const long *arg)
{
	return answer_zero(link(own_file(s, true), path_at(s, (enum place)arg[0], "linked")));
}

/* ---- devices ---- */

static int device_control(const struct stage *s, const long *arg)
{
	int fd = open(TEXT_OF(arg[0]), O_RDWR | O_CLOEXEC);
	int value = 0;

	(void)s;
	if (fd < 0)
		return broken("open the device");
	return answer_zero(syscall(SYS_ioctl, fd, arg[1], &value));
}

#define O_READ_CUT (O_RDONLY | O_TRUNC)
#define O_NEW (O_WRONLY | O_CREAT | O_EXCL)
#define O_LIST (O_RDONLY | O_DIRECTORY)
#define RNDGETENTCNT 0x80045200

/* One row per place; the errors in the order outside, ro, rd, wo, rw, 0 where it is allowed.
 * Landlock answers EXDEV where only the right to move or link between folders is missing.
 */
#define ROW(what, place, error, fn, ...)                           \
	{                                                          \
		.name = (what), .confined = -(error), .run = (fn), \
		.arg = {(place),                                   \
			##__VA_ARGS__ }                            \
	}
#define PLACES(what, out, ro, rd, wo, rw, fn, ...)              \
	ROW(what "_outside", OUTSIDE, out, fn, ##__VA_ARGS__),  \
		ROW(what "_ro", BUNDLE, ro, fn, ##__VA_ARGS__), \
		ROW(what "_rd", INPUT, rd, fn, ##__VA_ARGS__),  \
		ROW(what "_wo", OUTBOX, wo, fn, ##__VA_ARGS__), \
		ROW(what "_rw", WORK, rw, fn, ##__VA_ARGS__)
#define NO EACCES

/* clang-format off */
static const struct row table[] = {
	/*                     outside ro   rd   wo   rw  */
	PLACES("read",            NO,  0,   0,   NO,  0,  open_file, TEXT("read"), O_RDONLY),
	PLACES("write",           NO,  NO,  NO,  0,   0,  open_file, TEXT("write"), O_WRONLY),
	PLACES("read_write",      NO,  NO,  NO,  NO,  0,  open_file, TEXT("write"), O_RDWR),
	PLACES("append",          NO,  NO,  NO,  0,   0,  open_file, TEXT("append"), O_WRONLY | O_APPEND),
	PLACES("cut_by_reading",  NO,  NO,  NO,  NO,  0,  open_file, TEXT("trunc"), O_READ_CUT),
	PLACES("cut_by_writing",  NO,  NO,  NO,  0,   0,  open_file, TEXT("trunc"), O_WRONLY | O_TRUNC),
	PLACES("truncate",        NO,  NO,  NO,  0,   0,  cut_file),
	PLACES("create",          NO,  NO,  NO,  0,   0,  open_file, TEXT("new-file"), O_NEW),
	PLACES("unnamed",         NO,  NO,  NO,  NO,  0,  open_unnamed),
	PLACES("list",            NO,  0,   0,   NO,  0,  open_file, TEXT(""), O_LIST),
	PLACES("list_below",      NO,  0,   0,   NO,  0,  open_file, TEXT("folder"), O_LIST),
	PLACES("mkdir",           NO,  NO,  NO,  0,   0,  make_folder),
	PLACES("rmdir",           NO,  NO,  NO,  NO,  0,  remove_folder),
	PLACES("unlink",          NO,  NO,  NO,  NO,  0,  remove_file),
	PLACES("symlink",         NO,  NO,  NO,  NO,  0,  make_link),
	PLACES("fifo",            NO,  NO,  NO,  NO,  0,  make_node, S_IFIFO),
	PLACES("socket_node",     NO,  NO,  NO,  NO,  NO, make_node, S_IFSOCK),
	PLACES("whiteout",        NO,  NO,  NO,  NO,  NO, make_node, S_IFCHR, 0),
	PLACES("rename",          NO,  NO,  NO,  NO,  0,  rename_within),
	PLACES("exchange_within", NO,  NO,  NO,  NO,  0,  exchange_within),
	PLACES("rename_out",      NO,  NO,  NO,  NO,  0,  rename_out, TEXT("out")),
	PLACES("rename_folder_out", NO, NO, NO,  NO,  0,  rename_out, TEXT("folder-out")),
	PLACES("rename_in",       NO,  NO,  NO,  EXDEV, 0, rename_in),
	PLACES("rename_onto",     NO,  NO,  NO,  NO,  0,  rename_onto),
	PLACES("exchange",        NO,  NO,  NO,  NO,  0,  exchange),
	PLACES("link_out",        EXDEV, EXDEV, EXDEV, EXDEV, 0, link_out),
	PLACES("link_in",         NO,  NO,  NO,  EXDEV, 0, link_in),

	{ DENY("device_ioctl_random", EACCES, device_control, TEXT("/dev/urandom"), RNDGETENTCNT),
	  .since_abi = 5 },
	{ DENY("device_ioctl_null", EACCES, device_control, TEXT("/dev/null"), 0x5413),
	  .control = -ENOTTY, .since_abi = 5 },
};
/* clang-format on */

ROWS_TOGETHER(file_rows, table);
