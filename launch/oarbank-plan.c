/* What the launcher would do with a policy, for people: `oarbank-sandbox sandbox-plan` becomes this
 * program, which shares its code. Kept apart because the trusted program need not explain itself.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "kabi/text.h"
#include "launch/launch.h"

#define EXIT_USAGE 64
#define EXIT_NOT_APPLIED 70
#define ABI_ASSUMED_MAX 1000

static int fail(const struct fault *why, int exit_code)
{
	fprintf(stderr, "sandbox launch: %s\n", why->text);
	return exit_code;
}

/* Write what was printed. Returns the exit code. */
static int finish(void)
{
	struct fault why;

	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fault_join(&why, "standard output cannot be written", NULL);
	return fail(&why, EXIT_NOT_APPLIED);
}

static int print_help(void)
{
	puts("oarbank-plan POLICY.json [--assume-abi N] [--supervise auto|none|metadata]\n"
	     "\twhat oarbank-sandbox sandbox-exec would do, and what this kernel cannot;\n"
	     "\tthe paths of the policy are not looked at\n"
	     "  --assume-abi N\n"
	     "\tthe same on a kernel with that Landlock ABI\n"
	     "  --supervise auto|none|metadata\n"
	     "\tthe same under oarbank-run with that option\n"
	     "oarbank-plan --help\n"
	     "\tthis list\n"
	     "oarbank-plan --version\n"
	     "\tthe version\n"
	     "exit: 64 wrong usage, 70 the policy cannot be read, or not be applied in full");
	return finish();
}

static void print_line(void *arg, const char *text)
{
	(void)arg;
	puts(text);
}

static void print_policy(const struct launch *l)
{
	struct fault line;

	fault_join(&line, "policy: '", l->policy_path, "' of module '", l->policy.module,
		   "', kind '", l->policy.kind, "'", NULL);
	puts(line.text);
}

struct options {
	int abi;
	enum supervise_choice supervise;
};

static bool take_option(const char *name, const char *value, struct options *o)
{
	int64_t abi;

	if (strcmp(name, "--supervise") == 0)
		return supervise_choice_read(value, &o->supervise) == 0;
	if (strcmp(name, "--assume-abi") != 0 || text_int(value, 0, ABI_ASSUMED_MAX, &abi) < 0)
		return false;
	o->abi = (int)abi;
	return true;
}

int main(int argc, char **argv)
{
	static struct launch launch;
	const struct kernel *k = &kernel_self;
	struct fault why = { "usage: sandbox-plan POLICY.json [--assume-abi N] "
			     "[--supervise auto|none|metadata]" };
	struct options o = { .abi = landlock_abi(k), .supervise = SUPERVISE_NONE };

	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return print_help();
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		puts("oarbank-plan " OARBANK_VERSION);
		return finish();
	}
	if (argc < 2 || argc % 2 != 0)
		return fail(&why, EXIT_USAGE);
	for (int i = 2; i < argc; i += 2)
		if (!take_option(argv[i], argv[i + 1], &o))
			return fail(&why, EXIT_USAGE);
	launch.policy_path = argv[1];
	if (launch_plan(k, &launch, o.abi, o.supervise, &why) < 0)
		return fail(&why, EXIT_NOT_APPLIED);
	print_policy(&launch);
	plan_print(&launch.plan, print_line, NULL);
	if (finish() != 0)
		return EXIT_NOT_APPLIED;
	return plan_check(&launch.plan, &why) < 0 ? fail(&why, EXIT_NOT_APPLIED) : 0;
}
