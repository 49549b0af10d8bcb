#include "kabi/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kabi/file.h"
#include "kabi/procstat.h"
#include "kabi/text.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#define THREAD O_EXCL /* PIDFD_THREAD, Linux 6.9 */
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* Source: include/uapi/linux/seccomp.h. */
struct response {
	uint64_t id;
	int64_t value;
	int32_t error;
	uint32_t flags;
};
_Static_assert(sizeof(struct response) == 24, "seccomp_notif_resp");

struct addition {
	uint64_t id;
	uint32_t flags;
	uint32_t from;
	uint32_t to;
	uint32_t to_flags;
};
_Static_assert(sizeof(struct addition) == 24, "seccomp_notif_addfd");

#define ADD_SETFD 1U
#define RECEIVE _IOWR('!', 0, struct sc_notif)
#define ANSWER _IOWR('!', 1, struct response)
#define IS_VALID _IOW('!', 2, uint64_t)
#define PLANT _IOW('!', 3, struct addition)
#define SET_FLAGS _IOW('!', 4, uint64_t)
#define FLAG_SYNC_WAKE_UP 1UL

#define INFO_MAX 4096
#define PAGE 4096 /* the smallest there is */

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

int notify_take_turns(int listener)
{
	/* The flags themselves are the argument. */
	return result(ioctl(listener, SET_FLAGS, FLAG_SYNC_WAKE_UP));
}

int notify_receive(int listener, struct sc_notif *ret)
{
	memset(ret, 0, sizeof(*ret));
	return result(ioctl(listener, RECEIVE, ret));
}

int notify_answer(int listener, uint64_t id, int64_t value, int error)
{
	struct response response = { .id = id, .value = value, .error = -error };

	return result(ioctl(listener, ANSWER, &response));
}

int notify_is_valid(int listener, uint64_t id)
{
	return result(ioctl(listener, IS_VALID, &id));
}

int notify_plant(int listener, uint64_t id, int fd, int onto, bool close_on_exec)
{
	struct addition addition = {
		.id = id,
		.flags = ADD_SETFD,
		.from = (uint32_t)fd,
		.to = (uint32_t)onto,
		.to_flags = close_on_exec ? O_CLOEXEC : 0,
	};

	return result(ioctl(listener, PLANT, &addition));
}

/* All descriptors that came are open now. Returns the only one, if it is that, and else closes
 * them.
 */
static int only_descriptor(struct msghdr *message)
{
	bool cut = message->msg_flags & MSG_CTRUNC;
	unsigned count = 0;
	int only = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
			if (only >= 0)
				close(only);
			memcpy(&only, (char *)c + at, sizeof(only));
			count++;
		}
	}
	if (count == 1 && !cut)
		return only;
	if (only >= 0)
		close(only);
	return -EBADMSG;
}

int notify_take_listener(int socket)
{
	/* The kernel fills what is left of it with a second one. */
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec one = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &one,
		.msg_iovlen = 1,
		.msg_control = control.room,
		.msg_controllen = sizeof(control.room),
	};
	ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	return only_descriptor(&message);
}

/* ---- the caller ---- */

/* Read /proc/PID/NAME into buf. Returns 0 or -errno. */
static int read_info(pid_t pid, const char *name, char buf[INFO_MAX])
{
	char path[PROC_PATH_MAX];
	ssize_t n;

	proc_path(path, pid, name);
	n = file_read(&kernel_live, path, buf, INFO_MAX);
	return n < 0 ? (int)n : 0;
}

/* Is `line` about `key`? Then its number is *ret, which else stays. */
static bool take_number(const char *line, const char *key, unsigned base, uint64_t *ret)
{
	return text_starts(line, key) && text_uint(line + strlen(key), base, UINT64_MAX, ret) == 0;
}

static int leader_of(pid_t pid)
{
	char buf[INFO_MAX];
	char *cursor = buf;
	const char *line;
	uint64_t leader;
	int r = read_info(pid, "status", buf);

	while (r == 0 && (line = text_line(&cursor)))
		if (take_number(line, "Tgid:\t", 10, &leader))
			return (int)leader;
	return r < 0 ? r : -EINVAL;
}

static int open_process(pid_t pid)
{
	int fd = result(syscall(SYS_pidfd_open, pid, THREAD));
	int leader;

	if (fd == -EINVAL)
		fd = result(syscall(SYS_pidfd_open, pid, 0));
	/* Of a thread that is not the first, the process has another number. */
	if (fd != -EINVAL && fd != -ENOENT)
		return fd;
	leader = leader_of(pid);
	return leader < 0 ? leader : result(syscall(SYS_pidfd_open, leader, 0));
}

/* Returns 0, or -ENOTSOCK, -EBADF, or -errno. */
static int check_socket(pid_t pid, int fd)
{
	char path[PROC_PATH_MAX];
	char name[32];
	struct text t = TEXT_BUF(name);
	struct stat st;

	text_add(&t, "fd/");
	text_add_int(&t, fd);
	proc_path(path, pid, name);
	if (stat(path, &st) < 0)
		return errno == ENOENT ? -EBADF : -errno;
	return S_ISSOCK(st.st_mode) ? 0 : -ENOTSOCK;
}

int caller_socket(pid_t pid, int fd)
{
	int r = check_socket(pid, fd);
	int process = r < 0 ? r : open_process(pid);

	if (process < 0)
		return process;
	r = result(syscall(SYS_pidfd_getfd, process, fd, 0));
	close(process);
	return r;
}

int caller_file(pid_t pid, int fd, struct caller_file *ret)
{
	struct caller_file file = { .inode = 0 };
	char name[32];
	char buf[INFO_MAX];
	char *cursor = buf;
	const char *line;
	struct text t = TEXT_BUF(name);
	uint64_t flags;
	bool found = false;
	int r;

	text_add(&t, "fdinfo/");
	text_add_int(&t, fd);
	r = read_info(pid, name, buf);
	if (r < 0)
		return r;
	while ((line = text_line(&cursor))) {
		found |= take_number(line, "flags:\t", 8, &flags);
		take_number(line, "ino:\t", 10, &file.inode);
	}
	if (!found)
		return -EINVAL;
	file.flags = (int)flags;
	*ret = file;
	return 0;
}

int caller_text(pid_t pid, uint64_t address, char *buf, size_t size)
{
	size_t len = 0;

	/* Page by page: what lies behind the text may be nobody's. */
	while (len < size) {
		size_t part = PAGE - (size_t)((address + len) % PAGE);
		int r;

		part = part < size - len ? part : size - len;
		r = caller_memory(pid, address + len, buf + len, part);
		if (r < 0)
			return r;
		if (memchr(buf + len, '\0', part))
			return (int)strlen(buf);
		len += part;
	}
	return -ENAMETOOLONG;
}

int caller_memory(pid_t pid, uint64_t address, void *buf, size_t size)
{
	struct iovec here = { .iov_base = buf, .iov_len = size };
	struct iovec there = { .iov_base = (void *)(uintptr_t)address, .iov_len = size };
	ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EFAULT;
}
