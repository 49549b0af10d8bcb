/* The compiled filter of an architecture, and how a choice makes a program of it: internal to
 * launch/.
 */
#ifndef LAUNCH_FILTER_BUILD_H
#define LAUNCH_FILTER_BUILD_H

#include "launch/filter/filter.h"

/* Programs are about 190 long. Up to here every conditional jump fits the byte it has. */
#define FILTER_INSNS_MAX 256

/* What a grant changes, as a bit of filter_index(). */
enum {
	FILTER_GRANT_EXEC_RW = 1,
	FILTER_GRANT_BROKER = 2,
	FILTER_GRANT_NET = 4,
};

/* One return instruction, of one rule, whose action depends on grants. */
struct filter_slot {
	uint16_t at;	  /* index of the instruction */
	uint8_t grants;	  /* any of these */
	uint32_t granted; /* makes it this action */
};

/* The program when nothing is granted, and what grants change. */
struct filter_base {
	const struct sc_insn *insns;
	const struct filter_slot *slots;
	uint16_t len; /* at most FILTER_INSNS_MAX */
	uint16_t slot_count;
};

extern const struct filter_base filter_x86_64;
extern const struct filter_base filter_aarch64;
extern const struct filter_base filter_riscv64;

/* Write the program for `choice` to `insns`. Returns its length. */
uint16_t filter_build(const struct filter_base *base, struct filter_choice choice,
		      struct sc_insn insns[FILTER_INSNS_MAX]);

#endif
