/* System V and POSIX objects that belong to this user, not to the module. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef IPC_64
#define IPC_64 0
#endif

/* Calls whose first argument is one of the stage's objects. arg: object, call, three arguments */
enum object {
	SHARED_MEMORY,
	SEMAPHORES,
	QUEUE,
};

static int use_object(const struct stage *s, const long *arg)
{
	const int ids[] = { s->shm, s->sem, s->msg };

	return answer_zero(syscall(arg[1], ids[arg[0]], arg[2], arg[3], arg[4]));
}

static int make_object(const struct stage *s, const long *arg)
{
	static const struct {
		long get, control;
	} calls[] = {
		{ SYS_shmget, SYS_shmctl },
		{ SYS_semget, SYS_semctl },
		{ SYS_msgget, SYS_msgctl },
	};
	long flags = IPC_CREAT | 0600;
	long id = syscall(calls[arg[0]].get, IPC_PRIVATE, arg[0] == QUEUE ? flags : 1, flags);

	(void)s;
	if (id < 0)
		return -errno;
	if (arg[0] == SEMAPHORES)
		syscall(SYS_semctl, id, 0, IPC_RMID);
	else
		syscall(calls[arg[0]].control, id, IPC_RMID, NULL);
	return 0;
}

static int attach_memory(const struct stage *s, const long *arg)
{
	return syscall(SYS_shmat, s->shm, NULL, arg[0]) == -1 ? -errno : 0;
}

static int post_semaphore(const struct stage *s, const long *arg)
{
	struct sembuf up = { .sem_op = 1, .sem_flg = IPC_NOWAIT };

	return answer_zero(syscall(arg[0], s->sem, &up, 1, NULL));
}

static int send_message(const struct stage *s, const long *arg)
{
	static const struct {
		long type;
		char text[8];
	} message = { 1, "another" };

	(void)arg;
	return answer_zero(syscall(SYS_msgsnd, s->msg, &message, sizeof(message.text), IPC_NOWAIT));
}

static int take_message(const struct stage *s, const long *arg)
{
	struct {
		long type;
		char text[64];
	} message;

	(void)arg;
	return answer_zero(syscall(SYS_msgrcv, s->msg, &message, sizeof(message.text), 0,
				   IPC_NOWAIT | MSG_NOERROR));
}

/* ---- POSIX ---- */

static int open_queue(const struct stage *s, const long *arg)
{
	return answer_fd((int)syscall(SYS_mq_open, s->tag, arg[0], 0600, NULL));
}

static int make_queue(const struct stage *s, const long *arg)
{
	char name[64];
	int r;

	(void)arg;
	snprintf(name, sizeof(name), "%s-new", s->tag);
	r = answer_fd((int)syscall(SYS_mq_open, name, O_RDWR | O_CREAT, 0600, NULL));
	if (r == 0)
		syscall(SYS_mq_unlink, name);
	return r;
}

static int remove_queue(const struct stage *s, const long *arg)
{
	(void)arg;
	return answer_zero(syscall(SYS_mq_unlink, s->tag));
}

/* The file behind shm_open and sem_open. */
static int make_shm_file(const struct stage *s, const long *arg)
{
	char path[96];
	int r;

	snprintf(path, sizeof(path), "/dev/shm/%s", s->tag);
	r = answer_fd(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	if (r == 0)
		unlink(path);
	(void)arg;
	return r;
}

static const struct row table[] = {
	{ DENY("shm_make", ENOSYS, make_object, SHARED_MEMORY) },
	{ DENY("shm_read", ENOSYS, attach_memory, SHM_RDONLY) },
	{ DENY("shm_write", ENOSYS, attach_memory, 0) },
	{ DENY("shm_exec", ENOSYS, attach_memory, SHM_EXEC), .who = ROOT_ONLY },
	{ DENY("shm_control", ENOSYS, use_object, SHARED_MEMORY, SYS_shmctl, SHM_UNLOCK) },
	{ DENY("shm_detach", ENOSYS, try_syscall, SYS_shmdt, 4096), .control = -EINVAL },
	{ DENY("sem_make", ENOSYS, make_object, SEMAPHORES) },
	{ DENY("sem_post", ENOSYS, post_semaphore, SYS_semop) },
	{ DENY("sem_post_timed", ENOSYS, post_semaphore, SYS_semtimedop) },
	{ DENY("sem_read", ENOSYS, use_object, SEMAPHORES, SYS_semctl, 0, GETVAL) },
	{ DENY("queue_make", ENOSYS, make_object, QUEUE) },
	{ DENY("queue_send", ENOSYS, send_message) },
	{ DENY("queue_take", ENOSYS, take_message) },
	{ DENY("queue_control", ENOSYS, use_object, QUEUE, SYS_msgctl, IPC_SET, 0),
	  .control = -EFAULT },

	{ DENY("mq_make", ENOSYS, make_queue) },
	{ DENY("mq_open", ENOSYS, open_queue, O_RDWR) },
	{ DENY("mq_open_read", ENOSYS, open_queue, O_RDONLY | O_NONBLOCK) },
	{ DENY("mq_send", ENOSYS, try_syscall, SYS_mq_timedsend, -1, 0, 0), .control = -EBADF },
	{ DENY("mq_receive", ENOSYS, try_syscall, SYS_mq_timedreceive, -1, 0, 0),
	  .control = -EBADF },
	{ DENY("mq_notify", ENOSYS, try_syscall, SYS_mq_notify, -1, 0), .control = -EBADF },
	{ DENY("mq_attributes", ENOSYS, try_syscall, SYS_mq_getsetattr, -1, 0, 0),
	  .control = -EBADF },
	{ DENY("mq_unlink", ENOSYS, remove_queue) },
	{ DENY("shm_file", EACCES, make_shm_file) },
};

ROWS_TOGETHER(ipc_rows, table);
