#include "tests/fake/parent_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/cgroup.h"
#include "kabi/text.h"

#define CGROUP_MOUNT "/sys/fs/cgroup"

static struct world *of(const struct kernel *k)
{
	return k->state;
}

struct world_file *world_find(struct world *w, const char *path)
{
	for (size_t i = 0; i < WORLD_FILES; i++)
		if (w->files[i].path[0] && strcmp(w->files[i].path, path) == 0)
			return &w->files[i];
	return NULL;
}

struct world_file *world_file(struct world *w, const char *path, const char *text)
{
	struct world_file *f = world_find(w, path);

	for (size_t i = 0; !f && i < WORLD_FILES; i++)
		if (!w->files[i].path[0])
			f = &w->files[i];
	if (!f)
		abort();
	*f = (struct world_file){ .dir = false };
	text_copy(f->path, sizeof(f->path), path);
	text_copy(f->text, sizeof(f->text), text ? text : "");
	return f;
}

struct world_file *world_dir(struct world *w, const char *path)
{
	struct world_file *f = world_file(w, path, NULL);

	f->dir = true;
	return f;
}

/* What the kernel puts into a new cgroup. */
static void make_cgroup(struct world *w, const char *dir)
{
	static const char *const files[][2] = {
		{ "cgroup.type", "domain\n" },
		{ "cgroup.procs", "" },
		{ "cgroup.kill", "" },
		{ "cgroup.freeze", "0\n" },
		{ "cgroup.events", "populated 0\nfrozen 0\n" },
		{ "cpu.stat", "usage_usec 1234\nuser_usec 1000\n" },
		{ "memory.max", "max\n" },
		{ "memory.swap.max", "max\n" },
		{ "memory.oom.group", "0\n" },
		{ "memory.events", "low 0\noom 0\noom_kill 0\n" },
		{ "memory.peak", "4096000\n" },
		{ "cpu.max", "max 100000\n" },
		{ "pids.max", "max\n" },
		{ "cgroup.controllers", "\n" },
		{ "cgroup.subtree_control", "\n" },
	};
	char path[192];

	world_dir(w, dir);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (w->no_swap && strcmp(files[i][0], "memory.swap.max") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, files[i][0]);
		world_file(w, path, i == 0 && w->type ? w->type : files[i][1]);
	}
}

void world_cgroup(struct world *w, const char *own, const char *controllers, const char *enabled)
{
	char text[512];
	char path[192];

	world_file(w, "/proc/self/mountinfo",
		   "30 25 0:26 / " CGROUP_MOUNT " rw - cgroup2 cgroup2 rw\n");
	snprintf(text, sizeof(text), "0::%s\n", own);
	world_file(w, "/proc/self/cgroup", text);
	snprintf(path, sizeof(path), "/proc/%d/cgroup", WORLD_SELF);
	world_file(w, path, text);
	world_dir(w, CGROUP_MOUNT);
	snprintf(path, sizeof(path), CGROUP_MOUNT "%s", own);
	make_cgroup(w, path);
	snprintf(path, sizeof(path), CGROUP_MOUNT "%s/cgroup.controllers", own);
	world_file(w, path, controllers);
	snprintf(path, sizeof(path), CGROUP_MOUNT "%s/cgroup.subtree_control", own);
	world_file(w, path, enabled);
}

int world_new_fd(struct world *w, struct world_file *f)
{
	for (int fd = 3; fd < WORLD_FDS; fd++) {
		if (w->fds[fd].open)
			continue;
		w->fds[fd] = (struct world_fd){ .open = true, .file = f };
		return fd;
	}
	return -EMFILE;
}

static int world_open(const struct kernel *k, const char *path, int flags)
{
	struct world_file *f = world_find(of(k), path);
	int r = world_note(k, "open", path);

	(void)flags;
	if (r < 0)
		return r;
	if (!f)
		return -ENOENT;
	return f->error ? -f->error : world_new_fd(of(k), f);
}

static ssize_t read_pending(struct world *w, void *buf, size_t size)
{
	size_t len = w->pending ? strlen(w->pending) : 0;

	len = len < size ? len : size;
	if (len)
		memcpy(buf, w->pending, len);
	w->pending = NULL;
	return (ssize_t)len;
}

static ssize_t world_read(const struct kernel *k, int fd, void *buf, size_t size)
{
	struct world *w = of(k);
	int r = world_note_number(k, "read", fd);
	struct world_fd *f;
	size_t len;

	if (r < 0)
		return r;
	if (fd == w->confined || fd == w->channel)
		return read_pending(w, buf, size);
	if (fd == w->children)
		return (ssize_t)size;
	f = &w->fds[fd];
	if (fd < 0 || !f->open || !f->file)
		return -EBADF;
	len = strlen(f->file->text + f->at);
	len = len < size ? len : size;
	memcpy(buf, f->file->text + f->at, len);
	f->at += len;
	return (ssize_t)len;
}

static ssize_t world_write(const struct kernel *k, int fd, const void *buf, size_t size)
{
	struct world *w = of(k);
	char detail[128];
	struct text t = TEXT_BUF(detail);
	struct world_fd *f = fd >= 0 && fd < WORLD_FDS ? &w->fds[fd] : NULL;
	int r;

	text_add(&t, f && f->file ? f->file->path : "pipe");
	text_add(&t, " ");
	text_add_bytes(&t, buf, size);
	r = world_note(k, "write", detail);
	if (r < 0)
		return r;
	if (f && f->file && !w->freezes_never && text_ends(f->file->path, "/cgroup.freeze")) {
		char events[192];

		snprintf(events, sizeof(events), "%.*s/cgroup.events",
			 (int)(strlen(f->file->path) - 14), f->file->path);
		world_file(w, events,
			   *(const char *)buf == '1' ? "populated 1\nfrozen 1\n"
						     : "populated 1\nfrozen 0\n");
	} else if (f && f->file && text_ends(f->file->path, "/cgroup.kill")) {
		world_end_leader(w, SIGKILL);
	} else if (!f || !f->file) {
		strncat(w->said, buf, size);
	}
	return (ssize_t)size;
}

static int world_close(const struct kernel *k, int fd)
{
	struct world *w = of(k);

	if (fd >= 0 && fd < WORLD_FDS)
		w->fds[fd].open = false;
	/* The number may be another's from now on. */
	w->confined = fd == w->confined ? -1 : w->confined;
	w->channel = fd == w->channel ? -1 : w->channel;
	return 0;
}

static int world_close_range(const struct kernel *k, unsigned first, unsigned last, unsigned flags)
{
	struct world *w = of(k);
	int r = world_note_number(k, "close_range", first);

	(void)flags;
	for (unsigned fd = first; r == 0 && fd <= last && fd < WORLD_FDS; fd++)
		w->fds[fd].open = false;
	return r;
}

static int world_stat(const struct kernel *k, const char *path, struct node *ret)
{
	const struct world_file *f = world_find(of(k), path);
	int r = world_note(k, "stat", path);

	if (r < 0)
		return r;
	if (!f)
		return -ENOENT;
	*ret = (struct node){ .type = f->dir ? NODE_DIR : NODE_FILE };
	return 0;
}

static int world_access(const struct kernel *k, const char *path, int mode)
{
	const struct world_file *f = world_find(of(k), path);
	int r = world_note(k, "access", path);

	(void)mode;
	return r < 0 ? r : !f ? -ENOENT : -f->error;
}

static int world_statfs(const struct kernel *k, const char *path, struct fs_info *ret)
{
	int r = world_note(k, "statfs", path);

	if (r < 0)
		return r;
	if (!world_find(of(k), path))
		return -ENOENT;
	*ret = (struct fs_info){ .magic = text_starts(path, "/proc/") ? of(k)->proc_magic
								      : CGROUP2_MAGIC };
	return 0;
}

static ssize_t world_list(const struct kernel *k, const char *path, char *buf, size_t size)
{
	struct world *w = of(k);
	struct text t = text_start(buf, size);
	size_t len = strlen(path);
	int r = world_note(k, "list", path);
	ssize_t count = 0;

	if (r < 0)
		return r;
	if (!world_find(w, path))
		return -ENOENT;
	for (size_t i = 0; i < WORLD_FILES; i++) {
		const char *name = w->files[i].path;

		if (strncmp(name, path, len) != 0 || name[len] != '/' ||
		    strchr(name + len + 1, '/'))
			continue;
		text_add_bytes(&t, name + len + 1, strlen(name + len + 1) + 1);
		count++;
	}
	return count;
}

static int world_mkdir(const struct kernel *k, const char *path, unsigned mode)
{
	const struct world_file *f = world_find(of(k), path);
	int r = world_note(k, "mkdir", path);

	(void)mode;
	if (r < 0)
		return r;
	if (f)
		return f->error ? -f->error : -EEXIST;
	make_cgroup(of(k), path);
	return 0;
}

static int world_rmdir(const struct kernel *k, const char *path)
{
	struct world *w = of(k);
	struct world_file *f = world_find(w, path);
	size_t len = strlen(path);
	int r = world_note(k, "rmdir", path);

	if (r < 0)
		return r;
	if (!f)
		return -ENOENT;
	if (f->busy > 0) {
		f->busy--;
		return -EBUSY;
	}
	for (size_t i = 0; i < WORLD_FILES; i++)
		if (strncmp(w->files[i].path, path, len) == 0 &&
		    (w->files[i].path[len] == '/' || w->files[i].path[len] == '\0'))
			w->files[i].path[0] = '\0';
	return 0;
}

static int world_lock(const struct kernel *k, int fd)
{
	struct world_file *f = of(k)->fds[fd].file;
	int r = world_note_number(k, "lock", fd);

	if (f && of(k)->first_is_taken && !of(k)->taken) {
		of(k)->taken = true;
		f->path[0] = '\0';
	}
	return r < 0 ? r : f && f->locked ? -EWOULDBLOCK : 0;
}

void world_files_start(struct kernel *k)
{
	k->open = world_open;
	k->read = world_read;
	k->write = world_write;
	k->close = world_close;
	k->close_range = world_close_range;
	k->stat = world_stat;
	k->access = world_access;
	k->statfs = world_statfs;
	k->list = world_list;
	k->mkdir = world_mkdir;
	k->rmdir = world_rmdir;
	k->lock = world_lock;
}
