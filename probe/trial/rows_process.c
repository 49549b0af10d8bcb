/* Other processes of the same user: signals, memory, descriptors, settings. */
#include "probe/trial/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "probe/trial/call.h"
#include "probe/trial/program.h"
#include "probe/trial/stage.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

static int result(long r)
{
	return r < 0 ? -errno : 0;
}

static int victim_descriptor(const struct stage *s)
{
	int fd = (int)syscall(SYS_pidfd_open, s->victim, 0);

	return fd < 0 ? -errno : fd;
}

/* ---- signals; SIGURG does nothing to who has not asked for it ---- */

static siginfo_t queued(void)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = SIGURG;
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	return info;
}

static int try_queue(const struct stage *s, const struct trial *t)
{
	siginfo_t info = queued();

	(void)t;
	return result(syscall(SYS_rt_sigqueueinfo, s->victim, SIGURG, &info));
}

static int try_queue_thread(const struct stage *s, const struct trial *t)
{
	siginfo_t info = queued();

	(void)t;
	return result(syscall(SYS_rt_tgsigqueueinfo, s->victim, s->victim, SIGURG, &info));
}

static int try_descriptor_signal(const struct stage *s, const struct trial *t)
{
	int fd = victim_descriptor(s);
	int r;

	(void)t;
	if (fd < 0)
		return fd;
	r = result(syscall(SYS_pidfd_send_signal, fd, SIGURG, NULL, 0));
	close(fd);
	return r;
}

/* To a child of our own: inside the sandbox. */
static int signal_oneself(void *arg)
{
	(void)arg;
	return result(kill(getpid(), SIGURG));
}

static int try_own_signal(const struct stage *s, const struct trial *t)
{
	(void)s;
	(void)t;
	return in_process(signal_oneself, NULL);
}

/* To the priority it has. */
static int try_own_priority(const struct stage *s, const struct trial *t)
{
	(void)s;
	(void)t;
	return result(setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)));
}

/* ---- memory and descriptors ---- */

/* A tracer that ends lets go of whom it traces. */
static int seize(void *arg)
{
	const struct stage *s = arg;

	return result(ptrace(PTRACE_SEIZE, s->victim, NULL, NULL));
}

static int try_ptrace(const struct stage *s, const struct trial *t)
{
	(void)t;
	return in_process(seize, (void *)s);
}

static int try_read_memory(const struct stage *s, const struct trial *t)
{
	char text[sizeof(STAGE_TEXT)];
	struct iovec here = { text, sizeof(text) };
	struct iovec there = { (void *)s->secret, sizeof(text) };
	ssize_t n = syscall(SYS_process_vm_readv, s->victim, &here, 1, &there, 1, 0);

	(void)t;
	if (n < 0)
		return -errno;
	return memcmp(text, STAGE_TEXT, sizeof(text)) == 0 ? 0 : -EIO;
}

/* Nothing, which needs the same permission. */
static int try_write_memory(const struct stage *s, const struct trial *t)
{
	struct iovec nothing = { NULL, 0 };

	(void)t;
	return result(syscall(SYS_process_vm_writev, s->victim, &nothing, 1, &nothing, 1, 0));
}

static int try_take_descriptor(const struct stage *s, const struct trial *t)
{
	int fd = victim_descriptor(s);
	int taken;
	int r;

	(void)t;
	if (fd < 0)
		return fd;
	taken = (int)syscall(SYS_pidfd_getfd, fd, STAGE_VICTIM_FD, 0);
	r = taken < 0 ? -errno : 0;
	if (taken >= 0)
		close(taken);
	close(fd);
	return r;
}

static int opens_of_victim(const struct stage *s, const char *name, int flags)
{
	char path[64];
	struct text t = TEXT_BUF(path);
	int fd;

	text_add(&t, "/proc/");
	text_add_int(&t, s->victim);
	text_add(&t, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int try_proc_memory(const struct stage *s, const struct trial *t)
{
	(void)t;
	return opens_of_victim(s, "/mem", O_RDWR);
}

static int try_proc_environment(const struct stage *s, const struct trial *t)
{
	(void)t;
	return opens_of_victim(s, "/environ", O_RDONLY);
}

static int try_proc_maps(const struct stage *s, const struct trial *t)
{
	(void)t;
	return opens_of_victim(s, "/maps", O_RDONLY);
}

/* No process and no user. */
#define NOBODY 0x7ffffff0

#define IPC .capability = CAPABILITY_IPC, .group = TRIAL_GROUP_PLAIN
#define SIGNAL IPC, .expect = TRIAL_DENIED, .errors = { EPERM }, .since_abi = 6
#define DENIED(...) .expect = TRIAL_DENIED, .errors = { __VA_ARGS__ }
#define CALLED SIGNAL, .attempt = try_call

static const struct trial rows[] = {
	{ .id = "signal.kill",
	  .what = "signal another process",
	  CALLED,
	  .core = true,
	  .number = SYS_kill,
	  .args = { ARG_VICTIM, SIGURG } },
	{ .id = "signal.parent",
	  .what = "signal the parent",
	  CALLED,
	  .core = true,
	  .number = SYS_kill,
	  .args = { ARG_HOST, SIGURG } },
	{ .id = "signal.group",
	  .what = "signal another process group",
	  CALLED,
	  .number = SYS_kill,
	  .args = { ARG_VICTIMS, SIGURG } },
	{ .id = "signal.exists",
	  .what = "ask by signal 0 whether a process is there",
	  CALLED,
	  .number = SYS_kill,
	  .args = { ARG_VICTIM, 0 } },
	{ .id = "signal.tkill",
	  .what = "signal a thread of another process",
	  CALLED,
	  .number = SYS_tkill,
	  .args = { ARG_VICTIM, SIGURG } },
	{ .id = "signal.tgkill",
	  .what = "signal a thread by its process",
	  CALLED,
	  .number = SYS_tgkill,
	  .args = { ARG_VICTIM, ARG_VICTIM, SIGURG } },
	{ .id = "signal.queue",
	  .what = "queue a signal with a value",
	  SIGNAL,
	  .attempt = try_queue },
	{ .id = "signal.queue-thread",
	  .what = "queue a signal for a thread",
	  SIGNAL,
	  .attempt = try_queue_thread },
	{ .id = "signal.descriptor",
	  .what = "signal by a process descriptor",
	  SIGNAL,
	  .attempt = try_descriptor_signal },
	{ .id = "signal.own",
	  .what = "signal a process of its own",
	  IPC,
	  .core = true,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_own_signal },
	{ .id = "process.ptrace",
	  .what = "trace another process",
	  IPC,
	  DENIED(EPERM),
	  .attempt = try_ptrace },
	{ .id = "process.read",
	  .what = "read another process's memory",
	  IPC,
	  DENIED(EPERM),
	  .attempt = try_read_memory },
	{ .id = "process.write",
	  .what = "write another process's memory",
	  IPC,
	  DENIED(EPERM),
	  .attempt = try_write_memory },
	{ .id = "process.take",
	  .what = "take a descriptor of another process",
	  IPC,
	  DENIED(EPERM),
	  .attempt = try_take_descriptor },
	{ .id = "process.proc-mem",
	  .what = "open another process's memory file",
	  IPC,
	  DENIED(EACCES, EPERM),
	  .attempt = try_proc_memory },
	{ .id = "process.proc-environ",
	  .what = "read another process's environment",
	  IPC,
	  DENIED(EACCES, EPERM),
	  .attempt = try_proc_environment },
	{ .id = "process.proc-maps",
	  .what = "read another process's memory map",
	  IPC,
	  DENIED(EACCES, EPERM),
	  .attempt = try_proc_maps },
	/* Landlock stands before the ones above as well; of nobody the filter alone can tell. */
	CALL(CAPABILITY_IPC, "ptrace", "trace a process that is not there", EPERM, SYS_ptrace,
	     PTRACE_SEIZE, NOBODY, 0, 0),
	CALL(CAPABILITY_IPC, "process_vm_readv", "read memory of no process", EPERM,
	     SYS_process_vm_readv, NOBODY, 0, 0, 0, 0, 0),
	CALL(CAPABILITY_IPC, "process_vm_writev", "write memory of no process", EPERM,
	     SYS_process_vm_writev, NOBODY, 0, 0, 0, 0, 0),
	CALL(CAPABILITY_IPC, "pidfd_getfd", "take a descriptor of no process", EPERM,
	     SYS_pidfd_getfd, -1, 0, 0),
	CALL(CAPABILITY_IPC, "process_madvise", "advise on another process's memory", EPERM,
	     SYS_process_madvise, -1, 0, 0, 0, 0),
	CALL(CAPABILITY_IPC, "process_mrelease", "reap another process's memory", ENOSYS,
	     SYS_process_mrelease, -1, 0),
	CALL(CAPABILITY_IPC, "kcmp", "compare what processes share", EPERM, SYS_kcmp, NOBODY,
	     NOBODY, 1),
	CALL(CAPABILITY_IPC, "migrate_pages", "move another process's memory to other nodes", EPERM,
	     SYS_migrate_pages, NOBODY, 0, 0, 0),
	CALL(CAPABILITY_IPC, "move_pages", "move pages of another process", EPERM, SYS_move_pages,
	     NOBODY, 0, 0, 0, 0, 0),
	CALL(CAPABILITY_IPC, "prlimit64", "set another process's limits", EPERM, SYS_prlimit64,
	     ARG_VICTIM, 7, 0, 0),
	CALL(CAPABILITY_IPC, "sched_setaffinity", "move another process to other CPUs", EPERM,
	     SYS_sched_setaffinity, ARG_VICTIM, 8, ARG_BAD),
	CALL(CAPABILITY_IPC, "sched_setattr", "set another process's scheduling", EPERM,
	     SYS_sched_setattr, ARG_VICTIM, ARG_BAD, 0),
	CALL(CAPABILITY_IPC, "sched_setparam", "set another process's priority", EPERM,
	     SYS_sched_setparam, ARG_VICTIM, ARG_BAD),
	CALL(CAPABILITY_IPC, "sched_setscheduler", "set another process's scheduler", EPERM,
	     SYS_sched_setscheduler, ARG_VICTIM, 0, ARG_BAD),
	CALL(CAPABILITY_IPC, "setpriority", "renice another process", EPERM, SYS_setpriority, 0,
	     ARG_VICTIM, 19),
	CALL(CAPABILITY_IPC, "setpriority-group", "renice a process group", EPERM, SYS_setpriority,
	     1, ARG_VICTIM, 19),
	CALL(CAPABILITY_IPC, "setpriority-user", "renice all processes of a user", EPERM,
	     SYS_setpriority, 2, NOBODY, 19),
	CALL(CAPABILITY_IPC, "ioprio_set", "set another process's I/O priority", EPERM,
	     SYS_ioprio_set, 1, ARG_VICTIM, 0),
	CALL(CAPABILITY_IPC, "ioprio_set-user", "set the I/O priority of all of a user", EPERM,
	     SYS_ioprio_set, 3, NOBODY, 0),
	CALL(CAPABILITY_IPC, "ioprio_set-group", "set a process group's I/O priority", EPERM,
	     SYS_ioprio_set, 2, ARG_VICTIM, 0),
	{ .id = "process.own-priority",
	  .what = "renice itself",
	  IPC,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_own_priority },
	{ .id = "process.own-ioprio",
	  .what = "set its own I/O priority",
	  IPC,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_call,
	  .number = SYS_ioprio_set,
	  .args = { 1, 0, 0 } },
	{ .id = "process.own-limits",
	  .what = "read its own limits",
	  IPC,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_call,
	  .number = SYS_prlimit64,
	  .args = { 0, 7, 0, 0 } },
};

const struct trial_table trials_process = TRIAL_TABLE(rows);
