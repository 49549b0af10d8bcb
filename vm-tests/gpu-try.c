/* A render node with and without the grant, through the launcher; TAP.
 *
 *	gpu-try              the test: needs /dev/dri/renderD128 and /dev/dri/card0, open to this
 *user gpu-try ask NODE     as the module: 0 opened and asked its driver's name, 1 open was EACCES,
 *	                     2 the ioctl was EACCES, 3 anything else
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RENDER "/dev/dri/renderD128"
#define CARD "/dev/dri/card0"
#define LAUNCHER "/build/oarbank-sandbox"
#define ME "/oarbank/gpu-try"

/* struct drm_version of include/uapi/drm/drm.h */
struct drm_version_request {
	int major, minor, patch;
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};
#define DRM_VERSION _IOWR('d', 0x00, struct drm_version_request)

static int ask(const char *node)
{
	char name[32] = "";
	struct drm_version_request request = { .name = name, .name_len = sizeof(name) - 1 };
	int fd = open(node, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return errno == EACCES ? 1 : 3;
	if (ioctl(fd, DRM_VERSION, &request) < 0)
		return errno == EACCES ? 2 : 3;
	return name[0] ? 0 : 3;
}

/* `ask` in a child; with a policy, through the launcher. */
static int asked(const char *policy, const char *node)
{
	int status;
	pid_t pid = fork();

	if (pid == 0 && policy)
		execl(LAUNCHER, LAUNCHER, "sandbox-exec", policy, "--", ME, "ask", node,
		      (char *)NULL);
	if (pid == 0)
		_exit(policy ? 127 : ask(node));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int write_policy(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *what;
		const char *policy;
		const char *node;
		int expected;
	} rows[] = {
		{ "control: the render node opens and answers", NULL, RENDER, 0 },
		{ "control: the display node opens and answers", NULL, CARD, 0 },
		{ "deny: the render node without the grant", "/tmp/gpu-none", RENDER, 1 },
		{ "allow: the render node with the grant", "/tmp/gpu-compute", RENDER, 0 },
		{ "deny: the display node with the grant", "/tmp/gpu-compute", CARD, 1 },
	};

	if (argc == 3)
		return ask(argv[2]);
	if (!write_policy("/tmp/gpu-none", "{\"exe\":\"" ME "\"}") ||
	    !write_policy("/tmp/gpu-compute", "{\"exe\":\"" ME "\",\"gpu\":true}"))
		return 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int got = asked(rows[i].policy, rows[i].node);

		printf("%s - %s\n", got == rows[i].expected ? "ok" : "not ok", rows[i].what);
		if (got != rows[i].expected)
			printf("# %d, expected %d\n", got, rows[i].expected);
	}
	unlink("/tmp/gpu-none");
	unlink("/tmp/gpu-compute");
	return 0;
}
