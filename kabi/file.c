#include "kabi/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "kabi/text.h"

static ssize_t read_all(const struct kernel *k, int fd, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = k->read(k, fd, buf + len, size - len);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return n;
		if (n == 0)
			return (ssize_t)len;
		len += (size_t)n;
	}
	return -EFBIG;
}

ssize_t file_read(const struct kernel *k, const char *path, char *buf, size_t size)
{
	ssize_t len;
	int fd;

	do
		fd = k->open(k, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	while (fd == -EINTR);
	if (fd < 0)
		return fd;

	len = read_all(k, fd, buf, size);
	k->close(k, fd);
	if (len < 0)
		return len;
	buf[len] = '\0';
	return memchr(buf, '\0', (size_t)len) ? -EINVAL : len;
}

ssize_t file_read_line(const struct kernel *k, const char *path, char *buf, size_t size)
{
	ssize_t len = file_read(k, path, buf, size);

	if (len > 0 && buf[len - 1] == '\n')
		buf[--len] = '\0';
	if (len > 0 && strchr(buf, '\n'))
		return -EINVAL;
	return len;
}

int file_read_int(const struct kernel *k, const char *path, int64_t *ret)
{
	char buf[64];
	ssize_t len = file_read_line(k, path, buf, sizeof(buf));

	if (len < 0)
		return (int)len;
	return text_int(buf, INT64_MIN + 1, INT64_MAX, ret);
}

int file_write_all(const struct kernel *k, int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = k->write(k, fd, text, len);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_write(const struct kernel *k, const char *path, const char *text)
{
	size_t len = strlen(text);
	ssize_t n;
	int fd;

	do
		fd = k->open(k, path, O_WRONLY | O_NOCTTY);
	while (fd == -EINTR);
	if (fd < 0)
		return fd;
	do
		n = k->write(k, fd, text, len);
	while (n == -EINTR);
	k->close(k, fd);
	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : -EIO;
}
