/* What libseccomp knows, for compiling the programs and for testing them; not in the launcher. */
#ifndef LAUNCH_FILTER_COMPILE_H
#define LAUNCH_FILTER_COMPILE_H

#include "launch/filter_emit.h"

#define FILTER_REFERENCE_MAX 1024

/* A filter_number_fn: from libseccomp, and from our own list of calls newer than it. */
int filter_number(const struct filter_arch *arch, const char *name, size_t len);

/* Do the rules for this call, under this choice, allow something and refuse the rest? */
bool filter_call_has_exceptions(struct filter_choice choice, const char *name, size_t len);

/* What libseccomp makes of the same rules, as its own optimised program, with differences that it
 * forces: numbers it does not know are allowed, and x32 numbers kill; left out are calls it does
 * not know, and calls with exceptions, since libseccomp has no order of rules. For those there is
 * filter_reference_call(). Returns the length of the program in insns; or -errno with `why` set.
 */
int filter_reference(const struct filter_arch *arch, struct filter_choice choice,
		     struct sc_insn insns[FILTER_REFERENCE_MAX], struct fault *why);

/* A program of libseccomp's that allows exactly what the rules about one call with exceptions let
 * through, and answers EPERM to everything else. `call` is the name as in the rules.
 */
int filter_reference_call(const struct filter_arch *arch, struct filter_choice choice,
			  const char *call, struct sc_insn insns[FILTER_REFERENCE_MAX],
			  struct fault *why);

#endif
