#include "probe/uevent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#define GROUP_KERNEL 1 /* 2 is udev's */
#define MESSAGE_MAX 8192

int uevent_open(void)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = GROUP_KERNEL };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

bool uevent_matters(const char *message, size_t len)
{
	static const char *const subsystems[] = { "drm", "cpu", "kfd", "nvidia", "module", "misc" };
	static const char key[] = "SUBSYSTEM=";
	const char *end = message + len;

	while (message < end) {
		size_t n = strnlen(message, (size_t)(end - message));

		if (n > strlen(key) && memcmp(message, key, strlen(key)) == 0)
			for (size_t i = 0; i < sizeof(subsystems) / sizeof(subsystems[0]); i++)
				if (strncmp(message + strlen(key), subsystems[i],
					    strlen(subsystems[i])) == 0)
					return true;
		message += n + 1;
	}
	return false;
}

/* Another process may write to the socket too; the kernel's port is 0. */
static bool from_kernel(const struct sockaddr_nl *from, socklen_t len)
{
	return len == sizeof(*from) && from->nl_family == AF_NETLINK && from->nl_pid == 0;
}

bool uevent_drain(int fd)
{
	char message[MESSAGE_MAX + 1];
	bool matters = false;

	for (;;) {
		struct sockaddr_nl from = { 0 };
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, message, MESSAGE_MAX, 0, (struct sockaddr *)&from, &len);

		if (n < 0 && errno == EINTR)
			continue;
		/* Some were lost: any of them may have mattered. */
		if (n < 0 && errno == ENOBUFS) {
			matters = true;
			continue;
		}
		if (n < 0)
			return matters;
		message[n] = '\0';
		if (from_kernel(&from, len) && uevent_matters(message, (size_t)n))
			matters = true;
	}
}
