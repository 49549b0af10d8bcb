/* What the table of filter rules says about a call, read straight from it: no program, no tree. */
#ifndef TESTS_FAKE_FILTER_MODEL_H
#define TESTS_FAKE_FILTER_MODEL_H

#include "launch/filter/rules.h"
#include "tests/fake/bpf_sim.h"

/* The number of a call, -1 when the architecture has none of this name; and the name of a number,
 * NULL when there is none. From libseccomp, and for what it is too old for, from the kernel's
 * headers.
 */
int model_number(const struct filter_arch *arch, const char *name);
const char *model_name(const struct filter_arch *arch, uint32_t number);

struct model_result {
	uint32_t action;
	const struct filter_rule *rule; /* that decided, or NULL */
	bool constant;			/* the arguments do not matter to this number */
};

struct model_result model_filter(const struct filter_arch *arch, struct filter_choice choice,
				 const struct sc_data *data);

/* What is checked in for an architecture; the program of a choice; and what that answers. */
const struct filter_base *model_base(const struct filter_arch *arch);
const struct sc_program *model_program(const struct filter_arch *arch, unsigned choice);
struct bpf_sim_result model_run(const struct filter_arch *arch, unsigned choice,
				const struct sc_data *data);

/* The call, for a person, in `buf`. */
#define MODEL_TEXT_MAX 256
const char *model_text(const struct filter_arch *arch, unsigned choice, const struct sc_data *data,
		       char buf[MODEL_TEXT_MAX]);

#endif
