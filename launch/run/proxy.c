#include "launch/run/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "kabi/text.h"

#define URL "http://127.0.0.1:"
#define START_MS 10000
#define STOP_MS 3000
#define CONTROL_FD 3
#define LAST_FD INT_MAX
#define EXIT_NOT_EXECUTED 71

/* In the child. */
static void become(const struct kernel *k, const char *program, const char **argv,
		   char *const envp[], int says, int control)
{
	/* Not in the foreground group: what a terminal sends is for the module. */
	k->setsid(k);
	k->signal_unblock_all(k);
	/* One that has that number already would be closed by the exec. */
	if (k->dup_onto(k, says, 1) == 1 && k->dup_onto(k, control, CONTROL_FD) == CONTROL_FD &&
	    k->fcntl(k, CONTROL_FD, F_SETFD, 0) == 0) {
		/* What is the module's, or our parent's. Before Linux 5.9 it stays. */
		k->close_range(k, CONTROL_FD + 1, LAST_FD, 0);
		k->execve(k, program, (char *const *)argv, envp);
	}
	k->exit(k, EXIT_NOT_EXECUTED);
}

/* The first line it prints has the port. */
static int read_port(const struct kernel *k, int says, uint16_t *ret, struct fault *why)
{
	struct pollfd fd = { .fd = says, .events = POLLIN };
	char line[64];
	uint64_t port;
	ssize_t n = 0;
	int r = k->poll(k, &fd, 1, START_MS);

	if (r == 0)
		r = -ETIMEDOUT;
	if (r > 0)
		n = k->read(k, says, line, sizeof(line) - 1);
	if (r < 0 || n < 0)
		return fault_errno(why, "wait for the proxy", NULL, r < 0 ? -r : (int)-n);
	line[n] = '\0';
	if (n > 0 && line[n - 1] == '\n' && text_starts(line, URL)) {
		line[n - 1] = '\0';
		if (text_uint(line + strlen(URL), 10, UINT16_MAX, &port) == 0 && port > 0) {
			*ret = (uint16_t)port;
			return 0;
		}
	}
	fault_join(why, "the proxy did not start", NULL);
	return -ECHILD;
}

static int start(const struct kernel *k, const char *program, const char **argv, char *const envp[],
		 struct run_proxy *proxy, int *ret_says, struct fault *why)
{
	int control[2];
	int says[2];
	int pid;
	int r = k->channel(k, control);

	if (r < 0)
		return fault_errno(why, "make a channel to the proxy", NULL, -r);
	r = k->pipe(k, says);
	if (r < 0) {
		k->close(k, control[0]);
		k->close(k, control[1]);
		return fault_errno(why, "make a pipe from the proxy", NULL, -r);
	}
	pid = k->clone(k, -1);
	if (pid == 0)
		become(k, program, argv, envp, says[1], control[1]);
	k->close(k, control[1]);
	k->close(k, says[1]);
	if (pid < 0) {
		k->close(k, control[0]);
		k->close(k, says[0]);
		return fault_errno(why, "make the proxy", NULL, -pid);
	}
	*proxy = (struct run_proxy){ .pid = pid, .control = control[0] };
	*ret_says = says[0];
	return 0;
}

int run_proxy_start(const struct kernel *k, const char *program, const char **argv, unsigned argc,
		    char *const envp[], struct run_proxy *ret, struct fault *why)
{
	struct run_proxy proxy = { .control = -1 };
	int says = -1;
	int r;

	argv[0] = program;
	argv[argc] = "--control-fd";
	argv[argc + 1] = "3";
	argv[argc + 2] = NULL;
	r = start(k, program, argv, envp, &proxy, &says, why);
	if (r < 0)
		return r;
	r = read_port(k, says, &proxy.port, why);
	k->close(k, says);
	if (r < 0)
		run_proxy_stop(k, &proxy);
	else
		*ret = proxy;
	return r;
}

/* It ends at once, unless somebody has stopped it. */
static bool ends_in_time(const struct kernel *k, pid_t pid)
{
	struct pollfd fd = { .fd = k->pidfd_open(k, pid), .events = POLLIN };
	int r = 1;

	if (fd.fd < 0)
		return true; /* for wait to find out */
	do
		r = k->poll(k, &fd, 1, STOP_MS);
	while (r == -EINTR);
	k->close(k, fd.fd);
	return r != 0;
}

int run_proxy_stop(const struct kernel *k, struct run_proxy *proxy)
{
	struct ended ended = { .code = 0 };
	int r;

	if (proxy->pid == 0)
		return 0;
	k->close(k, proxy->control);
	if (!ends_in_time(k, proxy->pid))
		k->kill(k, proxy->pid, SIGKILL);
	do
		r = k->wait(k, proxy->pid, WEXITED, &ended);
	while (r == -EINTR);
	*proxy = (struct run_proxy){ .control = -1 };
	return r == 1 ? ended.code : -1;
}
