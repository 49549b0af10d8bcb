/* The kernel as a table of calls. All code asks through `const struct kernel *k`, its first
 * parameter, so that a test can answer instead, and so that `--root` can read a recorded machine.
 *
 * Every member returns a value >= 0, or -errno; none sets errno. Every descriptor is O_CLOEXEC.
 * Paths are absolute, as the kernel in question names them.
 */
#ifndef KABI_KERNEL_H
#define KABI_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/landlock.h"
#include "kabi/seccomp.h"

enum node_type {
	NODE_OTHER,
	NODE_FILE,
	NODE_DIR,
	NODE_LINK,
	NODE_CHAR,
	NODE_BLOCK,
	NODE_SOCKET,
	NODE_FIFO,
};

struct node {
	enum node_type type;
	uint32_t mode; /* permission bits, 07777 */
	uint32_t uid;
	uint32_t gid;
	uint32_t major; /* of a device, else 0 */
	uint32_t minor;
	uint64_t device; /* st_dev and st_ino: which file it is; 0 in a recording */
	uint64_t inode;
};

struct fs_info {
	uint64_t magic; /* statfs(2) f_type */
	uint64_t block_size;
	uint64_t blocks_available; /* to an unprivileged user, in block_size units */
};

/* linux_capability_version_3 */
struct cap_sets {
	uint64_t effective;
	uint64_t permitted;
	uint64_t inheritable;
};

#define IDS_GROUPS_MAX 256
struct ids {
	uint32_t uid;
	uint32_t gid;			 /* both effective */
	uint32_t groups[IDS_GROUPS_MAX]; /* supplementary */
	uint32_t group_count;
};

#define UTS_TEXT_MAX 65
struct uts {
	char nodename[UTS_TEXT_MAX];
	char release[UTS_TEXT_MAX];
	char version[UTS_TEXT_MAX];
	char machine[UTS_TEXT_MAX];
};

/* How another instruction set's system calls may be entered from a 64-bit process. */
enum foreign_entry {
	FOREIGN_I386, /* int $0x80 on x86-64 */
	FOREIGN_X32,  /* a number with SC_X32_BIT on x86-64 */
};

/* How a child ended. */
struct ended {
	pid_t pid;
	int code;   /* of its exit, or -1 */
	int signal; /* that ended it, or 0 */
};

/* What the ended and waited-for children of this process used, and their own such children. */
struct usage {
	uint64_t cpu_us;
	uint64_t peak_bytes; /* resident, of the one that had most */
};

struct pollfd;

struct kernel {
	/* Files. */
	int (*open)(const struct kernel *k, const char *path, int flags);
	/* The same, but -ELOOP when any component of `path` is a symbolic link (openat2). */
	int (*open_nolinks)(const struct kernel *k, const char *path, int flags);
	ssize_t (*read)(const struct kernel *k, int fd, void *buf, size_t size);
	ssize_t (*write)(const struct kernel *k, int fd, const void *buf, size_t size);
	int (*close)(const struct kernel *k, int fd);
	int (*fstat)(const struct kernel *k, int fd, struct node *ret);
	/* lstat: a symbolic link is itself. */
	int (*stat)(const struct kernel *k, const char *path, struct node *ret);
	ssize_t (*readlink)(const struct kernel *k, const char *path, char *buf, size_t size);
	/* Names in a directory but "." and "..", sorted by byte, each ended by NUL, in buf[size].
	 * Returns how many; -ENOSPC when they do not fit.
	 */
	ssize_t (*list)(const struct kernel *k, const char *path, char *buf, size_t size);
	/* With the effective ids; `mode` as in access(2). */
	int (*access)(const struct kernel *k, const char *path, int mode);
	int (*statfs)(const struct kernel *k, const char *path, struct fs_info *ret);
	int (*fstatfs)(const struct kernel *k, int fd, struct fs_info *ret);
	ssize_t (*getxattr)(const struct kernel *k, const char *path, const char *name, char *buf,
			    size_t size);

	/* Landlock and seccomp. */
	int (*ll_create)(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
			 uint32_t flags);
	int (*ll_add_path)(const struct kernel *k, int ruleset,
			   const struct ll_path_beneath_attr *rule);
	int (*ll_add_port)(const struct kernel *k, int ruleset,
			   const struct ll_net_port_attr *rule);
	int (*ll_restrict)(const struct kernel *k, int ruleset, uint32_t flags);
	int (*seccomp)(const struct kernel *k, unsigned operation, unsigned flags, const void *arg);
	/* One byte on a unix socket, and with it a descriptor (SCM_RIGHTS). Returns 0. */
	int (*send_descriptor)(const struct kernel *k, int socket, int fd);

	/* This process. */
	int (*prctl)(const struct kernel *k, int option, unsigned long a, unsigned long b,
		     unsigned long c, unsigned long d);
	int (*capget)(const struct kernel *k, struct cap_sets *ret);
	int (*capset)(const struct kernel *k, const struct cap_sets *sets);
	int (*ids)(const struct kernel *k, struct ids *ret);
	int (*close_range)(const struct kernel *k, unsigned first, unsigned last, unsigned flags);
	int (*fcntl)(const struct kernel *k, int fd, int command, long arg);
	/* Is the descriptor a terminal? 1 or 0. */
	int (*isatty)(const struct kernel *k, int fd);
	/* Give `signal` its default disposition, or have it ignored. Any number the kernel has, so
	 * those too that a C library keeps for itself.
	 */
	int (*signal_default)(const struct kernel *k, int signal);
	int (*signal_ignore)(const struct kernel *k, int signal);
	int (*signal_unblock_all)(const struct kernel *k);
	int (*rlimit)(const struct kernel *k, int resource, uint64_t soft, uint64_t hard);
	/* Returns only to say why not. */
	int (*execve)(const struct kernel *k, const char *path, char *const argv[],
		      char *const envp[]);

	/* The machine. */
	int (*uname)(const struct kernel *k, struct uts *ret);
	/* CPUs in this process's affinity mask. */
	int (*cpu_count)(const struct kernel *k);
	int (*io_uring_setup)(const struct kernel *k, unsigned entries, void *params);
	/* unshare(2) with `flags` (namespaces), in a child that ends at once. */
	int (*try_unshare)(const struct kernel *k, unsigned long flags);
	/* Ask for the process id by another instruction set's entry, in a child. -ENOSYS: not
	 * there. */
	int (*try_foreign)(const struct kernel *k, enum foreign_entry entry);
	/* Send the route netlink dump request `type` (RTM_GET*) of `request_size` bytes, and put
	 * the whole multi-part answer in buf. Returns its length; -ENOSPC when it does not fit.
	 */
	ssize_t (*route_dump)(const struct kernel *k, unsigned type, const void *request,
			      size_t request_size, void *buf, size_t size);
	/* Ask a library that talks to the kernel by itself. `question` names it in a recording; a
	 * live kernel calls ask(arg), a recorded one answers from its rows.
	 */
	long (*library)(const struct kernel *k, const char *question, long (*ask)(void *arg),
			void *arg);

	/* Making and removing. `create` is open with O_CREAT; its flags say what else. */
	int (*create)(const struct kernel *k, const char *path, int flags, unsigned mode);
	int (*rename)(const struct kernel *k, const char *from, const char *to);
	int (*unlink)(const struct kernel *k, const char *path);
	int (*mkdir)(const struct kernel *k, const char *path, unsigned mode);
	int (*rmdir)(const struct kernel *k, const char *path);
	/* flock(2), exclusive, without waiting: -EWOULDBLOCK when another holds it. */
	int (*lock)(const struct kernel *k, int fd);
	int (*chdir)(const struct kernel *k, const char *path);
	int (*dup_onto)(const struct kernel *k, int from, int to); /* stays open across exec */
	int (*pipe)(const struct kernel *k, int ret[2]);	   /* [0] is read, [1] written */
	int (*channel)(const struct kernel *k, int ret[2]);	   /* two ways, whole messages */
	/* On a channel: as write, but a closed other end is only an error, EPIPE. */
	ssize_t (*send)(const struct kernel *k, int fd, const void *buf, size_t size);

	/* Other processes. */
	/* A child that is a copy of this process, as fork(2); 0 in the child. In the cgroup whose
	 * directory is `cgroup`, or ours when that is -1. No handlers of the C library run, so the
	 * child may use struct kernel and nothing else.
	 */
	int (*clone)(const struct kernel *k, int cgroup);
	int (*pidfd_open)(const struct kernel *k, pid_t pid);
	int (*pidfd_signal)(const struct kernel *k, int pidfd, int signal);
	int (*kill)(const struct kernel *k, pid_t pid, int signal); /* -pid: its group */
	/* A child that has ended, `pid` or any (0). `options` as waitid(2), WEXITED among them.
	 * Returns 1, or 0 when none has and WNOHANG says not to wait; -ECHILD.
	 */
	int (*wait)(const struct kernel *k, pid_t pid, int options, struct ended *ret);
	int (*children_usage)(const struct kernel *k, struct usage *ret);
	int (*poll)(const struct kernel *k, struct pollfd *fds, unsigned count, int timeout_ms);
	/* A descriptor that is readable when one of `signals` (bit number - 1) is pending. They
	 * must be blocked. Reading empties it.
	 */
	int (*signal_fd)(const struct kernel *k, uint64_t signals);
	/* Block `signals` and no others. *ret is the mask before. */
	int (*signal_mask)(const struct kernel *k, uint64_t signals, uint64_t *ret);
	pid_t (*setsid)(const struct kernel *k);
	pid_t (*getpid)(const struct kernel *k);
	pid_t (*getppid)(const struct kernel *k);
	int64_t (*now_us)(const struct kernel *k);	/* monotonic */
	void (*exit)(const struct kernel *k, int code); /* at once; returns in a test only */

	void *state; /* of a fake */
};

/* This machine's kernel. */
extern const struct kernel kernel_live;

/* The same kernel, with only those calls that a process needs to confine itself; the others are
 * NULL. A program that refers to this table alone stays small.
 */
extern const struct kernel kernel_self;

#endif
