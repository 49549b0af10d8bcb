#include "launch/run/leaf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "kabi/file.h"
#include "kabi/lines.h"
#include "kabi/path.h"
#include "kabi/text.h"

#define NAME_TRIES 64
#define NAMES_MAX (64 << 10)
#define CPU_PERIOD_US 100000
#define PAUSE_MS 1
#define FREEZE_PAUSES 2000
#define REMOVE_PAUSES 1000
#define KILL_ROUNDS 1000
#define ENDING_PAUSES 20 /* what got its signal by cgroup.kill is gone by then, as a rule */

static void pause_ms(const struct kernel *k, int ms)
{
	k->poll(k, NULL, 0, ms);
}

static int write_file(const struct kernel *k, const struct leaf *leaf, const char *name,
		      const char *text, struct fault *why)
{
	char path[CGROUP_PATH_MAX];
	int r;

	if (!path_join(path, sizeof(path), leaf->dir, name))
		return fault_errno(why, "write a file of", leaf->dir, ENAMETOOLONG);
	r = file_write(k, path, text);
	return r < 0 ? fault_errno(why, "write", path, -r) : 0;
}

static int write_number(const struct kernel *k, const struct leaf *leaf, const char *name,
			uint64_t value, struct fault *why)
{
	char text[24];
	struct text t = TEXT_BUF(text);

	text_add_int(&t, (int64_t)value);
	return write_file(k, leaf, name, text, why);
}

/* The number behind "KEY " in a file of such lines. */
static int read_value(const struct kernel *k, const struct leaf *leaf, const char *name,
		      const char *key, uint64_t *ret)
{
	char path[CGROUP_PATH_MAX];
	char text[4096];
	char *cursor = text;
	char *line;
	ssize_t n;

	if (!path_join(path, sizeof(path), leaf->dir, name))
		return -ENAMETOOLONG;
	n = file_read(k, path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	while ((line = text_line(&cursor))) {
		const char *word = text_word(&line);

		if (word && strcmp(word, key) == 0) {
			word = text_word(&line);
			return word ? text_uint(word, 10, UINT64_MAX, ret) : -EINVAL;
		}
	}
	return -ENODATA;
}

/* ---- limits ---- */

static int limit_memory(const struct kernel *k, struct leaf *leaf, uint64_t bytes,
			struct fault *why)
{
	int r = write_number(k, leaf, "memory.max", bytes, why);

	if (r == 0)
		r = write_file(k, leaf, "memory.oom.group", "1", why);
	if (r < 0)
		return r;
	/* Not there where the kernel does not count swap, or has none. */
	r = write_file(k, leaf, "memory.swap.max", "0", why);
	leaf->swap_limited = r == 0;
	return r == -ENOENT ? 0 : r;
}

static int limit_cpu(const struct kernel *k, struct leaf *leaf, uint32_t milli, struct fault *why)
{
	char text[48];
	struct text t = TEXT_BUF(text);

	text_add_int(&t, (int64_t)milli * (CPU_PERIOD_US / 1000));
	text_add(&t, " ");
	text_add_int(&t, CPU_PERIOD_US);
	return write_file(k, leaf, "cpu.max", text, why);
}

static int set_limits(const struct kernel *k, const struct limits *limits, struct leaf *leaf,
		      struct fault *why)
{
	int r = 0;

	if (limits->memory_bytes)
		r = limit_memory(k, leaf, limits->memory_bytes, why);
	if (r == 0 && limits->cpu_milli)
		r = limit_cpu(k, leaf, limits->cpu_milli, why);
	if (r == 0 && limits->pids)
		r = write_number(k, leaf, "pids.max", limits->pids, why);
	return r;
}

/* ---- making it ---- */

/* Below a threaded cgroup a new one is of a type that takes no process. */
static int check_type(const struct kernel *k, const struct leaf *leaf, struct fault *why)
{
	char path[CGROUP_PATH_MAX];
	char type[64];
	ssize_t n;

	if (!path_join(path, sizeof(path), leaf->dir, "cgroup.type"))
		return fault_errno(why, "read a file of", leaf->dir, ENAMETOOLONG);
	n = file_read_line(k, path, type, sizeof(type));
	if (n < 0)
		return fault_errno(why, "read", path, (int)-n);
	if (strcmp(type, "domain") == 0)
		return 0;
	fault_join(why, "a cgroup made here is of type '", type, "'", NULL);
	return -EOPNOTSUPP;
}

bool leaf_is_name(const char *name)
{
	static const char digits[] = "0123456789";
	size_t pid;
	size_t number;

	if (!text_starts(name, LEAF_PREFIX))
		return false;
	name += sizeof(LEAF_PREFIX) - 1;
	pid = strspn(name, digits);
	if (pid == 0 || name[pid] != '.')
		return false;
	number = strspn(name + pid + 1, digits);
	return number > 0 && name[pid + 1 + number] == '\0';
}

static bool name_it(const struct kernel *k, const struct delegation *d, struct leaf *leaf)
{
	static unsigned made;
	char name[64];
	struct text t = TEXT_BUF(name);

	text_add(&t, LEAF_PREFIX);
	text_add_int(&t, k->getpid(k));
	text_add(&t, ".");
	text_add_int(&t, made++);
	return path_join(leaf->dir, sizeof(leaf->dir), d->dir, name);
}

/* Make the directory and lock it. -EAGAIN: another start took it for a left one, or it is one. */
static int make_directory(const struct kernel *k, struct leaf *leaf, struct fault *why)
{
	int r = k->mkdir(k, leaf->dir, 0755);

	if (r == -EEXIST)
		return -EAGAIN;
	if (r < 0)
		return fault_errno(why, "make", leaf->dir, -r);
	leaf->fd = k->open(k, leaf->dir, O_RDONLY | O_DIRECTORY);
	if (leaf->fd == -ENOENT)
		return -EAGAIN;
	if (leaf->fd < 0) {
		r = fault_errno(why, "open", leaf->dir, -leaf->fd);
		k->rmdir(k, leaf->dir);
		return r;
	}
	r = k->lock(k, leaf->fd);
	/* Between our open and our lock another start may have locked and removed it. */
	if (r == 0)
		r = k->access(k, leaf->dir, F_OK);
	if (r == 0)
		return 0;
	k->close(k, leaf->fd);
	if (r == -EWOULDBLOCK || r == -ENOENT)
		return -EAGAIN;
	k->rmdir(k, leaf->dir);
	return fault_errno(why, "lock", leaf->dir, -r);
}

int leaf_make(const struct kernel *k, const struct delegation *d, const struct limits *limits,
	      struct leaf *ret, struct fault *why)
{
	struct leaf leaf = { .fd = -1 };
	int r = k->rmdir(k, "");

	/* A filter around this process may refuse to remove it. No name at all is not there. */
	if (r != -ENOENT)
		return fault_errno(why, "a container could not be removed: rmdir", NULL,
				   r < 0 ? -r : EIO);
	r = -EAGAIN;
	for (int i = 0; r == -EAGAIN && i < NAME_TRIES; i++) {
		if (!name_it(k, d, &leaf))
			return fault_errno(why, "make a container in", d->dir, ENAMETOOLONG);
		r = make_directory(k, &leaf, why);
	}
	if (r == -EAGAIN)
		return fault_errno(why, "make a container in", d->dir, EEXIST);
	if (r < 0)
		return r;
	r = check_type(k, &leaf, why);
	if (r == 0)
		r = set_limits(k, limits, &leaf, why);
	if (r < 0) {
		k->rmdir(k, leaf.dir);
		k->close(k, leaf.fd);
		return r;
	}
	*ret = leaf;
	return 0;
}

int leaf_enter(const struct kernel *k, const struct leaf *leaf, struct fault *why)
{
	return write_file(k, leaf, "cgroup.procs", "0", why);
}

pid_t leaf_clone(const struct kernel *k, const struct leaf *leaf, bool *ret_outside)
{
	pid_t pid = k->clone(k, leaf->fd);

	*ret_outside = pid == -ENOSYS || pid == -EPERM || pid == -EINVAL || pid == -E2BIG;
	return *ret_outside ? k->clone(k, -1) : pid;
}

/* ---- its processes ---- */

struct members {
	const struct kernel *k;
	int signal; /* 0: only count */
	int count;
};

static bool each_member(void *arg, char *line)
{
	struct members *m = arg;
	int64_t pid;

	/* "0" stands for a process of another pid namespace. */
	if (text_int(line, 0, INT_MAX, &pid) < 0)
		return true;
	m->count++;
	if (pid > 0 && m->signal)
		m->k->kill(m->k, (pid_t)pid, m->signal);
	return true;
}

static int visit(const struct kernel *k, const struct leaf *leaf, int signal)
{
	struct members m = { .k = k, .signal = signal };
	char path[CGROUP_PATH_MAX];
	int r = -ENAMETOOLONG;

	if (path_join(path, sizeof(path), leaf->dir, "cgroup.procs"))
		r = lines_read(k, path, '\n', each_member, &m);
	return r < 0 ? r : m.count;
}

int leaf_count(const struct kernel *k, const struct leaf *leaf)
{
	return visit(k, leaf, 0);
}

int leaf_freeze(const struct kernel *k, const struct leaf *leaf, bool freeze, struct fault *why)
{
	int r = write_file(k, leaf, "cgroup.freeze", freeze ? "1" : "0", why);

	for (int i = 0; r == 0 && i < FREEZE_PAUSES; i++) {
		uint64_t frozen;

		r = read_value(k, leaf, "cgroup.events", "frozen", &frozen);
		if (r < 0)
			return fault_errno(why, "read cgroup.events of", leaf->dir, -r);
		if (frozen == freeze)
			return 0;
		pause_ms(k, PAUSE_MS);
	}
	return r < 0 ? r : fault_errno(why, freeze ? "freeze" : "thaw", leaf->dir, ETIMEDOUT);
}

/* The answers of a cgroup that has been removed, by its path or by a file that was open. */
static bool is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV;
}

/* Frozen processes fork no more, and die of SIGKILL all the same. What was in the middle of a fork
 * while it was being frozen is found in a later round.
 */
static int kill_one_by_one(const struct kernel *k, const struct leaf *leaf, struct fault *why)
{
	int r = 1;

	write_file(k, leaf, "cgroup.freeze", "1", NULL);
	for (int i = 0; r > 0 && i < KILL_ROUNDS; i++) {
		r = visit(k, leaf, SIGKILL);
		if (r > 0)
			pause_ms(k, PAUSE_MS);
	}
	write_file(k, leaf, "cgroup.freeze", "0", NULL);
	if (is_gone(r))
		return 0;
	if (r < 0)
		return fault_errno(why, "end what is in", leaf->dir, -r);
	return r > 0 ? fault_errno(why, "end what is in", leaf->dir, ETIMEDOUT) : 0;
}

/* cgroup.kill is a signal to each main thread, and lost where that one has ended while others go
 * on. A signal to the process reaches those.
 */
static int kill_what_stays(const struct kernel *k, const struct leaf *leaf, struct fault *why)
{
	int r = visit(k, leaf, SIGKILL);

	for (int i = 0; r > 0 && i < ENDING_PAUSES; i++) {
		pause_ms(k, PAUSE_MS);
		r = visit(k, leaf, SIGKILL);
	}
	return r == 0 || is_gone(r) ? 0 : kill_one_by_one(k, leaf, why);
}

int leaf_kill(const struct kernel *k, const struct leaf *leaf, struct fault *why)
{
	int r = write_file(k, leaf, "cgroup.kill", "1", why);

	if (r == 0)
		return kill_what_stays(k, leaf, why);
	if (r == -ENOENT)
		return kill_one_by_one(k, leaf, why);
	return is_gone(r) ? 0 : r;
}

/* ---- what it used ---- */

/* The peak is there since Linux 5.19. What is charged at the end says nothing about it. */
static uint64_t memory_peak(const struct kernel *k, const struct leaf *leaf)
{
	char path[CGROUP_PATH_MAX];
	int64_t value;

	if (path_join(path, sizeof(path), leaf->dir, "memory.peak") &&
	    file_read_int(k, path, &value) == 0 && value > 0)
		return (uint64_t)value;
	return 0;
}

int leaf_usage(const struct kernel *k, const struct leaf *leaf, struct leaf_usage *ret)
{
	struct leaf_usage usage = { 0 };
	int r = read_value(k, leaf, "cpu.stat", "usage_usec", &usage.cpu_us);

	if (read_value(k, leaf, "memory.events", "oom_kill", &usage.oom_kills) == 0)
		usage.memory_peak = memory_peak(k, leaf);
	*ret = usage;
	return r;
}

/* ---- removing ---- */

static int remove_directory(const struct kernel *k, const char *dir)
{
	int r = k->rmdir(k, dir);

	for (int i = 0; r == -EBUSY && i < REMOVE_PAUSES; i++) {
		pause_ms(k, PAUSE_MS);
		r = k->rmdir(k, dir);
	}
	return r == -ENOENT ? 0 : r;
}

int leaf_remove(const struct kernel *k, struct leaf *leaf, struct fault *why)
{
	int r = remove_directory(k, leaf->dir);

	if (leaf->fd >= 0)
		k->close(k, leaf->fd);
	leaf->fd = -1;
	return r < 0 ? fault_errno(why, "remove", leaf->dir, -r) : 0;
}

/* The first reason is kept. */
static void leave(struct reaped *reaped, const struct fault *why)
{
	reaped->left++;
	if (!reaped->why.text[0])
		reaped->why = *why;
}

/* Returns 1 with the lock, 0 when somebody has it or the leaf is gone, or -errno with `why`. */
static int take_left(const struct kernel *k, struct leaf *leaf, struct fault *why)
{
	int r;

	leaf->fd = k->open(k, leaf->dir, O_RDONLY | O_DIRECTORY);
	if (is_gone(leaf->fd))
		return 0;
	if (leaf->fd < 0)
		return fault_errno(why, "open", leaf->dir, -leaf->fd);
	r = k->lock(k, leaf->fd);
	if (r == 0)
		return 1;
	k->close(k, leaf->fd);
	return r == -EWOULDBLOCK ? 0 : fault_errno(why, "lock", leaf->dir, -r);
}

static void reap_one(const struct kernel *k, struct leaf *leaf, struct reaped *ret)
{
	struct fault not_ended = { "" };
	struct fault why;
	int r = take_left(k, leaf, &why);
	int count;

	if (r < 0)
		leave(ret, &why);
	if (r <= 0)
		return;
	count = leaf_count(k, leaf);
	if (count > 0) {
		ret->processes += (unsigned)count;
		leaf_kill(k, leaf, &not_ended);
	}
	if (leaf_remove(k, leaf, &why) == 0)
		ret->containers++;
	else
		leave(ret, not_ended.text[0] ? &not_ended : &why);
}

void leaf_reap(const struct kernel *k, const struct delegation *d, struct reaped *ret)
{
	static char names[NAMES_MAX];
	const char *name = names;
	ssize_t count = k->list(k, d->dir, names, sizeof(names));

	*ret = (struct reaped){ 0 };
	for (ssize_t i = 0; i < count; i++, name += strlen(name) + 1) {
		struct leaf leaf;

		if (leaf_is_name(name) && path_join(leaf.dir, sizeof(leaf.dir), d->dir, name))
			reap_one(k, &leaf, ret);
	}
}
