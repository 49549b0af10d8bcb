#include "probe/trial/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/text.h"
#include "probe/trial/sockets.h"
#include "probe/trial/tiny_program.h"

#define PREFIX "oarbank-probe-"

const char *const place_names[PLACE_COUNT] = {
	[PLACE_OUTSIDE] = "outside", [PLACE_BUNDLE] = "bundle", [PLACE_TOOLS] = "tools",
	[PLACE_WORK] = "work",	     [PLACE_IN] = "in",		[PLACE_OUT] = "out",
};

const char *stage_path(const struct stage *s, enum place place, const char *name,
		       char buf[STAGE_PATH_MAX])
{
	struct text t = text_start(buf, STAGE_PATH_MAX);

	text_add(&t, s->dir);
	text_add(&t, "/");
	text_add(&t, place_names[place]);
	text_add(&t, *name ? "/" : "");
	text_add(&t, name);
	return buf;
}

/* ---- files ---- */

static int write_file(const char *path, const void *bytes, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, bytes, len);
	if (n >= 0 && (size_t)n != len)
		errno = ENOSPC;
	if (close(fd) < 0 || n < 0 || (size_t)n != len)
		return -errno;
	return 0;
}

static int fill_place(const struct stage *s, enum place place)
{
	int r;

	if (mkdir(STAGE_PATH(s, place, ""), 0700) < 0 ||
	    mkdir(STAGE_PATH(s, place, STAGE_SUB), 0700) < 0 ||
	    mkdir(STAGE_PATH(s, place, STAGE_GONE_DIR), 0700) < 0)
		return -errno;
	r = write_file(STAGE_PATH(s, place, STAGE_DATA), STAGE_TEXT, sizeof(STAGE_TEXT), 0600);
	if (r == 0)
		r = write_file(STAGE_PATH(s, place, STAGE_SUB_FILE), "", 0, 0600);
	if (r == 0)
		r = write_file(STAGE_PATH(s, place, STAGE_GONE_FILE), "", 0, 0600);
	if (r == 0)
		r = write_file(STAGE_PATH(s, place, STAGE_PROGRAM), tiny_program, tiny_program_size,
			       0700);
	return r;
}

/* Links from where a module may write to where it may not; a pipe; a file its owner may not read.
 */
static int fill_roads(const struct stage *s)
{
	const char *text = STAGE_TEXT;

	if (symlink("../outside/" STAGE_DATA, STAGE_PATH(s, PLACE_WORK, "link")) < 0 ||
	    symlink("../outside", STAGE_PATH(s, PLACE_WORK, "linkdir")) < 0 ||
	    mkfifo(STAGE_PATH(s, PLACE_OUTSIDE, "fifo"), 0600) < 0)
		return -errno;
	return write_file(STAGE_PATH(s, PLACE_BUNDLE, "closed"), text, strlen(text), 0);
}

static int fill(struct stage *s)
{
	int r = 0;

	for (int i = 0; r == 0 && i < PLACE_COUNT; i++)
		r = fill_place(s, (enum place)i);
	return r == 0 ? fill_roads(s) : r;
}

/* ---- the victim ---- */

/* Sleeps until it is killed. SIGURG and SIGWINCH do nothing to it by default, SIGIO is ignored. */
static void be_victim(const struct stage *s, int ready)
{
	int fd = open(STAGE_PATH(s, PLACE_OUTSIDE, STAGE_DATA), O_RDWR);

	/* Out of the way of the number that is to be the file's. */
	ready = fcntl(ready, F_DUPFD, STAGE_VICTIM_FD + 1);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != s->host)
		_exit(1);
	setpgid(0, 0);
	signal(SIGIO, SIG_IGN);
	/* Yama lets a process be traced by its parents alone, but for those it names. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	/* It holds nothing of ours: by the end of a pipe we see that others have ended. */
	if (fd < 0 || dup2(fd, STAGE_VICTIM_FD) < 0 || write(ready, "", 1) != 1 ||
	    s->k->close_range(s->k, STAGE_VICTIM_FD + 1, ~0U, 0) < 0 ||
	    s->k->close_range(s->k, 0, STAGE_VICTIM_FD - 1, 0) < 0)
		_exit(1);
	for (;;)
		pause();
}

static int start_victim(struct stage *s)
{
	int ready[2];
	char byte;
	bool said;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		be_victim(s, ready[1]);
	close(ready[1]);
	/* It says so once it is prepared, and then closes its end. */
	said = pid > 0 && read(ready[0], &byte, 1) == 1 && read(ready[0], &byte, 1) == 0;
	close(ready[0]);
	if (pid < 0)
		return -EAGAIN;
	s->victim = pid;
	return said ? 0 : -ECHILD;
}

/* ---- GPUs ---- */

/* The first of the nodes "DIRECTORY/PREFIX*" in the order of the directory. */
static bool find_node(const struct kernel *k, const char *directory, const char *prefix, char *buf,
		      size_t size)
{
	static char names[16384];
	ssize_t count = k->list(k, directory, names, sizeof(names));
	const char *name = names;

	for (ssize_t i = 0; i < count; i++, name += strlen(name) + 1) {
		struct text t = text_start(buf, size);

		if (!text_starts(name, prefix))
			continue;
		text_add(&t, directory);
		text_add(&t, "/");
		text_add(&t, name);
		return true;
	}
	return false;
}

/* Before anybody is confined: a module may not list the directory. */
static void find_gpus(struct stage *s)
{
	static const char *const single[] = { "/dev/nvidiactl", "/dev/kfd", "/dev/dxg" };
	struct node node;

	find_node(s->k, "/dev/dri", "card", s->display, sizeof(s->display));
	if (find_node(s->k, "/dev/dri", "renderD", s->gpu, sizeof(s->gpu)))
		return;
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
		if (s->k->stat(s->k, single[i], &node) == 0) {
			text_copy(s->gpu, sizeof(s->gpu), single[i]);
			return;
		}
}

/* ---- the directory ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DP || type == FTW_D || type == FTW_DNR)
		rmdir(path);
	else
		unlink(path);
	return 0;
}

void stage_remove(const char *dir)
{
	if (!*dir)
		return;
	sockets_remove_queue(dir);
	/* With one descriptor at a time: there may be no more. */
	nftw(dir, remove_one, 1, FTW_DEPTH | FTW_PHYS);
}

/* What cannot be listed is not found when it is to be removed. */
static int check_list(const char *dir)
{
	DIR *d = opendir(dir);
	int r = 0;

	if (!d)
		return -errno;
	errno = 0;
	if (!readdir(d))
		r = errno ? -errno : -ENODATA;
	closedir(d);
	return r;
}

/* A name of its own in `parent`. */
static int make_directory(const char *parent, char dir[STAGE_DIR_MAX])
{
	struct text t = text_start(dir, STAGE_DIR_MAX);
	int r;

	text_add(&t, parent);
	text_add(&t, "/" PREFIX "XXXXXX");
	if (t.cut || *parent != '/') {
		*dir = '\0';
		return -ENAMETOOLONG;
	}
	if (!mkdtemp(dir)) {
		*dir = '\0';
		return -errno;
	}
	r = check_list(dir);
	if (r < 0) {
		rmdir(dir);
		*dir = '\0';
	}
	return r;
}

static bool runs_programs(const char *parent)
{
	struct statvfs fs;

	return statvfs(parent, &fs) == 0 && !(fs.f_flag & ST_NOEXEC);
}

static int try_parent(struct stage *s, const char *parent, char ret_dir[STAGE_DIR_MAX],
		      struct fault *why)
{
	int r = make_directory(parent, s->dir);

	if (r < 0)
		return fault_errno(why, "make a directory in", parent, -r);
	text_copy(ret_dir, STAGE_DIR_MAX, s->dir);
	r = fill(s);
	if (r < 0)
		fault_errno(why, "write in", s->dir, -r);
	else
		r = sockets_make(s, why);
	if (r < 0) {
		sockets_close(s);
		stage_remove(s->dir);
		ret_dir[0] = '\0';
	}
	return r;
}

/* Where it was asked for; then in memory, where making files costs a tenth; then the usual places.
 * First those where programs can be run: elsewhere that part cannot be observed.
 */
static int choose_parent(struct stage *s, char ret_dir[STAGE_DIR_MAX], struct fault *why)
{
	const char *const parents[] = { getenv("TMPDIR"), getenv("XDG_RUNTIME_DIR"), "/dev/shm",
					"/tmp", "/var/tmp" };
	const int count = (int)(sizeof(parents) / sizeof(parents[0]));
	struct fault first = { "" };

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < count; i++) {
			if (!parents[i] || runs_programs(parents[i]) != (pass == 0))
				continue;
			if (try_parent(s, parents[i], ret_dir, why) == 0)
				return 0;
			if (!first.text[0] && why)
				first = *why;
		}
	if (why && first.text[0])
		*why = first;
	return -ENOENT;
}

int stage_make(const struct kernel *k, struct stage *s, char ret_dir[STAGE_DIR_MAX],
	       struct fault *why)
{
	static const char secret[] = STAGE_TEXT;
	mode_t mask = umask(0077);
	int r;

	*s = (struct stage){ .k = k, .host = getpid(), .secret = secret, .segment = -1 };
	find_gpus(s);
	fault_join(why, "no temporary directory", NULL);
	r = choose_parent(s, ret_dir, why);
	umask(mask);
	if (r < 0)
		return r;
	r = start_victim(s);
	if (r < 0) {
		fault_errno(why, "start a process to attack", NULL, -r);
		stage_close(s);
		stage_remove(s->dir);
		ret_dir[0] = '\0';
	}
	return r;
}

void stage_close(struct stage *s)
{
	if (s->victim > 0) {
		kill(s->victim, SIGKILL);
		waitpid(s->victim, NULL, 0);
		s->victim = 0;
	}
	sockets_close(s);
}
