/* The launcher beside a plain posix_spawn of /bin/true, in turn in one run: how much longer a
 * confined program takes to start and end, and how many system calls that is. Prints "name value
 * unit".
 *
 * usage: bench_launcher BUILD-DIRECTORY
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 600
#define NOBODY 65534
#define TRUE "/bin/true"

extern char **environ;

static char dir[] = "/tmp/bench-launcher-XXXXXX";
static char policy[64];
static char launcher[4096];

/* Five roots; with the base system and its devices that is a plan of twenty rules. */
static int make_policy(void)
{
	char work[64];
	FILE *f;

	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	snprintf(work, sizeof(work), "%s/work", dir);
	snprintf(policy, sizeof(policy), "%s/policy.json", dir);
	if (mkdir(work, 0777) < 0)
		return -1;
	f = fopen(policy, "w");
	if (!f)
		return -1;
	fprintf(f,
		"{\"module\":\"bench\",\"ro\":[\"/usr/lib\",\"/usr/bin\",\"/etc\"],\"rw\":[\"%s/work\"],"
		"\"net\":\"none\",\"proxy_port\":null,\"broker_socket\":null,\"gpu\":false,\"exec_rw\":"
		"false,\"kind\":\"runner\",\"exe\":\"" TRUE "\",\"rd\":[],\"wo\":[]}",
		dir);
	return fclose(f);
}

static void remove_policy(void)
{
	char work[64];

	snprintf(work, sizeof(work), "%s/work", dir);
	rmdir(work);
	unlink(policy);
	rmdir(dir);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Start, wait, and say how long that took; negative when it did not end well. */
static double spawn_us(char *const argv[])
{
	double start = now_us();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return -1;
	return now_us() - start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

/* System calls from the launcher's first instruction to its exec of the module, by ptrace. */
static int count_calls(char *const argv[])
{
	bool started = false;
	bool inside = false;
	int count = 0;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0)
		return -1;
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return -1;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
			if (started)
				break;
			started = true;
			inside = true; /* its exit stop is still to come */
		} else if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
			inside = !inside;
			count += started && inside;
		}
	}
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	waitpid(pid, &status, 0);
	return count;
}

static int measure(const char *who)
{
	static double plain[PAIRS];
	static double confined[PAIRS];
	char *true_argv[] = { TRUE, NULL };
	char *argv[] = { launcher, "sandbox-exec", policy, "--", TRUE, NULL };
	double base;
	double with;

	for (int i = 0; i < PAIRS; i++) {
		plain[i] = spawn_us(true_argv);
		confined[i] = spawn_us(argv);
		if (plain[i] < 0 || confined[i] < 0) {
			fprintf(stderr, "bench_launcher: %s does not start\n",
				plain[i] < 0 ? TRUE : launcher);
			return -1;
		}
	}
	base = median(plain, PAIRS);
	with = median(confined, PAIRS);
	printf("launcher_%s_ratio %.3f of-plain-spawn\n", who, with / base);
	printf("launcher_%s_added %.0f us\n", who, with - base);
	printf("launcher_%s_plain %.0f us\n", who, base);
	printf("launcher_%s_calls %d system-calls\n", who, count_calls(argv));
	fflush(stdout);
	return 0;
}

/* As the superuser, measure as an ordinary user as well: there are no capabilities to drop. */
static int measure_as_nobody(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(setgid(NOBODY) < 0 || setuid(NOBODY) < 0 || measure("user") < 0);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct stat st;
	int r;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_launcher BUILD-DIRECTORY\n");
		return 64;
	}
	snprintf(launcher, sizeof(launcher), "%s/oarbank-sandbox", argv[1]);
	if (stat(launcher, &st) < 0 || make_policy() < 0) {
		perror("bench_launcher");
		return 70;
	}
	printf("launcher_size %lld bytes\n", (long long)st.st_size);
	r = measure(geteuid() == 0 ? "root" : "user");
	if (r == 0 && geteuid() == 0)
		r = measure_as_nobody();
	remove_policy();
	return r < 0 ? 70 : 0;
}
