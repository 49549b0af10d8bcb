#include "tests/fake/bpf_sim.h"

#include <stdlib.h>
#include <string.h>

/* BPF_MAXINSNS */
#define LEN_MAX 4096

enum {
	LD_ABS = 0x20,
	AND_K = 0x54,
	JA = 0x05,
	JEQ_K = 0x15,
	JGT_K = 0x25,
	JGE_K = 0x35,
	JSET_K = 0x45,
	RET_K = 0x06,
};

static const char *check_insn(const struct sc_insn *insn, size_t left)
{
	switch (insn->code) {
	case LD_ABS:
		if (insn->k % 4 != 0 || insn->k >= sizeof(struct sc_data))
			return "a load outside seccomp_data";
		break;
	case AND_K:
		break;
	case JA:
		if (insn->k >= left)
			return "a jump out of the program";
		break;
	case JEQ_K:
	case JGT_K:
	case JGE_K:
	case JSET_K:
		if (insn->jt >= left || insn->jf >= left)
			return "a jump out of the program";
		break;
	case RET_K:
		return NULL;
	default:
		return "an instruction that is not expected";
	}
	return left > 0 ? NULL : "the end is no return";
}

const char *bpf_sim_check(const struct sc_insn *insns, size_t len)
{
	const char *wrong = len > 0 && len <= LEN_MAX ? NULL : "no program, or too long a one";

	for (size_t i = 0; i < len && !wrong; i++)
		wrong = check_insn(&insns[i], len - i - 1);
	return wrong;
}

static bool jumps(const struct sc_insn *insn, uint32_t a)
{
	switch (insn->code) {
	case JEQ_K:
		return a == insn->k;
	case JGT_K:
		return a > insn->k;
	case JGE_K:
		return a >= insn->k;
	case JSET_K:
		return a & insn->k;
	default:
		abort();
	}
}

struct bpf_sim_result bpf_sim_run(const struct sc_insn *insns, size_t len,
				  const struct sc_data *data)
{
	struct bpf_sim_result result = { .constant = true };
	const struct sc_insn *insn = insns;
	uint32_t a = 0;

	for (;; insn++) {
		if (insn < insns || insn >= insns + len)
			abort();
		result.steps++;
		switch (insn->code) {
		case LD_ABS:
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
			if (insn->k >= offsetof(struct sc_data, instruction_pointer))
				result.constant = false;
			break;
		case AND_K:
			a &= insn->k;
			break;
		case JA:
			insn += insn->k;
			break;
		case RET_K:
			result.action = insn->k;
			return result;
		default:
			insn += jumps(insn, a) ? insn->jt : insn->jf;
			break;
		}
	}
}
