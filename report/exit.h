/* How oarbank-probe ends: its exit codes, what it says on standard error before, and whether its
 * output was written. */
#ifndef REPORT_EXIT_H
#define REPORT_EXIT_H

#include <stdbool.h>
#include <stddef.h>

#include "kabi/fault.h"

#define EXIT_NO 1 /* the answer was given, and something asked for is not so */
#define EXIT_USAGE 64
#define EXIT_OURS 70

/* Print "oarbank-probe: TEXT". Returns `code`. */
int fail(int code, const char *text);

/* Print `why`, and where help is for that verb ("audit ", or ""). Returns EXIT_USAGE. */
int exit_usage(const char *verb, const struct fault *why);

/* Standard output was written through stdio: 0, or EXIT_OURS, having said why. */
int exit_flushed(void);

/* Write all of it to standard output. 0 or -errno. */
int write_whole(const char *text, size_t len);

/* May standard output be coloured? NO_COLOR (no-color.org) and TERM have a say. */
bool exit_wants_colour(void);

#endif
