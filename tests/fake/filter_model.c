#include "tests/fake/filter_model.h"

#include <errno.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 1024

/* include/uapi/asm-generic/unistd.h of Linux 7.3, from where libseccomp 2.5.4 ends. */
static const char *const newer[] = {
	"cachestat",	     "fchmodat2",	  "map_shadow_stack", "futex_wake",
	"futex_wait",	     "futex_requeue",	  "statmount",	      "listmount",
	"lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "mseal",
	"setxattrat",	     "getxattrat",	  "listxattrat",      "removexattrat",
	"open_tree_attr",    "file_getattr",	  "file_setattr",     "listns",
	"rseq_slice_yield",  "fchroot",
};
#define NEWER_FIRST 451
#define NEWER_COUNT (sizeof(newer) / sizeof(newer[0]))

/* One architecture's own calls that libseccomp 2.5.4 does not name. */
#define X86_URETPROBE 335
#define X86_UPROBE 336
#define RISCV_HWPROBE 258

static uint32_t scmp_token(const struct filter_arch *arch)
{
	if (arch->token == SC_ARCH_X86_64)
		return SCMP_ARCH_X86_64;
	return arch->token == SC_ARCH_AARCH64 ? SCMP_ARCH_AARCH64 : SCMP_ARCH_RISCV64;
}

static const char *find_name(const struct filter_arch *arch, uint32_t number)
{
	if (number >= NEWER_FIRST && number < NEWER_FIRST + NEWER_COUNT)
		return newer[number - NEWER_FIRST];
	if (arch->token == SC_ARCH_X86_64 && number == X86_URETPROBE)
		return "uretprobe";
	if (arch->token == SC_ARCH_X86_64 && number == X86_UPROBE)
		return "uprobe";
	if (arch->token == SC_ARCH_RISCV64 && number == RISCV_HWPROBE)
		return "riscv_hwprobe";
	return seccomp_syscall_resolve_num_arch(scmp_token(arch), (int)number);
}

const char *model_name(const struct filter_arch *arch, uint32_t number)
{
	static const char *names[FILTER_ARCHES][NAMES_MAX];
	static bool asked[FILTER_ARCHES][NAMES_MAX];
	size_t a = (size_t)(arch - filter_arches);

	if (number >= NAMES_MAX)
		return NULL;
	if (!asked[a][number]) {
		names[a][number] = find_name(arch, number);
		asked[a][number] = true;
	}
	return names[a][number];
}

int model_number(const struct filter_arch *arch, const char *name)
{
	for (uint32_t number = 0; number < NAMES_MAX; number++) {
		const char *found = model_name(arch, number);

		if (found && strcmp(found, name) == 0)
			return (int)number;
	}
	return -1;
}

static bool names_call(const struct filter_rule *rule, const char *name)
{
	const char *at = rule->calls;
	size_t len = strlen(name);

	while ((at = strstr(at, name))) {
		if ((at == rule->calls || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
		at += len;
	}
	return false;
}

static bool passes(const struct filter_test *test, const uint64_t args[6])
{
	uint32_t value = (uint32_t)args[test->arg];

	switch (test->op) {
	case FILTER_NONZERO:
		return value != 0;
	case FILTER_IS:
		for (size_t i = 0; i < test->count; i++) {
			if ((test->mask ? value & test->mask : value) == test->words[i].value)
				return true;
		}
		return false;
	case FILTER_HAS:
		for (size_t i = 0; i < test->count; i++) {
			if (value & test->words[i].value)
				return true;
		}
		return false;
	}
	abort();
}

static bool passes_all(const struct filter_rule *rule, const uint64_t args[6])
{
	for (size_t i = 0; i < FILTER_TESTS_MAX && rule->tests[i].name; i++) {
		if (!passes(&rule->tests[i], args))
			return false;
	}
	return true;
}

static uint32_t model_action(const struct filter_rule *rule, struct filter_choice choice)
{
	bool given = (rule->grants & FILTER_GRANT_NET && choice.net == FILTER_NET_STREAM) ||
		     (rule->grants & FILTER_GRANT_BROKER && choice.broker) ||
		     (rule->grants & FILTER_GRANT_EXEC_RW && choice.exec_rw);
	uint16_t error = given ? rule->granted : rule->error;

	return error ? SC_RET_ERRNO | error : SC_RET_ALLOW;
}

struct model_result model_filter(const struct filter_arch *arch, struct filter_choice choice,
				 const struct sc_data *data)
{
	struct model_result result = { .action = SC_RET_ALLOW, .constant = true };
	const char *name = model_name(arch, (uint32_t)data->nr);
	bool decided = false;

	if (data->arch != arch->token)
		return (struct model_result){ .action = SC_RET_KILL_PROCESS, .constant = true };
	if (!name)
		return (struct model_result){ .action = SC_RET_ERRNO | ENOSYS, .constant = true };
	for (size_t i = 0; i < filter_rule_count; i++) {
		const struct filter_rule *rule = &filter_rules[i];

		if (!names_call(rule, name))
			continue;
		if (!decided && passes_all(rule, data->args)) {
			result.action = model_action(rule, choice);
			result.rule = rule;
			decided = true;
		}
		if (!rule->tests[0].name)
			break;
		result.constant = false;
	}
	return result;
}

const struct filter_base *model_base(const struct filter_arch *arch)
{
	if (arch->token == SC_ARCH_X86_64)
		return &filter_x86_64;
	return arch->token == SC_ARCH_AARCH64 ? &filter_aarch64 : &filter_riscv64;
}

const struct sc_program *model_program(const struct filter_arch *arch, unsigned choice)
{
	static struct sc_insn insns[FILTER_ARCHES][FILTER_CHOICES][FILTER_INSNS_MAX];
	static struct sc_program programs[FILTER_ARCHES][FILTER_CHOICES];
	size_t a = (size_t)(arch - filter_arches);
	struct sc_program *program = &programs[a][choice];

	if (!program->insns) {
		program->insns = insns[a][choice];
		program->len = filter_build(model_base(arch), filter_choice_at(choice),
					    insns[a][choice]);
	}
	return program;
}

struct bpf_sim_result model_run(const struct filter_arch *arch, unsigned choice,
				const struct sc_data *data)
{
	const struct sc_program *program = model_program(arch, choice);

	return bpf_sim_run(program->insns, program->len, data);
}

const char *model_text(const struct filter_arch *arch, unsigned choice, const struct sc_data *data,
		       char buf[MODEL_TEXT_MAX])
{
	const char *name = model_name(arch, (uint32_t)data->nr);
	const uint64_t *args = data->args;

	snprintf(buf, MODEL_TEXT_MAX,
		 "%s choice %u %s %d (%#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ", %#" PRIx64 ")",
		 arch->name, choice, name ? name : "number", data->nr, args[0], args[1], args[2],
		 args[3]);
	return buf;
}
