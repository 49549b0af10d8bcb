/* oarbank-run around /bin/true beside a plain posix_spawn of it, with a leaf and with a group, and
 * beside other programs that start one in a container of some kind, in turn in one run. Prints
 * "name value unit".
 *
 * usage: bench_run BUILD-DIRECTORY
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 400
#define TRUE "/bin/true"

extern char **environ;

static char dir[] = "/tmp/bench-run-XXXXXX";
static char policy[64];
static char run[4096];
static char launcher[4096];

struct peer {
	const char *name;
	char *argv[16];
	bool used;
	double us[ROUNDS];
};

static struct peer peers[] = {
	{ .name = "plain", .argv = { TRUE, NULL } },
	{ .name = "launcher_alone",
	  .argv = { launcher, "sandbox-exec", policy, "--", TRUE, NULL } },
	{ .name = "run_leaf",
	  .argv = { run, "--policy", policy, "--container", "leaf", "--", TRUE, NULL } },
	{ .name = "run_group",
	  .argv = { run, "--policy", policy, "--container", "group", "--", TRUE, NULL } },
	{ .name = "bwrap",
	  .argv = { "/usr/bin/bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--die-with-parent",
		    TRUE, NULL } },
	{ .name = "systemd_run",
	  .argv = { "/usr/bin/systemd-run", "--scope", "--quiet", TRUE, NULL } },
	{ .name = "crun",
	  .argv = { "/usr/bin/crun", "--root", dir, "run", "--bundle", dir, "bench-run", NULL } },
};
#define PEER_COUNT (sizeof(peers) / sizeof(peers[0]))

static int write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fputs(text, f);
	return fclose(f);
}

/* For crun: the machine's programs, bound into an empty root. */
#define BIND(place)                                                            \
	"{\"destination\":\"" place "\",\"type\":\"bind\",\"source\":\"" place \
	"\",\"options\":[\"rbind\",\"ro\"]},"

static int make_files(void)
{
	char root[64];

	if (!mkdtemp(dir))
		return -1;
	snprintf(policy, sizeof(policy), "%s/policy.json", dir);
	snprintf(root, sizeof(root), "%s/rootfs", dir);
	if (mkdir(root, 0755) < 0)
		return -1;
	if (write_file("policy.json", "{\"ro\":[\"/usr/lib\",\"/usr/bin\"],\"net\":\"none\"}") < 0)
		return -1;
	return write_file(
		"config.json",
		"{\"ociVersion\":\"1.0.0\",\"root\":{\"path\":\"rootfs\"},"
		"\"process\":{\"args\":[\"" TRUE
		"\"],\"cwd\":\"/\",\"user\":{\"uid\":0,\"gid\":0}},\"mounts\":[" BIND("/usr") BIND(
			"/bin") BIND("/lib")
			BIND("/lib64") "{"
				       "\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"}],"
				       "\"linux\":{\"namespaces\":[{\"type\":\"mount\"},{\"type\":\"pid\"}]}}");
}

static void remove_files(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command) != 0)
		fprintf(stderr, "bench_run: %s is left behind\n", dir);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Start, wait, and say how long that took; negative when it did not end well. */
static double spawn_us(char *const argv[], const posix_spawn_file_actions_t *quiet)
{
	double start = now_us();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, argv[0], quiet, NULL, argv, environ) != 0 ||
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

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t quiet;
	double base;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_run BUILD-DIRECTORY\n");
		return 64;
	}
	snprintf(run, sizeof(run), "%s/oarbank-run", argv[1]);
	snprintf(launcher, sizeof(launcher), "%s/oarbank-sandbox", argv[1]);
	if (make_files() < 0) {
		perror("bench_run");
		return 70;
	}
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; i < PEER_COUNT; i++) {
		peers[i].used = spawn_us(peers[i].argv, &quiet) >= 0;
		if (!peers[i].used)
			printf("# %s: not installed, or it does not work here; not measured\n",
			       peers[i].name);
	}
	for (size_t round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < PEER_COUNT; i++)
			if (peers[i].used)
				peers[i].us[round] = spawn_us(peers[i].argv, &quiet);
	base = median(peers[0].us);
	printf("run_plain %.0f us\n", base);
	for (size_t i = 1; i < PEER_COUNT; i++)
		if (peers[i].used)
			printf("%s_ratio %.3f of-plain-spawn\n", peers[i].name,
			       median(peers[i].us) / base);
	posix_spawn_file_actions_destroy(&quiet);
	remove_files();
	return 0;
}
