/* The attack matrix, its fixture and its attempts in one static program.
 *   attacker run SANDBOX [--as UID] [--setuid PROGRAM]   the whole matrix as TAP
 *   attacker batch STAGE PROFILE | row STAGE NUMBER | do WHAT      what the fixture starts
 *   attacker list                                                  the rows
 */
#include "tests/attack/attack.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct stage stage;

/* ---- rows ---- */

static const struct rows *const sets[] = {
	&socket_rows,	&connect_rows,	&signal_rows, &process_rows, &ipc_rows,
	&terminal_rows, &inherit_rows,	&kernel_rows, &exec_rows,    &file_rows,
	&road_rows,	&metadata_rows, &root_rows,   &allow_rows,
};

const struct row *row_at(size_t i)
{
	for (size_t set = 0; set < sizeof(sets) / sizeof(sets[0]); set++) {
		if (i < sets[set]->count)
			return &sets[set]->rows[i];
		i -= sets[set]->count;
	}
	return NULL;
}

const char *row_name(const struct row *row)
{
	static char name[96];

	snprintf(name, sizeof(name), "%s_%s",
		 row->known	      ? "known"
		 : row->confined != 0 ? "deny"
				      : "allow",
		 row->name);
	return name;
}

bool row_is_alone(const struct row *row)
{
	return row->before || row->terminal;
}

bool row_is_for(const struct row *row, enum profile profile)
{
	unsigned in = row->in ? row->in : row_is_alone(row) ? IN(PLAIN) : IN_ALL;

	if (row->who == (geteuid() == 0 ? USER_ONLY : ROOT_ONLY))
		return false;
	return profile == PROFILE_COUNT || in & IN(profile);
}

/* ---- verbs ---- */

static int usage(void)
{
	fprintf(stderr, "usage: attacker run SANDBOX [--as UID] [--setuid PROGRAM]\n");
	return 64;
}

/* Become another user for good, by way of a new program so that it is an ordinary process. */
static int run_as(char **argv)
{
	uid_t uid = (uid_t)strtoul(argv[4], NULL, 10);
	char *const again[] = {
		argv[0], argv[1], argv[2], argv[5], argv[5] ? argv[6] : NULL, NULL
	};

	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return 1;
	execv(argv[0], again);
	return 1;
}

static int run_main(int argc, char **argv)
{
	int failures;

	if (argc >= 5 && strcmp(argv[3], "--as") == 0)
		return run_as(argv);
	if (argc == 5 && strcmp(argv[3], "--setuid") == 0)
		snprintf(stage.setuid, sizeof(stage.setuid), "%s", argv[4]);
	else if (argc != 3)
		return usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (stage_make(&stage, argv[2]) < 0) {
		printf("not ok - the stage could not be set up\n");
		stage_remove(&stage);
		return 1;
	}
	failures = matrix_main(&stage) + refusals_main(&stage);
	stage_remove(&stage);
	return failures ? 1 : 0;
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
	for (size_t i = 0; row_at(i); i++)
		printf("%zu %s\n", i, row_name(row_at(i)));
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
		return batch_main(&stage, profile_named(argv[3]));
	if (strcmp(verb, "row") == 0)
		return answer_code(attempt_run(&stage, row_at((size_t)strtoul(argv[3], NULL, 10))));
	return usage();
}
