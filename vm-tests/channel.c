#include "channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define PORTS "/sys/class/virtio-ports"

static int channel_fd = -1;
static char path[64];

const char *channel_path(void)
{
	return path;
}

/* Whether the virtio port `port` is the one the harness named for us. */
static int is_ours(const char *port)
{
	char file[300];
	char name[32] = "";
	int fd;

	snprintf(file, sizeof(file), PORTS "/%s/name", port);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, name, sizeof(name) - 1) < 0)
		name[0] = '\0';
	close(fd);
	return strcmp(name, "oarbank\n") == 0;
}

static void find_port(void)
{
	DIR *dir = opendir(PORTS);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (is_ours(entry->d_name))
			snprintf(path, sizeof(path), "/dev/%.40s", entry->d_name);
	if (dir)
		closedir(dir);
}

int channel_open(void)
{
	struct termios t;

	/* The host names its ports a moment after their driver is there. */
	for (int tries = 0; tries < 200 && !path[0] && access(PORTS, F_OK) == 0; tries++) {
		if (tries)
			usleep(10000);
		find_port();
	}
	if (!path[0])
		snprintf(path, sizeof(path), "/dev/ttyS1");
	channel_fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (channel_fd < 0)
		return -ENODEV;
	if (tcgetattr(channel_fd, &t) == 0) {
		cfmakeraw(&t);
		tcsetattr(channel_fd, TCSANOW, &t);
	}
	return 0;
}

static void send_all(const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length > 0) {
		ssize_t n = write(channel_fd, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		at += n;
		length -= (size_t)n;
	}
}

void channel_send(const char *word, const char *name, const void *bytes, size_t length)
{
	char head[160];
	int n = snprintf(head, sizeof(head), "##oarbank %s %s %zu\n", word, name, length);

	if (n < 0 || (size_t)n >= sizeof(head))
		return;
	send_all(head, (size_t)n);
	send_all(bytes, length);
	send_all("\n", 1);
}

void channel_say(const char *word, const char *name, const char *fmt, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, fmt);
	vsnprintf(text, sizeof(text), fmt, arguments);
	va_end(arguments);
	channel_send(word, name, text, strlen(text));
}
