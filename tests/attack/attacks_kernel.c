/* Kernel interfaces that no module needs. Where success would change the machine, the control is
 * the kernel's own complaint about an argument.
 */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls newer than the C library's list; from 424 on all architectures share one numbering. */
#define NR_MEMFD_SECRET 447
#define NR_OPEN_TREE_ATTR 467
#define NR_LISTNS 470

#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

/* ---- namespaces ---- */

static int clone_with(const struct stage *s, const long *arg)
{
	long pid = syscall(SYS_clone, arg[0] | SIGCHLD, 0, 0, 0, 0);

	(void)s;
	if (pid == 0)
		_exit(0);
	return answer_zero(pid);
}

static int clone3_with(const struct stage *s, const long *arg)
{
	struct clone_args args = { .flags = (uint64_t)arg[0], .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	(void)s;
	if (pid == 0)
		_exit(0);
	return answer_zero(pid);
}

static int join_namespace(const struct stage *s, const long *arg)
{
	int fd = open(TEXT_OF(arg[0]), O_RDONLY | O_CLOEXEC);

	(void)s;
	if (fd < 0)
		return broken("open a namespace");
	return answer_zero(syscall(SYS_setns, fd, 0));
}

/* ---- mounts ---- */

static int mount_memory(const struct stage *s, const long *arg)
{
	const char *folder = path_at(s, WORK, "folder");

	(void)arg;
	if (mount("none", folder, "tmpfs", 0, NULL) < 0)
		return -errno;
	umount2(folder, MNT_DETACH);
	return 0;
}

static int mount_bind(const struct stage *s, const long *arg)
{
	const char *folder = path_at(s, WORK, "folder");

	(void)arg;
	if (mount("/", folder, NULL, MS_BIND, NULL) < 0)
		return -errno;
	umount2(folder, MNT_DETACH);
	return 0;
}

static int change_root(const struct stage *s, const long *arg)
{
	(void)arg;
	return answer_zero(chroot(place_path(s, WORK)));
}

static int tree_of(const struct stage *s, const long *arg)
{
	return answer_fd((int)syscall(arg[0], AT_FDCWD, place_path(s, WORK), arg[1], 0, 0));
}

static int open_filesystem(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_fd((int)syscall(SYS_fsopen, "tmpfs", 0));
}

/* ---- handles ---- */

struct handle {
	struct {
		unsigned bytes;
		int type;
	} head;
	char room[128];
};

static int handle_of(const struct stage *s, struct handle *h)
{
	int mount_id;

	h->head.bytes = sizeof(h->room);
	return answer_zero(syscall(SYS_name_to_handle_at, AT_FDCWD, path_at(s, OUTSIDE, "read"), h,
				   &mount_id, 0));
}

static int name_to_handle(const struct stage *s, const long *arg)
{
	struct handle h;

	(void)arg;
	return handle_of(s, &h);
}

static int open_by_handle(const struct stage *s, const long *arg)
{
	struct handle h = { { 8, 1 }, { 2 } };
	int fd = open(place_path(s, WORK), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)arg;
	handle_of(s, &h);
	return answer_fd((int)syscall(SYS_open_by_handle_at, fd, &h, O_RDONLY | O_CLOEXEC));
}

/* ---- keys, programs in the kernel, faults ---- */

static int add_key(const struct stage *s, const long *arg)
{
	return answer_zero(syscall(SYS_add_key, "user", s->tag, "x", 1, arg[0]));
}

static int request_key(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(syscall(SYS_request_key, "user", "oarbank-no-such-key", NULL, 0));
}

static int make_map(const struct stage *s, const long *arg)
{
	union bpf_attr attr;

	(void)s;
	memset(&attr, 0, sizeof(attr));
	attr.map_type = (uint32_t)arg[0];
	attr.key_size = attr.value_size = 4;
	attr.max_entries = 1;
	return answer_fd((int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int make_descriptor(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_fd((int)syscall(arg[0], arg[1], arg[2]));
}

/* ---- the machine ---- */

static int same_host_name(const struct stage *s, const long *arg)
{
	char name[256];

	(void)s;
	(void)arg;
	if (gethostname(name, sizeof(name)) < 0)
		return broken("gethostname");
	return answer_zero(sethostname(name, strlen(name)));
}

/* In a session of its own: it is the session's terminal that is hung up. */
static int hang_up(const struct stage *s, const long *arg)
{
	pid_t pid = fork();

	(void)s;
	(void)arg;
	if (pid == 0) {
		setsid();
		_exit(answer_code(answer_zero(syscall(SYS_vhangup))));
	}
	return pid < 0 ? broken("fork") : wait_answer(pid);
}

static int open_path(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_fd(open(TEXT_OF(arg[0]), (int)arg[1] | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

#define BAD_POINTER 1
/* user.max_user_namespaces is 0. */
#define NO_USERS .absent = -ENOSPC
#define NOWHERE TEXT("/nonexistent")
#define DENY_OPEN(what, path, flags) \
	DENY(what, EACCES, open_path, TEXT(path), flags), .absent = -ENOENT

static const struct row table[] = {
	{ DENY("unshare_user", EPERM, try_syscall, SYS_unshare, CLONE_NEWUSER), NO_USERS },
	{ DENY("unshare_mounts", EPERM, try_syscall, SYS_unshare, CLONE_NEWNS) },
	{ DENY("unshare_network", EPERM, try_syscall, SYS_unshare, CLONE_NEWNET) },
	{ DENY("unshare_pids", EPERM, try_syscall, SYS_unshare, CLONE_NEWPID) },
	{ DENY("unshare_ipc", EPERM, try_syscall, SYS_unshare, CLONE_NEWIPC) },
	{ DENY("unshare_names", EPERM, try_syscall, SYS_unshare, CLONE_NEWUTS) },
	{ DENY("unshare_cgroup", EPERM, try_syscall, SYS_unshare, CLONE_NEWCGROUP) },
	{ DENY("unshare_time", EPERM, try_syscall, SYS_unshare, CLONE_NEWTIME) },
	{ DENY("unshare_high_half", EPERM, try_syscall, SYS_unshare, 1L << 32 | CLONE_NEWUSER),
	  .control = -EINVAL },
	{ DENY("clone_user", EPERM, clone_with, CLONE_NEWUSER), NO_USERS },
	{ DENY("clone_user_and_network", EPERM, clone_with, CLONE_NEWUSER | CLONE_NEWNET),
	  NO_USERS },
	{ DENY("clone_mounts", EPERM, clone_with, CLONE_NEWNS) },
	{ DENY("clone_network", EPERM, clone_with, CLONE_NEWNET) },
	{ DENY("clone_pids", EPERM, clone_with, CLONE_NEWPID) },
	{ DENY("clone_ipc", EPERM, clone_with, CLONE_NEWIPC) },
	{ DENY("clone_names", EPERM, clone_with, CLONE_NEWUTS) },
	{ DENY("clone_cgroup", EPERM, clone_with, CLONE_NEWCGROUP) },
	{ DENY("clone3", ENOSYS, clone3_with, 0) },
	{ DENY("clone3_user", ENOSYS, clone3_with, CLONE_NEWUSER), NO_USERS },
	{ DENY("setns", EPERM, try_syscall, SYS_setns, -1, 0), .control = -EBADF },
	{ DENY("setns_mounts", EPERM, join_namespace, TEXT("/proc/self/ns/mnt")) },
	{ DENY("listns", EPERM, try_syscall, NR_LISTNS, BAD_POINTER, 0, 0, 0), .control = -EFAULT },

	{ DENY("mount_memory", EPERM, mount_memory) },
	{ DENY("mount_bind", EPERM, mount_bind) },
	{ DENY("umount", EPERM, try_syscall, SYS_umount2, NOWHERE, 0), .control = -ENOENT },
	{ DENY("pivot_root", EPERM, try_syscall, SYS_pivot_root, NOWHERE, NOWHERE),
	  .control = -ENOENT },
	{ DENY("chroot", EPERM, change_root) },
	{ DENY("fsopen", EPERM, open_filesystem) },
	{ DENY("fsconfig", EPERM, try_syscall, SYS_fsconfig, -1, 6, 0, 0, 0), .control = -EINVAL },
	{ DENY("fsmount", EPERM, try_syscall, SYS_fsmount, -1, 0, 0), .control = -EBADF },
	{ DENY("fspick", EPERM, try_syscall, SYS_fspick, AT_FDCWD, NOWHERE, 0),
	  .control = -ENOENT },
	{ DENY("move_mount", EPERM, try_syscall, SYS_move_mount, -1, NOWHERE, -1, NOWHERE, 0),
	  .control = -ENOENT },
	{ DENY("open_tree", EPERM, tree_of, SYS_open_tree, 0) },
	{ DENY("open_tree_clone", EPERM, tree_of, SYS_open_tree, OPEN_TREE_CLONE) },
	{ DENY("open_tree_attr", EPERM, tree_of, NR_OPEN_TREE_ATTR, 0) },
	{ DENY("mount_setattr", EPERM, try_syscall, SYS_mount_setattr, -1, NOWHERE, 0, BAD_POINTER,
	       32),
	  .control = -EFAULT },
	{ DENY("name_to_handle", EPERM, name_to_handle) },
	{ DENY("open_by_handle", EPERM, open_by_handle) },

	{ DENY("key_add", EPERM, add_key, -2) },
	{ DENY("key_add_user", EPERM, add_key, -4) },
	{ DENY("key_request", EPERM, request_key), .control = -ENOKEY },
	{ DENY("key_control", EPERM, try_syscall, SYS_keyctl, 0, -4, 0) },
	{ DENY("bpf_map", EPERM, make_map, BPF_MAP_TYPE_ARRAY) },
	{ DENY("bpf_bad_command", EPERM, try_syscall, SYS_bpf, 9999, BAD_POINTER, 8),
	  .control = -EFAULT },
	{ DENY("userfaultfd", EPERM, make_descriptor, SYS_userfaultfd, O_CLOEXEC | 1) },
	{ DENY("fanotify", EPERM, make_descriptor, SYS_fanotify_init, 0x200, 0) },
	{ DENY("fanotify_mark", EPERM, try_syscall, SYS_fanotify_mark, -1, 1, 1, AT_FDCWD, NOWHERE),
	  .control = -EBADF },
	{ DENY("memfd_secret", ENOSYS, make_descriptor, NR_MEMFD_SECRET, 0) },

	{ DENY("quota_sync", EPERM, try_syscall, SYS_quotactl, 0x800001 << 8, 0, 0, 0) },
	{ DENY("quota_fd", EPERM, try_syscall, SYS_quotactl_fd, -1, 0x800001 << 8, 0, 0),
	  .control = -EBADF },
	{ DENY("kernel_log", EPERM, try_syscall, SYS_syslog, 10, 0, 0) },
	{ DENY("accounting", EPERM, try_syscall, SYS_acct, NOWHERE), .control = -ENOENT },
	{ DENY("swapon", EPERM, try_syscall, SYS_swapon, NOWHERE, 0), .control = -ENOENT },
	{ DENY("swapoff", EPERM, try_syscall, SYS_swapoff, NOWHERE), .control = -ENOENT },
	{ DENY("vhangup", EPERM, hang_up) },
	{ DENY("host_name", EPERM, same_host_name) },
	{ DENY("domain_name", EPERM, try_syscall, SYS_setdomainname, BAD_POINTER, 8),
	  .control = -EFAULT },
	{ DENY("clock_set", EPERM, try_syscall, SYS_clock_settime, 0, BAD_POINTER),
	  .control = -EFAULT },
	{ DENY("clock_adjust", EPERM, try_syscall, SYS_clock_adjtime, 0, BAD_POINTER),
	  .control = -EFAULT },
	{ DENY("clock_tune", EPERM, try_syscall, SYS_adjtimex, BAD_POINTER), .control = -EFAULT },
	{ DENY("time_of_day", EPERM, try_syscall, SYS_settimeofday, BAD_POINTER, 0),
	  .control = -EFAULT },
	{ DENY("module_load", EPERM, try_syscall, SYS_init_module, BAD_POINTER, 0, NOWHERE),
	  .control = -ENOEXEC },
	{ DENY("module_load_fd", EPERM, try_syscall, SYS_finit_module, -1, NOWHERE, 0),
	  .control = -EBADF },
	{ DENY("module_remove", EPERM, try_syscall, SYS_delete_module, TEXT("no_such_module"),
	       O_NONBLOCK),
	  .control = -ENOENT },
	{ DENY("kexec", EPERM, try_syscall, SYS_kexec_load, 0, 0, 0, 0xff), .control = -EINVAL },
	{ DENY("kexec_file", EPERM, try_syscall, SYS_kexec_file_load, -1, -1, 0, NOWHERE, 0xff00),
	  .control = -EINVAL },
	{ DENY("reboot", EPERM, try_syscall, SYS_reboot, 0, 0, 0, 0), .control = -EINVAL },
#ifdef __x86_64__
	{ DENY("io_level", EPERM, try_syscall, SYS_iopl, 0) },
	{ DENY("io_ports", EPERM, try_syscall, SYS_ioperm, 0x80, 1, 0) },
	{ DENY("segments", EPERM, try_syscall, SYS_modify_ldt, 0, 0, 0) },
	{ DENY("beyond_the_gap", ENOSYS, try_syscall, 400, 0), .control = -ENOSYS },
#endif
	{ DENY("future_call", ENOSYS, try_syscall, 500, 0), .control = -ENOSYS },
	{ DENY("personality_read_is_exec", EPERM, try_syscall, SYS_personality, 0x400000) },
	{ DENY("personality_svr4", EPERM, try_syscall, SYS_personality, 0x04100001) },
	{ ALLOW("personality_query", try_syscall, SYS_personality, 0xffffffff) },
	{ ALLOW("personality_plain_layout", try_syscall, SYS_personality, 0x40000) },

};

static const struct row file_table[] = {
	{ DENY_OPEN("device_memory", "/dev/mem", O_RDONLY) },
	{ DENY_OPEN("device_log", "/dev/kmsg", O_RDONLY) },
	{ DENY_OPEN("device_kvm", "/dev/kvm", O_RDWR) },
	{ DENY_OPEN("device_fuse", "/dev/fuse", O_RDWR) },
	{ DENY_OPEN("device_tun", "/dev/net/tun", O_RDWR) },
	{ DENY_OPEN("device_loop", "/dev/loop-control", O_RDWR) },
	{ DENY_OPEN("device_loop_block", "/dev/loop0", O_RDONLY) },
	{ DENY_OPEN("device_disk", "/dev/vda", O_RDONLY) },
	{ DENY_OPEN("device_userfault", "/dev/userfaultfd", O_RDWR) },
	{ DENY_OPEN("device_vsock", "/dev/vsock", O_RDONLY) },
	{ DENY_OPEN("device_list", "/dev", O_RDONLY | O_DIRECTORY) },
	{ DENY_OPEN("sys_kernel", "/sys/kernel/uevent_seqnum", O_RDONLY) },
	{ DENY_OPEN("sys_list", "/sys", O_RDONLY | O_DIRECTORY) },
	{ DENY_OPEN("cgroup_leave", "/sys/fs/cgroup/cgroup.procs", O_WRONLY) },
	{ DENY_OPEN("cgroup_leave_hybrid", "/sys/fs/cgroup/unified/cgroup.procs", O_WRONLY) },
	{ DENY_OPEN("cgroup_leave_v1", "/sys/fs/cgroup/pids/cgroup.procs", O_WRONLY) },
	{ DENY_OPEN("proc_sysrq", "/proc/sysrq-trigger", O_WRONLY) },
	{ DENY_OPEN("proc_core_pattern", "/proc/sys/kernel/core_pattern", O_WRONLY) },
	{ DENY_OPEN("proc_sysctl", "/proc/sys/vm/overcommit_memory", O_WRONLY) },
	{ DENY_OPEN("proc_oom_lower", "/proc/self/oom_score_adj", O_WRONLY) },
	{ DENY_OPEN("proc_mem_own_write", "/proc/self/mem", O_RDWR) },
	{ DENY_OPEN("proc_comm", "/proc/self/comm", O_WRONLY) },
	{ DENY_OPEN("proc_clear_refs", "/proc/self/clear_refs", O_WRONLY) },
	{ DENY_OPEN("proc_timerslack", "/proc/self/timerslack_ns", O_WRONLY) },
	{ DENY_OPEN("proc_coredump_filter", "/proc/self/coredump_filter", O_WRONLY) },
	{ DENY_OPEN("proc_autogroup", "/proc/self/autogroup", O_WRONLY) },
	{ DENY_OPEN("proc_uid_map", "/proc/self/uid_map", O_WRONLY) },
	{ DENY_OPEN("proc_attr", "/proc/self/attr/current", O_WRONLY) },
	{ ALLOW("proc_status", open_path, TEXT("/proc/self/status"), O_RDONLY) },
	{ ALLOW("cpu_list", open_path, TEXT("/sys/devices/system/cpu/online"), O_RDONLY) },
};

ROWS(kernel_rows, table);
ROWS_TOGETHER(kernel_file_rows, file_table);
