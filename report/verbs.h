/* What oarbank-probe does when its first word is a verb. */
#ifndef REPORT_VERBS_H
#define REPORT_VERBS_H

#include <stddef.h>

#include "report/command.h"

struct verb {
	const struct command *command;
	/* `argv` begins with the verb. Returns the exit code. */
	int (*run)(int argc, char **argv);
};

extern const struct verb verbs[];
extern const size_t verb_count;

/* The verb of that whole name, or NULL. */
const struct verb *verb_find(const char *name);

#endif
