/* Other roads to files outside, from one place to another, and to what only their owner may change.
 */
#include "probe/trial/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/trial/stage.h"

#define P(place, name) STAGE_PATH(s, (place), (name))
#define ROAD_MAX (STAGE_PATH_MAX + 64)

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

static int opens_at(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, flags | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int opens(const char *path, int flags)
{
	return opens_at(AT_FDCWD, path, flags);
}

static const char *road(char buf[ROAD_MAX], const char *before, int number, const char *after)
{
	struct text t = text_start(buf, ROAD_MAX);

	text_add(&t, before);
	if (number >= 0)
		text_add_int(&t, number);
	text_add(&t, after);
	return buf;
}

/* ---- to a file outside ---- */

static int try_dotdot(const struct stage *s, const struct trial *t)
{
	(void)t;
	return opens(P(PLACE_WORK, "../outside/" STAGE_DATA), O_RDONLY);
}

static int try_symlink(const struct stage *s, const struct trial *t)
{
	(void)t;
	return opens(P(PLACE_WORK, "link"), O_RDONLY);
}

static int try_symlink_directory(const struct stage *s, const struct trial *t)
{
	int r = opens(P(PLACE_WORK, "linkdir/" STAGE_NEW), O_WRONLY | O_CREAT);

	(void)t;
	if (r == 0)
		unlink(P(PLACE_OUTSIDE, STAGE_NEW));
	return r;
}

static int try_proc_root(const struct stage *s, const struct trial *t)
{
	char path[ROAD_MAX];

	(void)t;
	return opens(road(path, "/proc/self/root", -1, P(PLACE_OUTSIDE, STAGE_DATA)), O_RDONLY);
}

/* A path descriptor can be had, but no access by it. */
static int try_path_descriptor(const struct stage *s, const struct trial *t)
{
	int fd = open(P(PLACE_OUTSIDE, ""), O_PATH | O_CLOEXEC);
	int r;

	(void)t;
	if (fd < 0)
		return -errno;
	r = opens_at(fd, STAGE_DATA, O_RDONLY);
	close(fd);
	return r;
}

static int try_proc_fd(const struct stage *s, const struct trial *t)
{
	int fd = open(P(PLACE_OUTSIDE, STAGE_DATA), O_PATH | O_CLOEXEC);
	char path[ROAD_MAX];
	int r;

	(void)t;
	if (fd < 0)
		return -errno;
	r = opens(road(path, "/proc/self/fd/", fd, ""), O_RDONLY);
	close(fd);
	return r;
}

static int try_directory_change(const struct stage *s, const struct trial *t)
{
	int r;

	(void)t;
	if (chdir(P(PLACE_OUTSIDE, "")) < 0)
		return -errno;
	r = opens(STAGE_DATA, O_RDONLY);
	return chdir("/") < 0 ? -errno : r;
}

static int try_victims_descriptor(const struct stage *s, const struct trial *t)
{
	char name[32];
	struct text after = TEXT_BUF(name);
	char path[ROAD_MAX];

	(void)t;
	text_add(&after, "/fd/");
	text_add_int(&after, STAGE_VICTIM_FD);
	return opens(road(path, "/proc/", s->victim, name), O_RDONLY);
}

static int try_victims_root(const struct stage *s, const struct trial *t)
{
	char after[ROAD_MAX];
	char path[ROAD_MAX];

	(void)t;
	road(after, "/root", -1, P(PLACE_OUTSIDE, STAGE_DATA));
	return opens(road(path, "/proc/", s->victim, after), O_RDONLY);
}

/* What is open for reading, opened again for writing. */
static int try_reopen(const struct stage *s, const struct trial *t)
{
	char path[ROAD_MAX];

	(void)t;
	return opens(road(path, "/proc/self/fd/", s->file, ""), O_WRONLY);
}

static int try_nameless(const struct stage *s, const struct trial *t)
{
	return opens(P((enum place)t->args[0], ""), O_TMPFILE | O_RDWR);
}

/* A nameless file is made where that is granted, and named where it is not. */
static int try_name_outside(const struct stage *s, const struct trial *t)
{
	int fd = open(P(PLACE_WORK, ""), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char path[ROAD_MAX];
	int r;

	(void)t;
	if (fd < 0)
		return -errno;
	r = result(linkat(AT_FDCWD, road(path, "/proc/self/fd/", fd, ""), AT_FDCWD,
			  P(PLACE_OUTSIDE, STAGE_NEW), AT_SYMLINK_FOLLOW));
	close(fd);
	if (r == 0)
		unlink(P(PLACE_OUTSIDE, STAGE_NEW));
	return r;
}

/* ---- from place to place: args are where from and where to ---- */

static int try_move_between(const struct stage *s, const struct trial *t)
{
	const char *from = P((enum place)t->args[0], STAGE_GONE_FILE);
	const char *to = P((enum place)t->args[1], "moved");
	int r = result(rename(from, to));

	if (r == 0)
		rename(to, from);
	return r;
}

static int try_link_between(const struct stage *s, const struct trial *t)
{
	const char *to = P((enum place)t->args[1], "linked");
	int r = result(link(P((enum place)t->args[0], STAGE_DATA), to));

	if (r == 0)
		unlink(to);
	return r;
}

#define EXCHANGE 2 /* RENAME_EXCHANGE, linux/fs.h */

static int try_exchange(const struct stage *s, const struct trial *t)
{
	const char *from = P((enum place)t->args[0], STAGE_GONE_FILE);
	const char *to = P((enum place)t->args[1], STAGE_GONE_FILE);
	int r = result(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, EXCHANGE));

	if (r == 0)
		syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, EXCHANGE);
	return r;
}

/* ---- what only privilege could ---- */

static int try_override(const struct stage *s, const struct trial *t)
{
	(void)t;
	return opens(P(PLACE_BUNDLE, "closed"), O_RDONLY);
}

static int try_give_away(const struct stage *s, const struct trial *t)
{
	uid_t other = geteuid() == 1 ? 2 : 1;
	int r = result(chown(P(PLACE_WORK, STAGE_SUB_FILE), other, (gid_t)-1));

	(void)t;
	if (r == 0)
		r = result(chown(P(PLACE_WORK, STAGE_SUB_FILE), geteuid(), getegid()));
	return r;
}

static int try_set_user_id(const struct stage *s, const struct trial *t)
{
	const char *path = P(PLACE_WORK, STAGE_GONE_FILE);
	int r = result(chmod(path, 04700));

	(void)t;
	if (r == 0)
		r = result(chmod(path, 0600));
	return r;
}

/* ---- what Landlock does not see ---- */

static int try_chmod(const struct stage *s, const struct trial *t)
{
	(void)t;
	return result(chmod(P(PLACE_OUTSIDE, STAGE_DATA), 0600));
}

static int try_times(const struct stage *s, const struct trial *t)
{
	(void)t;
	return result(utimensat(AT_FDCWD, P(PLACE_OUTSIDE, STAGE_DATA), NULL, 0));
}

static int try_stat(const struct stage *s, const struct trial *t)
{
	struct stat st;

	(void)t;
	return result(stat(P(PLACE_OUTSIDE, STAGE_DATA), &st));
}

static int try_system(const struct stage *s, const struct trial *t)
{
	(void)s;
	(void)t;
	return opens("/proc/self/status", O_RDONLY);
}

#define FS .capability = CAPABILITY_FILESYSTEM, .group = TRIAL_GROUP_PLAIN
#define DENIED(...) .expect = TRIAL_DENIED, .errors = { __VA_ARGS__ }
#define BETWEEN(id_, from_, to_, text, attempt_)                                                   \
	{                                                                                          \
		.id = "road." id_, .what = text, FS, DENIED(EACCES, EXDEV), .attempt = (attempt_), \
		.args = { (from_), (to_) },                                                        \
	}

static const struct trial rows[] = {
	{ .id = "road.dotdot",
	  .what = "leave the work directory by '..'",
	  FS,
	  DENIED(EACCES),
	  .core = true,
	  .attempt = try_dotdot },
	{ .id = "road.symlink",
	  .what = "leave the work directory by a symbolic link",
	  FS,
	  DENIED(EACCES),
	  .core = true,
	  .attempt = try_symlink },
	{ .id = "road.symlink-directory",
	  .what = "make a file outside by a symbolic link",
	  FS,
	  DENIED(EACCES),
	  .core = true,
	  .attempt = try_symlink_directory },
	{ .id = "road.proc-root",
	  .what = "read a file outside by /proc/self/root",
	  FS,
	  DENIED(EACCES),
	  .attempt = try_proc_root },
	{ .id = "road.path-descriptor",
	  .what = "read a file outside below a path descriptor",
	  FS,
	  DENIED(EACCES),
	  .attempt = try_path_descriptor },
	{ .id = "road.proc-fd",
	  .what = "read a file outside by /proc/self/fd",
	  FS,
	  DENIED(EACCES),
	  .attempt = try_proc_fd },
	{ .id = "road.directory-change",
	  .what = "change to a directory outside and read there",
	  FS,
	  DENIED(EACCES),
	  .attempt = try_directory_change },
	{ .id = "road.other-fd",
	  .what = "read what another process has open",
	  FS,
	  DENIED(EACCES, EPERM),
	  .attempt = try_victims_descriptor },
	{ .id = "road.other-root",
	  .what = "read a file outside by another process's root",
	  FS,
	  DENIED(EACCES, EPERM),
	  .attempt = try_victims_root },
	{ .id = "road.reopen",
	  .what = "open a read-only descriptor of the bundle for writing",
	  FS,
	  DENIED(EACCES),
	  .core = true,
	  .attempt = try_reopen },
	{ .id = "road.nameless",
	  .what = "make a nameless file outside",
	  FS,
	  DENIED(EACCES),
	  .attempt = try_nameless,
	  .args = { PLACE_OUTSIDE } },
	{ .id = "road.name-outside",
	  .what = "give a nameless file a name outside",
	  FS,
	  DENIED(EACCES, EXDEV),
	  .attempt = try_name_outside },
	BETWEEN("move-out", PLACE_WORK, PLACE_OUTSIDE,
		"move a file from the work directory outside", try_move_between),
	BETWEEN("move-in", PLACE_OUTSIDE, PLACE_WORK,
		"move a file from outside into the work directory", try_move_between),
	BETWEEN("link-out", PLACE_WORK, PLACE_OUTSIDE, "link a file of the work directory outside",
		try_link_between),
	BETWEEN("link-in", PLACE_OUTSIDE, PLACE_WORK,
		"link a file from outside into the work directory", try_link_between),
	BETWEEN("link-bundle", PLACE_BUNDLE, PLACE_WORK,
		"link a file of the bundle where it is writable", try_link_between),
	BETWEEN("link-input", PLACE_IN, PLACE_WORK, "link an input where it is writable",
		try_link_between),
	BETWEEN("link-output", PLACE_OUT, PLACE_WORK, "link an output where it is readable",
		try_link_between),
	BETWEEN("exchange", PLACE_WORK, PLACE_OUTSIDE, "exchange a file with one outside",
		try_exchange),
	{ .id = "road.override",
	  .what = "read a file whose mode forbids it, as root may",
	  FS,
	  DENIED(EACCES),
	  .attempt = try_override },
	{ .id = "road.give-away",
	  .what = "give a file to another user, as root may",
	  FS,
	  DENIED(EPERM),
	  .attempt = try_give_away },
	{ .id = "road.set-user-id",
	  .what = "leave a program that runs as its owner",
	  FS,
	  DENIED(EPERM),
	  .core = true,
	  .attempt = try_set_user_id },
	{ .id = "road.system",
	  .what = "read a file of the base system",
	  FS,
	  .expect = TRIAL_ALLOWED,
	  .core = true,
	  .attempt = try_system },
	{ .id = "metadata.chmod",
	  .what = "change the mode of the user's own file outside",
	  FS,
	  .expect = TRIAL_TOLD,
	  .errors = { EACCES, EPERM },
	  .attempt = try_chmod },
	{ .id = "metadata.times",
	  .what = "change the times of the user's own file outside",
	  FS,
	  .expect = TRIAL_TOLD,
	  .errors = { EACCES, EPERM },
	  .attempt = try_times },
	{ .id = "metadata.stat",
	  .what = "see the size and owner of a file outside",
	  FS,
	  .expect = TRIAL_TOLD,
	  .errors = { EACCES, EPERM },
	  .attempt = try_stat },
};

const struct trial_table trials_road = TRIAL_TABLE(rows);
