#include "report/input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kabi/text.h"

/* Standard input may be non-blocking, whoever made it so. */
static int wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

static int read_all(int fd, char *buf, size_t size, size_t *ret)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EAGAIN && wait_readable(fd) == 0)
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			*ret = len;
			return 0;
		}
		len += (size_t)n;
	}
	return -EFBIG;
}

static int say_too_big(const char *file, unsigned mib, struct fault *why)
{
	char number[16];
	struct text t = TEXT_BUF(number);

	text_add_int(&t, mib);
	fault_join(why, "'", file, "' has more than ", number, " MiB", NULL);
	return -EFBIG;
}

int input_read(const char *file, unsigned mib, char **ret, size_t *ret_len, struct fault *why)
{
	bool standard = strcmp(file, "-") == 0;
	size_t size = ((size_t)mib << 20) + 1;
	int fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *buf;
	int r;

	if (fd < 0)
		return fault_errno(why, "open", file, errno);
	buf = malloc(size);
	r = buf ? read_all(fd, buf, size, ret_len) : -ENOMEM;
	if (!standard)
		close(fd);
	if (r == 0) {
		*ret = buf;
		return 0;
	}
	free(buf);
	return r == -EFBIG ? say_too_big(file, mib, why) : fault_errno(why, "read", file, -r);
}
