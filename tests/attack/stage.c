#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/landlock.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const place_names[PLACE_COUNT] = {
	[OUTSIDE] = "outside", [BUNDLE] = "bundle", [INPUT] = "input",
	[OUTBOX] = "outbox",   [WORK] = "work",
};

static const char *const stage_files[] = {
	"read",	  "write", "append", "trunc",	 "truncate", "unlink", "out",
	"linkin", "in",	   "onto",   "exchange", "node",     "attr",   NULL,
};

static const char *const stage_folders[] = { "rmdir", "folder", "folder-out", NULL };

/* ---- paths ---- */

static char *next_buffer(void)
{
	static char buffers[8][PATH_MAX];
	static unsigned turn;

	return buffers[turn++ % 8];
}

const char *path_at(const struct stage *s, enum place place, const char *name)
{
	char *buf = next_buffer();

	snprintf(buf, PATH_MAX, "%s/%s/%s", s->root, place_names[place], name);
	return buf;
}

const char *place_path(const struct stage *s, enum place place)
{
	char *buf = next_buffer();

	snprintf(buf, PATH_MAX, "%s/%s", s->root, place_names[place]);
	return buf;
}

const char *path_in_root(const struct stage *s, const char *name)
{
	char *buf = next_buffer();

	snprintf(buf, PATH_MAX, "%s/%s", s->root, name);
	return buf;
}

const char *policy_path(const struct stage *s, const char *name)
{
	char *buf = next_buffer();

	snprintf(buf, PATH_MAX, "%s/%s.sb", s->root, name);
	return buf;
}

const char *socket_path(const struct stage *s, const char *name)
{
	char *buf = next_buffer();

	snprintf(buf, PATH_MAX, "%s/sockets/%s", s->root, name);
	return buf;
}

/* ---- files ---- */

int write_file(const char *path, const void *data, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, data, size);
	close(fd);
	return n == (ssize_t)size ? 0 : -EIO;
}

int write_text(const char *path, const char *text)
{
	return write_file(path, text, strlen(text), 0755);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int copy_file(const char *from, const char *to, mode_t mode)
{
	char buf[65536];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	ssize_t n = -1;

	while (in >= 0 && out >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			n = -1;
	if (out >= 0)
		fchmod(out, mode);
	close(in);
	close(out);
	return n == 0 ? 0 : -EIO;
}

/* Nothing changes the program, so it is kept when the rest of a folder is made anew. */
static void keep_program(const struct stage *s, enum place place)
{
	struct stat st;

	if (lstat(place_path(s, place), &st) == 0 && S_ISDIR(st.st_mode))
		rename(path_at(s, place, "attacker"), path_in_root(s, "kept"));
}

static int put_program(const struct stage *s, enum place place)
{
	const char *path = path_at(s, place, "attacker");

	if (rename(path_in_root(s, "kept"), path) == 0)
		return 0;
	/* No links: a rule is about an inode, so it would be in force under every name. */
	return copy_file(path_in_root(s, "attacker"), path, 0755);
}

static int fill(const struct stage *s, enum place place)
{
	if (mkdir(place_path(s, place), 0755) < 0)
		return -errno;
	for (size_t i = 0; stage_files[i]; i++)
		if (write_text(path_at(s, place, stage_files[i]), "#!/bin/sh\nexit 0\n") < 0)
			return -EIO;
	for (size_t i = 0; stage_folders[i]; i++)
		if (mkdir(path_at(s, place, stage_folders[i]), 0755) < 0)
			return -errno;
	if (geteuid() == 0) {
		const char *foreign = path_at(s, place, "foreign");

		if (write_file(foreign, "x", 1, 0600) < 0 || chown(foreign, 61007, 61007) < 0)
			return -EIO;
	}
	if (put_program(s, place) < 0)
		return -EIO;
	return symlink(path_in_root(s, "outside"), path_at(s, place, "to-outside")) < 0 ? -errno
											: 0;
}

int stage_reset_place(const struct stage *s, enum place place)
{
	keep_program(s, place);
	remove_tree(place_path(s, place));
	remove_tree(path_in_root(s, "moved"));
	return fill(s, place);
}

int stage_reset(const struct stage *s)
{
	int r = 0;

	for (unsigned place = 0; r == 0 && place < PLACE_COUNT; place++)
		r = stage_reset_place(s, place);
	return r < 0 ? r : write_file(path_at(s, BUNDLE, "stage"), s, sizeof(*s), 0644);
}

/* ---- what outlives a process ---- */

static int make_queue(const struct stage *s)
{
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 };

	return answer_fd((int)syscall(SYS_mq_open, s->tag, O_RDWR | O_CREAT, 0600, &attr));
}

static void make_ipc(struct stage *s)
{
	static const struct {
		long type;
		char text[8];
	} message = { 1, "message" };

	s->shm = answer(shmget(IPC_PRIVATE, 4096, 0600));
	s->sem = answer(semget(IPC_PRIVATE, 1, 0600));
	s->msg = answer(msgget(IPC_PRIVATE, 0600));
	for (int i = 0; s->msg >= 0 && i < 16; i++)
		msgsnd(s->msg, &message, sizeof(message.text), IPC_NOWAIT);
	make_queue(s);
}

static void remove_ipc(const struct stage *s)
{
	if (s->shm >= 0)
		shmctl(s->shm, IPC_RMID, NULL);
	if (s->sem >= 0)
		semctl(s->sem, 0, IPC_RMID);
	if (s->msg >= 0)
		msgctl(s->msg, IPC_RMID, NULL);
	syscall(SYS_mq_unlink, s->tag);
}

/* ---- public ---- */

int landlock_abi(void)
{
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : abi;
}

int stage_make(struct stage *s, const char *sandbox)
{
	const char *tmp = getenv("TMPDIR");
	char real[PATH_MAX];
	int r;

	if (!realpath(tmp ? tmp : "/tmp", real))
		return -errno;
	r = snprintf(s->root, sizeof(s->root), "%s/oarbank-attack-XXXXXX", real);
	if (r < 0 || (size_t)r >= sizeof(s->root))
		return -ENAMETOOLONG;
	if (!mkdtemp(s->root))
		return -errno;
	snprintf(s->tag, sizeof(s->tag), "oarbank-%s", strrchr(s->root, '-') + 1);
	chmod(s->root, 0755);
	s->agent = getpid();
	s->abi = landlock_abi();
	r = copy_file("/proc/self/exe", path_in_root(s, "attacker"), 0755);
	if (r == 0)
		r = copy_file(sandbox, path_in_root(s, "oarbank-sandbox"), 0755);
	if (r == 0 && mkdir(path_in_root(s, "sockets"), 0755) < 0)
		r = -errno;
	snprintf(s->sandbox, sizeof(s->sandbox), "%s", path_in_root(s, "oarbank-sandbox"));
	make_ipc(s);
	if (r == 0)
		r = stage_reset(s);
	if (r == 0)
		r = victim_start(s);
	return r == 0 ? profiles_write(s) : r;
}

void stage_remove(struct stage *s)
{
	victim_end(s);
	remove_ipc(s);
	remove_tree(s->root);
}
