/* From rules to a classic BPF program. Runs when the programs are compiled, not in the launcher. */
#ifndef LAUNCH_FILTER_EMIT_H
#define LAUNCH_FILTER_EMIT_H

#include "kabi/fault.h"
#include "launch/filter/rules.h"

#define FILTER_SLOTS_MAX 16

struct filter_compiled {
	struct sc_insn insns[FILTER_INSNS_MAX];
	struct filter_slot slots[FILTER_SLOTS_MAX];
	struct filter_base base; /* the two above */
};

/* The number of the call `name` (len bytes) on the architecture, or -1 if it has no such call. */
typedef int (*filter_number_fn)(const struct filter_arch *arch, const char *name, size_t len);

/* Compile the rules for an architecture. Pure, and the same every time. The program looks at the
 * architecture, then finds the number by a tree of comparisons; it loads arguments only for numbers
 * that have rules about arguments, so that the kernel's allow bitmap (seccomp_cache_prepare, Linux
 * 5.11) holds for every other one. Each rule that a grant changes has a return instruction of its
 * own. Returns 0; -ENOENT with `why` set when a rule names a call that no architecture here has;
 * -E2BIG when there is too much of something.
 */
int filter_emit(const struct filter_arch *arch, filter_number_fn number,
		struct filter_compiled *ret, struct fault *why);

#endif
