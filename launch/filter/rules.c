#include "launch/filter/rules.h"

#include <errno.h>
#include <string.h>

/* ---- words: constants of the kernel's interface, the same on x86-64, aarch64 and riscv64 ---- */

static const struct filter_word unix_family[] = { { 1, "AF_UNIX" } };
static const struct filter_word inet_families[] = { { 2, "AF_INET" }, { 10, "AF_INET6" } };
static const struct filter_word stream[] = { { 1, "SOCK_STREAM" } };
static const struct filter_word pair_types[] = { { 1, "SOCK_STREAM" }, { 5, "SOCK_SEQPACKET" } };
static const struct filter_word tcp_protocols[] = { { 0, "0" }, { 6, "IPPROTO_TCP" } };
static const struct filter_word fast_open[] = { { 0x20000000, "MSG_FASTOPEN" } };
static const struct filter_word socket_level[] = { { 1, "SOL_SOCKET" } };
static const struct filter_word device_options[] = {
	{ 25, "SO_BINDTODEVICE" },
	{ 62, "SO_BINDTOIFINDEX" },
};
static const struct filter_word tcp_level[] = { { 6, "IPPROTO_TCP" } };
static const struct filter_word tcp_ulp[] = { { 31, "TCP_ULP" } };
static const struct filter_word tcp_fast_open[] = { { 30, "TCP_FASTOPEN_CONNECT" } };

static const struct filter_word clone_flags[] = {
	{ 0x00008000, "CLONE_PARENT" },	   { 0x00020000, "CLONE_NEWNS" },
	{ 0x02000000, "CLONE_NEWCGROUP" }, { 0x04000000, "CLONE_NEWUTS" },
	{ 0x08000000, "CLONE_NEWIPC" },	   { 0x10000000, "CLONE_NEWUSER" },
	{ 0x20000000, "CLONE_NEWPID" },	   { 0x40000000, "CLONE_NEWNET" },
};

static const struct filter_word self_process[] = { { 0, "PRIO_PROCESS" } };
static const struct filter_word io_process[] = { { 1, "IOPRIO_WHO_PROCESS" } };
static const struct filter_word self[] = { { 0, "0" } };

static const struct filter_word owner_commands[] = {
	{ 8, "F_SETOWN" },
	{ 10, "F_SETSIG" },
	{ 15, "F_SETOWN_EX" },
};
static const struct filter_word set_flags[] = { { 4, "F_SETFL" } };
static const struct filter_word async[] = { { 0x2000, "O_ASYNC" } };
static const struct filter_word lease_commands[] = {
	{ 1024, "F_SETLEASE" },
	{ 1026, "F_NOTIFY" },
	{ 1040, "F_SETDELEG" },
};

static const struct filter_word owner_ioctls[] = {
	{ 0x5452, "FIOASYNC" },
	{ 0x8901, "FIOSETOWN" },
	{ 0x8902, "SIOCSPGRP" },
};
static const struct filter_word terminal_ioctls[] = {
	{ 0x5412, "TIOCSTI" },	 { 0x541c, "TIOCLINUX" },   { 0x5423, "TIOCSETD" },
	{ 0x5410, "TIOCSPGRP" }, { 0x5437, "TIOCVHANGUP" }, { 0x541d, "TIOCCONS" },
	{ 0x540c, "TIOCEXCL" },	 { 0x40045436, "TIOCSIG" }, { 0x5414, "TIOCSWINSZ" },
	{ 0x540a, "TCXONC" },
};
/* Not all of type 'K': AMD's kfd has requests of its own there, without size or direction too. */
static const struct filter_word keyboard_ioctls[] = {
	{ 0x4b3a, "KDSETMODE" }, { 0x4b45, "KDSKBMODE" },    { 0x4b47, "KDSKBENT" },
	{ 0x4b49, "KDSKBSENT" }, { 0x4b4d, "KDSETKEYCODE" }, { 0x4b72, "KDFONTOP" },
};
static const struct filter_word console_type[] = { { 0x5600, "VT_*" } };

static const struct filter_word inode_queries[] = {
	{ 0x80086601, "FS_IOC_GETFLAGS" },
	{ 0xc020660b, "FS_IOC_FIEMAP" },
};
static const struct filter_word inode_type[] = { { 0x6600, "any other of type 'f'" } };
static const struct filter_word inode_ioctls[] = {
	{ 0x401c5820, "FS_IOC_FSSETXATTR" },
	{ 0x40087602, "FS_IOC_SETVERSION" },
	{ 0x40047211, "FAT_IOCTL_SET_ATTRIBUTES" },
};
static const struct filter_word subvolume_ioctls[] = {
	{ 0x50009401, "BTRFS_IOC_SNAP_CREATE" },
	{ 0x50009417, "BTRFS_IOC_SNAP_CREATE_V2" },
	{ 0x5000940e, "BTRFS_IOC_SUBVOL_CREATE" },
	{ 0x50009418, "BTRFS_IOC_SUBVOL_CREATE_V2" },
	{ 0x5000940f, "BTRFS_IOC_SNAP_DESTROY" },
	{ 0x5000943f, "BTRFS_IOC_SNAP_DESTROY_V2" },
	{ 0x4008941a, "BTRFS_IOC_SUBVOL_SETFLAGS" },
	{ 0xc0c89425, "BTRFS_IOC_SET_RECEIVED_SUBVOL" },
};

static const struct filter_word set_user_id[] = { { 04000, "S_ISUID" } };
static const struct filter_word device_types[] = { { 0020000, "S_IFCHR" }, { 0060000, "S_IFBLK" } };
static const struct filter_word whiteout[] = { { 4, "RENAME_WHITEOUT" } };
static const struct filter_word creating[] = { { 0x40, "O_CREAT" }, { 0x400000, "O_TMPFILE" } };
static const struct filter_word seal[] = { { 0, "0" } };
static const struct filter_word plain_personas[] = {
	{ 0xffffffff, "the query" },
	{ 0, "PER_LINUX" },
	{ 0x8, "PER_LINUX32" },
	{ 0x20000, "UNAME26" },
	{ 0x20008, "PER_LINUX32|UNAME26" },
	{ 0x40000, "ADDR_NO_RANDOMIZE" },
};

/* ---- rules --------------------------------------------------------------------------- */

#define WORDS(list) .words = (list), .count = sizeof(list) / sizeof((list)[0])
#define IS(n, label, list)                                                \
	{                                                                 \
		.arg = (n), .name = (label), .op = FILTER_IS, WORDS(list) \
	}
#define IS_IN(n, label, bits, list)                                                       \
	{                                                                                 \
		.arg = (n), .name = (label), .op = FILTER_IS, .mask = (bits), WORDS(list) \
	}
#define HAS(n, label, list)                                                \
	{                                                                  \
		.arg = (n), .name = (label), .op = FILTER_HAS, WORDS(list) \
	}
#define NONZERO(n, label)                                         \
	{                                                         \
		.arg = (n), .name = (label), .op = FILTER_NONZERO \
	}

/* The kernel keeps SOCK_NONBLOCK and SOCK_CLOEXEC above these bits. */
#define TYPE_BITS 0xf
#define MFD_NOEXEC_SEAL 0x8

const struct filter_rule filter_rules[] = {
	/* Sockets and networks. */
	{
		.calls = "socket",
		.tests = { IS(0, "family", unix_family), IS_IN(1, "type", TYPE_BITS, stream) },
		.grants = FILTER_GRANT_BROKER,
		.error = EPERM,
		.granted = 0,
		.why = "the broker's endpoint is a unix stream",
	},
	{
		.calls = "socket",
		.tests = { IS(0, "family", inet_families), IS_IN(1, "type", TYPE_BITS, stream),
			   IS(2, "protocol", tcp_protocols) },
		.grants = FILTER_GRANT_NET,
		.error = EPERM,
		.granted = 0,
		.why = "TCP, which Landlock holds to the proxy's port",
	},
	{
		.calls = "socket",
		.tests = { IS(0, "family", inet_families), IS_IN(1, "type", TYPE_BITS, stream) },
		.grants = FILTER_GRANT_NET,
		.error = EPERM,
		.granted = EPROTONOSUPPORT,
		.why = "Landlock's TCP rules do not see MPTCP, SCTP or SMC; programs fall back to TCP",
	},
	{
		.calls = "socket",
		.error = EPERM,
		.why = "no other family or type is ever granted",
	},
	{
		.calls = "connect",
		.grants = FILTER_GRANT_NET | FILTER_GRANT_BROKER,
		.error = EPERM,
		.granted = 0,
		.why = "to the proxy or the broker",
	},
	{
		.calls = "bind listen",
		.error = EPERM,
		.why = "no module listens; accept stays, for a listener the agent hands over",
	},
	{
		.calls = "socketpair",
		.tests = { IS(0, "family", unix_family), IS_IN(1, "type", TYPE_BITS, pair_types) },
		.why = "event loops need it; these types ignore another address",
	},
	{
		.calls = "socketpair",
		.error = EPERM,
		.why = "an end of a datagram pair can send to any socket's path",
	},
	{
		.calls = "sendto sendmmsg",
		.tests = { HAS(3, "flags", fast_open) },
		.error = EOPNOTSUPP,
		.why = "connects past Landlock's connect hook before ABI 10",
	},
	{
		.calls = "sendmsg",
		.tests = { HAS(2, "flags", fast_open) },
		.error = EOPNOTSUPP,
		.why = "connects past Landlock's connect hook before ABI 10",
	},
	{
		.calls = "setsockopt",
		.tests = { IS(1, "level", tcp_level), IS(2, "name", tcp_fast_open) },
		.error = EOPNOTSUPP,
		.why = "the other road to fast open",
	},
	{
		.calls = "setsockopt",
		.tests = { IS(1, "level", tcp_level), IS(2, "name", tcp_ulp) },
		.error = EPERM,
		.why = "turns a TCP socket into SMC or another protocol (CVE-2023-0461)",
	},
	{
		.calls = "setsockopt",
		.tests = { IS(1, "level", socket_level), IS(2, "name", device_options) },
		.error = EPERM,
		.why = "where route_localnet is on, what goes to 127.0.0.1 leaves by that device "
		       "(seen on 6.18); EPERM as before Linux 5.7",
	},
	{
		.calls = "io_uring_setup io_uring_enter io_uring_register",
		.error = ENOSYS,
		.why = "makes, connects and listens on sockets unseen by any filter",
	},

	/* Other processes of the same user. glibc's pthread_setaffinity_np and
	 * pthread_setschedparam pass a thread's own number, which no filter can tell from a
	 * stranger's: they fail, and sched_setaffinity(0, ...) called by the thread itself works.
	 */
	{
		.calls =
			"prlimit64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler",
		.tests = { NONZERO(0, "pid") },
		.error = EPERM,
		.why = "on oneself only: a CPU limit of 0 kills",
	},
	{
		.calls = "setpriority",
		.tests = { IS(0, "which", self_process), IS(1, "who", self) },
		.why = "on oneself",
	},
	{
		.calls = "ioprio_set",
		.tests = { IS(0, "which", io_process), IS(1, "who", self) },
		.why = "on oneself",
	},
	{
		.calls = "setpriority ioprio_set",
		.error = EPERM,
		.why = "groups and users are other processes",
	},
	{
		.calls = "ptrace process_vm_readv process_vm_writev pidfd_getfd process_madvise "
			 "kcmp migrate_pages move_pages",
		.error = EPERM,
		.why = "memory and descriptors of other processes",
	},
	{
		.calls =
			"shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv "
			"msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
		.error = ENOSYS,
		.why = "shared with every process of the user, and outlives the job",
	},
	{
		.calls = "fcntl",
		.tests = { IS(1, "cmd", owner_commands) },
		.error = EPERM,
		.why = "the owner of a descriptor is sent signals",
	},
	{
		.calls = "fcntl",
		.tests = { IS(1, "cmd", set_flags), HAS(2, "arg", async) },
		.error = EPERM,
		.why = "on a terminal it makes the foreground group the owner",
	},
	{
		.calls = "ioctl",
		.tests = { IS(1, "cmd", owner_ioctls) },
		.error = EPERM,
		.why = "the owner of a descriptor is sent signals",
	},
	{
		.calls = "ioctl",
		.tests = { IS(1, "cmd", terminal_ioctls) },
		.error = EPERM,
		.why = "acts on the parent through its terminal: types for it (CVE-2017-5226), takes it",
	},

	{
		.calls = "ioctl",
		.tests = { IS(1, "cmd", keyboard_ioctls) },
		.error = EPERM,
		.why = "the console's keyboard and screen",
	},
	{
		.calls = "ioctl",
		.tests = { IS_IN(1, "cmd", 0xffffff00, console_type) },
		.error = EPERM,
		.why = "switching the console",
	},

	/* Files. */
	{
		.calls = "fcntl",
		.tests = { IS(1, "cmd", lease_commands) },
		.error = EPERM,
		.why = "a lease on a file outside holds up whoever opens it",
	},
	{
		.calls = "ioctl",
		.tests = { IS(1, "cmd", inode_queries) },
		.why = "lsattr, and tools that look for holes",
	},
	{
		.calls = "ioctl",
		.tests = { IS_IN(1, "cmd", 0xff00, inode_type) },
		.error = EPERM,
		.why = "flags, verity, encryption, ext4's generation: through a read-only descriptor",
	},
	{
		.calls = "ioctl",
		.tests = { IS(1, "cmd", inode_ioctls) },
		.error = EPERM,
		.why = "changes a file for good through a read-only descriptor",
	},
	{
		.calls = "ioctl",
		.tests = { IS(1, "cmd", subvolume_ioctls) },
		.error = EPERM,
		.why = "makes directories in a read-only one without asking Landlock (seen on 6.18)",
	},
	{
		.calls = "mknod",
		.tests = { IS_IN(1, "mode", 0170000, device_types) },
		.error = EACCES,
		.why = "from 7.2 on Landlock lets a whiteout (0:0) be made without MAKE_CHAR",
	},
	{
		.calls = "mknodat",
		.tests = { IS_IN(2, "mode", 0170000, device_types) },
		.error = EACCES,
		.why = "as mknod",
	},
	{
		.calls = "renameat2",
		.tests = { HAS(4, "flags", whiteout) },
		.error = EPERM,
		.why = "leaves a device node behind",
	},
	{
		.calls = "chmod fchmod creat mknod",
		.tests = { HAS(1, "mode", set_user_id) },
		.error = EPERM,
		.why = "a program left behind would run as this user for whoever starts it",
	},
	{
		.calls = "fchmodat fchmodat2 mknodat",
		.tests = { HAS(2, "mode", set_user_id) },
		.error = EPERM,
		.why = "as chmod",
	},
	{
		.calls = "open",
		.tests = { HAS(1, "flags", creating), HAS(2, "mode", set_user_id) },
		.error = EPERM,
		.why = "as chmod",
	},
	{
		.calls = "openat",
		.tests = { HAS(2, "flags", creating), HAS(3, "mode", set_user_id) },
		.error = EPERM,
		.why = "as chmod",
	},
	{
		.calls = "openat2",
		.error = ENOSYS,
		.why = "its mode is out of a filter's sight; programs fall back to openat",
	},
	{
		.calls = "file_setattr",
		.error = EPERM,
		.why = "FS_IOC_FSSETXATTR by path",
	},
	{
		.calls =
			"setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr "
			"removexattrat",
		.error = EOPNOTSUPP,
		.why = "Landlock does not see them; cp -a and shutil.copy2 pass over this error",
	},
	{
		.calls = "getxattr lgetxattr getxattrat listxattr llistxattr listxattrat",
		.error = EOPNOTSUPP,
		.why = "by path, of files that may not be opened",
	},
	{
		.calls = "memfd_create",
		.tests = { IS_IN(1, "flags", MFD_NOEXEC_SEAL, seal) },
		.grants = FILTER_GRANT_EXEC_RW,
		.error = EACCES,
		.granted = 0,
		.why = "without MFD_NOEXEC_SEAL what is written there can be executed",
	},
	{
		.calls = "memfd_secret process_mrelease uselib",
		.error = ENOSYS,
		.why = "no program needs them",
	},

	/* Kernel interfaces of no use to a module. */
	{
		.calls = "clone",
		.tests = { HAS(0, "flags", clone_flags) },
		.error = EPERM,
		.why = "no namespaces, and no children for the parent",
	},
	{
		.calls = "clone3",
		.error = ENOSYS,
		.why = "its flags are out of a filter's sight; libc falls back to clone",
	},
	{
		.calls = "unshare setns listns",
		.error = EPERM,
		.why = "no namespaces",
	},
	{
		.calls =
			"mount umount2 pivot_root chroot fchroot fsopen fsconfig fsmount fspick move_mount "
			"open_tree open_tree_attr mount_setattr",
		.error = EPERM,
		.why = "no mounts, by old calls or new (CVE-2022-0185)",
	},
	{
		.calls = "name_to_handle_at open_by_handle_at",
		.error = EPERM,
		.why = "opens files by number, past every path rule (CVE-2014-3519)",
	},
	{
		.calls = "add_key request_key keyctl",
		.error = EPERM,
		.why = "keyrings are shared with every process of the user (CVE-2016-0728)",
	},
	{
		.calls = "bpf perf_event_open userfaultfd fanotify_init fanotify_mark",
		.error = EPERM,
		.why = "tools for watching and attacking the kernel",
	},
	{
		.calls = "quotactl quotactl_fd syslog acct swapon swapoff vhangup "
			 "sethostname setdomainname",
		.error = EPERM,
		.why = "the administrator's",
	},
	{
		.calls = "settimeofday clock_settime clock_adjtime adjtimex",
		.error = EPERM,
		.why = "the clocks are everyone's",
	},
	{
		.calls =
			"create_module init_module finit_module delete_module get_kernel_syms query_module "
			"kexec_load kexec_file_load reboot",
		.error = EPERM,
		.why = "another kernel",
	},
	{
		.calls = "iopl ioperm modify_ldt",
		.error = EPERM,
		.why = "I/O ports and segments (CVE-2017-17053)",
	},
	{
		.calls = "personality",
		.tests = { IS(0, "persona", plain_personas) },
		.why = "what setarch and sanitizers ask for",
	},
	{
		.calls = "personality",
		.error = EPERM,
		.why = "READ_IMPLIES_EXEC and old systems' quirks",
	},
};

const size_t filter_rule_count = sizeof(filter_rules) / sizeof(filter_rules[0]);

const struct filter_arch filter_arches[FILTER_ARCHES] = {
	{ SC_ARCH_X86_64, "x86_64", { { 0, 336 }, { 424, FILTER_NEWEST } } },
	{ SC_ARCH_AARCH64, "aarch64", { { 0, 243 }, { 260, 294 }, { 424, FILTER_NEWEST } } },
	{ SC_ARCH_RISCV64,
	  "riscv64",
	  { { 0, 37 }, { 39, 243 }, { 258, 294 }, { 424, FILTER_NEWEST } } },
};

/* ---- reading them -------------------------------------------------------------------- */

uint16_t filter_rule_error(const struct filter_rule *rule, struct filter_choice choice)
{
	return rule->grants & filter_index(choice) ? rule->granted : rule->error;
}

const char *filter_next_call(const char **cursor, size_t *ret_len)
{
	const char *name = *cursor;
	size_t len = strcspn(name, " ");

	if (len == 0)
		return NULL;
	*cursor = name + len + (name[len] == ' ');
	*ret_len = len;
	return name;
}

bool filter_number_known(const struct filter_arch *arch, uint32_t number)
{
	for (size_t i = 0; i < FILTER_SPANS_MAX && arch->known[i].last; i++) {
		if (number >= arch->known[i].first && number <= arch->known[i].last)
			return true;
	}
	return false;
}

uint32_t filter_test_mask(const struct filter_test *test)
{
	uint32_t mask = 0;

	if (test->op == FILTER_HAS) {
		for (size_t i = 0; i < test->count; i++)
			mask |= test->words[i].value;
		return mask;
	}
	return test->mask ? test->mask : UINT32_MAX;
}
