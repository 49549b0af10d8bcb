/* Time commands against the first one, in turn, in one run: the median of CPU and wall time.
 *
 * usage: compare ROUNDS LABEL COMMAND [ARGUMENT]... [:: LABEL COMMAND [ARGUMENT]...]...
 * prints: LABEL CPU-MICROSECONDS CPU-RATIO WALL-MICROSECONDS WALL-RATIO
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define COMMANDS_MAX 16
#define ROUNDS_MAX 10000

extern char **environ;

struct command {
	const char *label;
	char **argv;
	double *cpu;
	double *wall;
};

static double micros(struct timeval t)
{
	return (double)t.tv_sec * 1e6 + (double)t.tv_usec;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int run(const struct command *c, const posix_spawn_file_actions_t *quiet, double *ret_cpu,
	       double *ret_wall)
{
	struct rusage usage;
	double start = now();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, c->argv[0], quiet, NULL, c->argv, environ) != 0) {
		fprintf(stderr, "compare: cannot run %s\n", c->argv[0]);
		return -1;
	}
	if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) > 1) {
		fprintf(stderr, "compare: %s failed\n", c->label);
		return -1;
	}
	*ret_wall = now() - start;
	*ret_cpu = micros(usage.ru_utime) + micros(usage.ru_stime);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof(*values), by_value);
	return values[count / 2];
}

static int parse(int argc, char **argv, struct command *commands)
{
	int count = 0;

	for (int i = 2; i < argc; i++) {
		if (count == COMMANDS_MAX || i + 1 >= argc)
			return -1;
		commands[count].label = argv[i];
		commands[count++].argv = &argv[i + 1];
		while (i < argc && strcmp(argv[i], "::") != 0)
			i++;
		if (i < argc)
			argv[i] = NULL;
	}
	return count;
}

int main(int argc, char **argv)
{
	struct command commands[COMMANDS_MAX] = { 0 };
	posix_spawn_file_actions_t quiet;
	int rounds = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0;
	int count = parse(argc, argv, commands);

	if (rounds < 1 || rounds > ROUNDS_MAX || count < 1) {
		fprintf(stderr,
			"usage: compare ROUNDS LABEL COMMAND [ARGUMENT]... [:: LABEL COMMAND...]...\n");
		return 64;
	}
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	for (int c = 0; c < count; c++) {
		commands[c].cpu = calloc((size_t)rounds, sizeof(double));
		commands[c].wall = calloc((size_t)rounds, sizeof(double));
		if (!commands[c].cpu || !commands[c].wall)
			return 70;
	}
	for (int r = 0; r < rounds; r++)
		for (int c = 0; c < count; c++)
			if (run(&commands[c], &quiet, &commands[c].cpu[r], &commands[c].wall[r]) <
			    0)
				return 70;

	double base_cpu = median(commands[0].cpu, rounds);
	double base_wall = median(commands[0].wall, rounds);

	for (int c = 0; c < count; c++) {
		double cpu = median(commands[c].cpu, rounds);
		double wall = median(commands[c].wall, rounds);

		printf("%-28s %8.0f us CPU %6.2f   %8.0f us wall %6.2f\n", commands[c].label, cpu,
		       cpu / base_cpu, wall, wall / base_wall);
		free(commands[c].cpu);
		free(commands[c].wall);
	}
	posix_spawn_file_actions_destroy(&quiet);
	return 0;
}
