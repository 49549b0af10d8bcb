#include "report/command.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "kabi/text.h"
#include "report/layout.h"

int command_refuse(struct fault *why, const char *a, const char *b, const char *c)
{
	fault_join(why, a, b, c, NULL);
	return -EINVAL;
}

static void add_words(struct text *t, const char *(*word)(size_t i))
{
	for (size_t i = 0; word(i); i++) {
		text_add(t, i ? ", " : " ");
		text_add(t, word(i));
	}
}

int command_no_such(struct fault *why, const char *kind, const char *name,
		    const char *(*word)(size_t i))
{
	char words[FAULT_TEXT_MAX];
	struct text t = TEXT_BUF(words);

	add_words(&t, word);
	fault_join(why, "no ", kind, " is named", *name ? " '" : "", name, *name ? "'" : "",
		   "; there are", words, NULL);
	return -EINVAL;
}

static const struct command_option *find_option(const struct command *command, const char *word,
						size_t len)
{
	for (size_t i = 0; i < command->option_count; i++) {
		const char *name = command->options[i].name;

		if (strlen(name) == len && strncmp(name, word, len) == 0)
			return &command->options[i];
	}
	return NULL;
}

/* Take argv[*at], and the word after it when the option has an argument that is not behind '='. */
static int take_option(const struct command *command, int argc, char **argv, int *at, void *state,
		       struct fault *why)
{
	const char *word = argv[*at];
	size_t len = strcspn(word, "=");
	const struct command_option *row = find_option(command, word, len);
	const char *arg = NULL;

	if (!row)
		return command_refuse(why, "unknown option '", word, "'");
	if (word[len] == '=')
		arg = word + len + 1;
	if (!row->arg && arg)
		return command_refuse(why, row->name, " takes no argument", "");
	if (row->arg && !arg) {
		if (*at + 1 == argc)
			return command_refuse(why, row->name, " needs ", row->arg);
		arg = argv[++*at];
	}
	return row->take(state, arg, why);
}

int command_parse(const struct command *command, int argc, char **argv, void *state,
		  struct fault *why)
{
	bool operands = false;
	int r = 0;

	for (int at = 1; r == 0 && at < argc; at++) {
		const char *word = argv[at];

		if (!operands && command->operand && strcmp(word, "--") == 0)
			operands = true;
		else if (!operands && word[0] == '-' && word[1])
			r = take_option(command, argc, argv, &at, state, why);
		else if (command->operand)
			r = command->operand(state, word, why);
		else
			r = command_refuse(why, "unexpected argument '", word, "'");
	}
	return r;
}

const char *command_option_help(const struct command_option *option, char buf[COMMAND_HELP_MAX])
{
	struct text t = text_start(buf, COMMAND_HELP_MAX);

	text_add(&t, option->help);
	if (option->word && text_ends(option->help, ":"))
		add_words(&t, option->word);
	return buf;
}

void command_help(const struct command *command, FILE *out)
{
	const struct layout l = { .out = out };

	for (size_t i = 0; i < command->option_count; i++) {
		const struct command_option *row = &command->options[i];
		char help[COMMAND_HELP_MAX];
		char use[64];
		struct text t = TEXT_BUF(use);

		if (!row->help)
			continue;
		text_add(&t, row->name);
		text_add(&t, row->arg ? " " : "");
		text_add(&t, row->arg ? row->arg : "");
		layout_row(&l, INK_PLAIN, "", use, 27, command_option_help(row, help));
	}
}
