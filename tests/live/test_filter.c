/* The seccomp programs on this kernel: other processes, files, kernel interfaces, and what must
 * keep working.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "kabi/seccomp.h"
#include "tests/fake/attempt.h"

/* What the attempts find ready. */
static char dir[] = "/tmp/filter-XXXXXX";
static char file[64];
static int null_pipe[2];

static int try_prlimit_parent(void)
{
	struct rlimit old;

	return attempt_outcome(prlimit(getppid(), RLIMIT_CORE, NULL, &old));
}

static int try_prlimit_self(void)
{
	struct rlimit now;

	return attempt_outcome(getrlimit(RLIMIT_CORE, &now)) ||
	       attempt_outcome(setrlimit(RLIMIT_CORE, &now));
}

static int try_nice_parent(void)
{
	return attempt_outcome(setpriority(PRIO_PROCESS, (id_t)getppid(),
					   getpriority(PRIO_PROCESS, (id_t)getppid())));
}

static int try_nice_group(void)
{
	setpgid(0, 0);
	return attempt_outcome(setpriority(PRIO_PGRP, 0, getpriority(PRIO_PGRP, 0)));
}

static int try_nice_self(void)
{
	return attempt_outcome(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)));
}

static int try_ioprio_parent(void)
{
	return attempt_outcome(syscall(SYS_ioprio_set, 1, getppid(), 0));
}

static int try_ioprio_self(void)
{
	return attempt_outcome(syscall(SYS_ioprio_set, 1, 0, 0));
}

static int set_affinity(pid_t pid)
{
	cpu_set_t set;

	if (sched_getaffinity(pid, sizeof(set), &set) < 0)
		return errno;
	return attempt_outcome(sched_setaffinity(pid, sizeof(set), &set));
}

static int try_affinity_parent(void)
{
	return set_affinity(getppid());
}

static int try_affinity_self(void)
{
	return set_affinity(0);
}

static int try_scheduler_parent(void)
{
	struct sched_param param = { 0 };

	return attempt_outcome(syscall(SYS_sched_setscheduler, getppid(), SCHED_OTHER, &param));
}

static int try_shm(void)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);

	return id < 0 ? errno : attempt_outcome(shmctl(id, IPC_RMID, NULL));
}

static int try_sem(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600);

	return id < 0 ? errno : attempt_outcome(semctl(id, 0, IPC_RMID));
}

static int try_msg(void)
{
	int id = msgget(IPC_PRIVATE, 0600);

	return id < 0 ? errno : attempt_outcome(msgctl(id, IPC_RMID, NULL));
}

static int try_mq(void)
{
	char name[40];

	snprintf(name, sizeof(name), "/oarbank-%d", (int)getpid());
	return mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, NULL) < 0
		       ? errno
		       : attempt_outcome(mq_unlink(name));
}

static int try_setown(void)
{
	return attempt_outcome(fcntl(null_pipe[0], F_SETOWN, getpid()));
}

static int try_setsig(void)
{
	return attempt_outcome(fcntl(null_pipe[0], F_SETSIG, 0));
}

static int try_async(void)
{
	return attempt_outcome(fcntl(null_pipe[0], F_SETFL, O_ASYNC));
}

static int try_nonblock(void)
{
	return attempt_outcome(fcntl(null_pipe[0], F_SETFL, O_NONBLOCK));
}

static int try_fioasync(void)
{
	int on = 0;

	return attempt_outcome(ioctl(null_pipe[0], FIOASYNC, &on));
}

static int try_lease(void)
{
	return attempt_outcome(fcntl(open(file, O_RDONLY | O_CLOEXEC), F_SETLEASE, F_RDLCK));
}

static int try_notify(void)
{
	return attempt_outcome(fcntl(open(dir, O_RDONLY | O_CLOEXEC), F_NOTIFY, DN_CREATE));
}

static int try_tiocsti(void)
{
	return attempt_outcome(ioctl(null_pipe[0], TIOCSTI, "x"));
}

static int try_tiocspgrp(void)
{
	pid_t group = getpgrp();

	return attempt_outcome(ioctl(null_pipe[0], TIOCSPGRP, &group));
}

static int try_inode_flags(void)
{
	int flags = 0;

	return attempt_outcome(ioctl(null_pipe[0], FS_IOC_SETFLAGS, &flags));
}

static int try_subvolume(void)
{
	return attempt_outcome(ioctl(null_pipe[0], 0x5000940e /* BTRFS_IOC_SUBVOL_CREATE */, NULL));
}

static int try_getxattr(void)
{
	char value[8];

	return attempt_outcome(getxattr(file, "user.oarbank", value, sizeof(value)));
}

static int try_fgetxattr(void)
{
	char value[8];

	return attempt_outcome(
		fgetxattr(open(file, O_RDONLY | O_CLOEXEC), "user.oarbank", value, sizeof(value)));
}

static int try_removexattr(void)
{
	return attempt_outcome(fremovexattr(open(file, O_RDWR | O_CLOEXEC), "user.oarbank"));
}

static int try_memfd(void)
{
	return attempt_outcome(memfd_create("plain", MFD_CLOEXEC));
}

static int try_memfd_sealed(void)
{
	return attempt_outcome(memfd_create("sealed", MFD_CLOEXEC | 8 /* MFD_NOEXEC_SEAL */));
}

static int clone_with(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, 0);
	return attempt_outcome(pid);
}

static int try_clone_user(void)
{
	return clone_with(CLONE_NEWUSER);
}

static int try_clone_parent(void)
{
	return clone_with(CLONE_PARENT);
}

static int try_clone_plain(void)
{
	return clone_with(0);
}

static int try_clone3(void)
{
	return attempt_outcome(syscall(435, NULL, 0));
}

static int try_unshare(void)
{
	return attempt_outcome(unshare(CLONE_FS));
}

static int try_setns(void)
{
	return attempt_outcome(setns(-1, 0));
}

static int try_mount(void)
{
	return attempt_outcome(mount("none", "/no/such/place", "tmpfs", 0, NULL));
}

static int try_chroot(void)
{
	return attempt_outcome(chroot("/no/such/place"));
}

static int try_open_tree(void)
{
	return attempt_outcome(syscall(428, AT_FDCWD, "/", O_CLOEXEC));
}

static int try_handle(void)
{
	struct {
		unsigned bytes;
		int type;
	} handle = { 0, 0 };
	int mount_id;

	return attempt_outcome(
		syscall(SYS_name_to_handle_at, AT_FDCWD, file, &handle, &mount_id, 0));
}

static int try_keyctl(void)
{
	return attempt_outcome(
		syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -4 /* user keyring */, 0));
}

static int try_bpf(void)
{
	return attempt_outcome(syscall(SYS_bpf, -1, NULL, 0));
}

static int try_perf(void)
{
	return attempt_outcome(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int try_userfaultfd(void)
{
	return attempt_outcome(syscall(SYS_userfaultfd, 0x40000000));
}

static int try_klog(void)
{
	return attempt_outcome(syscall(SYS_syslog, 10 /* SIZE_BUFFER */, NULL, 0));
}

static int try_adjtimex(void)
{
	struct timex state = { .modes = 0 };

	return attempt_outcome(adjtimex(&state));
}

static int try_clock_settime(void)
{
	return attempt_outcome(syscall(SYS_clock_settime, CLOCK_REALTIME, NULL));
}

static int try_hostname(void)
{
	return attempt_outcome(syscall(SYS_sethostname, "x", -1));
}

static int try_ptrace(void)
{
	return attempt_outcome(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int try_vm_readv(void)
{
	return attempt_outcome(process_vm_readv(getppid(), NULL, 0, NULL, 0, 0));
}

static int try_kcmp(void)
{
	return attempt_outcome(syscall(SYS_kcmp, getpid(), getpid(), 1 /* VM */, 0, 0));
}

static int try_pidfd_getfd(void)
{
	return attempt_outcome(syscall(438, -1, 0, 0));
}

static int try_persona(void)
{
	return attempt_outcome(personality(READ_IMPLIES_EXEC));
}

static int try_persona_query(void)
{
	return attempt_outcome(personality(0xffffffff));
}

static int try_spawn(void)
{
	static char *argv[] = { "/bin/true", NULL };
	static char *envp[] = { NULL };
	int status = -1;
	pid_t pid;
	int r = posix_spawn(&pid, argv[0], NULL, NULL, argv, envp);

	if (r != 0)
		return r;
	waitpid(pid, &status, 0);
	return status ? ECHILD : 0;
}

static void *thread_body(void *arg)
{
	return arg;
}

static int try_thread(void)
{
	pthread_t thread;
	int r = pthread_create(&thread, NULL, thread_body, NULL);

	return r ? r : pthread_join(thread, NULL);
}

static int try_chmod(void)
{
	return attempt_outcome(chmod(file, 0600)) ||
	       attempt_outcome(utimensat(AT_FDCWD, file, NULL, 0));
}

static int try_setsid(void)
{
	return attempt_outcome(setsid());
}

static int try_inotify(void)
{
	return attempt_outcome(inotify_add_watch(inotify_init1(IN_CLOEXEC), dir, IN_CREATE));
}

static int try_pidfd(void)
{
	int fd = (int)syscall(434, getpid(), 0);

	return fd < 0 ? errno : attempt_outcome(syscall(424, fd, 0, NULL, 0));
}

#ifdef __x86_64__
static int try_i386(void)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid */) : "memory");
	return result == (int)getpid() ? 0 : -result;
}

static int try_x32(void)
{
	return attempt_outcome(syscall(SC_X32_BIT | SYS_getpid));
}

static int try_ldt(void)
{
	return attempt_outcome(syscall(SYS_modify_ldt, 0, NULL, 0));
}
#endif

static const struct attempt attempts[] = {
	{ "limits of another", try_prlimit_parent, ATTEMPT_ANY, EPERM, 0 },
	{ "limits of oneself", try_prlimit_self, ATTEMPT_ANY, 0, 0 },
	{ "nice of another", try_nice_parent, ATTEMPT_ANY, EPERM, 0 },
	{ "nice of a group", try_nice_group, ATTEMPT_ANY, EPERM, 0 },
	{ "nice of oneself", try_nice_self, ATTEMPT_ANY, 0, 0 },
	{ "ioprio of another", try_ioprio_parent, ATTEMPT_ANY, EPERM, 0 },
	{ "ioprio of oneself", try_ioprio_self, ATTEMPT_ANY, 0, 0 },
	{ "affinity of another", try_affinity_parent, ATTEMPT_ANY, EPERM, 0 },
	{ "affinity of oneself", try_affinity_self, ATTEMPT_ANY, 0, 0 },
	{ "scheduler of another", try_scheduler_parent, ATTEMPT_ANY, EPERM, 0 },
	{ "shared memory", try_shm, ATTEMPT_ANY, ENOSYS, 0 },
	{ "semaphores", try_sem, ATTEMPT_ANY, ENOSYS, 0 },
	{ "message queue", try_msg, ATTEMPT_ANY, ENOSYS, 0 },
	{ "posix message queue", try_mq, ATTEMPT_ANY, ENOSYS, 0 },
	{ "F_SETOWN", try_setown, ATTEMPT_ANY, EPERM, 0 },
	{ "F_SETSIG", try_setsig, ATTEMPT_ANY, EPERM, 0 },
	{ "O_ASYNC", try_async, ATTEMPT_ANY, EPERM, 0 },
	{ "O_NONBLOCK", try_nonblock, ATTEMPT_ANY, 0, 0 },
	{ "FIOASYNC", try_fioasync, ATTEMPT_ANY, EPERM, 0 },
	{ "lease", try_lease, ATTEMPT_ANY, EPERM, 0 },
	{ "F_NOTIFY", try_notify, ATTEMPT_ANY, EPERM, 0 },
	{ "TIOCSTI", try_tiocsti, ATTEMPT_ANY, EPERM, ENOTTY },
	{ "TIOCSPGRP", try_tiocspgrp, ATTEMPT_ANY, EPERM, ENOTTY },
	{ "inode flags", try_inode_flags, ATTEMPT_ANY, EPERM, ENOTTY },
	{ "subvolume", try_subvolume, ATTEMPT_ANY, EPERM, ENOTTY },
	{ "getxattr by path", try_getxattr, ATTEMPT_ANY, EOPNOTSUPP, ENODATA },
	{ "getxattr by descriptor", try_fgetxattr, ATTEMPT_ANY, ENODATA, ENODATA },
	{ "removexattr by descriptor", try_removexattr, ATTEMPT_ANY, EOPNOTSUPP, ENODATA },
	{ "memfd without the seal", try_memfd, ATTEMPT_NO_EXEC, EACCES, 0 },
	{ "memfd where execution is granted", try_memfd, ATTEMPT_EXEC, 0, 0 },
	{ "memfd with the seal", try_memfd_sealed, ATTEMPT_ANY, 0, 0 },
	{ "user namespace", try_clone_user, ATTEMPT_ANY, EPERM, 0 },
	{ "child for the parent", try_clone_parent, ATTEMPT_ANY, EPERM, 0 },
	{ "child", try_clone_plain, ATTEMPT_ANY, 0, 0 },
	{ "clone3", try_clone3, ATTEMPT_ANY, ENOSYS, EINVAL },
	{ "unshare", try_unshare, ATTEMPT_ANY, EPERM, 0 },
	{ "setns", try_setns, ATTEMPT_ANY, EPERM, EBADF },
	{ "mount", try_mount, ATTEMPT_ANY, EPERM, ENOENT },
	{ "chroot", try_chroot, ATTEMPT_ANY, EPERM, ENOENT },
	{ "open_tree", try_open_tree, ATTEMPT_ANY, EPERM, 0 },
	{ "file handle", try_handle, ATTEMPT_ANY, EPERM, EOVERFLOW },
	{ "keyring", try_keyctl, ATTEMPT_ANY, EPERM, 0 },
	{ "bpf", try_bpf, ATTEMPT_ANY, EPERM, EINVAL },
	{ "perf_event_open", try_perf, ATTEMPT_ANY, EPERM, EFAULT },
	{ "userfaultfd", try_userfaultfd, ATTEMPT_ANY, EPERM, EINVAL },
	{ "kernel log", try_klog, ATTEMPT_ANY, EPERM, 0 },
	{ "adjtimex", try_adjtimex, ATTEMPT_ANY, EPERM, 0 },
	{ "clock_settime", try_clock_settime, ATTEMPT_ANY, EPERM, EFAULT },
	{ "host name", try_hostname, ATTEMPT_ANY, EPERM, EINVAL },
	{ "ptrace", try_ptrace, ATTEMPT_ANY, EPERM, 0 },
	{ "memory of another", try_vm_readv, ATTEMPT_ANY, EPERM, 0 },
	{ "kcmp", try_kcmp, ATTEMPT_ANY, EPERM, 0 },
	{ "descriptor of another", try_pidfd_getfd, ATTEMPT_ANY, EPERM, EBADF },
	{ "personality", try_persona, ATTEMPT_ANY, EPERM, 0 },
	{ "personality asked", try_persona_query, ATTEMPT_ANY, 0, 0 },
	{ "program run", try_spawn, ATTEMPT_ANY, 0, 0 },
	{ "thread", try_thread, ATTEMPT_ANY, 0, 0 },
	{ "chmod and utimes", try_chmod, ATTEMPT_ANY, 0, 0 },
	{ "setsid", try_setsid, ATTEMPT_ANY, 0, 0 },
	{ "inotify", try_inotify, ATTEMPT_ANY, 0, 0 },
	{ "signal by pidfd", try_pidfd, ATTEMPT_ANY, 0, 0 },
#ifdef __x86_64__
	{ "i386 entry", try_i386, ATTEMPT_ANY, ATTEMPT_KILLED + SIGSYS, 0 },
	{ "x32 number", try_x32, ATTEMPT_ANY, ENOSYS, 0 },
	{ "modify_ldt", try_ldt, ATTEMPT_ANY, EPERM, 0 },
#endif
};

int main(void)
{
	int fd, failed;

	if (!mkdtemp(dir) || pipe2(null_pipe, O_CLOEXEC) < 0)
		abort();
	snprintf(file, sizeof(file), "%s/file", dir);
	fd = open(file, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		abort();
	close(fd);
	failed = attempts_judge(attempts, sizeof(attempts) / sizeof(attempts[0]), NULL);
	unlink(file);
	rmdir(dir);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
