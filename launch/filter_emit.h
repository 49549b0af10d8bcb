/* From rules to a classic BPF program. Runs when the programs are compiled, not in the launcher. */
#ifndef LAUNCH_FILTER_EMIT_H
#define LAUNCH_FILTER_EMIT_H

#include "kabi/fault.h"
#include "launch/filter_rules.h"

/* Ours are about 200 long. Up to here every jump fits the byte it has. */
#define FILTER_INSNS_MAX 256

/* The number of the call `name` (len bytes) on the architecture, or -1 if it has no such call. */
typedef int (*filter_number_fn)(const struct filter_arch *arch, const char *name, size_t len);

/* Write the program for `choice` to insns[0..FILTER_INSNS_MAX). Pure, and the same every time.
 * The program looks at the architecture, then finds the number by a tree of comparisons; it loads
 * arguments only for numbers that have rules about arguments, so that the kernel's allow bitmap
 * (seccomp_cache_prepare, Linux 5.11) holds for every other one.
 * Returns its length; -ENOENT with `why` set when a rule names a call that no architecture here
 * has; -E2BIG when it does not fit.
 */
int filter_emit(const struct filter_arch *arch, struct filter_choice choice,
		filter_number_fn number, struct sc_insn insns[FILTER_INSNS_MAX], struct fault *why);

#endif
