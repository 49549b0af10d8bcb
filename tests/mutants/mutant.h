/* A sandbox with one measure taken away: a kernel that does not carry out all that the launcher
 * asks of it, so that the launcher itself needs no switch for it.
 */
#ifndef TESTS_MUTANT_H
#define TESTS_MUTANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/kernel.h"

enum mutant_kind {
	MUTANT_NONE,
	MUTANT_UNHANDLED, /* the ruleset does not handle a right */
	MUTANT_WIDER,	  /* the rule of a place grants one right more */
	MUTANT_NARROWER,  /* or one less */
	MUTANT_PARENT,	  /* the rule of a place is on the directory above */
	MUTANT_PORTS,	  /* every port is granted */
	MUTANT_FILTER,	  /* some calls are answered otherwise by the filter */
	MUTANT_NO_FILTER,
	MUTANT_NO_LANDLOCK,
	MUTANT_NO_PRIVS,     /* no_new_privs is not set */
	MUTANT_CAPABILITIES, /* kept */
	MUTANT_BOUNDING,     /* the bounding set is kept */
	MUTANT_SECUREBITS,
	MUTANT_AMBIENT,
};

#define MUTANT_INSNS_MAX 24

struct mutant {
	enum mutant_kind kind;
	char name[120];
	/* MUTANT_UNHANDLED, _WIDER, _NARROWER: the right */
	int ll_kind;
	uint64_t right;
	const char *place; /* the end of a rule's path: "/bundle", "/dev/urandom" */
	/* MUTANT_FILTER: put before the filter, and falls through to it */
	struct sc_insn insns[MUTANT_INSNS_MAX];
	size_t insn_count;
};

/* The live kernel, changed by `mutant`, and by `second` unless it is NULL. One at a time. */
const struct kernel *mutant_kernel(const struct mutant *mutant, const struct mutant *second);

#define MUTANTS_MAX 1024
/* Every mutant there is on a kernel with Landlock `abi`. Returns how many. */
size_t mutants_list(unsigned abi, struct mutant mutants[MUTANTS_MAX]);

#endif
