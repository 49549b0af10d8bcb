/* The egress proxy of one job: HTTP requests to hosts of an allow list, and to nothing else.
 * Interface: contract.md "net.mode", spec/wire.md §8.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "kabi/text.h"
#include "launch/egress/command.h"
#include "launch/egress/serve.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 64,
};

/* Threads of libuv, half of which may wait for a name server at a time. */
#define THREADS "32"

static int complain(const struct fault *why, int exit_code)
{
	char line[FAULT_TEXT_MAX + 32];
	struct text t = TEXT_BUF(line);

	text_add(&t, "oarbank-egress: ");
	text_add(&t, why->text);
	text_add(&t, "\n");
	/* There is nobody left to tell when this fails. */
	return write(STDERR_FILENO, line, t.len) < 0 ? EXIT_FAILED : exit_code;
}

static int say(const char *text)
{
	return write(STDOUT_FILENO, text, strlen(text)) == (ssize_t)strlen(text) ? EXIT_OK
										 : EXIT_FAILED;
}

static int help(void)
{
	char page[4096];
	struct text t = TEXT_BUF(page);

	text_add(&t, "usage: oarbank-egress --allow HOST[:PORT]... [OPTION]...\n"
		     "Print a proxy's URL, and serve requests to the hosts that are allowed.\n\n");
	egress_command_help(&t);
	text_add(&t, "  --help\n\tthis list\n  --version\n\tthe version\n");
	return say(page);
}

int main(int argc, char **argv)
{
	static struct egress_allow allow;
	struct egress_options options = { .allow = &allow };
	struct fault why = { "" };
	int r;

	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return help();
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return say("oarbank-egress " OARBANK_VERSION "\n");
	if (egress_command_parse(&kernel_live, argc, argv, &options, &why) < 0)
		return complain(&why, EXIT_USAGE);
	setenv("UV_THREADPOOL_SIZE", THREADS, 0);
	r = egress_serve(&options, &why);
	if (r > 0)
		_exit(EXIT_OK);
	return r < 0 ? complain(&why, EXIT_FAILED) : EXIT_OK;
}
