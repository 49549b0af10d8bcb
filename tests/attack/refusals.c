/* Launches that must not happen: policies, environments and descriptors that mean more than they
 * say. Each has its control, the same launch without the twist.
 */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

#define NOT_EXECUTED 71

#define FD 50
#define RACES 200
#define RACES_QUICK 10
#define REFUSALS_MAX 128

struct refusal {
	const char *name;
	const char *policy;   /* $R, $O, $B, $I, $X, $W: the root and its folders */
	const char *benign;   /* the control's, where it is another */
	const char *variable; /* the environment gets this */
	/* Done to `place` before the launch, and undone by stage_reset_place(). */
	int (*twist)(const struct stage *s, enum place place);
	enum place place;
	int (*before)(const struct stage *s); /* in the child, before exec */
	const char *program;		      /* default: bundle/attacker */
	const char *what;		      /* that program's do; default: true */
	int exit;
	int since_abi; /* below, its control is refused too */
};

#define PLAIN_POLICY "{\"ro\":[\"$B\"],\"rw\":[\"$W\"],\"rd\":[\"$I\"],\"wo\":[\"$X\"]}"
#define RW(path) "{\"ro\":[\"$B\"],\"rw\":[\"" path "\"]}"
#define RD(path) "{\"ro\":[\"$B\"],\"rd\":[\"" path "\"]}"
#define WO(path) "{\"ro\":[\"$B\"],\"wo\":[\"" path "\"]}"
#define RO(path) "{\"ro\":[\"$B\",\"" path "\"]}"
#define TWO(a, path_a, b, path_b) \
	"{\"exe\":\"$B/attacker\",\"" a "\":[\"" path_a "\"],\"" b "\":[\"" path_b "\"]}"

/* ---- twists ---- */

static int replace_by_link(const struct stage *s, enum place place)
{
	const char *path = place_path(s, place);

	if (rename(path, path_in_root(s, "moved")) < 0)
		return -errno;
	return answer_zero(symlink(path_in_root(s, "outside"), path));
}

/* Its "folder" now leads to the bundle. */
static int fold_bundle_in(const struct stage *s, enum place place)
{
	rmdir(path_at(s, place, "folder"));
	return answer_zero(symlink(path_in_root(s, "bundle"), path_at(s, place, "folder")));
}

static int fold_outside_in(const struct stage *s, enum place place)
{
	rmdir(path_at(s, place, "folder"));
	return answer_zero(symlink(path_in_root(s, "outside"), path_at(s, place, "folder")));
}

/* Landlock's rules are about inodes: under either name both would be in force. */
static int link_input_in(const struct stage *s, enum place place)
{
	return answer_zero(link(path_at(s, INPUT, "read"), path_at(s, place, "same")));
}

static int make_fifo(const struct stage *s, enum place place)
{
	unlink(path_at(s, place, "node"));
	return answer_zero(mkfifo(path_at(s, place, "node"), 0600));
}

static int forget_folder(const struct stage *s, enum place place)
{
	return answer_zero(rmdir(path_at(s, place, "folder")));
}

/* ---- descriptors ---- */

static int open_as(int wanted, const char *path, int flags)
{
	int fd = open(path, flags);
	int r = fd < 0 ? -errno : answer_zero(dup2(fd, wanted));

	if (fd >= 0 && fd != wanted)
		close(fd);
	return r;
}

static int hold_file(const struct stage *s)
{
	return open_as(FD, path_at(s, INPUT, "read"), O_RDONLY);
}

static int hold_folder(const struct stage *s)
{
	return open_as(FD, place_path(s, OUTSIDE), O_RDONLY | O_DIRECTORY);
}

static int hold_handle(const struct stage *s)
{
	(void)s;
	return open_as(FD, "/", O_PATH | O_DIRECTORY);
}

static int hold_zero(const struct stage *s)
{
	(void)s;
	return open_as(FD, "/dev/zero", O_RDONLY);
}

static int hold_pipe(const struct stage *s)
{
	int fds[2];

	(void)s;
	if (pipe(fds) < 0 || dup2(fds[0], FD + 1) < 0)
		return -errno;
	setenv("OARBANK_SERVICE_READ_END", "fd:51", 1);
	return answer_zero(dup2(fds[1], FD));
}

/* The variable that is set names the same descriptor. */
static int hold_signal(const struct stage *s)
{
	setenv("OARBANK_CONFINED", "50", 1);
	return hold_pipe(s);
}

static int hold_read_end(const struct stage *s)
{
	int fds[2];

	(void)s;
	return pipe(fds) < 0 ? -errno : answer_zero(dup2(fds[0], FD));
}

static int stdin_folder(const struct stage *s)
{
	return open_as(STDIN_FILENO, place_path(s, OUTSIDE), O_RDONLY | O_DIRECTORY);
}

static int stdin_zero(const struct stage *s)
{
	(void)s;
	return open_as(STDIN_FILENO, "/dev/zero", O_RDONLY);
}

static int stdout_full(const struct stage *s)
{
	(void)s;
	return open_as(STDOUT_FILENO, "/dev/full", O_WRONLY);
}

static int close_standard(const struct stage *s)
{
	(void)s;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	return 0;
}

static int few_descriptors(const struct stage *s)
{
	const struct rlimit limit = { 3, 3 };

	(void)s;
	return answer_zero(setrlimit(RLIMIT_NOFILE, &limit));
}

static int big_environment(const struct stage *s)
{
	static char value[100000];
	char name[16];

	(void)s;
	memset(value, 'x', sizeof(value) - 1);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "BIG_%d", i);
		setenv(name, value, 1);
	}
	return 0;
}

/* ---- rows ---- */

static const struct refusal refusals[] = {
	{ "work_replaced_by_link", PLAIN_POLICY, .twist = replace_by_link, .place = WORK,
	  .exit = NOT_APPLIED },
	{ "input_replaced_by_link", PLAIN_POLICY, .twist = replace_by_link, .place = INPUT,
	  .exit = NOT_APPLIED },
	{ "outbox_replaced_by_link", PLAIN_POLICY, .twist = replace_by_link, .place = OUTBOX,
	  .exit = NOT_APPLIED },
	{ "rw_is_link", RW("$W/to-outside"), RW("$W/folder"), .exit = NOT_APPLIED },
	{ "rd_is_link", RD("$W/to-outside"), RD("$W/folder"), .exit = NOT_APPLIED },
	{ "wo_is_link", WO("$W/to-outside"), WO("$W/folder"), .exit = NOT_APPLIED },
	{ "rw_in_ro_by_link", RW("$W/folder"), .twist = fold_bundle_in, .place = WORK,
	  .exit = NOT_APPLIED },
	{ "rw_below_link_into_ro", RW("$W/folder/folder-out"), RW("$W/folder-out"),
	  .twist = fold_bundle_in, .place = WORK, .exit = NOT_APPLIED },
	{ "rw_in_ro", RW("$B/folder"), RW("$W/folder"), .exit = NOT_APPLIED },
	{ "rw_holds_ro", RW("$R"), RW("$W"), .exit = NOT_APPLIED },
	{ "rw_in_rd", TWO("rd", "$I", "rw", "$I/folder"), TWO("rd", "$I", "rw", "$W/folder"),
	  .exit = NOT_APPLIED },
	{ "rd_in_rw", TWO("rw", "$W", "rd", "$W/folder"), TWO("rw", "$W", "rd", "$I/folder"),
	  .exit = NOT_APPLIED },
	{ "wo_in_rd", TWO("rd", "$I", "wo", "$I/folder"), TWO("rd", "$I", "wo", "$X/folder"),
	  .exit = NOT_APPLIED },
	{ "wo_is_rd", TWO("rd", "$I", "wo", "$I"), TWO("rd", "$I", "wo", "$X"),
	  .exit = NOT_APPLIED },
	{ "wo_is_rd_by_hard_link", TWO("rd", "$I/read", "wo", "$X/same"),
	  TWO("rd", "$I/read", "wo", "$X/write"), .twist = link_input_in, .place = OUTBOX,
	  .exit = NOT_APPLIED },
	{ "ro_in_rw", TWO("rw", "$W", "ro", "$W/folder"), TWO("rw", "$W", "ro", "$B/folder"),
	  .exit = NOT_APPLIED },
	{ "ro_in_rd", TWO("rd", "$I", "ro", "$I/folder"), TWO("rd", "$I", "ro", "$B/folder"),
	  .exit = NOT_APPLIED },
	{ "rw_root", RW("/"), RW("$W"), .exit = NOT_APPLIED },
	{ "ro_root", RO("/"), RO("$B"), .exit = NOT_APPLIED },
	{ "rw_usr", RW("/usr"), RW("$W"), .exit = NOT_APPLIED },
	{ "rw_etc_by_dots", RW("$W/../../../etc"), RW("$W"), .exit = NOT_APPLIED },
	{ "rw_proc", RW("/proc/self"), RW("$W"), .exit = NOT_APPLIED },
	{ "rw_proc_root", RW("/proc/self/root"), RW("$W"), .exit = NOT_APPLIED },
	{ "ro_proc_root", RO("/proc/self/root"), RO("$B"), .exit = NOT_APPLIED },
	{ "rw_proc_cwd", RW("/proc/self/cwd"), RW("$W"), .exit = NOT_APPLIED },
	{ "rw_sys", RW("/sys"), RW("$W"), .exit = NOT_APPLIED },
	{ "rw_dev", RW("/dev"), RW("$W"), .exit = NOT_APPLIED },
	{ "ro_dev", RO("/dev"), RO("$B"), .exit = NOT_APPLIED },
	{ "ro_terminal", RO("/dev/tty"), RO("$B"), .exit = NOT_APPLIED },
	{ "rd_device", RD("/dev/zero"), RD("$I"), .exit = NOT_APPLIED },
	{ "rw_fifo", RW("$W/node"), .twist = make_fifo, .place = WORK, .exit = NOT_APPLIED },
	{ "rd_fifo", RD("$W/node"), .twist = make_fifo, .place = WORK, .exit = NOT_APPLIED },
	{ "rw_missing", RW("$W/folder"), .twist = forget_folder, .place = WORK,
	  .exit = NOT_APPLIED },
	{ "rd_missing", RD("$W/folder"), .twist = forget_folder, .place = WORK,
	  .exit = NOT_APPLIED },
	{ "relative_path", RW("work"), RW("$W"), .exit = NOT_APPLIED },
	{ "egress_any", "{\"ro\":[\"$B\"],\"net\":\"egress-any\"}",
	  "{\"ro\":[\"$B\"],\"net\":\"none\"}", .exit = NOT_APPLIED },
	{ "allowlist_without_port", "{\"ro\":[\"$B\"],\"net\":\"egress-allowlist\"}",
	  "{\"ro\":[\"$B\"],\"net\":\"egress-allowlist\",\"proxy_port\":3128}", .exit = NOT_APPLIED,
	  .since_abi = 4 },
	{ "unknown_restriction", "{\"ro\":[\"$B\"],\"no_threads\":true}",
	  "{\"ro\":[\"$B\"],\"no_threads\":false}", .exit = NOT_APPLIED },
	{ "key_twice", "{\"ro\":[\"$B\"],\"gpu\":false,\"gpu\":false}",
	  "{\"ro\":[\"$B\"],\"gpu\":false}", .exit = NOT_APPLIED },
	{ "trailing_object", "{\"ro\":[\"$B\"]}{\"exec_rw\":true}", "{\"ro\":[\"$B\"]}",
	  .exit = NOT_APPLIED },
	{ "broker_is_a_file", "{\"ro\":[\"$B\"],\"broker_socket\":\"relative\"}",
	  "{\"ro\":[\"$B\"],\"broker_socket\":\"$R/sockets/broker\"}", .exit = NOT_APPLIED },

	{ "service_names_folder", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:50",
	  .before = hold_folder, .exit = NOT_APPLIED },
	{ "service_names_handle", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:50",
	  .before = hold_handle, .exit = NOT_APPLIED },
	{ "service_names_device", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:50",
	  .before = hold_zero, .exit = NOT_APPLIED },
	{ "listener_names_folder", PLAIN_POLICY, .variable = "OARBANK_LISTEN_FD_A=fd:50",
	  .before = hold_folder, .exit = NOT_APPLIED },
	{ "channel_names_folder", PLAIN_POLICY, .variable = "OARBANK_ENDPOINT_CHANNEL=fd:50",
	  .before = hold_folder, .exit = NOT_APPLIED },
	{ "service_names_nothing", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:50",
	  .exit = NOT_APPLIED },
	{ "service_names_stdin", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:0",
	  .exit = NOT_APPLIED },
	{ "service_names_no_number", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:5x",
	  .exit = NOT_APPLIED },
	{ "service_names_big_number", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:4294967346",
	  .before = hold_file, .exit = NOT_APPLIED },
	{ "service_names_signal", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:50",
	  .before = hold_signal, .exit = NOT_APPLIED },
	{ "signal_to_folder", PLAIN_POLICY, .variable = "OARBANK_CONFINED=50",
	  .before = hold_folder, .exit = NOT_APPLIED },
	{ "signal_to_nothing", PLAIN_POLICY, .variable = "OARBANK_CONFINED=50",
	  .exit = NOT_APPLIED },
	{ "signal_to_read_end", PLAIN_POLICY, .variable = "OARBANK_CONFINED=50",
	  .before = hold_read_end, .exit = NOT_APPLIED },
	{ "stdin_is_folder", PLAIN_POLICY, .before = stdin_folder, .exit = NOT_APPLIED },
	{ "stdin_is_device", PLAIN_POLICY, .before = stdin_zero, .exit = NOT_APPLIED },
	{ "stdout_is_device", PLAIN_POLICY, .before = stdout_full, .exit = NOT_APPLIED },
	{ "few_descriptors", PLAIN_POLICY, .before = few_descriptors, .exit = NOT_APPLIED },
	{ "program_outside", PLAIN_POLICY, .program = "outside/attacker", .exit = NOT_EXECUTED },
	{ "program_of_work", PLAIN_POLICY, .program = "work/attacker", .exit = NOT_EXECUTED },
	{ "program_missing", PLAIN_POLICY, .program = "bundle/none", .exit = NOT_EXECUTED },

	{ "service_names_file", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=fd:50",
	  .before = hold_file },
	{ "service_of_other_form", PLAIN_POLICY, .variable = "OARBANK_SERVICE_A=unix:/x" },
	{ "signal_to_pipe", PLAIN_POLICY, .variable = "OARBANK_CONFINED=50", .before = hold_pipe },
	{ "signal_no_number", PLAIN_POLICY, .variable = "OARBANK_CONFINED=5x" },
	{ "signal_to_stderr", PLAIN_POLICY, .variable = "OARBANK_CONFINED=2" },
	{ "closed_standard", PLAIN_POLICY, .before = close_standard },
	{ "big_environment", PLAIN_POLICY, .before = big_environment },
	{ "preload_ignored", PLAIN_POLICY, .variable = "LD_PRELOAD=/nonexistent.so" },
	/* The last component is looked at, those before it are the agent's to know. */
	{ "link_above_root", RW("$W/folder/rmdir"), RW("$W/folder"), .twist = fold_outside_in,
	  .place = WORK },
	{ "rights_may_be_given_twice", "{\"ro\":[\"$B\",\"$B/folder\",\"$B\"]}", .benign = NULL },
};

/* ---- running ---- */

static void expand(const struct stage *s, const char *text, char *out, size_t size)
{
	static const char letters[] = "OBIXW"; /* in the order of enum place */
	size_t len = 0;

	for (; *text && len < size - 1; text++) {
		const char *letter = *text == '$' ? strchr(letters, text[1]) : NULL;

		if (*text != '$') {
			out[len++] = *text;
			continue;
		}
		len += (size_t)snprintf(out + len, size - len, "%s",
					letter ? place_path(s, (enum place)(letter - letters))
					       : s->root);
		text++;
	}
	out[len] = '\0';
}

static int launch(const struct stage *s, const char *policy, const struct refusal *r)
{
	const char *program = path_in_root(s, r && r->program ? r->program : "bundle/attacker");
	const char *what = r && r->what ? r->what : "true";
	const char *argv[] = {
		s->sandbox, "sandbox-exec", policy, "--", program, "do", what, NULL
	};
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		if (r && r->variable)
			putenv((char *)r->variable);
		if (r && r->before && r->before(s) < 0)
			_exit(255);
		execv(argv[0], (char *const *)argv);
		_exit(255);
	}
	return answer_code(wait_answer(pid));
}

static int write_policy(const struct stage *s, const char *path, const char *policy)
{
	char text[2048];

	expand(s, policy, text, sizeof(text));
	return write_text(path, text);
}

static int launch_with(const struct stage *s, const char *policy, const struct refusal *r)
{
	const char *path = policy_path(s, "refusal");

	return write_policy(s, path, policy) < 0 ? 255 : launch(s, path, r);
}

/* The exit of the launch without the twist; once for all rows that have the same. */
static int control_of(const struct stage *s, const struct refusal *r)
{
	static const char *policies[REFUSALS_MAX];
	static int codes[REFUSALS_MAX];
	const char *policy = r->benign ? r->benign : r->policy;
	size_t i = 0;

	while (i < REFUSALS_MAX && policies[i] && strcmp(policies[i], policy) != 0)
		i++;
	if (i == REFUSALS_MAX)
		abort();
	if (!policies[i])
		codes[i] = launch_with(s, policy, NULL);
	policies[i] = policy;
	return codes[i];
}

static bool tell_refusal(const struct stage *s, const struct refusal *r)
{
	const char *user = user_word();
	const char *word = r->exit ? "refuse" : "accept";
	int control;
	int code;

	if (s->abi < r->since_abi) {
		printf("ok - %s_%s (%s) # SKIP its control is refused too below Landlock ABI %d\n",
		       word, r->name, user, r->since_abi);
		return true;
	}
	control = control_of(s, r);
	if (r->twist && r->twist(s, r->place) < 0)
		control = answer_code(broken("the twist"));
	code = launch_with(s, r->policy, r);
	if (r->twist)
		stage_reset_place(s, r->place);
	if (control == 0 && code == r->exit) {
		printf("ok - %s_%s (%s)\n", word, r->name, user);
		return true;
	}
	printf("not ok - %s_%s (%s)\n# exit %d, not %d; the control's exit %d\n", word, r->name,
	       user, code, r->exit, control);
	return false;
}

/* ---- a race: a root is exchanged with a link to outside, over and over ---- */

static pid_t start_exchanger(const char *a, const char *b)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	alarm(20);
	for (;;)
		syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

/* However a launch ends, the module cannot have read outside, where the link leads. */
static bool tell_race(const struct stage *s)
{
	const struct refusal read_outside = { .program = "bundle/attacker", .what = "read" };
	unsigned refused = 0, confined = 0, lost = 0, other = 0;
	char policy[PATH_MAX];
	pid_t pid;

	mkdir(path_in_root(s, "race"), 0755);
	if (symlink(path_in_root(s, "outside"), path_in_root(s, "race-link")) < 0)
		return broken("make a link") == 0;
	snprintf(policy, sizeof(policy), "%s", policy_path(s, "race"));
	write_policy(s, policy, RW("$R/race"));
	pid = start_exchanger(path_in_root(s, "race"), path_in_root(s, "race-link"));
	for (int i = 0; i < (s->quick ? RACES_QUICK : RACES); i++) {
		int code = launch(s, policy, &read_outside);

		refused += code == NOT_APPLIED;
		confined += code == EACCES;
		lost += code == 0;
		other += code != 0 && code != EACCES && code != NOT_APPLIED;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!lost && !other && (!refused || !confined))
		printf("ok - refuse_race (%s) # SKIP the race did not happen\n", user_word());
	else
		printf("%s - refuse_race (%s)\n", lost || other ? "not ok" : "ok", user_word());
	printf("# %u refused, %u confined, %u read outside, %u otherwise\n", refused, confined,
	       lost, other);
	return !lost && !other;
}

int refusals_main(const struct stage *s)
{
	int failures = 0;

	if (!profile_launches(s, PLAIN)) {
		printf("ok - refusals (%s) # SKIP every launch is refused at Landlock ABI %d\n",
		       user_word(), s->abi);
		return 0;
	}
	stage_reset(s);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
		failures += !tell_refusal(s, &refusals[i]);
	return failures + !tell_race(s);
}
