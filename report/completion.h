/* `oarbank-probe completion bash|zsh|fish`: what a shell completes, from the option tables. */
#ifndef REPORT_COMPLETION_H
#define REPORT_COMPLETION_H

#include "report/command.h"

/* A verb that --help does not show: it is for packages. */
extern const struct command completion_command;
int completion_main(int argc, char **argv);

#endif
