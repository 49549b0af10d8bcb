#include "kabi/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "kabi/machine.h"
#include "kabi/names.h"
#include "kabi/process.h"

/* The same numbers on every architecture; old headers lack them. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define RESOLVE_NO_SYMLINKS 0x04
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

/* ---- files ---- */

static int live_open(const struct kernel *k, const char *path, int flags)
{
	(void)k;
	/* Not open(2): musl follows it with an fcntl(2) for kernels that do not know O_CLOEXEC. */
	return result(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC));
}

static int live_open_nolinks(const struct kernel *k, const char *path, int flags)
{
	/* struct open_how */
	uint64_t how[3] = { (uint64_t)flags | O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS };

	(void)k;
	return result(syscall(SYS_openat2, AT_FDCWD, path, how, sizeof(how)));
}

static ssize_t live_read(const struct kernel *k, int fd, void *buf, size_t size)
{
	ssize_t n = read(fd, buf, size);

	(void)k;
	return n < 0 ? -errno : n;
}

static ssize_t live_write(const struct kernel *k, int fd, const void *buf, size_t size)
{
	ssize_t n = write(fd, buf, size);

	(void)k;
	return n < 0 ? -errno : n;
}

static int live_close(const struct kernel *k, int fd)
{
	(void)k;
	return result(close(fd));
}

static enum node_type type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return NODE_FILE;
	case S_IFDIR:
		return NODE_DIR;
	case S_IFLNK:
		return NODE_LINK;
	case S_IFCHR:
		return NODE_CHAR;
	case S_IFBLK:
		return NODE_BLOCK;
	case S_IFSOCK:
		return NODE_SOCKET;
	case S_IFIFO:
		return NODE_FIFO;
	default:
		return NODE_OTHER;
	}
}

static void node_from_stat(const struct stat *st, struct node *ret)
{
	*ret = (struct node){
		.type = type_of(st->st_mode),
		.mode = st->st_mode & 07777,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.device = st->st_dev,
		.inode = st->st_ino,
	};
	if (ret->type == NODE_CHAR || ret->type == NODE_BLOCK) {
		ret->major = (uint32_t)major(st->st_rdev);
		ret->minor = (uint32_t)minor(st->st_rdev);
	}
}

static int live_fstat(const struct kernel *k, int fd, struct node *ret)
{
	struct stat st;

	(void)k;
	if (fstat(fd, &st) < 0)
		return -errno;
	node_from_stat(&st, ret);
	return 0;
}

static int live_stat(const struct kernel *k, const char *path, struct node *ret)
{
	struct stat st;

	(void)k;
	if (lstat(path, &st) < 0)
		return -errno;
	node_from_stat(&st, ret);
	return 0;
}

static ssize_t live_readlink(const struct kernel *k, const char *path, char *buf, size_t size)
{
	ssize_t n = readlink(path, buf, size);

	(void)k;
	if (n < 0)
		return -errno;
	if ((size_t)n >= size)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return n;
}

static ssize_t live_list(const struct kernel *k, const char *path, char *buf, size_t size)
{
	int fd = live_open(k, path, O_RDONLY | O_DIRECTORY);
	ssize_t count;

	if (fd < 0)
		return fd;
	count = names_list(fd, buf, size);
	close(fd);
	return count;
}

/* The older call goes by the real ids. */
static int old_access(const char *path, int mode)
{
	int r;

	if (getuid() != geteuid() || getgid() != getegid())
		return -ENOSYS;
	r = result(syscall(SYS_faccessat, AT_FDCWD, path, mode));
	/* No kernel refuses to say that the root directory is there; a filter does, and to all. */
	if (r == -EPERM && syscall(SYS_faccessat, AT_FDCWD, "/", F_OK) < 0)
		return -ENOSYS;
	return r;
}

static int live_access(const struct kernel *k, const char *path, int mode)
{
	(void)k;
	if (syscall(SYS_faccessat2, AT_FDCWD, path, mode, AT_EACCESS) == 0)
		return 0;
	/* Before Linux 5.8, or refused by a filter that predates the call. Not by faccessat(3), to
	 * which that refusal is the answer. */
	return errno == ENOSYS || errno == EPERM ? old_access(path, mode) : -errno;
}

static int give_fs(int r, const struct statfs *fs, struct fs_info *ret)
{
	if (r < 0)
		return -errno;
	*ret = (struct fs_info){
		.magic = (uint64_t)(uint32_t)fs->f_type,
		.block_size = (uint64_t)(fs->f_frsize ? fs->f_frsize : fs->f_bsize),
		.blocks_available = fs->f_bavail,
	};
	return 0;
}

static int live_statfs(const struct kernel *k, const char *path, struct fs_info *ret)
{
	struct statfs fs;

	(void)k;
	return give_fs(statfs(path, &fs), &fs, ret);
}

static int live_fstatfs(const struct kernel *k, int fd, struct fs_info *ret)
{
	struct statfs fs;

	(void)k;
	return give_fs(fstatfs(fd, &fs), &fs, ret);
}

static ssize_t live_getxattr(const struct kernel *k, const char *path, const char *name, char *buf,
			     size_t size)
{
	ssize_t n = getxattr(path, name, buf, size - 1);

	(void)k;
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

/* ---- Landlock and seccomp ---- */

static int live_ll_create(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
			  uint32_t flags)
{
	(void)k;
	return result(syscall(SYS_landlock_create_ruleset, attr, size, flags));
}

static int live_ll_add_path(const struct kernel *k, int ruleset,
			    const struct ll_path_beneath_attr *rule)
{
	(void)k;
	return result(syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH_BENEATH, rule, 0));
}

static int live_ll_add_port(const struct kernel *k, int ruleset,
			    const struct ll_net_port_attr *rule)
{
	(void)k;
	return result(syscall(SYS_landlock_add_rule, ruleset, LL_RULE_NET_PORT, rule, 0));
}

static int live_ll_restrict(const struct kernel *k, int ruleset, uint32_t flags)
{
	(void)k;
	return result(syscall(SYS_landlock_restrict_self, ruleset, flags));
}

static int live_seccomp(const struct kernel *k, unsigned operation, unsigned flags, const void *arg)
{
	(void)k;
	return result(syscall(SYS_seccomp, operation, flags, arg));
}

static int live_send_descriptor(const struct kernel *k, int socket, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .room = { 0 } };
	struct iovec byte = { .iov_base = (char[]){ 'L' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	ssize_t n;

	(void)k;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	n = sendmsg(socket, &message, MSG_NOSIGNAL);
	return n == 1 ? 0 : n < 0 ? -errno : -EIO;
}

/* ---- this process ---- */

static int live_prctl(const struct kernel *k, int option, unsigned long a, unsigned long b,
		      unsigned long c, unsigned long d)
{
	(void)k;
	return result(prctl(option, a, b, c, d));
}

/* _LINUX_CAPABILITY_VERSION_3: two 32-bit halves, low first. */
struct cap_header {
	uint32_t version;
	int pid;
};

struct cap_half {
	uint32_t effective;
	uint32_t permitted;
	uint32_t inheritable;
};

static int live_capget(const struct kernel *k, struct cap_sets *ret)
{
	struct cap_header header = { .version = 0x20080522 };
	struct cap_half half[2];

	(void)k;
	if (syscall(SYS_capget, &header, half) < 0)
		return -errno;
	*ret = (struct cap_sets){
		.effective = half[0].effective | (uint64_t)half[1].effective << 32,
		.permitted = half[0].permitted | (uint64_t)half[1].permitted << 32,
		.inheritable = half[0].inheritable | (uint64_t)half[1].inheritable << 32,
	};
	return 0;
}

static int live_capset(const struct kernel *k, const struct cap_sets *sets)
{
	struct cap_header header = { .version = 0x20080522 };
	struct cap_half half[2] = {
		{ (uint32_t)sets->effective, (uint32_t)sets->permitted,
		  (uint32_t)sets->inheritable },
		{ (uint32_t)(sets->effective >> 32), (uint32_t)(sets->permitted >> 32),
		  (uint32_t)(sets->inheritable >> 32) },
	};

	(void)k;
	return result(syscall(SYS_capset, &header, half));
}

static int live_ids(const struct kernel *k, struct ids *ret)
{
	gid_t groups[IDS_GROUPS_MAX];
	int n;

	(void)k;
	n = getgroups(IDS_GROUPS_MAX, groups);
	if (n < 0)
		return -errno;
	*ret = (struct ids){ .uid = geteuid(), .gid = getegid(), .group_count = (uint32_t)n };
	for (int i = 0; i < n; i++)
		ret->groups[i] = groups[i];
	return 0;
}

static int live_close_range(const struct kernel *k, unsigned first, unsigned last, unsigned flags)
{
	(void)k;
	return result(syscall(SYS_close_range, first, last, flags));
}

static int live_fcntl(const struct kernel *k, int fd, int command, long arg)
{
	(void)k;
	return result(fcntl(fd, command, arg));
}

static int live_isatty(const struct kernel *k, int fd)
{
	(void)k;
	return isatty(fd);
}

/* The kernel's struct sigaction differs by architecture in what follows the handler, but all of
 * that may be zero. It is not larger than this anywhere.
 */
static int set_disposition(int number, uintptr_t handler)
{
	uintptr_t action[4] = { handler };

	return result(syscall(SYS_rt_sigaction, number, action, NULL, 8));
}

static int live_signal_default(const struct kernel *k, int number)
{
	(void)k;
	return set_disposition(number, (uintptr_t)SIG_DFL);
}

static int live_signal_ignore(const struct kernel *k, int number)
{
	(void)k;
	return set_disposition(number, (uintptr_t)SIG_IGN);
}

static int live_signal_unblock_all(const struct kernel *k)
{
	const uint64_t none = 0;

	(void)k;
	return result(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)));
}

static int live_rlimit(const struct kernel *k, int resource, uint64_t soft, uint64_t hard)
{
	const uint64_t limit[2] = { soft, hard };

	(void)k;
	/* Not setrlimit(2): musl brings its thread machinery along with it. */
	return result(syscall(SYS_prlimit64, 0, resource, limit, NULL));
}

static int live_execve(const struct kernel *k, const char *path, char *const argv[],
		       char *const envp[])
{
	(void)k;
	return result(execve(path, argv, envp));
}

/* clang-format off */
#define CALLS_ON_ONESELF \
	.open = live_open, \
	.open_nolinks = live_open_nolinks, \
	.read = live_read, \
	.write = live_write, \
	.close = live_close, \
	.fstat = live_fstat, \
	.stat = live_stat, \
	.readlink = live_readlink, \
	.list = live_list, \
	.statfs = live_statfs, \
	.fstatfs = live_fstatfs, \
	.ll_create = live_ll_create, \
	.ll_add_path = live_ll_add_path, \
	.ll_add_port = live_ll_add_port, \
	.ll_restrict = live_ll_restrict, \
	.seccomp = live_seccomp, \
	.send_descriptor = live_send_descriptor, \
	.prctl = live_prctl, \
	.capget = live_capget, \
	.capset = live_capset, \
	.close_range = live_close_range, \
	.isatty = live_isatty, \
	.signal_default = live_signal_default, \
	.signal_ignore = live_signal_ignore, \
	.signal_unblock_all = live_signal_unblock_all, \
	.rlimit = live_rlimit, \
	.execve = live_execve
/* clang-format on */

const struct kernel kernel_self = { CALLS_ON_ONESELF };

const struct kernel kernel_live = {
	CALLS_ON_ONESELF,
	.access = live_access,
	.getxattr = live_getxattr,
	.ids = live_ids,
	.fcntl = live_fcntl,
	.uname = machine_uname,
	.cpu_count = machine_cpu_count,
	.io_uring_setup = machine_io_uring_setup,
	.try_unshare = machine_try_unshare,
	.try_foreign = machine_try_foreign,
	.route_dump = machine_route_dump,
	.library = machine_library,
	.create = process_create,
	.rename = process_rename,
	.unlink = process_unlink,
	.mkdir = process_mkdir,
	.rmdir = process_rmdir,
	.lock = process_lock,
	.chdir = process_chdir,
	.dup_onto = process_dup_onto,
	.pipe = process_pipe,
	.channel = process_channel,
	.send = process_send,
	.clone = process_clone,
	.pidfd_open = process_pidfd_open,
	.pidfd_signal = process_pidfd_signal,
	.kill = process_kill,
	.wait = process_wait,
	.children_usage = process_children_usage,
	.poll = process_poll,
	.signal_fd = process_signal_fd,
	.signal_mask = process_signal_mask,
	.setsid = process_setsid,
	.getpid = process_getpid,
	.getppid = process_getppid,
	.now_us = process_now_us,
	.exit = process_exit,
};
