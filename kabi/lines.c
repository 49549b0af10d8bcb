#include "kabi/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

void lines_start(struct lines *l, char separator, lines_each *each, void *arg)
{
	l->each = each;
	l->arg = arg;
	l->separator = separator;
	l->enough = false;
	l->len = 0;
}

static void keep(struct lines *l, const char *bytes, size_t len)
{
	size_t room = sizeof(l->buf) - 1 - l->len;

	if (len > room)
		len = room;
	memcpy(l->buf + l->len, bytes, len);
	l->len += len;
}

static void give(struct lines *l)
{
	l->buf[l->len] = '\0';
	l->len = 0;
	if (!l->each(l->arg, l->buf))
		l->enough = true;
}

bool lines_feed(struct lines *l, const char *bytes, size_t len)
{
	while (len > 0 && !l->enough) {
		const char *end = memchr(bytes, l->separator, len);
		size_t n = end ? (size_t)(end - bytes) : len;

		keep(l, bytes, n);
		if (!end)
			break;
		give(l);
		bytes += n + 1;
		len -= n + 1;
	}
	return !l->enough;
}

void lines_end(struct lines *l)
{
	if (l->len > 0 && !l->enough)
		give(l);
}

static int feed_all(const struct kernel *k, int fd, struct lines *l)
{
	char chunk[LINES_SIZE];
	size_t total = 0;

	while (total <= LINES_FILE_MAX) {
		ssize_t n = k->read(k, fd, chunk, sizeof(chunk));

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		if (n == 0 || !lines_feed(l, chunk, (size_t)n)) {
			lines_end(l);
			return 0;
		}
		total += (size_t)n;
	}
	return -EFBIG;
}

int lines_read(const struct kernel *k, const char *path, char separator, lines_each *each,
	       void *arg)
{
	struct lines l;
	int fd;
	int r;

	do
		fd = k->open(k, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	while (fd == -EINTR);
	if (fd < 0)
		return fd;
	lines_start(&l, separator, each, arg);
	r = feed_all(k, fd, &l);
	k->close(k, fd);
	return r;
}
