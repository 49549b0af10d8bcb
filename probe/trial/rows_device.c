/* Devices: closed but for the few of the base system, and GPU nodes with their grant. */
#include "probe/trial/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "probe/trial/stage.h"

/* Returns a descriptor, or -errno. Not for a terminal of ours, and without waiting. */
static int open_device(const char *path)
{
	int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int opens(const char *path)
{
	int fd = open_device(path);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int try_null(const struct stage *s, const struct trial *t)
{
	(void)s;
	(void)t;
	return opens("/dev/null");
}

static int try_terminal(const struct stage *s, const struct trial *t)
{
	(void)s;
	(void)t;
	return opens("/dev/ptmx");
}

/* What every device of the base system has: its entropy count can be asked for by anybody. */
static int try_ioctl(const struct stage *s, const struct trial *t)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	int count = 0;
	int r;

	(void)s;
	(void)t;
	if (fd < 0)
		return -errno;
	r = ioctl(fd, RNDGETENTCNT, &count) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static int open_gpu(const struct stage *s)
{
	return s->gpu[0] ? open_device(s->gpu) : -ENOENT;
}

static int try_gpu(const struct stage *s, const struct trial *t)
{
	int fd = open_gpu(s);

	(void)t;
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* A request no driver has: any answer but Landlock's is the driver's. */
static int try_gpu_ioctl(const struct stage *s, const struct trial *t)
{
	int fd = open_gpu(s);
	int r;

	(void)t;
	if (fd < 0)
		return fd;
	r = ioctl(fd, _IO('d', 0xff), 0) < 0 && errno == EACCES ? -EACCES : 0;
	close(fd);
	return r;
}

static int try_display(const struct stage *s, const struct trial *t)
{
	(void)t;
	return s->display[0] ? opens(s->display) : -ENOENT;
}

#define FS .capability = CAPABILITY_FILESYSTEM, .group = TRIAL_GROUP_PLAIN
#define GPU .capability = CAPABILITY_GPU_COMPUTE
#define DENIED .expect = TRIAL_DENIED, .errors = { EACCES }

static const struct trial rows[] = {
	{ .id = "device.null",
	  .what = "open /dev/null for reading and writing",
	  FS,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_null },
	{ .id = "device.ioctl",
	  .what = "send an ioctl to a device of the base system",
	  FS,
	  DENIED,
	  .since_abi = 5,
	  .attempt = try_ioctl },
	{ .id = "device.terminal",
	  .what = "open a device that is not granted (/dev/ptmx)",
	  GPU,
	  .group = TRIAL_GROUP_PLAIN,
	  DENIED,
	  .core = true,
	  .attempt = try_terminal },
	{ .id = "gpu.closed",
	  .what = "open a GPU's node without the grant",
	  GPU,
	  .group = TRIAL_GROUP_PLAIN,
	  DENIED,
	  .attempt = try_gpu },
	{ .id = "gpu.terminal",
	  .what = "open another device with the grant (/dev/ptmx)",
	  GPU,
	  .group = TRIAL_GROUP_GRANTS,
	  DENIED,
	  .core = true,
	  .attempt = try_terminal },
	{ .id = "gpu.open",
	  .what = "open a GPU's node with the grant",
	  GPU,
	  .group = TRIAL_GROUP_GRANTS,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_gpu },
	{ .id = "gpu.ioctl",
	  .what = "send an ioctl to a GPU with the grant",
	  GPU,
	  .group = TRIAL_GROUP_GRANTS,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_gpu_ioctl },
	{ .id = "gpu.display",
	  .what = "open a display's node with the grant",
	  GPU,
	  .group = TRIAL_GROUP_GRANTS,
	  DENIED,
	  .attempt = try_display },
};

const struct trial_table trials_device = TRIAL_TABLE(rows);
