/* What libseccomp knows, for compiling the programs and for testing them; not in the launcher. */
#ifndef LAUNCH_FILTER_COMPILE_H
#define LAUNCH_FILTER_COMPILE_H

#include "launch/filter/emit.h"

#define FILTER_REFERENCE_MAX 1024

/* A filter_number_fn: from libseccomp, and from our own list of calls newer than it. */
int filter_number(const struct filter_arch *arch, const char *name, size_t len);

/* What libseccomp makes of the same rules, as its own optimised program, with differences that it
 * forces: numbers it does not know are allowed, and x32 numbers kill; left out are calls it does
 * not know, and calls whose rules cannot be said without an order, which libseccomp has not. For
 * those there is filter_reference_call(). Returns the length of the program in insns; or -errno
 * with `why` set.
 */
int filter_reference(const struct filter_arch *arch, struct filter_choice choice,
		     struct sc_insn insns[FILTER_REFERENCE_MAX], struct fault *why);

/* Can the rules of this call, under this choice, be said without an order? */
bool filter_reference_has(struct filter_choice choice, const char *name, size_t len);

/* A program of libseccomp's that allows exactly what the rules about one call that allow let
 * through, and answers EPERM to everything else: for calls that end with a refusal. `call` is the
 * name as in the rules.
 */
int filter_reference_call(const struct filter_arch *arch, struct filter_choice choice,
			  const char *call, struct sc_insn insns[FILTER_REFERENCE_MAX],
			  struct fault *why);

#endif
