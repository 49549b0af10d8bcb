/* What the seccomp programs cost, in one run, each measured in turn with what it is compared to.
 * Prints `name value unit` lines.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launch/filter/compile.h"

#define LOADS 300
#define ROUNDS 60
#define CALLS 20000

static const struct sc_insn allow[] = { { 0x06, 0, 0, SC_RET_ALLOW } };
static const struct sc_program one_insn = { 1, allow };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The first quartile: what disturbs only adds. */
static double typical(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 4];
}

/* Run `measure` in a child, and return what it measured. */
static double in_child(double (*measure)(const struct sc_program *),
		       const struct sc_program *program)
{
	double value = -1;
	int ends[2];
	pid_t pid;

	if (pipe(ends) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		value = measure(program);
		_exit(write(ends[1], &value, sizeof(value)) != sizeof(value));
	}
	close(ends[1]);
	if (read(ends[0], &value, sizeof(value)) != sizeof(value) || value < 0) {
		fprintf(stderr, "bench_filter: a child could not measure\n");
		exit(EXIT_FAILURE);
	}
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return value;
}

/* In microseconds. */
static double load_time(const struct sc_program *program)
{
	uint64_t start = now_ns();
	long r = syscall(SYS_seccomp, SC_SET_MODE_FILTER, 0, program);

	return r < 0 ? -1 : (double)(now_ns() - start) / 1000;
}

/* Nanoseconds for one call, the best of several rounds: what disturbs only adds. */
static double call_time(const struct sc_program *program, long number, long a, long b, long c)
{
	double best = 1e9;

	if (program && syscall(SYS_seccomp, SC_SET_MODE_FILTER, 0, program) < 0)
		return -1;
	for (int round = 0; round < 5; round++) {
		uint64_t start = now_ns();

		for (int i = 0; i < CALLS / 5; i++)
			syscall(number, a, b, c);
		double each = (double)(now_ns() - start) / (CALLS / 5);
		best = each < best ? each : best;
	}
	return best;
}

static double getppid_time(const struct sc_program *program)
{
	return call_time(program, SYS_getppid, 0, 0, 0);
}

/* fcntl(F_GETFD) has rules about arguments, and fits none. */
static double fcntl_time(const struct sc_program *program)
{
	return call_time(program, SYS_fcntl, 1, 1, 0);
}

/* ioctl with a command that no rule names: the longest way of all. */
static double ioctl_time(const struct sc_program *program)
{
	return call_time(program, SYS_ioctl, 1, 0x5421 /* FIONBIO */, 0);
}

static void compare_loads(const struct sc_program *ours, const struct sc_program *theirs,
			  unsigned choice)
{
	static double a[LOADS], b[LOADS], c[LOADS];
	double ours_us, theirs_us;

	for (int i = 0; i < LOADS; i++) {
		a[i] = in_child(load_time, ours);
		b[i] = in_child(load_time, theirs);
		c[i] = in_child(load_time, &one_insn);
	}
	ours_us = typical(a, LOADS);
	theirs_us = typical(b, LOADS);
	printf("filter_%u_insns %u insns\n", choice, ours->len);
	printf("filter_%u_libseccomp_insns %u insns\n", choice, theirs->len);
	printf("filter_%u_load %.1f us\n", choice, ours_us);
	printf("filter_%u_libseccomp_load %.1f us\n", choice, theirs_us);
	printf("filter_%u_one_insn_load %.1f us\n", choice, typical(c, LOADS));
	printf("filter_%u_load_ratio %.3f ratio\n", choice, ours_us / theirs_us);
}

static void compare_calls(const char *name, double (*measure)(const struct sc_program *),
			  const struct sc_program *ours)
{
	double none[ROUNDS], one[ROUNDS], full[ROUNDS];
	double one_ns, full_ns;

	for (int i = 0; i < ROUNDS; i++) {
		none[i] = in_child(measure, NULL);
		one[i] = in_child(measure, &one_insn);
		full[i] = in_child(measure, ours);
	}
	one_ns = typical(one, ROUNDS);
	full_ns = typical(full, ROUNDS);
	printf("%s_unfiltered %.1f ns\n", name, typical(none, ROUNDS));
	printf("%s_one_insn %.1f ns\n", name, one_ns);
	printf("%s_filtered %.1f ns\n", name, full_ns);
	printf("%s_added %.1f ns\n", name, full_ns - one_ns);
	printf("%s_ratio %.3f ratio\n", name, full_ns / one_ns);
}

/* Choice 0 grants nothing; 6 the network and the broker. */
int main(void)
{
	static const unsigned choices[] = { 0, 6 };
	static struct sc_insn insns[FILTER_REFERENCE_MAX];
	const struct filter_arch *arch = filter_arches;
	struct fault why = { 0 };

	while (arch->token != SC_ARCH_NATIVE)
		arch++;
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		struct filter_choice choice = filter_choice_at(choices[i]);
		int len = filter_reference(arch, choice, insns, &why);

		if (len < 0) {
			fprintf(stderr, "bench_filter: %s\n", why.text);
			return EXIT_FAILURE;
		}
		struct sc_program theirs = { (uint16_t)len, insns };
		compare_loads(filter_program(choice), &theirs, choices[i]);
	}
	compare_calls("getppid", getppid_time, filter_program(filter_choice_at(0)));
	compare_calls("fcntl", fcntl_time, filter_program(filter_choice_at(0)));
	compare_calls("ioctl", ioctl_time, filter_program(filter_choice_at(0)));
	return EXIT_SUCCESS;
}
