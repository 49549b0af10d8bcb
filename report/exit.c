#include "report/exit.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fail(int code, const char *text)
{
	fprintf(stderr, "oarbank-probe: %s\n", text);
	return code;
}

int exit_usage(const char *verb, const struct fault *why)
{
	fail(EXIT_USAGE, why->text);
	fprintf(stderr, "Try 'oarbank-probe %s--help'.\n", verb);
	return EXIT_USAGE;
}

int exit_flushed(void)
{
	struct fault why;

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fault_errno(&why, "write standard output", NULL, errno ? errno : EIO);
	return fail(EXIT_OURS, why.text);
}

/* Somebody we share the pipe with may have made it non-blocking. */
static int wait_writable(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

int write_whole(const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, text, len);

		if (n < 0 && errno == EAGAIN && wait_writable() == 0)
			continue;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

bool exit_wants_colour(void)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term &&
	       strcmp(term, "dumb") != 0;
}
