/* The seccomp filter: which program a module's grants choose, and the same in words.
 * Rules: attacks.md "The filter, in one place", and wire.md §1.3 and §14. The programs
 * are compiled beforehand from launch/filter/rules.c and checked in as launch/filter/programs.c.
 */
#ifndef LAUNCH_FILTER_FILTER_H
#define LAUNCH_FILTER_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/seccomp.h"

enum filter_net {
	FILTER_NET_NONE,
	FILTER_NET_STREAM, /* TCP, to where Landlock lets it */
};

/* What a policy grants, as far as the filter can tell. All zero is the strictest. */
struct filter_choice {
	enum filter_net net;
	bool broker;  /* a unix stream socket may be made and connected */
	bool exec_rw; /* what was written may be executed, so a memfd needs no seal */
};

#define FILTER_CHOICES 8

/* A number below FILTER_CHOICES for every choice, and the other way round. */
unsigned filter_index(struct filter_choice choice);
struct filter_choice filter_choice_at(unsigned index);

/* The program for `choice` on the architecture this was compiled for. Never NULL; it stays as it is
 * until the next call.
 */
const struct sc_program *filter_program(struct filter_choice choice);

/* Tell the filter for `choice` in pseudo-code, one call of `line` a line, without a newline:
 * `connect -> EPERM: why`. The first line that fits a call decides; what no line names is allowed.
 */
void filter_print(struct filter_choice choice, void (*line)(void *arg, const char *text),
		  void *arg);

#endif
