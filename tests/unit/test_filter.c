/* The seccomp programs: what they answer to calls given as rows, and the filter in words. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "tests/fake/filter_model.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Sets of choices, one bit for each filter_index(). */
#define ANY 0xffU
#define NET 0xf0U
#define NO_NET 0x0fU
#define BROKER 0xccU
#define NO_BROKER 0x33U
#define EXEC 0xaaU
#define NO_EXEC 0x55U

#define KILL (-1)
#define HIGH 0xdeadbeef00000000U

/* Values that a build's headers may lack. */
#define MPTCP 262
#define SCTP 132
#define SMC 256
#define FASTOPEN 0x20000000
#define NOEXEC_SEAL 8

struct row {
	unsigned in; /* these choices */
	const char *call;
	int error; /* 0: allowed */
	uint64_t args[6];
};

static const struct row rows[] = {
	/* Sockets. */
	{ NO_NET, "socket", EPERM, { AF_INET, SOCK_STREAM, 0 } },
	{ NO_NET, "socket", EPERM, { AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP } },
	{ NET, "socket", 0, { AF_INET, SOCK_STREAM, 0 } },
	{ NET, "socket", 0, { AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP } },
	{ NET, "socket", 0, { AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0 } },
	{ NET, "socket", EPROTONOSUPPORT, { AF_INET, SOCK_STREAM, MPTCP } },
	{ NET, "socket", EPROTONOSUPPORT, { AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, SCTP } },
	{ NET, "socket", EPROTONOSUPPORT, { AF_INET, SOCK_STREAM, SMC } },
	{ NO_NET, "socket", EPERM, { AF_INET, SOCK_STREAM, MPTCP } },
	{ ANY, "socket", EPERM, { AF_INET, SOCK_DGRAM, 0 } },
	{ ANY, "socket", EPERM, { AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP } },
	{ ANY, "socket", EPERM, { AF_INET, SOCK_RAW, 1 } },
	{ ANY, "socket", EPERM, { AF_INET, SOCK_RDM, 0 } },
	{ ANY, "socket", EPERM, { AF_INET, SOCK_SEQPACKET, SCTP } },
	{ ANY, "socket", EPERM, { AF_INET, 6 /* SOCK_DCCP */, 33 } },
	{ ANY, "socket", EPERM, { AF_INET, 10 /* SOCK_PACKET */, 3 } },
	{ NO_BROKER, "socket", EPERM, { AF_UNIX, SOCK_STREAM, 0 } },
	{ BROKER, "socket", 0, { AF_UNIX, SOCK_STREAM, 0 } },
	{ BROKER, "socket", 0, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0 } },
	{ ANY, "socket", EPERM, { AF_UNIX, SOCK_DGRAM, 0 } },
	{ ANY, "socket", EPERM, { AF_UNIX, SOCK_SEQPACKET, 0 } },
	{ ANY, "socket", EPERM, { AF_UNIX, SOCK_RAW, 0 } },
	{ ANY, "socket", EPERM, { AF_UNSPEC, SOCK_STREAM, 0 } },
	{ ANY, "socket", EPERM, { AF_NETLINK, SOCK_RAW, 0 } },
	{ ANY, "socket", EPERM, { AF_PACKET, SOCK_RAW, 3 } },
	{ ANY, "socket", EPERM, { AF_ALG, SOCK_SEQPACKET, 0 } },
	{ ANY, "socket", EPERM, { AF_VSOCK, SOCK_STREAM, 0 } },
	{ ANY, "socket", EPERM, { 43 /* AF_SMC */, SOCK_STREAM, 0 } },
	{ ANY, "socket", EPERM, { 30 /* AF_TIPC */, SOCK_STREAM, 0 } },
	{ ANY, "socket", EPERM, { 0xffffffff, SOCK_STREAM, 0 } },
	{ 0x03, "connect", EPERM, { 3 } },
	{ NET | BROKER, "connect", 0, { 3 } },
	{ ANY, "bind", EPERM, { 3 } },
	{ ANY, "listen", EPERM, { 3, 1 } },
	{ ANY, "accept", 0, { 3 } },
	{ ANY, "accept4", 0, { 3 } },
	{ ANY, "socketpair", 0, { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0 } },
	{ ANY, "socketpair", 0, { AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0 } },
	{ ANY, "socketpair", EPERM, { AF_UNIX, SOCK_DGRAM, 0 } },
	{ ANY, "socketpair", EPERM, { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0 } },
	{ ANY, "socketpair", EPERM, { AF_UNIX, SOCK_RAW, 0 } },
	{ ANY, "socketpair", EPERM, { 30 /* AF_TIPC */, SOCK_STREAM, 0 } },
	{ ANY, "sendto", EOPNOTSUPP, { 3, 0, 1, FASTOPEN, 0, 16 } },
	{ ANY, "sendto", EOPNOTSUPP, { 3, 0, 1, FASTOPEN | MSG_NOSIGNAL | MSG_DONTWAIT, 0, 16 } },
	{ ANY, "sendto", 0, { 3, 0, 1, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE, 0, 0 } },
	{ ANY, "sendmsg", EOPNOTSUPP, { 3, 0, FASTOPEN } },
	{ ANY, "sendmsg", 0, { 3, FASTOPEN, MSG_NOSIGNAL, FASTOPEN } },
	{ ANY, "sendmmsg", EOPNOTSUPP, { 3, 0, 1, FASTOPEN } },
	{ ANY, "sendmmsg", 0, { 3, 0, FASTOPEN, 0 } },
	{ ANY, "setsockopt", EPERM, { 3, IPPROTO_TCP, 31 /* TCP_ULP */ } },
	{ ANY, "setsockopt", EOPNOTSUPP, { 3, IPPROTO_TCP, 30 /* TCP_FASTOPEN_CONNECT */ } },
	{ ANY, "setsockopt", 0, { 3, IPPROTO_TCP, TCP_NODELAY } },
	{ ANY, "setsockopt", 0, { 3, SOL_SOCKET, SO_REUSEADDR } },
	{ ANY, "setsockopt", 0, { 3, SOL_SOCKET, 31 } },
	{ ANY, "setsockopt", EPERM, { 3, SOL_SOCKET, SO_BINDTODEVICE } },
	{ ANY, "setsockopt", EPERM, { 3, SOL_SOCKET, 62 /* SO_BINDTOIFINDEX */ } },
	{ ANY, "setsockopt", 0, { 3, SOL_SOCKET, SO_PRIORITY } },
	{ ANY, "setsockopt", 0, { 3, IPPROTO_TCP, SO_BINDTODEVICE } },
	{ ANY, "getsockopt", 0, { 3, SOL_SOCKET, SO_BINDTODEVICE } },
	{ ANY, "setsockopt", 0, { 3, 0, 30 } },
	{ ANY, "recvmsg", 0, { 3 } },
	{ ANY, "recvfrom", 0, { 3 } },
	{ ANY, "shutdown", 0, { 3 } },
	{ ANY, "getsockopt", 0, { 3, IPPROTO_TCP, 31 } },
	{ ANY, "io_uring_setup", ENOSYS, { 0 } },
	{ ANY, "io_uring_enter", ENOSYS, { 0 } },
	{ ANY, "io_uring_register", ENOSYS, { 0 } },

	/* Other processes. */
	{ ANY, "prlimit64", 0, { 0, RLIMIT_NOFILE, 0, 0 } },
	{ ANY, "prlimit64", EPERM, { 1, RLIMIT_CPU, 0, 0 } },
	{ ANY, "prlimit64", EPERM, { 0xffffffff, RLIMIT_CPU, 0, 0 } },
	{ ANY, "sched_setaffinity", 0, { 0 } },
	{ ANY, "sched_setaffinity", EPERM, { 1000 } },
	{ ANY, "sched_setscheduler", 0, { 0 } },
	{ ANY, "sched_setscheduler", EPERM, { 1000 } },
	{ ANY, "sched_setparam", EPERM, { 1000 } },
	{ ANY, "sched_setattr", EPERM, { 1000 } },
	{ ANY, "sched_getaffinity", 0, { 1000 } },
	{ ANY, "setpriority", 0, { PRIO_PROCESS, 0, 5 } },
	{ ANY, "setpriority", EPERM, { PRIO_PROCESS, 1000, 5 } },
	{ ANY, "setpriority", EPERM, { PRIO_PGRP, 0, 5 } },
	{ ANY, "setpriority", EPERM, { PRIO_USER, 0, 5 } },
	{ ANY, "ioprio_set", 0, { 1, 0, 5 } },
	{ ANY, "ioprio_set", EPERM, { 1, 1000, 5 } },
	{ ANY, "ioprio_set", EPERM, { 2, 0, 5 } },
	{ ANY, "ioprio_set", EPERM, { 3, 0, 5 } },
	{ ANY, "ptrace", EPERM, { 16 } },
	{ ANY, "process_vm_readv", EPERM, { 1 } },
	{ ANY, "process_vm_writev", EPERM, { 1 } },
	{ ANY, "pidfd_getfd", EPERM, { 3 } },
	{ ANY, "process_madvise", EPERM, { 3 } },
	{ ANY, "process_mrelease", ENOSYS, { 3 } },
	{ ANY, "kcmp", EPERM, { 1, 1 } },
	{ ANY, "migrate_pages", EPERM, { 0 } },
	{ ANY, "move_pages", EPERM, { 0 } },
	{ ANY, "shmget", ENOSYS, { 0 } },
	{ ANY, "shmat", ENOSYS, { 0 } },
	{ ANY, "shmctl", ENOSYS, { 0 } },
	{ ANY, "shmdt", ENOSYS, { 0 } },
	{ ANY, "semget", ENOSYS, { 0 } },
	{ ANY, "semop", ENOSYS, { 0 } },
	{ ANY, "semtimedop", ENOSYS, { 0 } },
	{ ANY, "semctl", ENOSYS, { 0 } },
	{ ANY, "msgget", ENOSYS, { 0 } },
	{ ANY, "msgsnd", ENOSYS, { 0 } },
	{ ANY, "msgrcv", ENOSYS, { 0 } },
	{ ANY, "msgctl", ENOSYS, { 0 } },
	{ ANY, "mq_open", ENOSYS, { 0 } },
	{ ANY, "mq_unlink", ENOSYS, { 0 } },
	{ ANY, "mq_timedsend", ENOSYS, { 0 } },
	{ ANY, "mq_timedreceive", ENOSYS, { 0 } },
	{ ANY, "mq_notify", ENOSYS, { 0 } },
	{ ANY, "mq_getsetattr", ENOSYS, { 0 } },
	{ ANY, "fcntl", EPERM, { 3, F_SETOWN, 1 } },
	{ ANY, "fcntl", EPERM, { 3, F_SETOWN_EX, 1 } },
	{ ANY, "fcntl", EPERM, { 3, F_SETSIG, 9 } },
	{ ANY, "fcntl", EPERM, { 3, F_SETFL, O_ASYNC | O_NONBLOCK } },
	{ ANY, "fcntl", 0, { 3, F_SETFL, O_NONBLOCK | O_APPEND } },
	{ ANY, "fcntl", 0, { 3, F_DUPFD_CLOEXEC, O_ASYNC } },
	{ ANY, "fcntl", 0, { 3, F_GETOWN, 0 } },
	{ ANY, "fcntl", 0, { 3, F_SETLK, 0 } },
	{ ANY, "fcntl", 0, { 3, F_SETPIPE_SZ, 65536 } },
	{ ANY, "fcntl", 0, { 3, F_ADD_SEALS, 1 } },
	{ ANY, "ioctl", EPERM, { 3, FIOASYNC } },
	{ ANY, "ioctl", EPERM, { 3, 0x8901 /* FIOSETOWN */ } },
	{ ANY, "ioctl", EPERM, { 3, 0x8902 /* SIOCSPGRP */ } },
	{ ANY, "ioctl", EPERM, { 0, TIOCSTI } },
	{ ANY, "ioctl", EPERM, { 0, TIOCLINUX } },
	{ ANY, "ioctl", EPERM, { 0, TIOCSETD } },
	{ ANY, "ioctl", EPERM, { 0, TIOCSPGRP } },
	{ ANY, "ioctl", EPERM, { 0, TIOCVHANGUP } },
	{ ANY, "ioctl", 0, { 0, TCGETS } },
	{ ANY, "ioctl", 0, { 0, TCSETSW } },
	{ ANY, "ioctl", 0, { 0, TIOCGWINSZ } },
	{ ANY, "ioctl", 0, { 0, FIONBIO } },
	{ ANY, "ioctl", 0, { 0, FIONREAD } },
	{ ANY, "ioctl", 0, { 0, FIOCLEX } },
	{ ANY, "ioctl", 0, { 0, TIOCGPGRP } },
	{ ANY, "ioctl", 0, { 3, 0xc0106445 /* a DRM command */ } },
	{ ANY, "ioctl", 0, { 3, 0x4b27 /* AMDKFD_IOC_CREATE_PROCESS */ } },
	{ ANY, "ioctl", 0, { 3, 0x30000001 /* UVM_INITIALIZE */ } },
	{ ANY, "kill", 0, { 1, 9 } },
	{ ANY, "tgkill", 0, { 1, 1, 9 } },
	{ ANY, "pidfd_open", 0, { 1 } },
	{ ANY, "pidfd_send_signal", 0, { 3, 9 } },

	/* Files. */
	{ ANY, "fcntl", EPERM, { 3, F_SETLEASE, F_WRLCK } },
	{ ANY, "fcntl", EPERM, { 3, F_NOTIFY, 1 } },
	{ ANY, "fcntl", EPERM, { 3, 1040 /* F_SETDELEG */ } },
	{ ANY, "fcntl", 0, { 3, F_GETLEASE } },
	{ ANY, "ioctl", EPERM, { 3, FS_IOC_SETFLAGS } },
	{ ANY, "ioctl", EPERM, { 3, FS_IOC_FSSETXATTR } },
	{ ANY, "ioctl", EPERM, { 3, 0x40806685 /* FS_IOC_ENABLE_VERITY */ } },
	{ ANY, "ioctl", EPERM, { 3, 0x5000940e /* BTRFS_IOC_SUBVOL_CREATE */ } },
	{ ANY, "ioctl", EPERM, { 3, 0x50009417 /* BTRFS_IOC_SNAP_CREATE_V2 */ } },
	{ ANY, "ioctl", EPERM, { 3, 0x40086604 /* EXT4_IOC_SETVERSION */ } },
	{ ANY, "ioctl", EPERM, { 3, 0x6609 /* EXT4_IOC_MIGRATE */ } },
	{ ANY, "ioctl", EPERM, { 0, TIOCSWINSZ } },
	{ ANY, "ioctl", EPERM, { 0, TCXONC, 1 } },
	{ ANY, "ioctl", EPERM, { 0, 0x5602 /* VT_SETMODE */ } },
	{ ANY, "ioctl", EPERM, { 0, 0x5606 /* VT_ACTIVATE */ } },
	{ ANY, "ioctl", 0, { 0, TIOCGWINSZ } },
	{ ANY, "ioctl", 0, { 0, TCSETS } },
	{ ANY, "ioctl", 0, { 3, FS_IOC_FIEMAP } },
	{ ANY, "ioctl", 0, { 3, FS_IOC_GETFLAGS } },
	{ ANY, "chmod", EPERM, { 0, 04755 } },
	{ ANY, "fchmod", EPERM, { 0, 06755 } },
	{ ANY, "fchmodat", EPERM, { 0, 0, 04755 } },
	{ ANY, "fchmodat2", EPERM, { 0, 0, 04755 } },
	{ ANY, "chmod", 0, { 04755, 0755 } },
	{ ANY, "chmod", 0, { 0, 02775 } },
	{ ANY, "openat", EPERM, { 0, 0, O_CREAT | O_WRONLY, 04755 } },
	{ ANY, "openat", EPERM, { 0, 0, O_TMPFILE | O_WRONLY, 04755 } },
	{ ANY, "openat", 0, { 0, 0, O_RDONLY, 04755 } },
	{ ANY, "openat", 0, { 0, 0, O_CREAT | O_WRONLY, 0644 } },
	{ ANY, "openat", 0, { 0, 0, O_RDONLY | O_DIRECTORY, 04000 } },
	{ ANY, "openat2", ENOSYS, { 0 } },
	{ ANY, "mknodat", EACCES, { 0, 0, S_IFCHR | 0600, 0 } },
	{ ANY, "mknodat", EACCES, { 0, 0, S_IFBLK | 0600, 0x801 } },
	{ ANY, "mknodat", 0, { 0, 0, S_IFIFO | 0600, 0 } },
	{ ANY, "mknodat", 0, { 0, 0, S_IFREG | 0600, 0 } },
	{ ANY, "mknod", EACCES, { 0, S_IFCHR | 0600, 0 } },
	{ ANY, "mknod", 0, { 0, S_IFIFO | 0600, 0 } },
	{ ANY, "renameat2", EPERM, { 0, 0, 0, 0, 4 /* RENAME_WHITEOUT */ } },
	{ ANY, "renameat2", 0, { 0, 0, 0, 0, RENAME_EXCHANGE } },
	{ ANY, "mknodat", EPERM, { 0, 0, S_IFREG | 04755 } },
	{ ANY, "open", EPERM, { 0, O_CREAT, 04755 } },
	{ ANY, "open", 0, { 0, O_RDONLY, 04755 } },
	{ ANY, "creat", EPERM, { 0, 04755 } },
	{ ANY, "mknod", EPERM, { 0, S_IFREG | 04755 } },
	{ ANY, "ioctl", 0, { 3, FS_IOC_FSGETXATTR } },
	{ ANY, "ioctl", 0, { 3, FICLONE } },
	{ ANY, "file_setattr", EPERM, { 0 } },
	{ ANY, "file_getattr", 0, { 0 } },
	{ ANY, "setxattr", EOPNOTSUPP, { 0 } },
	{ ANY, "lsetxattr", EOPNOTSUPP, { 0 } },
	{ ANY, "fsetxattr", EOPNOTSUPP, { 0 } },
	{ ANY, "setxattrat", EOPNOTSUPP, { 0 } },
	{ ANY, "removexattr", EOPNOTSUPP, { 0 } },
	{ ANY, "lremovexattr", EOPNOTSUPP, { 0 } },
	{ ANY, "fremovexattr", EOPNOTSUPP, { 0 } },
	{ ANY, "removexattrat", EOPNOTSUPP, { 0 } },
	{ ANY, "getxattr", EOPNOTSUPP, { 0 } },
	{ ANY, "lgetxattr", EOPNOTSUPP, { 0 } },
	{ ANY, "getxattrat", EOPNOTSUPP, { 0 } },
	{ ANY, "listxattr", EOPNOTSUPP, { 0 } },
	{ ANY, "llistxattr", EOPNOTSUPP, { 0 } },
	{ ANY, "listxattrat", EOPNOTSUPP, { 0 } },
	{ ANY, "fgetxattr", 0, { 0 } },
	{ ANY, "flistxattr", 0, { 0 } },
	{ NO_EXEC, "memfd_create", EACCES, { 0, 0 } },
	{ NO_EXEC, "memfd_create", EACCES, { 0, 1 | 2 | 0x10 /* MFD_EXEC */ } },
	{ ANY, "memfd_create", 0, { 0, NOEXEC_SEAL } },
	{ ANY, "memfd_create", 0, { 0, NOEXEC_SEAL | 1 | 2 | 4 } },
	{ EXEC, "memfd_create", 0, { 0, 1 } },
	{ ANY, "memfd_secret", ENOSYS, { 0 } },
	{ ANY, "uselib", ENOSYS, { 0 } },

	/* Kernel interfaces. */
	{ ANY, "clone", EPERM, { CLONE_NEWUSER } },
	{ ANY, "clone", EPERM, { CLONE_NEWNS | 17 } },
	{ ANY, "clone", EPERM, { CLONE_NEWNET } },
	{ ANY, "clone", EPERM, { CLONE_NEWPID } },
	{ ANY, "clone", EPERM, { CLONE_NEWIPC } },
	{ ANY, "clone", EPERM, { CLONE_NEWUTS } },
	{ ANY, "clone", EPERM, { CLONE_NEWCGROUP } },
	{ ANY, "clone", EPERM, { CLONE_PARENT | 17 } },
	{ ANY, "clone", 0, { CLONE_VM | CLONE_VFORK | 17 } },
	{ ANY, "clone", 0, { 0x3d0f00 /* a thread */ } },
	{ ANY, "clone", 0, { 0x1200011 /* fork */ } },
	{ ANY, "clone", 0, { CLONE_PIDFD | CLONE_IO | 17 } },
	{ ANY, "clone3", ENOSYS, { 0 } },
	{ ANY, "unshare", EPERM, { CLONE_NEWUSER } },
	{ ANY, "setns", EPERM, { 3 } },
	{ ANY, "listns", EPERM, { 0 } },
	{ ANY, "mount", EPERM, { 0 } },
	{ ANY, "umount2", EPERM, { 0 } },
	{ ANY, "pivot_root", EPERM, { 0 } },
	{ ANY, "chroot", EPERM, { 0 } },
	{ ANY, "fchroot", EPERM, { 0 } },
	{ ANY, "fsopen", EPERM, { 0 } },
	{ ANY, "fsconfig", EPERM, { 0 } },
	{ ANY, "fsmount", EPERM, { 0 } },
	{ ANY, "fspick", EPERM, { 0 } },
	{ ANY, "move_mount", EPERM, { 0 } },
	{ ANY, "open_tree", EPERM, { 0 } },
	{ ANY, "open_tree_attr", EPERM, { 0 } },
	{ ANY, "mount_setattr", EPERM, { 0 } },
	{ ANY, "name_to_handle_at", EPERM, { 0 } },
	{ ANY, "open_by_handle_at", EPERM, { 0 } },
	{ ANY, "add_key", EPERM, { 0 } },
	{ ANY, "request_key", EPERM, { 0 } },
	{ ANY, "keyctl", EPERM, { 0 } },
	{ ANY, "bpf", EPERM, { 0 } },
	{ ANY, "perf_event_open", EPERM, { 0 } },
	{ ANY, "userfaultfd", EPERM, { 0 } },
	{ ANY, "fanotify_init", EPERM, { 0 } },
	{ ANY, "fanotify_mark", EPERM, { 0 } },
	{ ANY, "quotactl", EPERM, { 0 } },
	{ ANY, "quotactl_fd", EPERM, { 0 } },
	{ ANY, "syslog", EPERM, { 3 } },
	{ ANY, "acct", EPERM, { 0 } },
	{ ANY, "swapon", EPERM, { 0 } },
	{ ANY, "swapoff", EPERM, { 0 } },
	{ ANY, "vhangup", EPERM, { 0 } },
	{ ANY, "sethostname", EPERM, { 0 } },
	{ ANY, "setdomainname", EPERM, { 0 } },
	{ ANY, "settimeofday", EPERM, { 0 } },
	{ ANY, "clock_settime", EPERM, { 0 } },
	{ ANY, "clock_adjtime", EPERM, { 0 } },
	{ ANY, "adjtimex", EPERM, { 0 } },
	{ ANY, "init_module", EPERM, { 0 } },
	{ ANY, "finit_module", EPERM, { 0 } },
	{ ANY, "delete_module", EPERM, { 0 } },
	{ ANY, "kexec_load", EPERM, { 0 } },
	{ ANY, "kexec_file_load", EPERM, { 0 } },
	{ ANY, "reboot", EPERM, { 0 } },
	{ ANY, "iopl", EPERM, { 0 } },
	{ ANY, "ioperm", EPERM, { 0 } },
	{ ANY, "modify_ldt", EPERM, { 0 } },
	{ ANY, "personality", 0, { 0xffffffff } },
	{ ANY, "personality", 0, { 0 } },
	{ ANY, "personality", 0, { ADDR_NO_RANDOMIZE } },
	{ ANY, "personality", EPERM, { READ_IMPLIES_EXEC } },
	{ ANY, "personality", EPERM, { ADDR_NO_RANDOMIZE | MMAP_PAGE_ZERO } },
	{ ANY, "personality", EPERM, { 1 /* PER_SVR4 */ } },

	/* What must keep working: git, tar, cp -p, pip, ld, JVM, node, timeout, Python, Go. */
	{ ANY, "read", 0, { 0 } },
	{ ANY, "write", 0, { 1 } },
	{ ANY, "openat", 0, { 0 } },
	{ ANY, "chmod", 0, { 0 } },
	{ ANY, "fchmod", 0, { 0 } },
	{ ANY, "fchmodat", 0, { 0 } },
	{ ANY, "fchmodat2", 0, { 0 } },
	{ ANY, "chown", 0, { 0 } },
	{ ANY, "fchownat", 0, { 0 } },
	{ ANY, "utime", 0, { 0 } },
	{ ANY, "utimes", 0, { 0 } },
	{ ANY, "utimensat", 0, { 0 } },
	{ ANY, "mknodat", 0, { 0 } },
	{ ANY, "readlinkat", 0, { 0 } },
	{ ANY, "statx", 0, { 0 } },
	{ ANY, "flock", 0, { 0 } },
	{ ANY, "inotify_init1", 0, { 0 } },
	{ ANY, "inotify_add_watch", 0, { 0 } },
	{ ANY, "setsid", 0, { 0 } },
	{ ANY, "setpgid", 0, { 0 } },
	{ ANY, "execve", 0, { 0 } },
	{ ANY, "execveat", 0, { 0 } },
	{ ANY, "vfork", 0, { 0 } },
	{ ANY, "fork", 0, { 0 } },
	{ ANY, "wait4", 0, { 0 } },
	{ ANY, "waitid", 0, { 0 } },
	{ ANY, "mmap", 0, { 0 } },
	{ ANY, "mprotect", 0, { 0 } },
	{ ANY, "futex", 0, { 0 } },
	{ ANY, "rseq", 0, { 0 } },
	{ ANY, "prctl", 0, { 0 } },
	{ ANY, "seccomp", 0, { 0 } },
	{ ANY, "landlock_restrict_self", 0, { 0 } },
	{ ANY, "epoll_create1", 0, { 0 } },
	{ ANY, "eventfd2", 0, { 0 } },
	{ ANY, "timerfd_create", 0, { 0 } },
	{ ANY, "signalfd4", 0, { 0 } },
	{ ANY, "copy_file_range", 0, { 0 } },
	{ ANY, "io_setup", 0, { 0 } },
	{ ANY, "mbind", 0, { 0 } },
	{ ANY, "membarrier", 0, { 0 } },
	{ ANY, "getrandom", 0, { 0 } },
	{ ANY, "uname", 0, { 0 } },
	{ ANY, "mseal", 0, { 0 } },
};

static uint32_t action(int error)
{
	if (error == KILL)
		return SC_RET_KILL_PROCESS;
	return error ? SC_RET_ERRNO | (uint32_t)error : SC_RET_ALLOW;
}

static void expect(const struct filter_arch *arch, unsigned choice, const struct sc_data *data,
		   int error)
{
	uint32_t got = model_run(arch, choice, data).action;
	char text[MODEL_TEXT_MAX];

	if (got != action(error))
		fail_msg("%s: %#x, not %#x", model_text(arch, choice, data, text), got,
			 action(error));
}

/* A call on one architecture, as it stands, and with what the kernel does not read. */
static void expect_row(const struct filter_arch *arch, const struct row *row, int number)
{
	for (unsigned choice = 0; choice < FILTER_CHOICES; choice++) {
		struct sc_data data = { .nr = number, .arch = arch->token };

		memcpy(data.args, row->args, sizeof(data.args));
		if (!(row->in & 1U << choice))
			continue;
		expect(arch, choice, &data, row->error);
		for (size_t i = 0; i < 6; i++)
			data.args[i] |= HIGH;
		data.instruction_pointer = UINT64_MAX;
		expect(arch, choice, &data, row->error);
		data.nr = (int32_t)((uint32_t)number | SC_X32_BIT);
		expect(arch, choice, &data, ENOSYS);
	}
}

static void calls_answer_as_attacks_md_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned found = 0;

		for (size_t a = 0; a < FILTER_ARCHES; a++) {
			int number = model_number(&filter_arches[a], rows[i].call);

			if (number >= 0) {
				expect_row(&filter_arches[a], &rows[i], number);
				found++;
			}
		}
		if (found == 0)
			fail_msg("row %zu: no architecture has %s", i, rows[i].call);
	}
}

static void another_architecture_is_killed(void **state)
{
	static const uint32_t tokens[] = { SC_ARCH_X86_64,
					   SC_ARCH_I386,
					   SC_ARCH_AARCH64,
					   SC_ARCH_ARM,
					   SC_ARCH_RISCV64,
					   0x400000f3 /* riscv32 */,
					   0,
					   UINT32_MAX };

	(void)state;
	for (size_t a = 0; a < FILTER_ARCHES; a++) {
		for (size_t t = 0; t < COUNT(tokens); t++) {
			for (int32_t nr = 0; nr < 512 && tokens[t] != filter_arches[a].token;
			     nr++) {
				struct sc_data data = { .nr = nr, .arch = tokens[t] };

				for (unsigned choice = 0; choice < FILTER_CHOICES; choice++)
					expect(&filter_arches[a], choice, &data, KILL);
			}
		}
	}
}

static void numbers_from_the_future_are_enosys(void **state)
{
	static const uint32_t numbers[] = {
		FILTER_NEWEST + 1, 511,	       512,	   547,	       1024,	  4095, SC_X32_BIT,
		SC_X32_BIT | 512,  0x7fffffff, 0x80000000, 0xc0000029, UINT32_MAX
	};

	(void)state;
	for (size_t a = 0; a < FILTER_ARCHES; a++) {
		for (size_t i = 0; i < COUNT(numbers); i++) {
			struct sc_data data = { .nr = (int32_t)numbers[i],
						.arch = filter_arches[a].token };

			for (unsigned choice = 0; choice < FILTER_CHOICES; choice++)
				expect(&filter_arches[a], choice, &data, ENOSYS);
		}
		/* The gap that other architectures' old calls left: a kernel may yet fill it. */
		struct sc_data gap = { .nr = 400, .arch = filter_arches[a].token };
		expect(&filter_arches[a], 0, &gap, ENOSYS);
	}
}

/* ---- words --------------------------------------------------------------------------- */

static const struct filter_word header_words[] = {
#define WORD(name)                      \
	{                               \
		(uint32_t)(name), #name \
	}
	WORD(AF_UNIX),
	WORD(AF_INET),
	WORD(AF_INET6),
	WORD(SOCK_STREAM),
	WORD(SOCK_SEQPACKET),
	WORD(IPPROTO_TCP),
	WORD(MSG_FASTOPEN),
	WORD(CLONE_PARENT),
	WORD(CLONE_NEWNS),
	WORD(CLONE_NEWCGROUP),
	WORD(CLONE_NEWUTS),
	WORD(CLONE_NEWIPC),
	WORD(CLONE_NEWUSER),
	WORD(CLONE_NEWPID),
	WORD(CLONE_NEWNET),
	WORD(PRIO_PROCESS),
	WORD(F_SETOWN),
	WORD(F_SETSIG),
	WORD(F_SETOWN_EX),
	WORD(F_SETFL),
	WORD(O_ASYNC),
	WORD(F_SETLEASE),
	WORD(F_NOTIFY),
	WORD(FIOASYNC),
	WORD(FIOSETOWN),
	WORD(SIOCSPGRP),
	WORD(TIOCSTI),
	WORD(TIOCLINUX),
	WORD(TIOCSETD),
	WORD(TIOCSPGRP),
	WORD(TIOCVHANGUP),
	WORD(TIOCCONS),
	WORD(TIOCEXCL),
	WORD(TIOCSIG),
	WORD(FS_IOC_GETFLAGS),
	WORD(FS_IOC_FSSETXATTR),
	WORD(TIOCSWINSZ),
	WORD(TCXONC),
	WORD(FS_IOC_FIEMAP),
	WORD(S_ISUID),
	WORD(S_IFCHR),
	WORD(S_IFBLK),
	WORD(RENAME_WHITEOUT),
	WORD(O_CREAT),
	WORD(FS_IOC_SETVERSION),
	WORD(TCP_ULP),
	WORD(SOL_SOCKET),
	WORD(SO_BINDTODEVICE),
	WORD(TCP_FASTOPEN_CONNECT),
	WORD(ADDR_NO_RANDOMIZE),
	WORD(PER_LINUX32),
	WORD(UNAME26),
#undef WORD
};

static void words_have_the_headers_values(void **state)
{
	unsigned met = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(header_words); i++) {
		bool found = false;

		for (size_t r = 0; r < filter_rule_count; r++) {
			for (size_t t = 0; t < FILTER_TESTS_MAX && filter_rules[r].tests[t].name;
			     t++) {
				const struct filter_test *test = &filter_rules[r].tests[t];

				for (size_t w = 0; w < test->count; w++) {
					if (strcmp(test->words[w].name, header_words[i].name) != 0)
						continue;
					assert_int_equal(test->words[w].value,
							 header_words[i].value);
					found = true;
				}
			}
		}
		if (!found)
			fail_msg("no rule has %s", header_words[i].name);
		met += found;
	}
	assert_int_equal(met, COUNT(header_words));
}

/* ---- in words ------------------------------------------------------------------------ */

struct printed {
	char text[32768];
	size_t len;
	unsigned lines;
};

static void keep(void *arg, const char *text)
{
	struct printed *printed = arg;

	assert_true(strlen(text) < 760);
	assert_null(strchr(text, '\n'));
	printed->len += (size_t)snprintf(printed->text + printed->len,
					 sizeof(printed->text) - printed->len, "%s\n", text);
	assert_true(printed->len < sizeof(printed->text));
	printed->lines++;
}

static void the_filter_is_told_in_words(void **state)
{
	static const struct {
		unsigned in;
		const char *line;
	} lines[] = {
		{ 0x03, "\nconnect -> EPERM (not granted): " },
		{ NET | BROKER, "\nconnect -> allow (granted): " },
		{ NO_EXEC, "\nmemfd_create if flags & 8 is 0 -> EACCES (not granted): " },
		{ NET,
		  "\nsocket if family is AF_INET or AF_INET6 and type & 0xf is SOCK_STREAM and protocol is 0 or IPPROTO_TCP -> allow (granted): " },
		{ BROKER,
		  "\nsocket if family is AF_UNIX and type & 0xf is SOCK_STREAM -> allow (granted): " },
		{ ANY, "\nclone3 -> ENOSYS: " },
		{ ANY, "\nsendmsg if flags has MSG_FASTOPEN -> EOPNOTSUPP: " },
		{ ANY, " if pid is not 0 -> EPERM: " },
		{ ANY, "\nanything else -> allow\n" },
		{ ANY, "architecture is not " SC_ARCH_NATIVE_NAME " -> kill: " },
		{ ANY, "-472 -> ENOSYS: " },
	};
	static struct printed printed;

	(void)state;
	for (unsigned choice = 0; choice < FILTER_CHOICES; choice++) {
		memset(&printed, 0, sizeof(printed));
		filter_print(filter_choice_at(choice), keep, &printed);
		for (size_t i = 0; i < COUNT(lines); i++) {
			bool there = strstr(printed.text, lines[i].line);

			if (there != !!(lines[i].in & 1U << choice))
				fail_msg("choice %u:%s%s", choice, there ? " wrongly " : " lacks ",
					 lines[i].line);
		}
		assert_true(printed.lines > 30);
	}
}

static void choices_are_numbered_both_ways(void **state)
{
	const struct filter_choice strict = { 0 };

	(void)state;
	assert_int_equal(filter_index(strict), 0);
	for (unsigned i = 0; i < FILTER_CHOICES; i++) {
		const struct sc_program *program = filter_program(filter_choice_at(i));

		assert_int_equal(filter_index(filter_choice_at(i)), i);
		/* The token compared with, in the second instruction, is ours. */
		assert_int_equal(program->insns[1].k, SC_ARCH_NATIVE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_answer_as_attacks_md_says),
		cmocka_unit_test(another_architecture_is_killed),
		cmocka_unit_test(numbers_from_the_future_are_enosys),
		cmocka_unit_test(words_have_the_headers_values),
		cmocka_unit_test(the_filter_is_told_in_words),
		cmocka_unit_test(choices_are_numbered_both_ways),
	};

	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
