#include "tests/record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kabi/fault.h"
#include "kabi/text.h"

#define FILE_MAX (1 << 20)
#define PATH_MAX_HERE 1024
#define ROW_MAX 8192
#define ROWS_MAX (1 << 20)
#define LINES_MAX 4096

static const struct kernel *inner;
static int tree = -1;
static int rows = -1;
/* Shared: probes ask from a child of their own. */
static int *first_error;

static void failed(int err)
{
	if (!*first_error)
		*first_error = -err;
}

/* ---- rows ---- */

__attribute__((format(printf, 1, 2))) static void row(const char *format, ...)
{
	char line[ROW_MAX];
	va_list words;
	int n;

	va_start(words, format);
	n = vsnprintf(line, sizeof(line) - 1, format, words);
	va_end(words);
	if (n < 0 || (size_t)n >= sizeof(line) - 1) {
		failed(E2BIG);
		return;
	}
	line[n++] = '\n';
	if (write(rows, line, (size_t)n) != n)
		failed(EIO);
}

/* A number, or the name of an error. */
static const char *answer(long r)
{
	static char text[ERRNO_NAME_MAX];
	const char *name = r < 0 ? errno_name((int)-r, text) : "";

	if (errno_from_name(name))
		return name;
	snprintf(text, sizeof(text), "%ld", r);
	return text;
}

/* ---- files ---- */

static int make_directories(const char *path)
{
	char part[PATH_MAX_HERE];

	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (mkdirat(tree, part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static void keep(const char *path, const void *data, size_t size)
{
	int fd = -1;
	int r = make_directories(path + 1);

	if (r == 0)
		fd = openat(tree, path + 1, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (r < 0 || fd < 0 || write(fd, data, size) != (ssize_t)size)
		failed(r < 0 ? -r : errno);
	if (fd >= 0)
		close(fd);
}

/* Of an environment, which may hold secrets, only what probes look for. Returns the new length. */
static size_t without_secrets(char *data, size_t len)
{
	size_t kept = 0;
	size_t entry;

	for (size_t at = 0; at < len; at += entry) {
		entry = strnlen(data + at, len - at);
		entry += at + entry < len;
		if (strncmp(data + at, "container=", 10) != 0 &&
		    strncmp(data + at, "OARBANK_", 8) != 0)
			continue;
		memmove(data + kept, data + at, entry);
		kept += entry;
	}
	return kept;
}

/* Read a file for ourselves, from its beginning. What is no file, or is too long, is left out. */
static void keep_file(const char *path)
{
	static char data[FILE_MAX];
	int fd = inner->open(inner, path, O_RDONLY | O_NONBLOCK);
	ssize_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return;
	while (len < FILE_MAX &&
	       (n = inner->read(inner, fd, data + len, FILE_MAX - (size_t)len)) > 0)
		len += n;
	inner->close(inner, fd);
	if (text_ends(path, "/environ"))
		len = (ssize_t)without_secrets(data, (size_t)len);
	if (n == 0)
		keep(path, data, (size_t)len);
}

static int rec_open(const struct kernel *k, const char *path, int flags)
{
	int mode = flags & O_ACCMODE;
	const char *word = mode == O_RDONLY ? "r" : mode == O_WRONLY ? "w" : "rw";
	int fd = inner->open(inner, path, flags);

	(void)k;
	if (fd >= 0 && mode == O_RDONLY)
		keep_file(path);
	else if (mode != O_RDONLY || fd != -ENOENT)
		row("open %s %s = %s", path, word, answer(fd < 0 ? fd : 0));
	return fd;
}

static int rec_stat(const struct kernel *k, const char *path, struct node *ret)
{
	static const char *const types[] = {
		[NODE_FILE] = "file", [NODE_DIR] = "dir",     [NODE_LINK] = "link",
		[NODE_CHAR] = "char", [NODE_BLOCK] = "block", [NODE_SOCKET] = "socket",
		[NODE_FIFO] = "fifo",
	};
	int r = inner->stat(inner, path, ret);
	char device[32] = "";

	(void)k;
	if (r < 0 && r != -ENOENT)
		row("stat %s = %s", path, answer(r));
	if (r < 0 || ret->type == NODE_OTHER)
		return r;
	if (ret->type == NODE_CHAR || ret->type == NODE_BLOCK)
		snprintf(device, sizeof(device), " %u:%u", ret->major, ret->minor);
	row("stat %s = %s%s %04o %u %u", path, types[ret->type], device, ret->mode, ret->uid,
	    ret->gid);
	return r;
}

static ssize_t rec_readlink(const struct kernel *k, const char *path, char *buf, size_t size)
{
	ssize_t n = inner->readlink(inner, path, buf, size);

	(void)k;
	if (n >= 0)
		row("readlink %s = %.*s", path, (int)n, buf);
	else if (n != -ENOENT)
		row("readlink %s = %s", path, answer(n));
	return n;
}

static ssize_t rec_list(const struct kernel *k, const char *path, char *buf, size_t size)
{
	ssize_t count = inner->list(inner, path, buf, size);
	char names[ROW_MAX];
	struct text t = TEXT_BUF(names);
	const char *name = buf;

	(void)k;
	for (ssize_t i = 0; i < count; i++, name += strlen(name) + 1) {
		text_add(&t, " ");
		text_add(&t, name);
	}
	if (count >= 0)
		row("list %s =%s", path, names);
	else if (count != -ENOENT)
		row("list %s = %s", path, answer(count));
	if (t.cut)
		failed(E2BIG);
	return count;
}

static int rec_access(const struct kernel *k, const char *path, int mode)
{
	int r = inner->access(inner, path, mode);

	(void)k;
	if (r != -ENOENT)
		row("access %s %s%s%s = %s", path, mode & R_OK ? "r" : "", mode & W_OK ? "w" : "",
		    mode & X_OK ? "x" : "", answer(r));
	return r;
}

static int rec_statfs(const struct kernel *k, const char *path, struct fs_info *ret)
{
	int r = inner->statfs(inner, path, ret);

	(void)k;
	if (r < 0)
		row("statfs %s = %s", path, answer(r));
	else
		row("statfs %s = 0x%llx %llu %llu", path, (unsigned long long)ret->magic,
		    (unsigned long long)ret->block_size, (unsigned long long)ret->blocks_available);
	return r;
}

static ssize_t rec_getxattr(const struct kernel *k, const char *path, const char *name, char *buf,
			    size_t size)
{
	ssize_t n = inner->getxattr(inner, path, name, buf, size);

	(void)k;
	if (n < 0)
		row("getxattr %s %s = %s", path, name, answer(n));
	else
		row("getxattr %s %s = %.*s", path, name, (int)n, buf);
	return n;
}

/* ---- Landlock and seccomp ---- */

static int lowest_bit(uint64_t mask)
{
	return mask ? __builtin_ctzll(mask) : 0;
}

static int rec_ll_create(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
			 uint32_t flags)
{
	int r = inner->ll_create(inner, attr, size, flags);

	(void)k;
	if (flags)
		row("landlock %s = %s", flags == LL_CREATE_VERSION ? "version" : "errata",
		    answer(r));
	else
		row("landlock %s %d = %s",
		    attr->handled_fs	? "fs"
		    : attr->handled_net ? "net"
					: "scope",
		    lowest_bit(attr->handled_fs | attr->handled_net | attr->scoped),
		    answer(r < 0 ? r : 0));
	return r;
}

static int rec_ll_restrict(const struct kernel *k, int ruleset, uint32_t flags)
{
	int r = inner->ll_restrict(inner, ruleset, flags);

	(void)k;
	row("landlock restrict %d = %s", lowest_bit(flags), answer(r));
	return r;
}

static const char *word_of(const struct sc_word *words, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++)
		if (words[i].value == value)
			return words[i].name;
	return "?";
}

static int rec_seccomp(const struct kernel *k, unsigned operation, unsigned flags, const void *arg)
{
	int r = inner->seccomp(inner, operation, flags, arg);

	(void)k;
	while (flags & (flags - 1))
		flags &= flags - 1; /* the flag that is asked for, beside the one it needs */
	if (operation == SC_GET_ACTION_AVAIL)
		row("seccomp action %s = %s",
		    word_of(sc_actions, SC_ACTION_COUNT, *(const uint32_t *)arg), answer(r));
	else if (operation == SC_SET_MODE_FILTER && !arg)
		row("seccomp flag %s = %s", word_of(sc_flags, SC_FLAG_COUNT, flags), answer(r));
	return r;
}

/* ---- this process and the machine ---- */

static int rec_prctl(const struct kernel *k, int option, unsigned long a, unsigned long b,
		     unsigned long c, unsigned long d)
{
	int r = inner->prctl(inner, option, a, b, c, d);

	(void)k;
	row("prctl %d %lu = %s", option, a, answer(r));
	return r;
}

static int rec_capget(const struct kernel *k, struct cap_sets *ret)
{
	int r = inner->capget(inner, ret);

	(void)k;
	if (r < 0)
		row("capget = %s", answer(r));
	else
		row("capget = 0x%llx 0x%llx 0x%llx", (unsigned long long)ret->effective,
		    (unsigned long long)ret->permitted, (unsigned long long)ret->inheritable);
	return r;
}

static int rec_ids(const struct kernel *k, struct ids *ret)
{
	int r = inner->ids(inner, ret);
	char groups[ROW_MAX / 2];
	struct text t = TEXT_BUF(groups);

	(void)k;
	for (uint32_t i = 0; r >= 0 && i < ret->group_count; i++) {
		text_add(&t, " ");
		text_add_int(&t, ret->groups[i]);
	}
	if (r < 0)
		row("ids = %s", answer(r));
	else
		row("ids = %u %u%s", ret->uid, ret->gid, groups);
	return r;
}

static int rec_uname(const struct kernel *k, struct uts *ret)
{
	int r = inner->uname(inner, ret);

	(void)k;
	if (r < 0)
		return r;
	row("uname nodename = %s", ret->nodename);
	row("uname release = %s", ret->release);
	row("uname version = %s", ret->version);
	row("uname machine = %s", ret->machine);
	return r;
}

static int rec_cpu_count(const struct kernel *k)
{
	int r = inner->cpu_count(inner);

	(void)k;
	row("cpu_count = %s", answer(r));
	return r;
}

static int rec_io_uring_setup(const struct kernel *k, unsigned entries, void *params)
{
	int r = inner->io_uring_setup(inner, entries, params);

	(void)k;
	row("io_uring_setup = %s", answer(r < 0 ? r : 0));
	return r;
}

static int rec_try_unshare(const struct kernel *k, unsigned long flags)
{
	int r = inner->try_unshare(inner, flags);

	(void)k;
	row("unshare 0x%lx = %s", flags, answer(r));
	return r;
}

static int rec_try_foreign(const struct kernel *k, enum foreign_entry entry)
{
	int r = inner->try_foreign(inner, entry);

	(void)k;
	row("foreign %s = %s", entry == FOREIGN_I386 ? "i386" : "x32", answer(r));
	return r;
}

static ssize_t rec_route_dump(const struct kernel *k, unsigned type, const void *request,
			      size_t request_size, void *buf, size_t size)
{
	ssize_t n = inner->route_dump(inner, type, request, request_size, buf, size);
	char path[32];

	(void)k;
	snprintf(path, sizeof(path), "/net.%u", type);
	if (n >= 0)
		keep(path, buf, (size_t)n);
	row("route_dump %u = %s", type, n < 0 ? answer(n) : path);
	return n;
}

static long rec_library(const struct kernel *k, const char *question, long (*ask)(void *arg),
			void *arg)
{
	long r = inner->library(inner, question, ask, arg);

	(void)k;
	row("library %s = %s", question, answer(r));
	return r;
}

int recorder_open(const char *dir, const struct kernel *answers, struct kernel *ret)
{
	first_error = mmap(NULL, sizeof(*first_error), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (first_error == MAP_FAILED)
		return -errno;
	inner = answers;
	tree = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	rows = openat(tree, "kernel.calls", O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC,
		      0644);
	if (tree < 0 || rows < 0)
		return -errno;
	*ret = *answers;
	ret->open = rec_open;
	ret->stat = rec_stat;
	ret->readlink = rec_readlink;
	ret->list = rec_list;
	ret->access = rec_access;
	ret->statfs = rec_statfs;
	ret->getxattr = rec_getxattr;
	ret->ll_create = rec_ll_create;
	ret->ll_restrict = rec_ll_restrict;
	ret->seccomp = rec_seccomp;
	ret->prctl = rec_prctl;
	ret->capget = rec_capget;
	ret->ids = rec_ids;
	ret->uname = rec_uname;
	ret->cpu_count = rec_cpu_count;
	ret->io_uring_setup = rec_io_uring_setup;
	ret->try_unshare = rec_try_unshare;
	ret->try_foreign = rec_try_foreign;
	ret->route_dump = rec_route_dump;
	ret->library = rec_library;
	return 0;
}

/* The key of a row, up to its " =". */
static size_t key_length(const char *line)
{
	return (size_t)(strstr(line, " =") - line);
}

static bool asked_later(char *const *lines, size_t count, size_t at)
{
	size_t len = key_length(lines[at]);

	for (size_t i = at + 1; i < count; i++)
		if (key_length(lines[i]) == len && strncmp(lines[i], lines[at], len) == 0)
			return true;
	return false;
}

/* Each question once, with its last answer: some are asked again after something was done about
 * the first.
 */
static int leave_last_answers(void)
{
	static char text[ROWS_MAX];
	char *lines[LINES_MAX];
	char *cursor = text;
	size_t count = 0;
	ssize_t len = pread(rows, text, sizeof(text) - 1, 0);

	if (len < 0 || len == sizeof(text) - 1)
		return len < 0 ? -errno : -E2BIG;
	while (count < LINES_MAX && (lines[count] = text_line(&cursor)))
		count++;
	if (count == LINES_MAX)
		return -E2BIG;
	if (ftruncate(rows, 0) < 0)
		return -errno;
	for (size_t i = 0; i < count; i++)
		if (!asked_later(lines, count, i))
			row("%s", lines[i]);
	return 0;
}

int recorder_close(void)
{
	int r = leave_last_answers();

	r = *first_error ? *first_error : r;
	close(rows);
	close(tree);
	munmap(first_error, sizeof(*first_error));
	return r;
}
