#include "kabi/names.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct linux_dirent64, which no header gives to every C library. */
struct dirent_row {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

/* Put `name` where it sorts in the `len` bytes of names at buf. */
static int insert_sorted(char *buf, size_t size, size_t *len, const char *name)
{
	size_t room = strlen(name) + 1;
	size_t at = 0;

	if (room > size - *len)
		return -ENOSPC;
	while (at < *len && strcmp(buf + at, name) < 0)
		at += strlen(buf + at) + 1;
	memmove(buf + at + room, buf + at, *len - at);
	memcpy(buf + at, name, room);
	*len += room;
	return 0;
}

ssize_t names_list(int fd, char *buf, size_t size)
{
	_Alignas(struct dirent_row) char rows[4096];
	ssize_t count = 0;
	size_t len = 0;

	for (;;) {
		long n = syscall(SYS_getdents64, fd, rows, sizeof(rows));

		if (n < 0)
			return -errno;
		if (n == 0)
			return count;
		for (long at = 0; at < n;) {
			const struct dirent_row *row = (const struct dirent_row *)(rows + at);

			at += row->reclen;
			if (strcmp(row->name, ".") == 0 || strcmp(row->name, "..") == 0)
				continue;
			if (insert_sorted(buf, size, &len, row->name) < 0)
				return -ENOSPC;
			count++;
		}
	}
}
