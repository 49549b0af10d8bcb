#include "tests/fake/launch_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/path.h"
#include "kabi/text.h"

#define STATUS_FILE "/proc/self/status"
#define OOM_FILE "/proc/self/oom_score_adj"

static const struct fake_file *find(const struct fake_process *p, const char *path)
{
	static const struct fake_file dir = { "", NODE_DIR, NULL, 0, 0 };
	size_t len = strlen(path);

	for (const struct fake_file *f = p->files; f && f->path; f++)
		if (strcmp(f->path, path) == 0)
			return f;
	for (const struct fake_file *f = p->files; f && f->path; f++)
		if (strncmp(f->path, path, len) == 0 && f->path[len] == '/')
			return &dir;
	return strcmp(path, "/") == 0 ? &dir : NULL;
}

/* Put what the link `f` at path[0..len) points to into its place. */
static void replace_link(char path[FAKE_CALL_TEXT], size_t len, const struct fake_file *f)
{
	char old[FAKE_CALL_TEXT];
	struct text t;
	size_t dir = len;

	memcpy(old, path, sizeof(old));
	t = text_start(path, FAKE_CALL_TEXT);
	while (old[dir - 1] != '/')
		dir--;
	if (f->text[0] != '/')
		text_add_bytes(&t, old, dir);
	text_add(&t, f->text);
	text_add(&t, old + len);
	if (t.cut)
		abort();
}

/* Follow the first link among the components of `path`: 1 when there was one, 0 when there was
 * none. */
static int follow_one(const struct fake_process *p, char path[FAKE_CALL_TEXT], bool last_too)
{
	for (size_t len = 1;; len++) {
		const struct fake_file *f;
		char saved = path[len];

		if (saved != '/' && saved != '\0')
			continue;
		if (saved == '\0' && !last_too)
			return 0;
		path[len] = '\0';
		f = find(p, path);
		path[len] = saved;
		if (!f)
			return -ENOENT;
		if (f->type == NODE_LINK) {
			replace_link(path, len, f);
			return 1;
		}
		if (saved == '\0')
			return 0;
	}
}

static int lowest_free(struct fake_process *p)
{
	for (int fd = 0; fd < FAKE_FDS; fd++)
		if (!p->fds[fd].open)
			return fd;
	return -EMFILE;
}

int fake_open_at(struct fake_process *p, const char *path, const struct fake_file *f)
{
	int fd = lowest_free(p);

	if (fd < 0)
		return fd;
	p->fds[fd] = (struct fake_fd){
		.open = true,
		.type = f->type,
		.major = f->major,
		.minor = f->minor,
		.text = f->text,
	};
	text_copy(p->fds[fd].path, FAKE_CALL_TEXT, path);
	return fd;
}

static int fake_open(const struct kernel *k, const char *path, int flags)
{
	struct fake_process *p = fake_self(k);
	char real[FAKE_CALL_TEXT];
	int r = fake_called(k, "open", path);

	(void)flags;
	if (r < 0)
		return r;
	if (strcmp(path, OOM_FILE) == 0 && p->oom_score)
		return fake_open_at(p, path,
				    &(struct fake_file){ path, NODE_FILE, p->oom_score, 0, 0 });
	if (strcmp(path, STATUS_FILE) == 0 && p->proc_status)
		return fake_open_at(p, path,
				    &(struct fake_file){ path, NODE_FILE, p->proc_status, 0, 0 });
	text_copy(real, sizeof(real), path);
	do
		r = follow_one(p, real, true);
	while (r == 1);
	if (r < 0)
		return r;
	return fake_open_at(p, real, find(p, real));
}

static int fake_open_nolinks(const struct kernel *k, const char *path, int flags)
{
	struct fake_process *p = fake_self(k);
	char real[FAKE_CALL_TEXT];
	int r = fake_called(k, "open_nolinks", path);

	(void)flags;
	if (r < 0)
		return r;
	text_copy(real, sizeof(real), path);
	r = follow_one(p, real, true);
	if (r != 0)
		return r < 0 ? r : -ELOOP;
	return fake_open_at(p, path, find(p, path));
}

struct fake_fd *fake_fd_of(struct fake_process *p, int fd)
{
	return fd >= 0 && fd < FAKE_FDS && p->fds[fd].open ? &p->fds[fd] : NULL;
}

static ssize_t fake_read(const struct kernel *k, int fd, void *buf, size_t size)
{
	struct fake_fd *f = fake_fd_of(fake_self(k), fd);
	int r = fake_called(k, "read", f ? f->path : "closed");
	size_t len;

	if (r < 0)
		return r;
	if (!f || !f->text)
		return -EBADF;
	len = strlen(f->text);
	len = len < size ? len : size;
	memcpy(buf, f->text, len);
	f->text += len;
	return (ssize_t)len;
}

static ssize_t fake_write(const struct kernel *k, int fd, const void *buf, size_t size)
{
	struct fake_process *p = fake_self(k);
	struct fake_fd *f = fake_fd_of(p, fd);
	int r = fake_called(k, "write", f ? f->path : "closed");
	char *to;

	if (r < 0)
		return r;
	if (!f || f->ruleset)
		return -EBADF;
	to = strcmp(f->path, OOM_FILE) == 0 ? p->oom_written : p->told;
	if (strlen(to) + size >= sizeof(p->told))
		abort();
	memcpy(to + strlen(to), buf, size);
	return (ssize_t)size;
}

static int fake_close(const struct kernel *k, int fd)
{
	struct fake_fd *f = fake_fd_of(fake_self(k), fd);
	int r = fake_called_with(k, "close", fd);

	if (!f)
		return -EBADF;
	/* Linux lets go of the descriptor whatever it answers. */
	f->open = false;
	return r;
}

static int fake_close_range(const struct kernel *k, unsigned first, unsigned last, unsigned flags)
{
	struct fake_process *p = fake_self(k);
	char buf[64];
	int r;

	(void)flags;
	snprintf(buf, sizeof(buf), "%u-%u", first, last);
	r = fake_called(k, "close_range", buf);
	if (r < 0)
		return r;
	for (unsigned fd = first; fd <= last && fd < FAKE_FDS; fd++)
		p->fds[fd].open = false;
	return 0;
}

static int fake_fstat(const struct kernel *k, int fd, struct node *ret)
{
	struct fake_fd *f = fake_fd_of(fake_self(k), fd);
	int r = fake_called_with(k, "fstat", fd);

	if (r < 0)
		return r;
	if (!f)
		return -EBADF;
	*ret = (struct node){ .type = f->type, .major = f->major, .minor = f->minor };
	return 0;
}

static int fake_stat(const struct kernel *k, const char *path, struct node *ret)
{
	const struct fake_file *f = find(fake_self(k), path);
	int r = fake_called(k, "stat", path);

	if (r < 0)
		return r;
	if (!f)
		return -ENOENT;
	*ret = (struct node){ .type = f->type, .major = f->major, .minor = f->minor };
	return 0;
}

static int fake_statfs(const struct kernel *k, const char *path, struct fs_info *ret)
{
	int r = fake_called(k, "statfs", path);

	if (r < 0)
		return r;
	if (!find(fake_self(k), path))
		return -ENOENT;
	*ret = (struct fs_info){ .magic = fake_self(k)->proc_magic };
	return 0;
}

static int fake_fstatfs(const struct kernel *k, int fd, struct fs_info *ret)
{
	struct fake_process *p = fake_self(k);
	struct fake_fd *f = fake_fd_of(p, fd);
	int r = fake_called_with(k, "fstatfs", fd);

	if (r < 0)
		return r;
	if (!f)
		return -EBADF;
	*ret = (struct fs_info){ .magic = p->mounted && path_is_within(f->path, p->mounted)
						  ? p->mounted_magic
						  : FAKE_MAGIC };
	return 0;
}

static ssize_t fake_readlink(const struct kernel *k, const char *path, char *buf, size_t size)
{
	const struct fake_file *f = find(fake_self(k), path);
	int r = fake_called(k, "readlink", path);

	if (r < 0)
		return r;
	if (!f)
		return -ENOENT;
	if (f->type != NODE_LINK)
		return -EINVAL;
	return text_copy(buf, size, f->text) ? (ssize_t)strlen(buf) : -ENAMETOOLONG;
}

/* The rows stand in the order of their names. */
static ssize_t fake_list(const struct kernel *k, const char *path, char *buf, size_t size)
{
	struct fake_process *p = fake_self(k);
	size_t len = strlen(path);
	struct text t = text_start(buf, size);
	ssize_t count = 0;
	int r = fake_called(k, "list", path);

	if (r < 0)
		return r;
	if (!find(p, path))
		return -ENOENT;
	for (const struct fake_file *f = p->files; f && f->path; f++) {
		if (strncmp(f->path, path, len) != 0 || f->path[len] != '/' ||
		    strchr(f->path + len + 1, '/'))
			continue;
		text_add_bytes(&t, f->path + len + 1, strlen(f->path + len + 1) + 1);
		count++;
	}
	return t.cut ? -ENOSPC : count;
}

static int fake_isatty(const struct kernel *k, int fd)
{
	struct fake_fd *f = fake_fd_of(fake_self(k), fd);

	return fake_called_with(k, "isatty", fd) == 0 && f && f->terminal;
}

void fake_files(struct kernel *k)
{
	k->open = fake_open;
	k->open_nolinks = fake_open_nolinks;
	k->read = fake_read;
	k->write = fake_write;
	k->close = fake_close;
	k->fstat = fake_fstat;
	k->stat = fake_stat;
	k->statfs = fake_statfs;
	k->fstatfs = fake_fstatfs;
	k->readlink = fake_readlink;
	k->list = fake_list;
	k->close_range = fake_close_range;
	k->isatty = fake_isatty;
}
