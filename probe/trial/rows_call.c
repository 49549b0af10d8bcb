/* System calls that are of no use to a module, each with arguments that cannot do harm. */
#include "probe/trial/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/trial/call.h"
#include "probe/trial/program.h"

/* The same number everywhere; what is not in old headers. */
enum {
	CALL_OPEN_TREE = 428,
	CALL_MOVE_MOUNT = 429,
	CALL_FSOPEN = 430,
	CALL_FSCONFIG = 431,
	CALL_FSMOUNT = 432,
	CALL_FSPICK = 433,
	CALL_CLONE3 = 435,
	CALL_OPENAT2 = 437,
	CALL_MOUNT_SETATTR = 442,
	CALL_QUOTACTL_FD = 443,
	CALL_MEMFD_SECRET = 447,
	CALL_FCHMODAT2 = 452,
	CALL_SETXATTRAT = 463,
	CALL_GETXATTRAT = 464,
	CALL_LISTXATTRAT = 465,
	CALL_REMOVEXATTRAT = 466,
	CALL_OPEN_TREE_ATTR = 467,
	CALL_FILE_SETATTR = 469,
	CALL_LISTNS = 470,
	CALL_FCHROOT = 472,
};
#ifdef SYS_uselib
#define CALL_USELIB SYS_uselib
#else
#define CALL_USELIB NO_CALL
#endif
#ifdef SYS_iopl
#define CALL_IOPL SYS_iopl
#define CALL_IOPERM SYS_ioperm
#define CALL_MODIFY_LDT SYS_modify_ldt
#else
#define CALL_IOPL NO_CALL
#define CALL_IOPERM NO_CALL
#define CALL_MODIFY_LDT NO_CALL
#endif

/* Not in the tables of newer architectures. */
#ifdef SYS_open
#define CALL_CHMOD SYS_chmod
#define CALL_CREAT SYS_creat
#define CALL_MKNOD SYS_mknod
#define CALL_OPEN SYS_open
#else
#define CALL_CHMOD NO_CALL
#define CALL_CREAT NO_CALL
#define CALL_MKNOD NO_CALL
#define CALL_OPEN NO_CALL
#endif

/* A session of its own has no terminal to hang up. */
static int hang_up(void *arg)
{
	(void)arg;
	if (setsid() < 0)
		return -errno;
	return syscall(SYS_vhangup) < 0 ? -errno : 0;
}

static int try_hang_up(const struct stage *s, const struct trial *t)
{
	(void)s;
	(void)t;
	return in_process(hang_up, NULL);
}

/* Put back what it was before anything is executed. args: the persona */
static int try_personality(const struct stage *s, const struct trial *t)
{
	int before = personality(0xffffffff);

	(void)s;
	if (before < 0 || personality((unsigned long)t->args[0]) < 0)
		return -errno;
	return personality((unsigned long)before) < 0 ? -errno : 0;
}

#define IPC CAPABILITY_IPC
#define FS CAPABILITY_FILESYSTEM
#define BAD ARG_BAD
#define SETUID 04000

/* A thread needs what is not given here, so clone(2) ends with EINVAL and no process comes of it.
 */
#define CLONE(id_, text, flag) \
	CALL(IPC, "clone-" id_, text, EPERM, SYS_clone, (flag) | CLONE_THREAD, 0, 0, 0, 0)
#define FCNTL(c, id_, text, command, arg) \
	CALL(c, "fcntl-" id_, text, EPERM, SYS_fcntl, ARG_STREAM, command, arg)
#define IOCTL(c, id_, text, fd, command) \
	CALL(c, "ioctl-" id_, text, EPERM, SYS_ioctl, fd, command, BAD)

#define PERSONA(id_, text, persona)                                                         \
	{                                                                                   \
		.id = "call.personality-" id_, .what = text, .capability = IPC,             \
		.expect = TRIAL_ALLOWED, .attempt = try_personality, .args = { (persona) }, \
	}

static const struct trial rows[] = {
	CALL(IPC, "io_uring_setup", "make a ring", ENOSYS, SYS_io_uring_setup, 0, BAD),
	CALL(IPC, "io_uring_enter", "use a ring", ENOSYS, SYS_io_uring_enter, -1, 0, 0, 0, 0, 0),
	CALL(IPC, "io_uring_register", "prepare a ring", ENOSYS, SYS_io_uring_register, -1, 0, 0,
	     0),
	CALL(IPC, "shmget", "find shared memory", ENOSYS, SYS_shmget, 0x6f617270, 1, 0),
	CALL(IPC, "shmat", "attach shared memory", ENOSYS, SYS_shmat, -1, 0, 0),
	CALL(IPC, "shmctl", "control shared memory", ENOSYS, SYS_shmctl, -1, 2, BAD),
	CALL(IPC, "shmdt", "detach shared memory", ENOSYS, SYS_shmdt, 1),
	CALL(IPC, "semget", "find semaphores", ENOSYS, SYS_semget, 0x6f617270, 1, 0),
	CALL(IPC, "semop", "use semaphores", ENOSYS, SYS_semop, -1, BAD, 1),
	CALL(IPC, "semtimedop", "use semaphores for a time", ENOSYS, SYS_semtimedop, -1, BAD, 1, 0),
	CALL(IPC, "semctl", "control semaphores", ENOSYS, SYS_semctl, -1, 0, 2, BAD),
	CALL(IPC, "msgget", "find a message queue", ENOSYS, SYS_msgget, 0x6f617270, 0),
	CALL(IPC, "msgsnd", "send to a message queue", ENOSYS, SYS_msgsnd, -1, BAD, 1, 0),
	CALL(IPC, "msgrcv", "take from a message queue", ENOSYS, SYS_msgrcv, -1, BAD, 1, 0, 0),
	CALL(IPC, "msgctl", "control a message queue", ENOSYS, SYS_msgctl, -1, 2, BAD),
	CALL(IPC, "mq_open", "open a POSIX queue", ENOSYS, SYS_mq_open, BAD, 0, 0, 0),
	CALL(IPC, "mq_unlink", "remove a POSIX queue", ENOSYS, SYS_mq_unlink, BAD),
	CALL(IPC, "mq_timedsend", "send to a POSIX queue", ENOSYS, SYS_mq_timedsend, -1, BAD, 0, 0,
	     0),
	CALL(IPC, "mq_timedreceive", "take from a POSIX queue", ENOSYS, SYS_mq_timedreceive, -1,
	     BAD, 0, 0, 0),
	CALL(IPC, "mq_notify", "be told of a POSIX queue", ENOSYS, SYS_mq_notify, -1, 0),
	CALL(IPC, "mq_getsetattr", "set up a POSIX queue", ENOSYS, SYS_mq_getsetattr, -1, 0, 0),

	FCNTL(IPC, "setown", "have another process signalled by a descriptor", 8, ARG_VICTIM),
	FCNTL(IPC, "setsig", "choose that signal", 10, 23),
	FCNTL(IPC, "setown-ex", "have a thread signalled by a descriptor", 15, BAD),
	FCNTL(IPC, "async", "have signals sent when there is something to read", 4, 0x2000),
	FCNTL(FS, "setlease", "take a lease on a file", 1024, 0),
	FCNTL(FS, "notify", "be told of changes in a directory", 1026, 1),
	FCNTL(FS, "setdeleg", "take a delegation of a file", 1040, BAD),
	IOCTL(IPC, "fioasync", "have signals sent when there is something to read", ARG_STREAM,
	      0x5452),
	IOCTL(IPC, "fiosetown", "have a process signalled by a socket", ARG_STREAM, 0x8901),
	IOCTL(IPC, "siocspgrp", "have a process group signalled by a socket", ARG_STREAM, 0x8902),
	IOCTL(IPC, "tiocsti", "type into a terminal", ARG_STREAM, 0x5412),
	IOCTL(IPC, "tioclinux", "paste into a console", ARG_STREAM, 0x541c),
	IOCTL(IPC, "tiocsetd", "change a terminal's line discipline", ARG_STREAM, 0x5423),
	IOCTL(IPC, "tiocspgrp", "take a terminal's foreground", ARG_STREAM, 0x5410),
	IOCTL(IPC, "tiocvhangup", "hang a terminal up", ARG_STREAM, 0x5437),
	IOCTL(IPC, "tioccons", "take the console's output", ARG_STREAM, 0x541d),
	IOCTL(IPC, "tiocexcl", "keep others from a terminal", ARG_STREAM, 0x540c),
	IOCTL(IPC, "tiocsig", "signal a terminal's foreground", ARG_STREAM, 0x40045436),
	IOCTL(IPC, "kdsetmode", "set the console's mode", ARG_STREAM, 0x4b3a),
	IOCTL(IPC, "kdskbmode", "set the keyboard's mode", ARG_STREAM, 0x4b45),
	IOCTL(IPC, "vt_setmode", "take part in console switching", ARG_STREAM, 0x5602),
	IOCTL(IPC, "vt_activate", "switch consoles", ARG_STREAM, 0x5606),
	IOCTL(IPC, "tiocswinsz", "resize a terminal", ARG_STREAM, 0x5414),
	IOCTL(IPC, "tcxonc", "stop a terminal's output", ARG_STREAM, 0x540a),
	IOCTL(IPC, "kdskbent", "change a key", ARG_STREAM, 0x4b47),
	IOCTL(IPC, "kdskbsent", "change what a key types", ARG_STREAM, 0x4b49),
	IOCTL(IPC, "kdsetkeycode", "change a key's code", ARG_STREAM, 0x4b4d),
	IOCTL(IPC, "kdfontop", "change the console's font", ARG_STREAM, 0x4b72),
	{ .id = "call.ioctl-getflags",
	  .what = "read a file's inode flags",
	  .capability = FS,
	  .expect = TRIAL_ALLOWED,
	  .any_answer = true,
	  .attempt = try_call,
	  .number = SYS_ioctl,
	  .args = { ARG_FILE, 0x80086601, BAD } },
	{ .id = "call.ioctl-fiemap",
	  .what = "ask where a file has holes",
	  .capability = FS,
	  .expect = TRIAL_ALLOWED,
	  .any_answer = true,
	  .attempt = try_call,
	  .number = SYS_ioctl,
	  .args = { ARG_FILE, 0xc020660b, BAD } },
	IOCTL(FS, "setflags", "set the inode flags of a read-only file", ARG_FILE, 0x40086602),
	IOCTL(FS, "fssetxattr", "set extended flags of a read-only file", ARG_FILE, 0x401c5820),
	IOCTL(FS, "setversion", "set the version of a read-only file", ARG_FILE, 0x40087602),
	IOCTL(FS, "verity", "seal a read-only file for good", ARG_FILE, 0x40806685),
	IOCTL(FS, "encryption", "encrypt a directory", ARG_FILE, 0x800c6613),
	IOCTL(FS, "fat", "set FAT attributes of a read-only file", ARG_FILE, 0x40047211),
	IOCTL(FS, "snap-create", "make a snapshot in a read-only directory", ARG_FILE, 0x50009401),
	IOCTL(FS, "snap-create-v2", "make a snapshot in a read-only directory", ARG_FILE,
	      0x50009417),
	IOCTL(FS, "subvol-create", "make a subvolume in a read-only directory", ARG_FILE,
	      0x5000940e),
	IOCTL(FS, "subvol-create-v2", "make a subvolume in a read-only directory", ARG_FILE,
	      0x50009418),
	IOCTL(FS, "snap-destroy", "remove a subvolume", ARG_FILE, 0x5000940f),
	IOCTL(FS, "snap-destroy-v2", "remove a subvolume", ARG_FILE, 0x5000943f),
	IOCTL(FS, "subvol-setflags", "set the flags of a subvolume", ARG_FILE, 0x4008941a),
	IOCTL(FS, "received-subvol", "mark a subvolume as received", ARG_FILE, 0xc0c89425),
	CALL(FS, "mknod-char", "make a character device", EACCES, CALL_MKNOD, BAD, S_IFCHR, 0),
	CALL(FS, "mknod-block", "make a block device", EACCES, CALL_MKNOD, BAD, S_IFBLK, 0),
	CALL(FS, "mknodat-char", "make a character device", EACCES, SYS_mknodat, -1, BAD, S_IFCHR,
	     0),
	CALL(FS, "mknodat-block", "make a block device", EACCES, SYS_mknodat, -1, BAD, S_IFBLK, 0),
	CALL(FS, "renameat2-whiteout", "leave a device where a file was", EPERM, SYS_renameat2, -1,
	     BAD, -1, BAD, 4),
	CALL(FS, "chmod-setuid", "have a file run as its owner", EPERM, CALL_CHMOD, BAD, SETUID),
	CALL(FS, "fchmod-setuid", "have an open file run as its owner", EPERM, SYS_fchmod, -1,
	     SETUID),
	CALL(FS, "fchmodat-setuid", "have a file run as its owner", EPERM, SYS_fchmodat, -1, BAD,
	     SETUID),
	CALL(FS, "fchmodat2-setuid", "have a file run as its owner", EPERM, CALL_FCHMODAT2, -1, BAD,
	     SETUID, 0),
	CALL(FS, "creat-setuid", "make a file that runs as its owner", EPERM, CALL_CREAT, BAD,
	     SETUID),
	CALL(FS, "mknod-setuid", "make a file that runs as its owner", EPERM, CALL_MKNOD, BAD,
	     SETUID | S_IFREG, 0),
	CALL(FS, "mknodat-setuid", "make a file that runs as its owner", EPERM, SYS_mknodat, -1,
	     BAD, SETUID | S_IFREG, 0),
	CALL(FS, "open-setuid", "make a file that runs as its owner", EPERM, CALL_OPEN, BAD,
	     O_CREAT, SETUID),
	CALL(FS, "open-nameless-setuid", "make a nameless file that runs as its owner", EPERM,
	     CALL_OPEN, BAD, O_TMPFILE | O_RDWR, SETUID),
	CALL(FS, "openat-setuid", "make a file that runs as its owner", EPERM, SYS_openat, -1, BAD,
	     O_CREAT, SETUID),
	CALL(FS, "openat-nameless-setuid", "make a nameless file that runs as its owner", EPERM,
	     SYS_openat, -1, BAD, O_TMPFILE | O_RDWR, SETUID),
	CALL(FS, "openat2", "open a file by flags in memory", ENOSYS, CALL_OPENAT2, -1, BAD, BAD,
	     0),
	CALL(FS, "file_setattr", "set flags of a file by path", EPERM, CALL_FILE_SETATTR, -1, BAD,
	     BAD, 0, 0),
	CALL(FS, "setxattr", "set an attribute", EOPNOTSUPP, SYS_setxattr, BAD, BAD, 0, 0, 0),
	CALL(FS, "lsetxattr", "set an attribute of a link", EOPNOTSUPP, SYS_lsetxattr, BAD, BAD, 0,
	     0, 0),
	CALL(FS, "fsetxattr", "set an attribute by descriptor", EOPNOTSUPP, SYS_fsetxattr, -1, BAD,
	     0, 0, 0),
	CALL(FS, "setxattrat", "set an attribute from a directory", EOPNOTSUPP, CALL_SETXATTRAT, -1,
	     BAD, 0, BAD, BAD, 0),
	CALL(FS, "removexattr", "remove an attribute", EOPNOTSUPP, SYS_removexattr, BAD, BAD),
	CALL(FS, "lremovexattr", "remove an attribute of a link", EOPNOTSUPP, SYS_lremovexattr, BAD,
	     BAD),
	CALL(FS, "fremovexattr", "remove an attribute by descriptor", EOPNOTSUPP, SYS_fremovexattr,
	     -1, BAD),
	CALL(FS, "removexattrat", "remove an attribute from a directory", EOPNOTSUPP,
	     CALL_REMOVEXATTRAT, -1, BAD, 0, BAD),
	CALL(FS, "getxattr", "read an attribute by path", EOPNOTSUPP, SYS_getxattr, BAD, BAD, 0, 0),
	CALL(FS, "lgetxattr", "read an attribute of a link", EOPNOTSUPP, SYS_lgetxattr, BAD, BAD, 0,
	     0),
	CALL(FS, "getxattrat", "read an attribute from a directory", EOPNOTSUPP, CALL_GETXATTRAT,
	     -1, BAD, 0, BAD, BAD, 0),
	CALL(FS, "listxattr", "list attributes by path", EOPNOTSUPP, SYS_listxattr, BAD, 0, 0),
	CALL(FS, "llistxattr", "list attributes of a link", EOPNOTSUPP, SYS_llistxattr, BAD, 0, 0),
	CALL(FS, "listxattrat", "list attributes from a directory", EOPNOTSUPP, CALL_LISTXATTRAT,
	     -1, BAD, 0, 0, 0),
	CALL(FS, "memfd_secret", "make a secret memory file", ENOSYS, CALL_MEMFD_SECRET, -1),
	CALL(FS, "uselib", "load a library as of old", ENOSYS, CALL_USELIB, BAD),

	CLONE("parent", "make a child of its parent", 0x00008000),
	CLONE("mount", "make a mount namespace", 0x00020000),
	CLONE("cgroup", "make a cgroup namespace", 0x02000000),
	CLONE("uts", "make a host name namespace", 0x04000000),
	CLONE("ipc", "make an IPC namespace", 0x08000000),
	CLONE("user", "make a user namespace", 0x10000000),
	CLONE("pid", "make a process namespace", 0x20000000),
	CLONE("net", "make a network namespace", 0x40000000),
	CALL(IPC, "clone3", "make a process by flags in memory", ENOSYS, CALL_CLONE3, 0, 0),
	CALL(IPC, "unshare", "leave a namespace", EPERM, SYS_unshare, 0),
	CALL(IPC, "setns", "enter a namespace", EPERM, SYS_setns, -1, 0),
	CALL(IPC, "listns", "list namespaces", EPERM, CALL_LISTNS, BAD, BAD, 0, 0),
	CALL(FS, "mount", "mount", EPERM, SYS_mount, BAD, BAD, BAD, 0, 0),
	CALL(FS, "umount2", "unmount", EPERM, SYS_umount2, BAD, -1),
	CALL(FS, "pivot_root", "change the root mount", EPERM, SYS_pivot_root, BAD, BAD),
	CALL(FS, "chroot", "change the root directory", EPERM, SYS_chroot, BAD),
	CALL(FS, "fchroot", "change the root directory by descriptor", EPERM, CALL_FCHROOT, -1, 0),
	CALL(FS, "fsopen", "open a filesystem", EPERM, CALL_FSOPEN, BAD, -1),
	CALL(FS, "fsconfig", "set up a filesystem", EPERM, CALL_FSCONFIG, -1, 0, 0, 0, 0),
	CALL(FS, "fsmount", "mount a filesystem", EPERM, CALL_FSMOUNT, -1, -1, 0),
	CALL(FS, "fspick", "pick a mount", EPERM, CALL_FSPICK, -1, BAD, -1),
	CALL(FS, "move_mount", "move a mount", EPERM, CALL_MOVE_MOUNT, -1, BAD, -1, BAD, -1),
	CALL(FS, "open_tree", "copy a mount", EPERM, CALL_OPEN_TREE, -1, BAD, -1),
	CALL(FS, "open_tree_attr", "copy a mount with attributes", EPERM, CALL_OPEN_TREE_ATTR, -1,
	     BAD, -1, 0, 0),
	CALL(FS, "mount_setattr", "change a mount", EPERM, CALL_MOUNT_SETATTR, -1, BAD, -1, BAD, 0),
	CALL(FS, "name_to_handle_at", "ask for a file's number", EPERM, SYS_name_to_handle_at, -1,
	     BAD, BAD, BAD, -1),
	CALL(FS, "open_by_handle_at", "open a file by its number", EPERM, SYS_open_by_handle_at, -1,
	     BAD, 0),
	CALL(IPC, "add_key", "add a key", EPERM, SYS_add_key, BAD, BAD, 0, 0, 0),
	CALL(IPC, "request_key", "ask for a key", EPERM, SYS_request_key, BAD, BAD, 0, 0),
	CALL(IPC, "keyctl", "use a keyring", EPERM, SYS_keyctl, -1, 0, 0, 0, 0),
	CALL(IPC, "bpf", "use BPF", EPERM, SYS_bpf, -1, BAD, 0),
	CALL(IPC, "perf_event_open", "measure other processes", EPERM, SYS_perf_event_open, BAD, -1,
	     -1, -1, 0),
	CALL(IPC, "userfaultfd", "handle page faults", EPERM, SYS_userfaultfd, 0x11),
	CALL(FS, "fanotify_init", "watch filesystems", EPERM, SYS_fanotify_init, 0x80000200, 0),
	CALL(FS, "fanotify_mark", "mark what to watch", EPERM, SYS_fanotify_mark, -1, 0, 0, -1, 0),
	CALL(FS, "quotactl", "set quotas", EPERM, SYS_quotactl, 0x7fffff, BAD, 0, 0),
	CALL(FS, "quotactl_fd", "set quotas by descriptor", EPERM, CALL_QUOTACTL_FD, -1, 0x7fffff,
	     0, 0),
	CALL(IPC, "syslog", "read the kernel's log", EPERM, SYS_syslog, 10, 0, 0),
	CALL(FS, "acct", "account for processes in a file", EPERM, SYS_acct, BAD),
	CALL(FS, "swapon", "swap to a file", EPERM, SYS_swapon, BAD, 0),
	CALL(FS, "swapoff", "stop swapping", EPERM, SYS_swapoff, BAD),
	{ .id = "call.vhangup",
	  .what = "hang the terminal up",
	  .capability = IPC,
	  .expect = TRIAL_DENIED,
	  .errors = { EPERM },
	  .attempt = try_hang_up },
	CALL(IPC, "sethostname", "name the machine", EPERM, SYS_sethostname, BAD, 1),
	CALL(IPC, "setdomainname", "name the machine's domain", EPERM, SYS_setdomainname, BAD, 1),
	CALL(IPC, "settimeofday", "set the clock", EPERM, SYS_settimeofday, BAD, 0),
	CALL(IPC, "clock_settime", "set a clock", EPERM, SYS_clock_settime, 0, BAD),
	CALL(IPC, "clock_adjtime", "adjust a clock", EPERM, SYS_clock_adjtime, 0, BAD),
	CALL(IPC, "adjtimex", "adjust the clock", EPERM, SYS_adjtimex, BAD),
	CALL(IPC, "init_module", "load a kernel module", EPERM, SYS_init_module, BAD, 0, BAD),
	CALL(IPC, "finit_module", "load a kernel module from a file", EPERM, SYS_finit_module, -1,
	     BAD, -1),
	CALL(IPC, "delete_module", "unload a kernel module", EPERM, SYS_delete_module, BAD, 0),
	CALL(IPC, "kexec_load", "load another kernel", EPERM, SYS_kexec_load, 0, 0, 0, -1),
	CALL(IPC, "kexec_file_load", "load another kernel from a file", EPERM, SYS_kexec_file_load,
	     -1, -1, 0, BAD, -1),
	CALL(IPC, "reboot", "reboot, without the words that mean it", EPERM, SYS_reboot, 0, 0, 0,
	     0),
	CALL(IPC, "iopl", "use I/O ports", EPERM, CALL_IOPL, 0),
	CALL(IPC, "ioperm", "use some I/O ports", EPERM, CALL_IOPERM, 0, 0, 0),
	CALL(IPC, "modify_ldt", "change the segments", EPERM, CALL_MODIFY_LDT, 0, BAD, 0),
	{ .id = "call.personality",
	  .what = "have all it reads be executable",
	  .capability = IPC,
	  .expect = TRIAL_DENIED,
	  .errors = { EPERM },
	  .attempt = try_personality,
	  .args = { 0x0400000 } },
	{ .id = "call.personality-plain",
	  .what = "ask for its personality",
	  .capability = IPC,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_call,
	  .number = SYS_personality,
	  .args = { 0xffffffff } },
	PERSONA("linux", "be a plain Linux program", 0),
	PERSONA("linux32", "be a 32-bit machine's program", 0x8),
	PERSONA("uname26", "see an old kernel's version", 0x20000),
	PERSONA("linux32-uname26", "see an old 32-bit kernel's version", 0x20008),
	PERSONA("no-randomize", "have its addresses not randomised", 0x40000),
};

const struct trial_table trials_call = TRIAL_TABLE(rows);
