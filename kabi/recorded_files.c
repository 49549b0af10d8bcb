#include "kabi/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kabi/names.h"
#include "kabi/text.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

/* struct open_how (linux/openat2.h), and the flag that keeps every path inside the tree. */
struct open_how_row {
	uint64_t flags;
	uint64_t mode;
	uint64_t resolve;
};
#define RESOLVE_INSIDE 0x10 /* RESOLVE_IN_ROOT */
#define TRIES 1000

/* A text answer, or -errno when the row names an error. */
static ssize_t text_answer(const char *answer, char *buf, size_t size)
{
	if (errno_from_name(answer))
		return -errno_from_name(answer);
	return text_copy(buf, size, answer) ? (ssize_t)strlen(answer) : -ERANGE;
}

int recording_open(const struct kernel *k, const char *path, int flags)
{
	const struct recording *recording = k->state;
	struct open_how_row how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_INSIDE,
	};
	long fd;

	if (recording->root < 0)
		return -ENOENT;
	/* EAGAIN: something on this machine was renamed meanwhile, so that ".." may lead out. */
	for (int i = 0; i < TRIES; i++) {
		fd = syscall(SYS_openat2, recording->root, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN)
			return -errno;
	}
	return -EAGAIN;
}

static int rec_open(const struct kernel *k, const char *path, int flags)
{
	int access_mode = flags & O_ACCMODE;
	const char *mode = access_mode == O_RDONLY ? "r" : access_mode == O_WRONLY ? "w" : "rw";
	const char *answer = recording_find(k, "open", path, mode);

	if (answer && recording_result(answer) < 0)
		return recording_result(answer);
	if (answer && access_mode != O_RDONLY)
		return recording_open(k, "/", O_PATH);
	if (access_mode == O_RDONLY)
		return recording_open(k, path, flags);
	return NOT_RECORDED;
}

static ssize_t rec_read(const struct kernel *k, int fd, void *buf, size_t size)
{
	return kernel_live.read(k, fd, buf, size);
}

static int rec_close(const struct kernel *k, int fd)
{
	return kernel_live.close(k, fd);
}

static int rec_fstat(const struct kernel *k, int fd, struct node *ret)
{
	return kernel_live.fstat(k, fd, ret);
}

static enum node_type type_from_name(const char *name)
{
	static const char *const names[] = {
		[NODE_FILE] = "file", [NODE_DIR] = "dir",     [NODE_LINK] = "link",
		[NODE_CHAR] = "char", [NODE_BLOCK] = "block", [NODE_SOCKET] = "socket",
		[NODE_FIFO] = "fifo",
	};

	for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return (enum node_type)i;
	return NODE_OTHER;
}

static int parse_device(char *word, struct node *ret)
{
	char *colon = strchr(word, ':');
	uint64_t major;
	uint64_t minor;

	if (!colon)
		return -EINVAL;
	*colon = '\0';
	if (text_uint(word, 10, UINT32_MAX, &major) < 0 ||
	    text_uint(colon + 1, 10, UINT32_MAX, &minor) < 0)
		return -EINVAL;
	ret->major = (uint32_t)major;
	ret->minor = (uint32_t)minor;
	return 0;
}

/* "char 226:0 0660 0 44" */
static int parse_node(const char *answer, struct node *ret)
{
	char copy[128];
	char *cursor = copy;
	struct node node = { 0 };
	uint64_t mode;
	uint64_t uid;
	uint64_t gid;
	char *word;

	if (!text_copy(copy, sizeof(copy), answer) || !(word = text_word(&cursor)))
		return -EINVAL;
	node.type = type_from_name(word);
	word = text_word(&cursor);
	if ((node.type == NODE_CHAR || node.type == NODE_BLOCK) && word) {
		if (parse_device(word, &node) < 0)
			return -EINVAL;
		word = text_word(&cursor);
	}
	if (node.type == NODE_OTHER || !word || text_uint(word, 8, 07777, &mode) < 0)
		return -EINVAL;
	if (!(word = text_word(&cursor)) || text_uint(word, 10, UINT32_MAX, &uid) < 0)
		return -EINVAL;
	if (!(word = text_word(&cursor)) || text_uint(word, 10, UINT32_MAX, &gid) < 0)
		return -EINVAL;
	node.mode = (uint32_t)mode;
	node.uid = (uint32_t)uid;
	node.gid = (uint32_t)gid;
	*ret = node;
	return text_word(&cursor) ? -EINVAL : 0;
}

static int rec_stat(const struct kernel *k, const char *path, struct node *ret)
{
	const char *answer = recording_find(k, "stat", path, NULL);
	int fd;
	int r;

	if (answer)
		return errno_from_name(answer) ? -errno_from_name(answer) : parse_node(answer, ret);
	fd = recording_open(k, path, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	r = kernel_live.fstat(k, fd, ret);
	close(fd);
	/* Whoever checked the tree out owns its files; that says nothing of the machine's. */
	ret->uid = 0;
	ret->gid = 0;
	ret->device = 0;
	ret->inode = 0;
	return r;
}

static ssize_t rec_readlink(const struct kernel *k, const char *path, char *buf, size_t size)
{
	const char *answer = recording_find(k, "readlink", path, NULL);
	ssize_t n;
	int fd;

	if (answer)
		return text_answer(answer, buf, size);
	fd = recording_open(k, path, O_PATH | O_NOFOLLOW);
	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", buf, size);
	n = n < 0 ? (errno == ENOENT ? -EINVAL : -errno) : n;
	close(fd);
	if (n >= 0 && (size_t)n >= size)
		return -ENAMETOOLONG;
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

static ssize_t list_words(const char *answer, char *buf, size_t size)
{
	ssize_t count = 0;
	size_t len = strlen(answer) + 1;

	if (len > size)
		return -ENOSPC;
	if (!*answer)
		return 0;
	memcpy(buf, answer, len);
	for (size_t i = 0; i < len; i++) {
		if (buf[i] == ' ')
			buf[i] = '\0';
		count += buf[i] == '\0';
	}
	return count;
}

static ssize_t rec_list(const struct kernel *k, const char *path, char *buf, size_t size)
{
	const char *answer = recording_find(k, "list", path, NULL);
	ssize_t n;
	int fd;

	if (answer)
		return errno_from_name(answer) ? -errno_from_name(answer)
					       : list_words(answer, buf, size);
	fd = recording_open(k, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	n = names_list(fd, buf, size);
	close(fd);
	return n;
}

static int rec_access(const struct kernel *k, const char *path, int mode)
{
	char words[4];
	struct text t = TEXT_BUF(words);
	const char *answer;
	struct node node;
	int r;

	if (mode & R_OK)
		text_add(&t, "r");
	if (mode & W_OK)
		text_add(&t, "w");
	if (mode & X_OK)
		text_add(&t, "x");
	answer = recording_find(k, "access", path, words);
	if (answer)
		return recording_result(answer);
	r = rec_stat(k, path, &node);
	if (r < 0)
		return r;
	return (mode & ~R_OK) == 0 ? 0 : NOT_RECORDED;
}

static int rec_statfs(const struct kernel *k, const char *path, struct fs_info *ret)
{
	int64_t value[3] = { 0 };
	int n = recording_numbers(recording_find(k, "statfs", path, NULL), value, 3);

	if (n < 0)
		return n;
	*ret = (struct fs_info){ (uint64_t)value[0], (uint64_t)value[1], (uint64_t)value[2] };
	return 0;
}

static ssize_t rec_getxattr(const struct kernel *k, const char *path, const char *name, char *buf,
			    size_t size)
{
	const char *answer = recording_find(k, "getxattr", path, name);

	return answer ? text_answer(answer, buf, size) : NOT_RECORDED;
}

void recording_files(struct kernel *k)
{
	k->open = rec_open;
	k->read = rec_read;
	k->close = rec_close;
	k->fstat = rec_fstat;
	k->stat = rec_stat;
	k->readlink = rec_readlink;
	k->list = rec_list;
	k->access = rec_access;
	k->statfs = rec_statfs;
	k->getxattr = rec_getxattr;
}
