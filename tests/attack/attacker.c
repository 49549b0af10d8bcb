/* The attack matrix, its fixture and its attempts in one static program.
 *   attacker run SANDBOX [--quick] [--as UID] [--setuid PROGRAM]   the whole matrix as TAP
 *   attacker batch|terminal STAGE PROFILE | row STAGE NUMBER | do WHAT   what the fixture starts
 *   attacker list                                                  the rows
 */
#include "tests/attack/attack.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct stage stage;

static int usage(void)
{
	fprintf(stderr, "usage: attacker run SANDBOX [--quick] [--as UID] [--setuid PROGRAM]\n");
	return 64;
}

/* Become another user for good, by way of a new program so that it is an ordinary process. */
static int run_as(char **argv, uid_t uid, char *setuid)
{
	char *again[8];
	size_t n = 0;

	again[n++] = argv[0];
	again[n++] = argv[1];
	again[n++] = argv[2];
	if (stage.quick)
		again[n++] = (char *)"--quick";
	if (setuid) {
		again[n++] = (char *)"--setuid";
		again[n++] = setuid;
	}
	again[n] = NULL;
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return 1;
	execv(argv[0], again);
	return 1;
}

/* However the run ends; its children leave by _exit(2). */
static void clean_up(void)
{
	if (getpid() == stage.agent)
		stage_remove(&stage);
}

static int run_all(const char *sandbox)
{
	int failures;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (atexit(clean_up) != 0 || stage_make(&stage, sandbox) < 0) {
		printf("not ok - the stage could not be set up\n");
		return 1;
	}
	failures = matrix_main(&stage) + refusals_main(&stage);
	return failures ? 1 : 0;
}

static int run_main(int argc, char **argv)
{
	char *setuid = NULL;
	char *uid = NULL;

	if (argc < 3)
		return usage();
	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0)
			stage.quick = true;
		else if (strcmp(argv[i], "--as") == 0 && i + 1 < argc)
			uid = argv[++i];
		else if (strcmp(argv[i], "--setuid") == 0 && i + 1 < argc)
			setuid = argv[++i];
		else
			return usage();
	}
	if (uid)
		return run_as(argv, (uid_t)strtoul(uid, NULL, 10), setuid);
	if (setuid)
		snprintf(stage.setuid, sizeof(stage.setuid), "%s", setuid);
	return run_all(argv[2]);
}

static int read_stage(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, &stage, sizeof(stage));

	close(fd);
	return n == sizeof(stage) ? 0 : -1;
}

static enum profile profile_named(const char *name)
{
	unsigned profile = 0;

	while (profile < PROFILE_COUNT && strcmp(name, profile_names[profile]) != 0)
		profile++;
	return profile;
}

static int list_main(void)
{
	stage.abi = landlock_abi();
	for (size_t i = 0; row_at(i); i++)
		printf("%zu %s\n", i, row_name(&stage, row_at(i)));
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (strcmp(verb, "run") == 0)
		return run_main(argc, argv);
	if (strcmp(verb, "list") == 0)
		return list_main();
	if (strcmp(verb, "do") == 0 && argc == 3)
		return do_main(argv[2]);
	if (argc != 4 || read_stage(argv[2]) < 0)
		return usage();
	if (strcmp(verb, "batch") == 0)
		return batch_main(&stage, profile_named(argv[3]), false);
	if (strcmp(verb, "terminal") == 0)
		return batch_main(&stage, profile_named(argv[3]), true);
	if (strcmp(verb, "row") == 0)
		return answer_code(attempt_run(&stage, row_at((size_t)strtoul(argv[3], NULL, 10))));
	return usage();
}
