/* Limits that hold: memory, processes, CPU time, freezing, on a machine where a cgroup with those
 * controllers is delegated to us; elsewhere all is skipped with the reason. TAP.
 *
 *	test_limits			with oarbank-run of the build directory
 *	test_limits agent OARBANK-RUN	as an agent started by its launcher: both are moved aside
 *first test_limits module WHAT		what the confined module does
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/run/oarbank-launch.h"

#define MIB (1U << 20)
#define HOG_MIB 256
#define BOMB_MAX 200

static char dir[] = "/tmp/oarbank-limits-XXXXXX";
static char self[PATH_MAX];
static char run[PATH_MAX];
static int failures;

static void pause_ms(long ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* ---- the module ---- */

/* Memory that is touched and not given back, in a child, beside a parent that does nothing. */
static int hog(void)
{
	if (fork() == 0) {
		for (int i = 0; i < HOG_MIB; i++) {
			volatile char *p = malloc(MIB);

			for (size_t at = 0; p && at < MIB; at += 4096)
				p[at] = 1;
			pause_ms(1);
		}
		_exit(0);
	}
	pause_ms(20000);
	return 0;
}

/* Exits with the number of children it could make. */
static int bomb(void)
{
	int made = 0;

	while (made < BOMB_MAX) {
		pid_t pid = fork();

		if (pid == 0) {
			pause_ms(20000);
			_exit(0);
		}
		if (pid < 0)
			return errno == EAGAIN ? made : 255;
		made++;
	}
	return 254;
}

static void __attribute__((noreturn)) spin(void)
{
	for (;;)
		;
}

static int module(const char *what)
{
	if (strcmp(what, "hog") == 0)
		return hog();
	if (strcmp(what, "bomb") == 0)
		return bomb();
	if (strcmp(what, "spin") == 0)
		spin();
	if (strcmp(what, "sleep") == 0)
		pause_ms(20000);
	return 0;
}

/* ---- the tests ---- */

static void check(bool good, const char *name)
{
	printf("%sok - %s\n", good ? "" : "not ", name);
	failures += !good;
}

static void path_of(char buf[PATH_MAX], const char *name)
{
	snprintf(buf, PATH_MAX, "%s/%s", dir, name);
}

/* Start oarbank-run with `option` and its value, and a module that does `what`. Its result is
 * dir/what, what it complains of dir/what.err.
 */
static pid_t start(const char *option, const char *value, const char *what)
{
	char policy[PATH_MAX];
	char result[PATH_MAX];
	char err[PATH_MAX];
	pid_t pid;

	path_of(policy, "policy");
	path_of(result, what);
	snprintf(err, sizeof(err), "%s/%s.err", dir, what);
	pid = fork();
	if (pid == 0) {
		int fd = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0644);

		dup2(fd, STDERR_FILENO);
		execl(run, run, "--policy", policy, "--container", "leaf", "--stop-grace", "0.5",
		      "--result", result, option, value, "--", self, "module", what, NULL);
		_exit(127);
	}
	return pid;
}

static int exit_code(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void read_text(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	buf[n] = '\0';
	if (f)
		fclose(f);
}

static void read_result(const char *what, char *buf, size_t size)
{
	char path[PATH_MAX];

	path_of(path, what);
	read_text(path, buf, size);
}

static bool says(const char *result, const char *member)
{
	if (strstr(result, member))
		return true;
	printf("# no %s in %s\n", member, result);
	return false;
}

static double number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtod(at + strlen(key), NULL) : -1;
}

static void wait_until_running(const char *what)
{
	char result[8192] = "";

	for (int i = 0; i < 1000 && !strstr(result, "\"state\":\"running\""); i++) {
		pause_ms(10);
		read_result(what, result, sizeof(result));
	}
}

/* "" when limits can be had here, else why not. */
static void reason_to_skip(char *buf, size_t size)
{
	char err[PATH_MAX];
	int code = exit_code(start("--mem-gb", "1", "nothing"));

	*buf = '\0';
	if (code == 0)
		return;
	path_of(err, "nothing.err");
	read_text(err, buf, size);
	buf[strcspn(buf, "\n")] = '\0';
	if (!*buf)
		snprintf(buf, size, "oarbank-run ended with %d", code);
}

static void memory(void)
{
	char result[8192];
	pid_t bystander = start("--mem-gb", "0.1", "sleep");
	int code;

	wait_until_running("sleep");
	code = exit_code(start("--mem-gb", "0.064", "hog"));
	read_result("hog", result, sizeof(result));
	check(code == 137 && says(result, "\"reason\":\"oom\"") &&
		      says(result, "\"left_behind\":false"),
	      "a memory hog ends as oom, and all of its container with it");
	check(number(result, "\"wall_us\":") < 15e6, "the leader did not go on without its child");
	read_result("sleep", result, sizeof(result));
	check(says(result, "\"state\":\"running\""), "the container beside it goes on");
	kill(bystander, SIGTERM);
	code = exit_code(bystander);
	read_result("sleep", result, sizeof(result));
	check(code == 128 + SIGTERM && says(result, "\"reason\":\"signal\""),
	      "and is told to have ended by itself, not of lack of memory");
}

static void processes(void)
{
	char result[8192];
	int code = exit_code(start("--pids", "20", "bomb"));

	read_result("bomb", result, sizeof(result));
	printf("# %d children beside the leader\n", code);
	check(code > 0 && code <= 19, "a fork bomb stops at pids.max");
	check(number(result, "\"killed_at_end\":") == code, "and all of it is ended");
}

/* The share of a CPU that it had in two seconds; a machine that is busy with something else may
 * give it less, so the best of three counts.
 */
static void cpu(void)
{
	static const double want = 0.2;
	double best = 0;

	for (int i = 0; i < 3 && best < want * 0.9; i++) {
		char result[8192];
		pid_t pid = start("--cpu", "0.2", "spin");
		double share;

		wait_until_running("spin");
		pause_ms(2000);
		kill(pid, SIGINT);
		exit_code(pid);
		read_result("spin", result, sizeof(result));
		share = number(result, "\"cpu_us\":") / number(result, "\"wall_us\":");
		printf("# %.3f of a CPU, %.1f wanted\n", share, want);
		best = share > best ? share : best;
	}
	check(best >= want * 0.9 && best <= want * 1.1, "cpu.max holds a spinner within a tenth");
}

static double used(const char *cgroup)
{
	char path[PATH_MAX];
	char text[4096];

	snprintf(path, sizeof(path), "%s/cpu.stat", cgroup);
	read_text(path, text, sizeof(text));
	return number(text, "usage_usec ");
}

static int act(const char *verb, const char *what)
{
	char result[PATH_MAX];
	pid_t pid = fork();

	path_of(result, what);
	if (pid == 0) {
		execl(run, run, verb, result, NULL);
		_exit(127);
	}
	return exit_code(pid);
}

static void freezing(void)
{
	pid_t pid = start("--cpu", "0.5", "spin");
	char result[8192];
	char cgroup[PATH_MAX] = "";
	const char *at;
	double before;
	bool frozen;

	wait_until_running("spin");
	read_result("spin", result, sizeof(result));
	at = strstr(result, "\"cgroup\":\"");
	if (at)
		snprintf(cgroup, sizeof(cgroup), "%.*s", (int)strcspn(at + 10, "\""), at + 10);
	frozen = act("freeze", "spin") == 0;
	before = used(cgroup);
	pause_ms(300);
	check(frozen && before >= 0 && used(cgroup) == before, "freeze stops progress");
	check(act("thaw", "spin") == 0, "thaw");
	for (int i = 0; i < 500 && used(cgroup) == before; i++)
		pause_ms(10);
	check(used(cgroup) > before, "thaw resumes it");
	check(act("kill", "spin") == 0 && exit_code(pid) == 137, "kill");
	check(access(cgroup, F_OK) < 0, "its cgroup is removed");
}

static int make_files(void)
{
	char path[PATH_MAX];
	FILE *f;

	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	path_of(path, "policy");
	f = fopen(path, "w");
	if (!f)
		return -1;
	fprintf(f, "{\"exe\":\"%s\",\"net\":\"none\"}", self);
	return fclose(f);
}

static void remove_files(void)
{
	static const char *const names[] = { "nothing", "sleep", "hog", "bomb", "spin" };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(path, names[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s.err", dir, names[i]);
		unlink(path);
	}
	path_of(path, "policy");
	unlink(path);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	static const char *const skipped[] = { "memory limit", "process limit", "CPU limit",
					       "freezing under a limit" };
	const char *build = getenv("BUILD");
	char why[1024];
	bool agent = argc == 3 && strcmp(argv[1], "agent") == 0;

	if (argc == 3 && strcmp(argv[1], "module") == 0)
		return module(argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (agent)
		snprintf(run, sizeof(run), "%s", argv[2]);
	else
		snprintf(run, sizeof(run), "%s/oarbank-run", build ? build : "build");
	if (agent && oarbank_launch_setup(getppid(), why, sizeof(why)) < 0)
		printf("# %s\n", why);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 || make_files() < 0) {
		perror("test_limits");
		return 1;
	}
	reason_to_skip(why, sizeof(why));
	if (*why) {
		for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
			printf("ok - %s # SKIP %s\n", skipped[i], why);
	} else {
		memory();
		processes();
		cpu();
		freezing();
	}
	remove_files();
	return failures != 0;
}
