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

#define PROBE "oarbank-probe"
#define ABI_ASSUMED_MAX 1000

static const struct kernel *const k = &kernel_live;
static struct launch launch;

/* ---- output ---- */

static bool write_all(int fd, const char *s, size_t len)
{
	while (len > 0) {
		ssize_t n = k->write(k, fd, s, len);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		s += n;
		len -= (size_t)n;
	}
	return true;
}

static int complain(const struct fault *why, int exit_code)
{
	char line[FAULT_TEXT_MAX + 32];
	struct text t = TEXT_BUF(line);

	text_add(&t, "sandbox launch: ");
	text_add(&t, why->text);
	text_add(&t, "\n");
	write_all(STDERR_FILENO, line, t.len);
	return exit_code;
}

/* Standard output: lines are gathered, and a line that could not be written is remembered. */
static struct {
	char buf[32 * 1024];
	size_t len;
	bool failed;
} out;

static void out_flush(void)
{
	if (!write_all(STDOUT_FILENO, out.buf, out.len))
		out.failed = true;
	out.len = 0;
}

static void out_bytes(const char *s, size_t len)
{
	if (len > sizeof(out.buf) - out.len)
		out_flush();
	if (len > sizeof(out.buf)) {
		out.failed = true;
		return;
	}
	memcpy(out.buf + out.len, s, len);
	out.len += len;
}

static void out_line(void *arg, const char *s)
{
	(void)arg;
	out_bytes(s, strlen(s));
	out_bytes("\n", 1);
}

/* `exit_code`, unless what was printed is not complete. */
static int out_end(int exit_code)
{
	struct fault why;

	out_flush();
	if (!out.failed)
		return exit_code;
	fault_join(&why, "standard output cannot be written", NULL);
	return complain(&why, EXIT_NOT_APPLIED);
}

/* ---- verbs ---- */

static int verb_exec(int argc, char **argv, char **envp)
{
	struct fault why = { "" };

	/* argv: 0 program, 1 verb, 2 policy, 3 "--", 4 and on the module's own */
	if (argc < 5 || strcmp(argv[2], "--") == 0 || strcmp(argv[3], "--") != 0 ||
	    argv[4][0] != '/') {
		fault_join(&why,
			   "usage: sandbox-exec POLICY.json -- /absolute/program [argument]...",
			   NULL);
		return complain(&why, EXIT_USAGE);
	}
	launch.policy_path = argv[2];
	launch.argv = argv + 4;
	launch.envp = envp;
	launch_run(k, &launch, &why);
	return complain(&why, launch.failed == STEP_EXEC ? EXIT_NOT_EXECUTED : EXIT_NOT_APPLIED);
}

static int verb_check(int argc, char **argv, char **envp)
{
	struct fault why;
	enum check check;
	int64_t pid;

	(void)envp;
	if (argc != 3 || text_int(argv[2], 1, INT_MAX, &pid) < 0) {
		fault_join(&why, "usage: sandbox-check PID", NULL);
		return complain(&why, EXIT_USAGE);
	}
	check = check_process(k, (int)pid);
	out_line(NULL, check_word(check));
	return out_end(check == CHECK_CONFINED ? EXIT_OK : EXIT_NOT_CONFINED);
}

static void print_policy(void)
{
	struct fault line;

	fault_join(&line, "policy: '", launch.policy_path, "' of module '", launch.policy.module,
		   "', kind '", launch.policy.kind, "'", NULL);
	out_line(NULL, line.text);
}

static int verb_plan(int argc, char **argv, char **envp)
{
	struct fault why = { "" };
	int64_t abi = 0;

	(void)envp;
	if (!(argc == 3 || (argc == 5 && strcmp(argv[3], "--assume-abi") == 0 &&
			    text_int(argv[4], 0, ABI_ASSUMED_MAX, &abi) == 0))) {
		fault_join(&why, "usage: sandbox-plan POLICY.json [--assume-abi N]", NULL);
		return complain(&why, EXIT_USAGE);
	}
	launch.policy_path = argv[2];
	if (launch_plan(k, &launch, argc == 5 ? (int)abi : landlock_abi(k), &why) < 0)
		return complain(&why, EXIT_NOT_APPLIED);
	print_policy();
	plan_print(&launch.plan, out_line, NULL);
	if (plan_check(&launch.plan, &why) < 0)
		return out_end(complain(&why, EXIT_NOT_APPLIED));
	return out_end(EXIT_OK);
}

/* Execute dir/oarbank-probe. Returns only when that cannot be done. */
static int exec_probe(const char *dir, size_t dir_len, char **envp)
{
	char path[PATH_MAX];
	char *const argv[] = { PROBE, "--sandbox", NULL };
	struct text t = TEXT_BUF(path);

	text_add_bytes(&t, dir, dir_len);
	text_add(&t, "/" PROBE);
	return t.cut ? -ENAMETOOLONG : k->execve(k, path, argv, envp);
}

static const char *search_path(char **envp)
{
	for (; *envp; envp++)
		if (text_starts(*envp, "PATH="))
			return *envp + 5;
	return "";
}

/* The probe stands beside this program, or else on PATH. */
static int verb_status(int argc, char **argv, char **envp)
{
	const char *dirs = search_path(envp);
	struct fault why;
	char self[PATH_MAX];
	ssize_t n = k->readlink(k, "/proc/self/exe", self, sizeof(self));
	int r = -ENOENT;

	(void)argv;
	if (argc != 2) {
		fault_join(&why, "usage: sandbox-status", NULL);
		return complain(&why, EXIT_USAGE);
	}
	if (n > 0)
		r = exec_probe(self, (size_t)(strrchr(self, '/') - self), envp);
	while (r == -ENOENT && *dirs) {
		size_t len = strcspn(dirs, ":");

		/* A relative directory would make the answer depend on where we stand. */
		if (dirs[0] == '/')
			r = exec_probe(dirs, len, envp);
		dirs += len;
		dirs += *dirs == ':';
	}
	fault_errno(&why, "exec", PROBE, -r);
	return complain(&why, EXIT_NOT_EXECUTED);
}

static int verb_help(int argc, char **argv, char **envp);

static int verb_version(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	(void)envp;
	out_line(NULL, "oarbank-sandbox " OARBANK_VERSION);
	return out_end(EXIT_OK);
}

static const struct verb {
	const char *name;
	const char *arguments;
	const char *help;
	int (*run)(int argc, char **argv, char **envp);
} verbs[] = {
	{ "sandbox-exec", " POLICY.json -- /absolute/program [argument]...",
	  "confine this process as the policy says and become the program", verb_exec },
	{ "sandbox-check", " PID", "exit 0 when that process is confined, else 1", verb_check },
	{ "sandbox-status", "", "one line of JSON: what this node enforces (runs " PROBE ")",
	  verb_status },
	{ "sandbox-plan", " POLICY.json [--assume-abi N]",
	  "what sandbox-exec would do, and what this kernel cannot", verb_plan },
	{ "--help", "", "this list", verb_help },
	{ "--version", "", "the version", verb_version },
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

static int verb_help(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	(void)envp;
	out_line(NULL, "usage:");
	for (size_t i = 0; i < VERB_COUNT; i++) {
		char line[256];
		struct text t = TEXT_BUF(line);

		text_add(&t, "  oarbank-sandbox ");
		text_add(&t, verbs[i].name);
		text_add(&t, verbs[i].arguments);
		text_add(&t, "\n      ");
		text_add(&t, verbs[i].help);
		out_line(NULL, line);
	}
	out_line(NULL, "exit: 64 wrong usage, 70 a step could not be applied in full, "
		       "71 the program could not be executed");
	return out_end(EXIT_OK);
}

int main(int argc, char **argv, char **envp)
{
	struct fault why;

	for (size_t i = 0; argc > 1 && i < VERB_COUNT; i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc, argv, envp);
	fault_join(&why, argc > 1 ? "unknown verb '" : "no verb", argc > 1 ? argv[1] : "",
		   argc > 1 ? "'" : "", ": see --help", NULL);
	return complain(&why, EXIT_USAGE);
}
