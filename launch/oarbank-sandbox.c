/* The launcher: confines itself as a policy says and becomes the module, or exits without it.
 * Interface: spec/wire.md §2. Also installed under the name oarbank-agent, so nothing depends on
 * argv[0].
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "kabi/fault.h"
#include "kabi/file.h"
#include "kabi/kernel.h"
#include "kabi/text.h"
#include "launch/check.h"
#include "launch/launch.h"

enum {
	EXIT_OK = 0,
	EXIT_NOT_CONFINED = 1,
	EXIT_USAGE = 64,
	EXIT_NOT_APPLIED = 70,
	EXIT_NOT_EXECUTED = 71,
};

struct verb {
	const char *name;
	const char *arguments;
	const char *help;
	int (*run)(const struct verb *verb, int argc, char **argv, char **envp);
};

static const struct kernel *const k = &kernel_self;
static struct launch launch;

/* ---- output ---- */

static int complain(const struct fault *why, int exit_code)
{
	char line[FAULT_TEXT_MAX + 32];
	struct text t = TEXT_BUF(line);

	text_add(&t, "sandbox launch: ");
	text_add(&t, why->text);
	text_add(&t, "\n");
	file_write_all(k, STDERR_FILENO, line, t.len);
	return exit_code;
}

/* Print `text` and a newline. Returns `exit_code`, unless that was not possible. */
static int say(const char *text, int exit_code)
{
	struct fault why;

	if (file_write_all(k, STDOUT_FILENO, text, strlen(text)) == 0 &&
	    file_write_all(k, STDOUT_FILENO, "\n", 1) == 0)
		return exit_code;
	fault_join(&why, "standard output cannot be written", NULL);
	return complain(&why, EXIT_NOT_APPLIED);
}

/* A wrong command line: show how `verb` is called. */
static int usage(const struct verb *verb)
{
	struct fault why;

	fault_join(&why, "usage: ", verb->name, verb->arguments, NULL);
	return complain(&why, EXIT_USAGE);
}

/* ---- verbs ---- */

/* argv: 0 program, 1 verb, 2 policy, 3 "--", 4 and on the module's own */
static int verb_exec(const struct verb *verb, int argc, char **argv, char **envp)
{
	struct fault why = { "" };

	if (argc < 5 || strcmp(argv[2], "--") == 0 || strcmp(argv[3], "--") != 0 ||
	    argv[4][0] != '/')
		return usage(verb);
	launch.policy_path = argv[2];
	launch.argv = argv + 4;
	launch.envp = envp;
	launch_run(k, &launch, &why);
	return complain(&why, launch.failed == STEP_EXEC ? EXIT_NOT_EXECUTED : EXIT_NOT_APPLIED);
}

static int verb_check(const struct verb *verb, int argc, char **argv, char **envp)
{
	enum check check;
	int64_t pid;

	(void)envp;
	if (argc != 3 || text_int(argv[2], 1, INT_MAX, &pid) < 0)
		return usage(verb);
	check = check_process(k, (int)pid);
	return say(check_word(check), check == CHECK_CONFINED ? EXIT_OK : EXIT_NOT_CONFINED);
}

/* Execute dir/argv[0]. Returns only when that cannot be done. */
static int exec_in(const char *dir, size_t dir_len, char *const argv[], char **envp)
{
	char path[PATH_MAX];
	struct text t = TEXT_BUF(path);

	text_add_bytes(&t, dir, dir_len);
	text_add(&t, "/");
	text_add(&t, argv[0]);
	return t.cut ? -ENAMETOOLONG : k->execve(k, path, argv, envp);
}

static const char *search_path(char **envp)
{
	for (; *envp; envp++)
		if (text_starts(*envp, "PATH="))
			return *envp + 5;
	return "";
}

/* Become another program of this project: the one beside this one, or else the first on PATH. What
 * explains and prints is kept out of the program that people trust.
 */
static int hand_over(char *const argv[], char **envp)
{
	const char *dirs = search_path(envp);
	struct fault why;
	char self[PATH_MAX];
	ssize_t n = k->readlink(k, "/proc/self/exe", self, sizeof(self));
	int r = -ENOENT;

	if (n > 0)
		r = exec_in(self, (size_t)(strrchr(self, '/') - self), argv, envp);
	while (r == -ENOENT && *dirs) {
		size_t len = strcspn(dirs, ":");

		/* A relative directory would make the answer depend on where we stand. */
		if (dirs[0] == '/')
			r = exec_in(dirs, len, argv, envp);
		dirs += len;
		dirs += *dirs == ':';
	}
	fault_errno(&why, "exec", argv[0], -r);
	return complain(&why, EXIT_NOT_EXECUTED);
}

static int verb_status(const struct verb *verb, int argc, char **argv, char **envp)
{
	char *const probe[] = { "oarbank-probe", "--sandbox", NULL };

	(void)argv;
	return argc == 2 ? hand_over(probe, envp) : usage(verb);
}

static int verb_plan(const struct verb *verb, int argc, char **argv, char **envp)
{
	(void)verb;
	(void)argc;
	argv[1] = "oarbank-plan";
	return hand_over(argv + 1, envp);
}

static int verb_help(const struct verb *verb, int argc, char **argv, char **envp);

static int verb_version(const struct verb *verb, int argc, char **argv, char **envp)
{
	(void)verb;
	(void)argc;
	(void)argv;
	(void)envp;
	return say("oarbank-sandbox " OARBANK_VERSION, EXIT_OK);
}

static const struct verb verbs[] = {
	{ "sandbox-exec", " POLICY.json -- /absolute/program [argument]...",
	  "confine this process as the policy says and become the program", verb_exec },
	{ "sandbox-check", " PID", "exit 0 when that process is confined, else 1", verb_check },
	{ "sandbox-status", "", "what this node enforces, as one line of JSON (oarbank-probe)",
	  verb_status },
	{ "sandbox-plan", " POLICY.json [--assume-abi N]\n\t\t[--supervise auto|none|metadata]",
	  "what sandbox-exec would do, and what this kernel cannot (oarbank-plan)", verb_plan },
	{ "--help", "", "this list", verb_help },
	{ "--version", "", "the version", verb_version },
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static int verb_help(const struct verb *verb, int argc, char **argv, char **envp)
{
	char page[2048];
	struct text t = TEXT_BUF(page);

	(void)verb;
	(void)argc;
	(void)argv;
	(void)envp;
	for (size_t i = 0; i < VERB_COUNT; i++) {
		text_add(&t, "oarbank-sandbox ");
		text_add(&t, verbs[i].name);
		text_add(&t, verbs[i].arguments);
		text_add(&t, "\n\t");
		text_add(&t, verbs[i].help);
		text_add(&t, "\n");
	}
	text_add(&t, "exit: 64 wrong usage, 70 a step could not be applied in full,\n"
		     "\t71 the program could not be executed");
	return say(page, EXIT_OK);
}

int main(int argc, char **argv, char **envp)
{
	struct fault why;

	for (size_t i = 0; argc > 1 && i < VERB_COUNT; i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(&verbs[i], argc, argv, envp);
	fault_join(&why, argc > 1 ? "unknown verb '" : "no verb", argc > 1 ? argv[1] : "",
		   argc > 1 ? "'" : "", ": see --help", NULL);
	return complain(&why, EXIT_USAGE);
}
