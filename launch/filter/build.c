#include "launch/filter/build.h"

#include <string.h>

unsigned filter_index(struct filter_choice choice)
{
	return (choice.net == FILTER_NET_STREAM ? FILTER_GRANT_NET : 0U) |
	       (choice.broker ? FILTER_GRANT_BROKER : 0U) |
	       (choice.exec_rw ? FILTER_GRANT_EXEC_RW : 0U);
}

struct filter_choice filter_choice_at(unsigned index)
{
	return (struct filter_choice){
		.net = index & FILTER_GRANT_NET ? FILTER_NET_STREAM : FILTER_NET_NONE,
		.broker = index & FILTER_GRANT_BROKER,
		.exec_rw = index & FILTER_GRANT_EXEC_RW,
	};
}

uint16_t filter_build(const struct filter_base *base, struct filter_choice choice,
		      struct sc_insn insns[FILTER_INSNS_MAX])
{
	memcpy(insns, base->insns, base->len * sizeof(*insns));
	for (size_t i = 0; i < base->slot_count; i++) {
		const struct filter_slot *slot = &base->slots[i];

		if (slot->grants & filter_index(choice))
			insns[slot->at].k = slot->granted;
	}
	return base->len;
}

const struct sc_program *filter_program(struct filter_choice choice)
{
	static struct sc_insn insns[FILTER_INSNS_MAX];
	static struct sc_program program = { .insns = insns };

#if defined(__x86_64__)
	program.len = filter_build(&filter_x86_64, choice, insns);
#elif defined(__aarch64__)
	program.len = filter_build(&filter_aarch64, choice, insns);
#else
	program.len = filter_build(&filter_riscv64, choice, insns);
#endif
	return &program;
}
