/* One call after another, 56 bytes each: the compiled program must answer what the rules say. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/filter_model.h"

/* Which programs, the number, and six arguments; all little-endian. */
struct input {
	uint16_t choice;
	uint16_t kind;
	uint32_t number;
	uint64_t args[6];
};

enum kind {
	KIND_ANY,  /* the number as it stands */
	KIND_RULE, /* the number of a rule's call, and words of its tests among the arguments */
	KIND_ARCH, /* the same for another architecture's token */
	KINDS,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t number_of(const struct filter_arch *arch, const struct filter_rule *rule,
			  uint32_t pick)
{
	const char *cursor = rule->calls, *name;
	char text[64];
	size_t len;
	int number = -1;

	while ((name = filter_next_call(&cursor, &len))) {
		snprintf(text, sizeof(text), "%.*s", (int)len, name);
		int found = model_number(arch, text);
		if (found >= 0)
			number = found;
		if (number >= 0 && pick-- == 0)
			break;
	}
	return (uint32_t)number;
}

/* Where the input has an argument with a low byte of 0xff, put a word of the rule's test there. */
static void use_words(const struct filter_rule *rule, uint64_t args[6])
{
	for (size_t t = 0; t < FILTER_TESTS_MAX && rule->tests[t].name; t++) {
		const struct filter_test *test = &rule->tests[t];
		uint64_t *arg = &args[test->arg];

		if ((*arg & 0xff) == 0xff && test->count > 0)
			*arg = (*arg & ~(uint64_t)UINT32_MAX) |
			       test->words[(*arg >> 8) % test->count].value;
	}
}

static void try_one(const struct input *in)
{
	const struct filter_arch *arch =
		&filter_arches[in->choice / FILTER_CHOICES % FILTER_ARCHES];
	unsigned choice = in->choice % FILTER_CHOICES;
	struct sc_data call = { .nr = (int32_t)in->number, .arch = arch->token };
	char text[MODEL_TEXT_MAX];

	memcpy(call.args, in->args, sizeof(call.args));
	if (in->kind % KINDS == KIND_RULE) {
		const struct filter_rule *rule = &filter_rules[in->number % filter_rule_count];

		call.nr = (int32_t)number_of(arch, rule, in->number >> 16);
		use_words(rule, call.args);
	} else if (in->kind % KINDS == KIND_ARCH) {
		call.arch = (uint32_t)in->args[5];
	}

	struct bpf_sim_result got = model_run(arch, choice, &call);
	struct model_result want = model_filter(arch, filter_choice_at(choice), &call);

	if (got.action != want.action || (want.constant && !got.constant)) {
		fprintf(stderr, "%s: %#x, the rules say %#x\n",
			model_text(arch, choice, &call, text), got.action, want.action);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;

	for (; size >= sizeof(in); data += sizeof(in), size -= sizeof(in)) {
		memcpy(&in, data, sizeof(in));
		try_one(&in);
	}
	return 0;
}
