#include "report/completion.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "report/exit.h"
#include "report/options.h"
#include "report/verbs.h"

/* ---- what an argument is ---- */

static bool is_path(const struct command_option *o)
{
	return o->arg && !o->word && (strcmp(o->arg, "FILE") == 0 || strcmp(o->arg, "DIR") == 0);
}

/* "NAME[,NAME]" */
static bool is_list(const struct command_option *o)
{
	return o->word && strchr(o->arg, ',');
}

static void put_words(const struct command_option *o)
{
	for (size_t i = 0; o->word(i); i++)
		printf("%s%s", i ? " " : "", o->word(i));
}

static void put_option_names(const struct command *c)
{
	bool first = true;

	for (size_t i = 0; i < c->option_count; i++) {
		if (!c->options[i].help)
			continue;
		printf("%s%s", first ? "" : " ", c->options[i].name);
		first = false;
	}
}

static void put_verb_names(void)
{
	bool first = true;

	for (size_t i = 0; i < verb_count; i++) {
		if (!verbs[i].command->summary)
			continue;
		printf("%s%s", first ? "" : " ", verbs[i].command->name);
		first = false;
	}
}

/* Inside single quotes of any of the shells. */
static void put_quoted(const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (strchr(escaped, *text))
			printf("\\%c", *text);
		else
			putchar(*text);
	}
}

/* ---- bash ---- */

static void bash_command(const struct command *c)
{
	fputs("\t\tcase $prev in\n", stdout);
	for (size_t i = 0; i < c->option_count; i++) {
		const struct command_option *o = &c->options[i];

		if (!o->help || !o->arg)
			continue;
		printf("\t\t%s)", o->name);
		if (is_list(o)) {
			fputs(" _oarbank_probe_list '", stdout);
			put_words(o);
			fputs("'", stdout);
		} else if (o->word) {
			fputs(" _oarbank_probe_words '", stdout);
			put_words(o);
			fputs("'", stdout);
		} else if (is_path(o)) {
			printf(" mapfile -t COMPREPLY < <(compgen %s -- \"$cur\")",
			       strcmp(o->arg, "DIR") == 0 ? "-d" : "-f");
		}
		fputs("\n\t\t\treturn ;;\n", stdout);
	}
	fputs("\t\tesac\n", stdout);
	if (c->operand) {
		fputs("\t\tif [[ $cur != -* ]]; then\n"
		      "\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
		      "\t\t\treturn\n"
		      "\t\tfi\n",
		      stdout);
	}
	fputs("\t\t_oarbank_probe_words '", stdout);
	put_option_names(c);
	if (!*c->name) {
		putchar(' ');
		put_verb_names();
	}
	fputs("' ;;\n", stdout);
}

static void put_bash(void)
{
	fputs("# bash completion for oarbank-probe\n"
	      "_oarbank_probe_words() {\n"
	      "\tmapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
	      "}\n"
	      "_oarbank_probe_list() {\n"
	      "\tlocal before=\n"
	      "\t[[ $cur == *,* ]] && before=${cur%,*},\n"
	      "\tmapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${cur##*,}\")\n"
	      "}\n"
	      "_oarbank_probe() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\t# --option=argument comes as three words.\n"
	      "\tif [[ $cur == = ]]; then\n"
	      "\t\tcur=\n"
	      "\telif [[ $prev == = ]]; then\n"
	      "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tfi\n"
	      "\tlocal verb=\n"
	      "\t((COMP_CWORD > 1)) && verb=${COMP_WORDS[1]}\n"
	      "\tCOMPREPLY=()\n"
	      "\tcase $verb in\n",
	      stdout);
	for (size_t i = 0; i < verb_count; i++) {
		if (!verbs[i].command->summary)
			continue;
		printf("\t%s)\n", verbs[i].command->name);
		bash_command(verbs[i].command);
	}
	fputs("\t*)\n", stdout);
	bash_command(&options_command);
	fputs("\tesac\n"
	      "}\n"
	      "complete -F _oarbank_probe oarbank-probe\n",
	      stdout);
}

/* ---- zsh ---- */

static void zsh_command(const struct command *c)
{
	for (size_t i = 0; i < c->option_count; i++) {
		const struct command_option *o = &c->options[i];
		char help[COMMAND_HELP_MAX];

		if (!o->help)
			continue;
		printf(" \\\n\t\t'*%s%s[", o->name, o->arg ? "=" : "");
		put_quoted(command_option_help(o, help), "[]:\\");
		putchar(']');
		if (o->arg) {
			putchar(':');
			put_quoted(o->arg, "[]:\\");
			putchar(':');
			if (is_list(o)) {
				fputs("_values -s , ", stdout);
				put_quoted(o->arg, "[]:\\");
				putchar(' ');
				put_words(o);
			} else if (o->word) {
				putchar('(');
				put_words(o);
				putchar(')');
			} else if (is_path(o)) {
				fputs(strcmp(o->arg, "DIR") == 0 ? "_files -/" : "_files", stdout);
			}
		}
		putchar('\'');
	}
	if (c->operand)
		fputs(" \\\n\t\t'*:file:_files'", stdout);
}

static void put_zsh(void)
{
	fputs("#compdef oarbank-probe\n"
	      "# zsh completion for oarbank-probe\n"
	      "case $words[2] in\n",
	      stdout);
	for (size_t i = 0; i < verb_count; i++) {
		if (!verbs[i].command->summary)
			continue;
		printf("%s)\n\tshift words\n\t(( CURRENT-- ))\n\t_arguments",
		       verbs[i].command->name);
		zsh_command(verbs[i].command);
		fputs("\n\t;;\n", stdout);
	}
	fputs("*)\n\t_arguments", stdout);
	zsh_command(&options_command);
	fputs(" \\\n\t\t'1:verb:(", stdout);
	put_verb_names();
	fputs(")'\n\t;;\nesac\n", stdout);
}

/* ---- fish ---- */

static void fish_command(const struct command *c)
{
	for (size_t i = 0; i < c->option_count; i++) {
		const struct command_option *o = &c->options[i];
		char help[COMMAND_HELP_MAX];

		if (!o->help)
			continue;
		fputs("complete -c oarbank-probe -n '", stdout);
		if (*c->name) {
			printf("__fish_seen_subcommand_from %s", c->name);
		} else {
			fputs("not __fish_seen_subcommand_from ", stdout);
			put_verb_names();
		}
		printf("' -l %s", o->name + 2);
		if (o->word) {
			fputs(" -x -a '", stdout);
			put_words(o);
			putchar('\'');
		} else if (o->arg) {
			fputs(is_path(o) ? " -r -F" : " -x", stdout);
		}
		fputs(" -d '", stdout);
		put_quoted(command_option_help(o, help), "\\");
		fputs("'\n", stdout);
	}
	if (c->operand)
		printf("complete -c oarbank-probe -n '__fish_seen_subcommand_from %s' -F\n",
		       c->name);
}

static void put_fish(void)
{
	fputs("# fish completion for oarbank-probe\n"
	      "complete -c oarbank-probe -f\n",
	      stdout);
	for (size_t i = 0; i < verb_count; i++) {
		const struct command *c = verbs[i].command;

		if (!c->summary)
			continue;
		printf("complete -c oarbank-probe -n '__fish_use_subcommand' -a %s -d '", c->name);
		put_quoted(c->summary, "\\");
		fputs("'\n", stdout);
		fish_command(c);
	}
	fish_command(&options_command);
}

/* ---- the verb ---- */

static const struct shell {
	const char *name;
	void (*put)(void);
} shells[] = {
	{ "bash", put_bash },
	{ "zsh", put_zsh },
	{ "fish", put_fish },
};

#define SHELL_COUNT (sizeof(shells) / sizeof(shells[0]))

static const char *shell_word(size_t i)
{
	return i < SHELL_COUNT ? shells[i].name : NULL;
}

static int take_shell(void *state, const char *word, struct fault *why)
{
	const struct shell **shell = state;

	for (size_t i = 0; i < SHELL_COUNT; i++)
		if (strcmp(shells[i].name, word) == 0) {
			*shell = &shells[i];
			return 0;
		}
	return command_no_such(why, "shell", word, shell_word);
}

const struct command completion_command = {
	.name = "completion",
	.operand = take_shell,
};

int completion_main(int argc, char **argv)
{
	const struct shell *shell = NULL;
	struct fault why;
	int r = command_parse(&completion_command, argc, argv, &shell, &why);

	if (r == 0 && !shell)
		r = command_no_such(&why, "shell", "", shell_word);
	if (r < 0)
		return exit_usage("", &why);
	shell->put();
	return exit_flushed();
}
