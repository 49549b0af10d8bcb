/* Every operation of Landlock's filesystem rights in every kind of place. */
#include "probe/trial/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "probe/trial/program.h"
#include "probe/trial/stage.h"

#define PATH(name) STAGE_PATH(s, (enum place)t->args[0], (name))

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_read(const struct stage *s, const struct trial *t)
{
	char text[sizeof(STAGE_TEXT)];
	int fd = open(PATH(STAGE_DATA), O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text));
	close(fd);
	return n == (ssize_t)sizeof(text) && memcmp(text, STAGE_TEXT, sizeof(text)) == 0 ? 0 : -EIO;
}

static int try_list(const struct stage *s, const struct trial *t)
{
	char names[512];
	int fd = open(PATH(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long n;

	if (fd < 0)
		return -errno;
	n = syscall(SYS_getdents64, fd, names, sizeof(names));
	close(fd);
	return n > 0 ? 0 : -EIO;
}

static int try_write(const struct stage *s, const struct trial *t)
{
	return opens(PATH(STAGE_SUB_FILE), O_WRONLY);
}

static int try_truncate(const struct stage *s, const struct trial *t)
{
	return result(truncate(PATH(STAGE_SUB_FILE), 0));
}

/* By open(2), which needs the right to write as well. */
static int try_open_truncate(const struct stage *s, const struct trial *t)
{
	return opens(PATH(STAGE_SUB_FILE), O_WRONLY | O_TRUNC);
}

static int try_create(const struct stage *s, const struct trial *t)
{
	int r = opens(PATH(STAGE_NEW), O_WRONLY | O_CREAT);

	if (r == 0)
		unlink(PATH(STAGE_NEW));
	return r;
}

static int try_mkdir(const struct stage *s, const struct trial *t)
{
	int r = result(mkdir(PATH(STAGE_NEW "dir"), 0700));

	if (r == 0)
		rmdir(PATH(STAGE_NEW "dir"));
	return r;
}

static int try_symlink(const struct stage *s, const struct trial *t)
{
	int r = result(symlink(STAGE_DATA, PATH(STAGE_NEW "link")));

	if (r == 0)
		unlink(PATH(STAGE_NEW "link"));
	return r;
}

static int make_node(const char *path, mode_t mode, dev_t device)
{
	int r = result(mknod(path, mode | 0600, device));

	if (r == 0)
		unlink(path);
	return r;
}

/* By mknod(2), which needs no right to write. */
static int try_make_file(const struct stage *s, const struct trial *t)
{
	return make_node(PATH(STAGE_NEW "file"), S_IFREG, 0);
}

static int try_fifo(const struct stage *s, const struct trial *t)
{
	return make_node(PATH(STAGE_NEW "fifo"), S_IFIFO, 0);
}

static int try_socket(const struct stage *s, const struct trial *t)
{
	return make_node(PATH(STAGE_NEW "sock"), S_IFSOCK, 0);
}

static int try_char(const struct stage *s, const struct trial *t)
{
	return make_node(PATH(STAGE_NEW "char"), S_IFCHR, makedev(1, 3));
}

/* Device 0:0 marks what an overlay hides. Since Linux 5.8 anybody may make it, but not in an
 * overlay; from 7.2 on Landlock takes it for a file.
 */
static int try_whiteout(const struct stage *s, const struct trial *t)
{
	return make_node(PATH(STAGE_NEW "whiteout"), S_IFCHR, makedev(0, 0));
}

static int try_block(const struct stage *s, const struct trial *t)
{
	return make_node(PATH(STAGE_NEW "block"), S_IFBLK, makedev(7, 0));
}

static int try_unlink(const struct stage *s, const struct trial *t)
{
	int r = result(unlink(PATH(STAGE_GONE_FILE)));

	if (r == 0)
		opens(PATH(STAGE_GONE_FILE), O_WRONLY | O_CREAT);
	return r;
}

static int try_rmdir(const struct stage *s, const struct trial *t)
{
	int r = result(rmdir(PATH(STAGE_GONE_DIR)));

	if (r == 0)
		mkdir(PATH(STAGE_GONE_DIR), 0700);
	return r;
}

/* Within one directory: removes a name and makes one. */
static int try_rename(const struct stage *s, const struct trial *t)
{
	int r = result(rename(PATH(STAGE_SUB_FILE), PATH(STAGE_SUB "/renamed")));

	if (r == 0)
		rename(PATH(STAGE_SUB "/renamed"), PATH(STAGE_SUB_FILE));
	return r;
}

/* From one directory to another below it. */
static int try_move(const struct stage *s, const struct trial *t)
{
	int r = result(rename(PATH(STAGE_SUB_FILE), PATH("moved")));

	if (r == 0)
		rename(PATH("moved"), PATH(STAGE_SUB_FILE));
	return r;
}

static int try_link(const struct stage *s, const struct trial *t)
{
	int r = result(link(PATH(STAGE_SUB_FILE), PATH("linked")));

	if (r == 0)
		unlink(PATH("linked"));
	return r;
}

static int try_execute(const struct stage *s, const struct trial *t)
{
	return run_program(PATH(STAGE_PROGRAM));
}

#define CORE true
#define D TRIAL_DENIED
#define A TRIAL_ALLOWED

#define ROW(place_, name_, where_, capability_, op, text, attempt_, core_, expect_, ...)          \
	{                                                                                         \
		.id = "file." name_ "." op, .what = text " " where_, .capability = (capability_), \
		.group = TRIAL_GROUP_PLAIN, .expect = (expect_), .errors = { __VA_ARGS__ },       \
		.core = (core_), .attempt = (attempt_), .args = { (place_) },                     \
	}

/* Moving and linking are refused with EXDEV where a right to do it in one directory is there. */
#define PLACE(p, n, w, c, exec_c, rd, ls, wr, tr, mk, dir, sym, fifo, sock, chr, blk, rm, rmd, mv, \
	      ex)                                                                                  \
	ROW(p, n, w, c, "read", "read a file", try_read, CORE, rd, EACCES),                        \
		ROW(p, n, w, c, "list", "list the directory", try_list, CORE, ls, EACCES),         \
		ROW(p, n, w, c, "write", "open a file for writing", try_write, CORE, wr, EACCES),  \
		ROW(p, n, w, c, "truncate", "truncate a file", try_truncate, CORE, tr, EACCES),    \
		ROW(p, n, w, c, "open-truncate", "truncate a file by opening it",                  \
		    try_open_truncate, CORE, tr, EACCES),                                          \
		ROW(p, n, w, c, "create", "make a file", try_create, CORE, mk, EACCES),            \
		ROW(p, n, w, c, "make-file", "make an empty file", try_make_file, CORE, mk,        \
		    EACCES),                                                                       \
		ROW(p, n, w, c, "mkdir", "make a directory", try_mkdir, CORE, dir, EACCES),        \
		ROW(p, n, w, c, "symlink", "make a symbolic link", try_symlink, CORE, sym,         \
		    EACCES),                                                                       \
		ROW(p, n, w, c, "fifo", "make a named pipe", try_fifo, CORE, fifo, EACCES),        \
		ROW(p, n, w, c, "socket", "make a unix socket", try_socket, CORE, sock, EACCES),   \
		ROW(p, n, w, c, "char", "make a character device", try_char, false, chr, EACCES),  \
		ROW(p, n, w, c, "whiteout", "make a whiteout", try_whiteout, false, chr, EACCES),  \
		ROW(p, n, w, c, "block", "make a block device", try_block, false, blk, EACCES),    \
		ROW(p, n, w, c, "unlink", "remove a file", try_unlink, CORE, rm, EACCES),          \
		ROW(p, n, w, c, "rmdir", "remove a directory", try_rmdir, CORE, rmd, EACCES),      \
		ROW(p, n, w, c, "rename", "rename a file", try_rename, CORE, rm, EACCES),          \
		ROW(p, n, w, c, "move", "move a file to another directory", try_move, CORE, mv,    \
		    EACCES, EXDEV),                                                                \
		ROW(p, n, w, c, "link", "link a file into another directory", try_link, CORE, mv,  \
		    EACCES, EXDEV),                                                                \
		ROW(p, n, w, exec_c, "execute", "run a program", try_execute,                      \
		    (exec_c) == CAPABILITY_EXEC_WRITABLE_DENY, ex, EACCES)

/* What contract-linux.md "Mapping" and wire.md §1.2 grant, less what plan.h takes away.
 *
 *      read list write truncate create mkdir symlink fifo socket char block remove rmdir move
 * execute
 */
static const struct trial rows[] = {
	PLACE(PLACE_OUTSIDE, "outside", "in a directory that is not granted", CAPABILITY_FILESYSTEM,
	      CAPABILITY_FILESYSTEM, D, D, D, D, D, D, D, D, D, D, D, D, D, D, D),
	PLACE(PLACE_BUNDLE, "ro", "in the bundle (ro)", CAPABILITY_FILESYSTEM,
	      CAPABILITY_FILESYSTEM, A, A, D, D, D, D, D, D, D, D, D, D, D, D, A),
	PLACE(PLACE_TOOLS, "exe", "in a tool's directory (exe)", CAPABILITY_FILESYSTEM,
	      CAPABILITY_FILESYSTEM, A, A, D, D, D, D, D, D, D, D, D, D, D, D, A),
	PLACE(PLACE_WORK, "rw", "in the work directory (rw)", CAPABILITY_FILESYSTEM,
	      CAPABILITY_EXEC_WRITABLE_DENY, A, A, A, A, A, A, A, A, D, D, D, A, A, A, D),
	PLACE(PLACE_IN, "rd", "in an input folder (rd)", CAPABILITY_FOLDERS_READ,
	      CAPABILITY_FOLDERS_READ, A, A, D, D, D, D, D, D, D, D, D, D, D, D, D),
	PLACE(PLACE_OUT, "wo", "in an output folder (wo)", CAPABILITY_FOLDERS_WRITE,
	      CAPABILITY_FOLDERS_WRITE, D, D, A, A, A, A, D, D, D, D, D, D, D, D, D),
};

const struct trial_table trials_file = TRIAL_TABLE(rows);
