/* A strict simulator of the classic BPF that seccomp runs. */
#ifndef TESTS_FAKE_BPF_SIM_H
#define TESTS_FAKE_BPF_SIM_H

#include <stdbool.h>
#include <stddef.h>

#include "kabi/seccomp.h"

/* Is this a program the kernel takes (bpf_check_classic and seccomp_check_filter), and one that the
 * walk for its allow bitmap understands (seccomp_is_const_allow)? Only the instructions such
 * programs need: load a word of seccomp_data, AND, jumps, return a constant.
 * NULL when it is, else what is wrong.
 */
const char *bpf_sim_check(const struct sc_insn *insns, size_t len);

struct bpf_sim_result {
	uint32_t action;
	unsigned steps; /* instructions run */
	bool constant;	/* found without a look at the arguments, as the allow bitmap demands */
};

/* Run a checked program. */
struct bpf_sim_result bpf_sim_run(const struct sc_insn *insns, size_t len,
				  const struct sc_data *data);

#endif
