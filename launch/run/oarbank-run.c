/* The parent: starts a module through the launcher in a container, holds it to its limits, ends all
 * of it, and says how it ended. Also acts on one that is running.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/fault.h"
#include "kabi/file.h"
#include "kabi/kernel.h"
#include "kabi/text.h"
#include "launch/check.h"
#include "launch/run/command.h"
#include "launch/run/remote.h"
#include "launch/run/result.h"
#include "launch/run/run.h"

enum {
	EXIT_OK = 0,
	EXIT_NOT_RUNNING = 1,
	EXIT_USAGE = 64,
	EXIT_NOT_STARTED = 70,
	EXIT_NOT_WRITTEN = 74,
	EXIT_TIMEOUT = 124,
	EXIT_SIGNAL = 128, /* and the signal's number */
};

#define SIGNAL_BIT(number) (1ULL << ((number)-1))
#define STOP_SIGNALS (SIGNAL_BIT(SIGTERM) | SIGNAL_BIT(SIGINT) | SIGNAL_BIT(SIGHUP))
#define SIGNAL_INFO_BYTES 128 /* struct signalfd_siginfo */
#define ORPHAN_ROUNDS 500
#define ORPHAN_PAUSE_MS 10

static const struct kernel *const k = &kernel_live;

/* ---- output ---- */

static void complain(const char *what, const char *more)
{
	char line[FAULT_TEXT_MAX + 64];
	struct text t = TEXT_BUF(line);

	text_add(&t, "oarbank-run: ");
	text_add_shown(&t, what);
	if (*more) {
		text_add(&t, ": ");
		text_add_shown(&t, more);
	}
	text_add(&t, "\n");
	file_write_all(k, STDERR_FILENO, line, t.len);
}

static int fail(const struct fault *why, int exit_code)
{
	complain(why->text, "");
	return exit_code;
}

static int usage(const struct fault *why)
{
	complain(why->text, "try 'oarbank-run --help'");
	return EXIT_USAGE;
}

/* Print it. Returns `exit_code`, unless that was not possible. */
static int say(const char *text, size_t len, int exit_code)
{
	struct fault why;
	int r = file_write_all(k, STDOUT_FILENO, text, len);

	if (r == 0)
		return exit_code;
	fault_errno(&why, "write to standard output", NULL, -r);
	return fail(&why, EXIT_NOT_WRITTEN);
}

/* ---- a run ---- */

struct session {
	struct run_command command;
	struct run run;
	int signals;   /* readable when somebody asks for the end */
	bool stopping; /* somebody has */
	bool unwritten;
	enum result_way way;
};

static void write_result(struct session *s)
{
	static char text[RESULT_MAX];
	struct fault why;
	ssize_t n;

	if (!s->command.result)
		return;
	n = result_print(k, &s->run, &s->command.options.limits, text, sizeof(text));
	if (n < 0)
		fault_errno(&why, "write the result", s->command.result, (int)-n);
	else if (result_write(k, s->command.result, &s->way, text, (size_t)n, &why) == 0)
		return;
	if (!s->unwritten)
		complain(why.text, "");
	s->unwritten = true;
}

/* The first request is a polite one. */
static void pass_signal_on(struct session *s)
{
	char info[SIGNAL_INFO_BYTES];

	k->read(k, s->signals, info, sizeof(info));
	if (s->stopping)
		run_kill(k, &s->run);
	else
		run_stop(k, &s->run);
	s->stopping = true;
}

static void follow(struct session *s)
{
	struct pollfd fds[RUN_FDS + 1];

	while (s->run.state != RUN_ENDED) {
		enum run_state state = s->run.state;
		pid_t leader = s->run.container.leader;
		int r;

		run_fds(&s->run, fds);
		fds[RUN_FDS] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
		r = k->poll(k, fds, RUN_FDS + 1, -1);
		if (r == -EINTR)
			continue;
		if (r < 0) {
			run_give_up(k, &s->run, -r);
			return;
		}
		if (fds[RUN_FDS].revents)
			pass_signal_on(s);
		run_act(k, &s->run, fds);
		if (s->run.state != state || s->run.container.leader != leader)
			write_result(s);
	}
}

/* What a lost keeper had below it has come to us. */
static void end_orphans(struct session *s)
{
	struct container *c = &s->run.container;
	struct ended ended;

	c->keeper = k->getpid(k);
	c->leader = 0;
	for (int i = 0; i < ORPHAN_ROUNDS; i++) {
		int r;

		container_kill(k, c, NULL);
		while ((r = k->wait(k, 0, WEXITED | WNOHANG, &ended)) == 1)
			i = 0;
		if (r == -ECHILD) {
			s->run.outcome.left_behind = false;
			return;
		}
		k->poll(k, NULL, 0, ORPHAN_PAUSE_MS);
	}
}

static int exit_code_of(const struct outcome *o)
{
	switch (o->reason) {
	case REASON_UNKNOWN:
	case REASON_LAUNCH_FAILED:
	case REASON_SANDBOX_MISSING:
	case REASON_SANDBOX_HUNG:
		return EXIT_NOT_STARTED;
	case REASON_TIMEOUT:
		return EXIT_TIMEOUT;
	case REASON_OOM:
		return EXIT_SIGNAL + SIGKILL;
	case REASON_SIGNAL:
		return EXIT_SIGNAL + o->signal;
	case REASON_EXIT_NONZERO:
	case REASON_OK:
		return o->code;
	}
	return EXIT_NOT_STARTED;
}

/* What the exit code alone does not say. */
static void report(const struct run *run)
{
	const struct outcome *o = &run->outcome;
	char number[24];
	struct text t = TEXT_BUF(number);

	text_add_int(&t, run->reaped.processes);
	if (run->reaped.containers)
		complain("removed the container of a run that ended; processes in it", number);
	if (run->reaped.left)
		complain("a container of a run that ended could not be removed",
			 run->reaped.why.text);
	if (o->why.text[0] || o->reason == REASON_TIMEOUT)
		complain(reason_word(o->reason), o->why.text);
	if (o->left_behind)
		complain("something of the module is left behind", "");
}

static void start(struct session *s, char **envp)
{
	struct run_options *o = &s->command.options;
	struct outcome *outcome = &s->run.outcome;
	char launcher[4096];
	int r = check_proc(k, &outcome->why);

	if (r == 0)
		r = run_find_launcher(k, envp, launcher, sizeof(launcher), &outcome->why);
	o->launcher = launcher;
	o->network.alarm = true;
	o->envp = envp;
	if (r == 0)
		r = run_start(k, o, &s->run, &outcome->why);
	if (r == 0)
		return;
	s->run.state = RUN_ENDED;
	outcome->reason = REASON_LAUNCH_FAILED;
	outcome->code = -1;
}

static int verb_run(int argc, char **argv, char **envp)
{
	static struct session s;
	struct fault why;
	uint64_t mask;

	if (run_command_parse(argc, argv, &s.command, &why) < 0)
		return usage(&why);
	/* A result that cannot be written says so by its error. The launcher gives the module its
	 * own signals back.
	 */
	k->signal_ignore(k, SIGPIPE);
	k->signal_ignore(k, SIGXFSZ);
	/* What outlives a lost keeper comes to us. */
	k->prctl(k, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	s.run.channel = -1;
	s.signals = k->signal_mask(k, STOP_SIGNALS, &mask);
	if (s.signals == 0)
		s.signals = k->signal_fd(k, STOP_SIGNALS);
	if (s.signals < 0) {
		fault_errno(&why, "watch for signals", NULL, -s.signals);
		return fail(&why, EXIT_NOT_STARTED);
	}
	write_result(&s);
	/* A result that cannot be written is no reason to lose a module's work at its end. */
	if (s.unwritten)
		return EXIT_NOT_WRITTEN;
	start(&s, envp);
	follow(&s);
	if (s.run.proxy_failed)
		complain("the proxy did not end well", "");
	if (s.run.outcome.left_behind && s.run.container.kind == CONTAINER_GROUP)
		end_orphans(&s);
	write_result(&s);
	report(&s.run);
	return s.unwritten ? EXIT_NOT_WRITTEN : exit_code_of(&s.run.outcome);
}

/* ---- on a running one ---- */

typedef int act(const struct container *c, struct fault *why);

static int act_freeze(const struct container *c, struct fault *why)
{
	return container_freeze(k, c, true, why);
}

static int act_thaw(const struct container *c, struct fault *why)
{
	return container_freeze(k, c, false, why);
}

/* The leader may be reaped at any time, and its number another's. When it is killed, as all that is
 * found, its keeper ends the rest.
 */
static int act_kill(const struct container *c, struct fault *why)
{
	struct container found = *c;

	found.leader = 0;
	return container_kill(k, &found, why);
}

static int act_status(const struct container *c, struct fault *why)
{
	char line[CGROUP_PATH_MAX + 256];
	struct text t = TEXT_BUF(line);
	int count = container_count(k, c);
	int r;

	if (count < 0)
		return fault_errno(why, "look into the container", NULL, -count);
	text_add(&t, "running: ");
	text_add_int(&t, count);
	text_add(&t, count == 1 ? " process in " : " processes in ");
	if (c->kind == CONTAINER_LEAF) {
		text_add_shown(&t, c->leaf.dir);
	} else {
		text_add(&t, "process group ");
		text_add_int(&t, c->leader);
	}
	text_add(&t, " (");
	text_add(&t, container_status(c->kind));
	text_add(&t, ")\n");
	r = file_write_all(k, STDOUT_FILENO, line, t.len);
	return r < 0 ? fault_errno(why, "write to standard output", NULL, -r) : 0;
}

static int act_on(const char *what, act *action)
{
	struct remote remote;
	struct fault why;
	int r = remote_find(k, what, &remote, &why);

	if (r < 0)
		return fail(&why,
			    r == -ESRCH || r == -ENOENT ? EXIT_NOT_RUNNING : EXIT_NOT_STARTED);
	if (!remote.running) {
		complain("it is not running", "");
		return EXIT_NOT_RUNNING;
	}
	r = action(&remote.container, &why);
	return r < 0 ? fail(&why, EXIT_NOT_STARTED) : EXIT_OK;
}

/* ---- the command line ---- */

static const struct verb {
	const char *name;
	act *action;
	const char *help;
} verbs[] = {
	{ "freeze", act_freeze, "stop a running module where it is" },
	{ "thaw", act_thaw, "let it go on" },
	{ "kill", act_kill, "SIGKILL to all of it" },
	{ "status", act_status, "exit 0 while it runs, else 1" },
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static int help(void)
{
	char page[4096];
	struct text t = TEXT_BUF(page);

	text_add(&t, "oarbank-run --policy FILE [option]... -- /absolute/program [argument]...\n"
		     "\tstart a module confined, in a container, and wait for its end\n");
	run_command_help(&t);
	for (size_t i = 0; i < VERB_COUNT; i++) {
		text_add(&t, "oarbank-run ");
		text_add(&t, verbs[i].name);
		text_add(&t, " RESULT-FILE|PID\n\t");
		text_add(&t, verbs[i].help);
		text_add(&t, "\n");
	}
	text_add(&t,
		 "exit: the module's exit code, or 128 and the signal that ended it; 124 timeout;\n"
		 "\t137 out of memory; 64 wrong usage; 70 not started, or ended because it\n"
		 "\twas not confined; 74 the result could not be written\n"
		 "SIGTERM, SIGINT, SIGHUP: SIGTERM to the module's group, after the grace time\n"
		 "\tSIGKILL to all of it; the second one is SIGKILL at once\n"
		 "OARBANK_SANDBOX_EXEC: the launcher; else oarbank-sandbox beside this program\n"
		 "OARBANK_EGRESS_EXEC: the proxy; else oarbank-egress beside this program\n");
	return say(page, t.len, EXIT_OK);
}

/* What opens a file must not get a standard descriptor. */
static int fill_standard(struct fault *why)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		int r = k->fcntl(k, fd, F_GETFD, 0);

		if (r != -EBADF)
			continue;
		r = k->open(k, "/dev/null", O_RDWR);
		if (r < 0)
			return fault_errno(why, "a standard descriptor is closed, and to open",
					   "/dev/null", -r);
	}
	return 0;
}

int main(int argc, char **argv, char **envp)
{
	static const char version[] = "oarbank-run " OARBANK_VERSION "\n";
	struct fault why;

	if (fill_standard(&why) < 0)
		return fail(&why, EXIT_NOT_STARTED);
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		return help();
	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return say(version, sizeof(version) - 1, EXIT_OK);
	for (size_t i = 0; argc > 1 && i < VERB_COUNT; i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		if (argc == 3)
			return act_on(argv[2], verbs[i].action);
		fault_join(&why, verbs[i].name, " takes a result file or a process id", NULL);
		return usage(&why);
	}
	return verb_run(argc, argv, envp);
}
