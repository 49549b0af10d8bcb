/* The command line of `oarbank-run`. Inside this folder only. */
#ifndef LAUNCH_RUN_COMMAND_H
#define LAUNCH_RUN_COMMAND_H

#include "kabi/fault.h"
#include "kabi/text.h"
#include "launch/run/run.h"

struct run_command {
	struct run_options options; /* but for launcher and envp */
	const char *result;	    /* NULL: none */
};

/* Take argv[1..) of a run apart: options, "--", the module's own arguments. *ret is large: make it
 * static. Returns 0, or -EINVAL with `why` for a person.
 */
int run_command_parse(int argc, char **argv, struct run_command *ret, struct fault *why);

/* A decimal number with up to three digits behind the point, in thousandths. Returns 0, or -EINVAL
 * for what is none or is 0, -ERANGE above `max`.
 */
int run_command_milli(const char *text, uint64_t max, uint64_t *ret);

/* One line of help for each option, ended by a newline. */
void run_command_help(struct text *t);

#endif
