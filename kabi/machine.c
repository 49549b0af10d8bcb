#include "kabi/machine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

int machine_uname(const struct kernel *k, struct uts *ret)
{
	struct utsname uts;

	(void)k;
	if (uname(&uts) < 0)
		return -errno;
	_Static_assert(sizeof(uts.release) == UTS_TEXT_MAX, "utsname fields");
	memcpy(ret->nodename, uts.nodename, UTS_TEXT_MAX);
	memcpy(ret->release, uts.release, UTS_TEXT_MAX);
	memcpy(ret->version, uts.version, UTS_TEXT_MAX);
	memcpy(ret->machine, uts.machine, UTS_TEXT_MAX);
	return 0;
}

int machine_cpu_count(const struct kernel *k)
{
	unsigned long mask[128] = { 0 }; /* 8192 CPUs, the kernel's largest NR_CPUS */
	long bytes;
	int count = 0;

	(void)k;
	bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	if (bytes < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(mask) / sizeof(mask[0]); i++)
		count += __builtin_popcountl(mask[i]);
	return count;
}

int machine_io_uring_setup(const struct kernel *k, unsigned entries, void *params)
{
	(void)k;
	return result(syscall(SYS_io_uring_setup, entries, params));
}

/* Without a child, or without its answer, the question was not put to the kernel: an errno that
 * none of the questions has for an answer.
 */
#define NOT_ASKED (-ECHILD)

static int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_ASKED;
	if (!WIFSIGNALED(status))
		return -WEXITSTATUS(status);
	switch (WTERMSIG(status)) {
	case SIGSEGV: /* what int $0x80 is where there is no such entry */
	case SIGILL:
	case SIGSYS: /* a filter around us kills whoever uses it */
		return -ENOSYS;
	default: /* somebody else ended it */
		return NOT_ASKED;
	}
}

int machine_try_unshare(const struct kernel *k, unsigned long flags)
{
	pid_t pid = vfork();

	(void)k;
	if (pid < 0)
		return NOT_ASKED;
	if (pid == 0)
		_exit(syscall(SYS_unshare, flags) < 0 ? errno : 0);
	return reap(pid);
}

static long foreign_getpid(enum foreign_entry entry)
{
#if defined(__x86_64__)
	long r;

	switch (entry) {
	case FOREIGN_I386:
		__asm__ volatile("int $0x80"
				 : "=a"(r)
				 : "a"(20L)
				 : "memory", "r8", "r9", "r10", "r11");
		return r;
	case FOREIGN_X32:
		__asm__ volatile("syscall"
				 : "=a"(r)
				 : "a"((long)(SC_X32_BIT | SYS_getpid))
				 : "memory", "rcx", "r11");
		return r;
	}
#else
	(void)entry;
#endif
	return -ENOSYS;
}

int machine_try_foreign(const struct kernel *k, enum foreign_entry entry)
{
	pid_t pid = vfork();

	(void)k;
	if (pid < 0)
		return NOT_ASKED;
	if (pid == 0) {
		long r = foreign_getpid(entry);

		_exit(r > 0 ? 0 : r < 0 && r > -256 ? (int)-r : ENOSYS);
	}
	return reap(pid);
}

long machine_library(const struct kernel *k, const char *question, long (*ask)(void *arg),
		     void *arg)
{
	(void)k;
	(void)question;
	return ask(arg);
}

/* struct nlmsghdr; musl's compiler wrapper has no linux/netlink.h. */
struct netlink_header {
	uint32_t len;
	uint16_t type;
	uint16_t flags;
	uint32_t seq;
	uint32_t pid;
};

enum {
	NETLINK_MESSAGE_ERROR = 2,
	NETLINK_MESSAGE_DONE = 3,
};

static size_t netlink_align(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

/* The kernel ends a dump with a message of type DONE, or answers with one of type ERROR. */
static bool dump_ends(const char *buf, size_t len)
{
	while (len >= sizeof(struct netlink_header)) {
		struct netlink_header header;

		memcpy(&header, buf, sizeof(header));
		if (header.type == NETLINK_MESSAGE_DONE || header.type == NETLINK_MESSAGE_ERROR)
			return true;
		if (header.len < sizeof(header) || netlink_align(header.len) > len)
			return true;
		buf += netlink_align(header.len);
		len -= netlink_align(header.len);
	}
	return false;
}

static ssize_t receive_dump(int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (size - len >= sizeof(struct netlink_header)) {
		ssize_t n = recv(fd, buf + len, size - len, MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if ((size_t)n > size - len)
			return -ENOSPC;
		len += (size_t)n;
		if (n == 0 || dump_ends(buf + len - (size_t)n, (size_t)n))
			return (ssize_t)len;
	}
	return -ENOSPC;
}

ssize_t machine_route_dump(const struct kernel *k, unsigned type, const void *request,
			   size_t request_size, void *buf, size_t size)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0 /* NETLINK_ROUTE */);
	ssize_t n;

	(void)k;
	(void)type;
	if (fd < 0)
		return -errno;
	n = send(fd, request, request_size, 0);
	n = n < 0 ? -errno : receive_dump(fd, buf, size);
	close(fd);
	return n;
}
