/* Run a program inside a container shaped like Docker's default one, without Docker:
 *
 *	contain docker|docker-old UID PROGRAM [ARGUMENT…]
 *
 * Namespaces of its own, Docker's default capabilities, and a filter that answers as Docker's
 *default profile does for a process without CAP_SYS_ADMIN: EPERM for what it does not list, ENOSYS
 *for clone3 and for calls newer than it. docker-old refuses Landlock's calls too, as profiles from
 * before they were listed. To be started as root; exits as the program does.
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#define OUR_ARCH AUDIT_ARCH_RISCV64
#endif

#define NEWEST_LISTED 462 /* mseal */
#define NAMESPACES 0x7E020000U
#define VSOCK_FAMILY 40
#define LANDLOCK_FIRST 444
#define LANDLOCK_LAST 446
#define INSTRUCTIONS_MAX 160
#define CAP_BITS 41

static const unsigned denied[] = {
	SYS_acct,
	SYS_add_key,
	SYS_bpf,
	SYS_clock_adjtime,
	SYS_clock_settime,
	SYS_delete_module,
	SYS_finit_module,
	425, /* io_uring_setup, io_uring_enter, io_uring_register */
	426,
	427,
	SYS_get_mempolicy,
	SYS_init_module,
	SYS_kcmp,
	SYS_kexec_load,
	SYS_keyctl,
	SYS_mbind,
	SYS_mount,
	SYS_move_pages,
	SYS_open_by_handle_at,
	SYS_perf_event_open,
	SYS_pivot_root,
	SYS_quotactl,
	SYS_reboot,
	SYS_request_key,
	SYS_set_mempolicy,
	SYS_setns,
	SYS_settimeofday,
	SYS_swapon,
	SYS_swapoff,
	SYS_syslog,
	SYS_umount2,
	SYS_unshare,
	SYS_userfaultfd,
	SYS_vhangup,
	428, /* open_tree, move_mount, fsopen, fsconfig, fsmount, fspick */
	429,
	430,
	431,
	432,
	433,
	442, /* mount_setattr */
#if defined(__x86_64__)
	SYS__sysctl,
	SYS_create_module,
	SYS_get_kernel_syms,
	SYS_ioperm,
	SYS_iopl,
	SYS_kexec_file_load,
	SYS_lookup_dcookie,
	SYS_nfsservctl,
	SYS_query_module,
	SYS_sysfs,
	SYS_uselib,
	SYS_ustat,
#endif
};

static const int kept_capabilities[] = {
	CAP_CHOWN,   CAP_DAC_OVERRIDE, CAP_FSETID,	     CAP_FOWNER,
	CAP_MKNOD,   CAP_NET_RAW,      CAP_SETGID,	     CAP_SETUID,
	CAP_SETFCAP, CAP_SETPCAP,      CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
	CAP_KILL,    CAP_AUDIT_WRITE,
};

static void fail(const char *what)
{
	fprintf(stderr, "contain: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* ---- the filter ---- */

struct program {
	struct sock_filter at[INSTRUCTIONS_MAX];
	unsigned short count;
};

static void add(struct program *p, unsigned short code, unsigned k, unsigned char jt,
		unsigned char jf)
{
	if (p->count == INSTRUCTIONS_MAX) {
		errno = E2BIG;
		fail("filter");
	}
	p->at[p->count++] = (struct sock_filter)BPF_JUMP(code, k, jt, jf);
}

static void load(struct program *p, unsigned offset)
{
	add(p, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

/* If the value loaded is k, answer `action`. */
static void answer(struct program *p, unsigned k, unsigned action)
{
	add(p, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
	add(p, BPF_RET | BPF_K, action, 0, 0);
}

static void install_filter(int old)
{
	const unsigned eperm = SECCOMP_RET_ERRNO | EPERM, enosys = SECCOMP_RET_ERRNO | ENOSYS;
	struct program p = { .count = 0 };
	struct sock_fprog fprog;

	load(&p, offsetof(struct seccomp_data, arch));
	add(&p, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
	add(&p, BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	load(&p, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		answer(&p, denied[i], eperm);
	for (unsigned nr = LANDLOCK_FIRST; old && nr <= LANDLOCK_LAST; nr++)
		answer(&p, nr, eperm);
	answer(&p, SYS_clone3, enosys);
	add(&p, BPF_JMP | BPF_JGT | BPF_K, NEWEST_LISTED, 0, 1);
	add(&p, BPF_RET | BPF_K, enosys, 0, 0);
	add(&p, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
	load(&p, offsetof(struct seccomp_data, args[0]));
	add(&p, BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 5);
	add(&p, BPF_RET | BPF_K, eperm, 0, 0);
	add(&p, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3);
	load(&p, offsetof(struct seccomp_data, args[0]));
	answer(&p, VSOCK_FAMILY, eperm);
	add(&p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);

	fprog = (struct sock_fprog){ .len = p.count, .filter = p.at };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) < 0)
		fail("seccomp");
}

/* ---- the rest of the container ---- */

static int is_kept(int capability)
{
	for (size_t i = 0; i < sizeof(kept_capabilities) / sizeof(kept_capabilities[0]); i++)
		if (kept_capabilities[i] == capability)
			return 1;
	return 0;
}

static void drop_capabilities(void)
{
	for (int capability = 0; capability < CAP_BITS; capability++)
		if (!is_kept(capability))
			prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		fail("loopback");
	close(fd);
}

static void remount(const char *type, const char *target, unsigned long flags)
{
	if (mount(type, target, type, MS_NOSUID | MS_NODEV | MS_NOEXEC | flags, NULL) < 0)
		fail(target);
}

static void inside(int old, uid_t uid, char **argv)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fail("private mounts");
	remount("proc", "/proc", 0);
	remount("sysfs", "/sys", MS_RDONLY);
	remount("cgroup2", "/sys/fs/cgroup", MS_RDONLY);
	loopback_up();
	install_filter(old);
	drop_capabilities();
	if (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0)
		fail("become the user");
	execv(argv[0], argv);
	fail(argv[0]);
}

int main(int argc, char **argv)
{
	int old, status;
	uid_t uid;
	pid_t pid;

	if (argc < 4 || (strcmp(argv[1], "docker") && strcmp(argv[1], "docker-old"))) {
		fprintf(stderr, "usage: contain docker|docker-old UID PROGRAM [ARGUMENT...]\n");
		return 64;
	}
	old = strcmp(argv[1], "docker-old") == 0;
	uid = (uid_t)strtoul(argv[2], NULL, 10);
	if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
		    CLONE_NEWNET) < 0)
		fail("unshare");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0)
		inside(old, uid, argv + 3);
	if (waitpid(pid, &status, 0) != pid)
		fail("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
