#include "probe/trial/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns -errno, or the wait status. */
static int reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

static int run(const char *path, int fd, char *const argv[], int output)
{
	char *const environment[] = { NULL };
	volatile int error = 0; /* the child shares our memory until it runs the program */
	pid_t pid = vfork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (output >= 0) {
			dup2(output, STDOUT_FILENO);
			dup2(output, STDERR_FILENO);
		}
		if (path)
			execve(path, argv, environment);
		else
			syscall(SYS_execveat, fd, "", argv, environment, AT_EMPTY_PATH);
		error = errno;
		_exit(1);
	}
	status = reap(pid);
	if (status < 0)
		return status;
	if (error)
		return -error;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int run_program(const char *path)
{
	char *const argv[] = { (char *)path, NULL };

	return run(path, -1, argv, -1);
}

int run_descriptor(int fd)
{
	char *const argv[] = { (char *)"", NULL };

	return run(NULL, fd, argv, -1);
}

int run_arguments(char *const argv[])
{
	int output = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int r;

	if (output < 0)
		return -errno;
	r = run(argv[0], -1, argv, output);
	close(output);
	return r;
}

int in_process(int (*f)(void *arg), void *arg)
{
	pid_t pid = vfork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		int r = f(arg);

		_exit(r < 0 && r > -255 ? -r : r < 0 ? 255 : 0);
	}
	status = reap(pid);
	if (status < 0)
		return status;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}
