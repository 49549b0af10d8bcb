/* Every row without the sandbox and in it, and what to say of it. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTROL PROFILE_COUNT

static int32_t answers[PROFILE_COUNT + 1][ROWS_MAX];
static int launch_code[PROFILE_COUNT + 1];

/* ---- starting ---- */

/* Descriptor 0 is null, 1 is `out_fd` or null, and we stand in the work folder. */
static void dress(const struct stage *s, int out_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(out_fd >= 0 ? out_fd : null, STDOUT_FILENO);
	if (chdir(place_path(s, WORK)) < 0)
		_exit(255);
}

/* The program with `verb` and `last`, confined by the profile's policy or not. */
static void become(const struct stage *s, enum profile profile, const char *verb, const char *last)
{
	const char *program = path_at(s, BUNDLE, "attacker");
	const char *argv[] = {
		s->sandbox, "sandbox-exec", NULL, "--", program, verb, path_at(s, BUNDLE, "stage"),
		last,	    NULL,
	};
	size_t first = profile == CONTROL ? 4 : 0;

	argv[2] = policy_path(s, profile == CONTROL ? "" : profile_names[profile]);
	execv(argv[first], (char *const *)&argv[first]);
	_exit(255);
}

/* Children that attempts left behind were passed on to us. */
static void sweep(const struct stage *s)
{
	char path[64];
	FILE *list;
	int pid;
	int status;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	list = fopen(path, "re");
	while (list && fscanf(list, "%d", &pid) == 1)
		if (pid != s->victim)
			kill(pid, SIGKILL);
	if (list)
		fclose(list);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == s->victim) {
			fprintf(stderr, "# the victim has died: wait status 0x%x\n",
				(unsigned)status);
			exit(1);
		}
}

/* ---- terminals ---- */

static int open_terminal(int *ret_master, char slave[64])
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, slave, 64) != 0)
		return -errno;
	*ret_master = master;
	return 0;
}

/* 0, or -errno where no terminal is to be had: in a root without devpts, for one. */
static int no_terminal;

static void find_terminal(void)
{
	char slave[64];
	int master;

	no_terminal = open_terminal(&master, slave);
	if (no_terminal == 0)
		close(master);
}

static int take_terminal(const char *slave)
{
	int fd;

	setsid();
	fd = open(slave, O_RDWR);
	return fd < 0 || dup2(fd, STDIN_FILENO) < 0 ? -errno : 0;
}

/* ---- many rows in one launch ---- */

static bool has_batch(const struct stage *s, enum profile profile, bool terminal)
{
	const struct row *row;

	for (size_t i = 0; (row = row_at(i)); i++)
		if (row_is_in_batch(s, row, profile, terminal))
			return true;
	return false;
}

/* `slave`: the terminal it is started on, or NULL. */
static void run_batch(const struct stage *s, enum profile profile, const char *slave)
{
	const char *name = profile == CONTROL ? "control" : profile_names[profile];
	struct answer a;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		dress(s, fds[1]);
		if (slave && take_terminal(slave) < 0)
			_exit(answer_code(broken("take the terminal")));
		become(s, profile, slave ? "terminal" : "batch", name);
	}
	close(fds[1]);
	while (read(fds[0], &a, sizeof(a)) == sizeof(a))
		if (a.row < ROWS_MAX)
			answers[profile][a.row] = a.answer;
	close(fds[0]);
	launch_code[profile] = wait_answer(pid);
	sweep(s);
}

/* In the sandbox one terminal serves all rows: whatever is done to it must fail. */
static void run_terminal(const struct stage *s, enum profile profile)
{
	char slave[64];
	int master;

	if (no_terminal || !has_batch(s, profile, true))
		return;
	if (open_terminal(&master, slave) < 0) {
		broken("open a terminal");
		return;
	}
	run_batch(s, profile, slave);
	close(master);
}

/* ---- rows that are launched apart ---- */

static int run_apart(const struct stage *s, const struct row *row, const char *number,
		     enum profile profile)
{
	char slave[64];
	int master = -1;
	int answer;
	pid_t pid;

	if (row->terminal && open_terminal(&master, slave) < 0)
		return broken("open a terminal");
	pid = fork();
	if (pid == 0) {
		dress(s, -1);
		if (row->terminal && take_terminal(slave) < 0)
			_exit(answer_code(broken("take the terminal")));
		if (row->before && row->before(s, row->arg) < 0)
			_exit(answer_code(broken(row->name)));
		/* What a terminal answers does not depend on the program. */
		if (row->terminal && profile == CONTROL)
			_exit(answer_code(attempt_run(s, row)));
		become(s, profile, "row", number);
	}
	answer = wait_answer(pid);
	if (master >= 0)
		close(master);
	sweep(s);
	return answer;
}

static void run_row(const struct stage *s, size_t i)
{
	const struct row *row = row_at(i);
	char number[16];

	snprintf(number, sizeof(number), "%zu", i);
	if (row->terminal && no_terminal)
		return;
	for (unsigned profile = 0; profile <= CONTROL; profile++)
		if (row_is_for(s, row, profile) && (profile == CONTROL || !row->terminal))
			answers[profile][i] = run_apart(s, row, number, profile);
}

/* ---- telling ---- */

static unsigned privileged, refused, without_terminal;

const char *user_word(void)
{
	return geteuid() == 0 ? "root" : "user";
}

/* Is this an attempt that a normal user cannot make anywhere? */
static bool needs_privilege(const struct row *row, int control)
{
	return geteuid() != 0 &&
	       (row->who == ROOT_ONLY ||
		(control != row->control && (control == -EPERM || control == -EACCES)));
}

static const char *answered(enum profile profile, size_t i, char buf[32])
{
	if (answers[profile][i] != MISSING)
		return answer_text(answers[profile][i], buf);
	snprintf(buf, 32, "nothing, exit %d", answer_code(launch_code[profile]));
	return buf;
}

/* Does the control's answer say that this machine does not have it, or does not allow it? A
 * container around us answers some of these too.
 */
static bool is_absence(const struct row *row, int control)
{
	static const int absences[] = {
		-ENOSYS,     -EPERM,	    -EACCES,	      -ENODEV,
		-ENXIO,	     -EAFNOSUPPORT, -EPROTONOSUPPORT, -ESOCKTNOSUPPORT,
		-EOPNOTSUPP, -EROFS,	    KILLED(SIGSYS),
	};

	for (size_t i = 0; i < sizeof(absences) / sizeof(absences[0]); i++)
		if (control == absences[i])
			return true;
	return row->absent && control == row->absent;
}

static bool tell_control(const struct stage *s, const struct row *row, int control,
			 const char *text)
{
	bool skip = is_absence(row, control);

	printf("%s - %s (%s)%s without the sandbox it answers %s\n", skip ? "ok" : "not ok",
	       row_name(s, row), user_word(), skip ? " # SKIP" : "\n#", text);
	return skip;
}

/* Compare one row; returns false when it fails. */
static bool tell_row(const struct stage *s, size_t i)
{
	const struct row *row = row_at(i);
	int control = answers[CONTROL][i];
	int wanted = row_confined(s, row);
	char expected[32];
	char buf[32];
	bool good = true;

	if (row_is_mine(row) && !row_profiles(s, row)) {
		refused++;
		return true;
	}
	if (needs_privilege(row, control)) {
		privileged++;
		return true;
	}
	if (!row_is_mine(row))
		return true;
	if (row->terminal && no_terminal) {
		without_terminal++;
		return true;
	}
	if (control != row->control)
		return tell_control(s, row, control, answered(CONTROL, i, buf));
	for (unsigned profile = 0; profile < PROFILE_COUNT; profile++) {
		if (!row_is_for(s, row, profile) || answers[profile][i] == wanted)
			continue;
		if (good)
			printf("not ok - %s (%s)\n", row_name(s, row), user_word());
		good = false;
		printf("# with policy %s: %s, not %s%s\n", profile_names[profile],
		       answered(profile, i, buf), answer_text(wanted, expected),
		       row->known ? ": the list of what stays open has changed" : "");
	}
	if (good)
		printf("ok - %s (%s)\n", row_name(s, row), user_word());
	return good;
}

/* Below its ABI a profile must not launch. */
static bool tell_profile(const struct stage *s, enum profile profile)
{
	int code = answer_code(launch_code[profile]);
	bool good = code == NOT_APPLIED;

	if (profile_launches(s, profile))
		return true;
	for (size_t i = 0; i < ROWS_MAX; i++)
		good &= answers[profile][i] == MISSING;
	printf("%s - refuse_profile_%s (%s)\n# exit %d at Landlock ABI %d\n",
	       good ? "ok" : "not ok", profile_names[profile], user_word(), code, s->abi);
	return good;
}

/* Nothing but the refusals of the profiles is to be seen where none launches. */
static void run_rows(const struct stage *s)
{
	stage_reset(s);
	run_batch(s, CONTROL, NULL);
	stage_reset(s);
	for (unsigned profile = 0; profile < PROFILE_COUNT; profile++)
		run_terminal(s, profile);
	for (size_t i = 0; row_at(i); i++)
		if (row_is_apart(row_at(i)))
			run_row(s, i);
}

int matrix_main(struct stage *s)
{
	int failures = 0;
	char buf[32];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t profile = 0; profile <= CONTROL; profile++)
		for (size_t i = 0; i < ROWS_MAX; i++)
			answers[profile][i] = MISSING;
	for (unsigned profile = 0; profile < PROFILE_COUNT; profile++) {
		if (profile_launches(s, profile) && !has_batch(s, profile, false))
			continue;
		stage_reset(s);
		run_batch(s, profile, NULL);
		failures += !tell_profile(s, profile);
	}
	find_terminal();
	if (profile_launches(s, PLAIN))
		run_rows(s);
	for (size_t i = 0; row_at(i); i++)
		failures += !tell_row(s, i);
	if (refused)
		printf("ok - %u rows (%s) # SKIP the launcher refuses what they need at Landlock ABI %d\n",
		       refused, user_word(), s->abi);
	if (without_terminal)
		printf("ok - %u rows on a terminal (%s) # SKIP there is none to be had: %s\n",
		       without_terminal, user_word(), answer_text(no_terminal, buf));
	if (privileged)
		printf("ok - %u rows that only root can try # SKIP not root\n", privileged);
	return failures;
}
