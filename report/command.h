/* Command lines from tables: parsing, help, and what shell completions are made of. */
#ifndef REPORT_COMMAND_H
#define REPORT_COMMAND_H

#include <stddef.h>
#include <stdio.h>

#include "kabi/fault.h"

struct command_option {
	const char *name; /* "--json" */
	const char *arg;  /* "FILE"; NULL: takes none */
	/* `arg` is NULL for an option without one. Returns 0, or -EINVAL with `why`, or -ENOMEM. */
	int (*take)(void *state, const char *arg, struct fault *why);
	/* NULL: not shown, nor completed. ':' at its end stands for the words, which follow it. */
	const char *help;
	/* What the argument may be, one after the other until NULL, for completion; NULL: a file or
	 * a directory when `arg` says FILE or DIR, else free. */
	const char *(*word)(size_t i);
};

struct command {
	const char *name;    /* "audit"; "" for the program without a verb */
	const char *summary; /* for the list of verbs; NULL: none */
	const struct command_option *options;
	size_t option_count;
	/* Takes a word that is no option; NULL: there are none. After "--" every word is one. */
	int (*operand)(void *state, const char *word, struct fault *why);
};

/* Call the command's functions for argv[1] and on. An option's argument follows it, or stands
 * behind '='. Returns 0, or what the first of them returned, or -EINVAL with `why`.
 */
int command_parse(const struct command *command, int argc, char **argv, void *state,
		  struct fault *why);

/* What is shown of an option's use: its help, and its words where they follow that. */
#define COMMAND_HELP_MAX 160
const char *command_option_help(const struct command_option *option, char buf[COMMAND_HELP_MAX]);

/* One line for each option that is shown. */
void command_help(const struct command *command, FILE *out);

/* -EINVAL, with `why` set to the three texts. */
int command_refuse(struct fault *why, const char *a, const char *b, const char *c);

/* -EINVAL, with `why` saying that no `kind` is named so, and the words there are. */
int command_no_such(struct fault *why, const char *kind, const char *name,
		    const char *(*word)(size_t i));

#endif
