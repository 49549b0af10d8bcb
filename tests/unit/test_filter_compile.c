/* The seccomp programs against the rule table, by simulation of many calls, against libseccomp's
 * own program of the same rules, and against compiling them again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launch/filter/compile.h"
#include "tests/fake/filter_model.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HIGH 0xdeadbeef00000000U

static void programs_are_what_the_kernel_takes(void **state)
{
	(void)state;
	for (size_t a = 0; a < FILTER_ARCHES; a++) {
		for (unsigned choice = 0; choice < FILTER_CHOICES; choice++) {
			const struct sc_program *p = model_program(&filter_arches[a], choice);
			const char *wrong = bpf_sim_check(p->insns, p->len);

			if (wrong)
				fail_msg("%s choice %u: %s", filter_arches[a].name, choice, wrong);
		}
	}
}

static void the_simulator_refuses_what_the_kernel_does(void **state)
{
	static const struct {
		size_t len;
		struct sc_insn insns[3];
		bool good;
	} programs[] = {
		{ 1, { { 0x06, 0, 0, SC_RET_ALLOW } }, true },
		{ 0, { { 0x06, 0, 0, SC_RET_ALLOW } }, false },
		{ 1, { { 0x20, 0, 0, 0 } }, false },
		{ 2, { { 0x20, 0, 0, 2 }, { 0x06, 0, 0, 0 } }, false },
		{ 2, { { 0x20, 0, 0, 64 }, { 0x06, 0, 0, 0 } }, false },
		{ 2, { { 0x15, 1, 0, 0 }, { 0x06, 0, 0, 0 } }, false },
		{ 2, { { 0x15, 0, 1, 0 }, { 0x06, 0, 0, 0 } }, false },
		{ 2, { { 0x05, 0, 0, 1 }, { 0x06, 0, 0, 0 } }, false },
		{ 3, { { 0x05, 0, 0, 1 }, { 0x06, 0, 0, 0 }, { 0x06, 0, 0, 0 } }, true },
		{ 2, { { 0x28, 0, 0, 0 }, { 0x06, 0, 0, 0 } }, false },
		{ 2, { { 0x74, 0, 0, 1 }, { 0x06, 0, 0, 0 } }, false },
		{ 1, { { 0x16, 0, 0, 0 } }, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(programs); i++)
		assert_int_equal(bpf_sim_check(programs[i].insns, programs[i].len) == NULL,
				 programs[i].good);
}

static void known_numbers_are_those_with_a_name(void **state)
{
	(void)state;
	for (size_t a = 0; a < FILTER_ARCHES; a++) {
		for (uint32_t nr = 0; nr < 1024; nr++) {
			bool named = model_name(&filter_arches[a], nr);

			if (named != filter_number_known(&filter_arches[a], nr))
				fail_msg("%s %u: %s", filter_arches[a].name, nr,
					 named ? model_name(&filter_arches[a], nr) : "no call");
		}
	}
}

/* The values that matter to a rule's test: its words, their neighbours, and what is always odd. */
static uint64_t interesting(const struct filter_rule *rule, unsigned arg, uint64_t random)
{
	static const uint64_t odd[] = {
		0, 1, UINT32_MAX, HIGH, 1ULL << 32, 0x80000000, UINT64_MAX
	};

	for (size_t t = 0; rule && t < FILTER_TESTS_MAX && rule->tests[t].name; t++) {
		const struct filter_test *test = &rule->tests[t];

		if (test->arg != arg || test->count == 0 || random % 8 == 0)
			continue;
		uint64_t value = test->words[(random >> 8) % test->count].value;
		switch (random % 8) {
		case 1:
			return value | HIGH;
		case 2:
			return value + 1;
		case 3:
			return value ^ (1ULL << ((random >> 16) % 32));
		case 4:
			return value | (random & 0xfffff0);
		default:
			return value;
		}
	}
	return odd[(random >> 24) % COUNT(odd)];
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

typedef void (*visit_fn)(const struct filter_arch *arch, unsigned choice,
			 const struct sc_data *data, void *arg);

/* Visit every number under every rule of its name, with many arguments. */
static void visit_all(unsigned times, visit_fn visit, void *arg)
{
	uint64_t random = 88172645463325252ULL;

	for (size_t a = 0; a < FILTER_ARCHES; a++) {
		for (int32_t nr = 0; nr < 520; nr++) {
			for (size_t r = 0; r < filter_rule_count; r++) {
				const char *name = model_name(&filter_arches[a], (uint32_t)nr);
				bool own = name && strstr(filter_rules[r].calls, name);
				unsigned n = own && filter_rules[r].tests[0].name ? times
										  : r == 0 || own;

				for (unsigned i = 0; i < n; i++) {
					struct sc_data data = { .nr = nr,
								.arch = filter_arches[a].token };

					for (unsigned k = 0; k < 6; k++)
						data.args[k] = interesting(own ? &filter_rules[r]
									       : NULL,
									   k, next_random(&random));
					for (unsigned choice = 0; choice < FILTER_CHOICES; choice++)
						visit(&filter_arches[a], choice, &data, arg);
				}
			}
		}
	}
}

struct reached {
	unsigned rules[256];
	unsigned calls;
};

static void compare_with_model(const struct filter_arch *arch, unsigned choice,
			       const struct sc_data *data, void *arg)
{
	struct model_result want = model_filter(arch, filter_choice_at(choice), data);
	struct bpf_sim_result got = model_run(arch, choice, data);
	struct reached *reached = arg;
	char text[MODEL_TEXT_MAX];

	if (got.action != want.action)
		fail_msg("%s: %#x, the rules say %#x", model_text(arch, choice, data, text),
			 got.action, want.action);
	/* What the kernel's allow bitmap needs. */
	if (want.constant && !got.constant)
		fail_msg("%s: the arguments are looked at", model_text(arch, choice, data, text));
	if (want.rule)
		reached->rules[want.rule - filter_rules]++;
	reached->calls++;
}

static void programs_do_what_the_rules_say(void **state)
{
	struct reached reached = { .calls = 0 };

	(void)state;
	assert_true(filter_rule_count <= COUNT(reached.rules));
	visit_all(500, compare_with_model, &reached);
	for (size_t i = 0; i < filter_rule_count; i++) {
		if (!reached.rules[i])
			fail_msg("nothing comes to rule %zu, %s: %s", i, filter_rules[i].calls,
				 filter_rules[i].why);
	}
	assert_true(reached.calls > 100000);
}

static void compiling_again_gives_the_same(void **state)
{
	static struct filter_compiled c;

	(void)state;
	for (size_t a = 0; a < FILTER_ARCHES; a++) {
		const struct filter_base *base = model_base(&filter_arches[a]);
		struct fault why = { 0 };
		bool same = filter_emit(&filter_arches[a], filter_number, &c, &why) == 0 &&
			    c.base.len == base->len && c.base.slot_count == base->slot_count &&
			    memcmp(c.insns, base->insns, base->len * sizeof(c.insns[0])) == 0;

		for (size_t i = 0; same && i < base->slot_count; i++) {
			same = c.slots[i].at == base->slots[i].at &&
			       c.slots[i].grants == base->slots[i].grants &&
			       c.slots[i].granted == base->slots[i].granted;
		}
		if (!same)
			fail_msg("%s: run make filter-programs. %s", filter_arches[a].name,
				 why.text);
	}
}

/* ---- libseccomp as the oracle -------------------------------------------------------- */

/* The newest call of libseccomp 2.5.4: set_mempolicy_home_node. */
#define ORACLE_NEWEST 450

struct oracle {
	struct sc_insn insns[FILTER_ARCHES][FILTER_CHOICES][FILTER_REFERENCE_MAX];
	int len[FILTER_ARCHES][FILTER_CHOICES];
	const char *call; /* only this one, by filter_reference_call() */
	unsigned compared;
};

/* libseccomp compares whole 64-bit words for "not 0", so it is asked without the high halves. */
static void compare_with_oracle(const struct filter_arch *arch, unsigned choice,
				const struct sc_data *full, void *arg)
{
	struct oracle *oracle = arg;
	size_t a = (size_t)(arch - filter_arches);
	const char *name = model_name(arch, (uint32_t)full->nr);
	struct sc_data data = *full;
	char text[MODEL_TEXT_MAX];
	uint32_t ours, theirs;

	if (!name || data.nr > ORACLE_NEWEST)
		return;
	if (oracle->call ? strcmp(oracle->call, name) != 0
			 : !filter_reference_has(filter_choice_at(choice), name, strlen(name)))
		return;
	for (size_t i = 0; i < 6; i++)
		data.args[i] &= UINT32_MAX;
	ours = model_run(arch, choice, &data).action;
	theirs =
		bpf_sim_run(oracle->insns[a][choice], (size_t)oracle->len[a][choice], &data).action;
	/* The program about one call knows no other error than EPERM. */
	if (oracle->call ? (ours == SC_RET_ALLOW) != (theirs == SC_RET_ALLOW) : ours != theirs)
		fail_msg("%s: %#x, libseccomp says %#x", model_text(arch, choice, &data, text),
			 ours, theirs);
	oracle->compared++;
}

static void libseccomp_agrees(void **state)
{
	static struct oracle oracle;
	struct fault why = { 0 };

	(void)state;
	for (size_t a = 0; a < FILTER_ARCHES; a++) {
		for (unsigned c = 0; c < FILTER_CHOICES; c++) {
			oracle.len[a][c] = filter_reference(&filter_arches[a], filter_choice_at(c),
							    oracle.insns[a][c], &why);
			if (oracle.len[a][c] < 0)
				fail_msg("%s", why.text);
			assert_null(bpf_sim_check(oracle.insns[a][c], (size_t)oracle.len[a][c]));
		}
	}
	visit_all(500, compare_with_oracle, &oracle);
	assert_true(oracle.compared > 20000);
}

static void libseccomp_agrees_on_calls_with_exceptions(void **state)
{
	static const char *const calls[] = { "socket", "socketpair", "setpriority", "ioprio_set",
					     "personality" };
	static struct oracle oracle;
	struct fault why = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(calls); i++) {
		oracle.call = calls[i];
		oracle.compared = 0;
		for (size_t a = 0; a < FILTER_ARCHES; a++) {
			for (unsigned c = 0; c < FILTER_CHOICES; c++) {
				oracle.len[a][c] = filter_reference_call(
					&filter_arches[a], filter_choice_at(c), calls[i],
					oracle.insns[a][c], &why);
				if (oracle.len[a][c] < 0)
					fail_msg("%s", why.text);
			}
		}
		visit_all(500, compare_with_oracle, &oracle);
		assert_true(oracle.compared > 10000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_simulator_refuses_what_the_kernel_does),
		cmocka_unit_test(programs_are_what_the_kernel_takes),
		cmocka_unit_test(known_numbers_are_those_with_a_name),
		cmocka_unit_test(programs_do_what_the_rules_say),
		cmocka_unit_test(compiling_again_gives_the_same),
		cmocka_unit_test(libseccomp_agrees),
		cmocka_unit_test(libseccomp_agrees_on_calls_with_exceptions),
	};

	return cmocka_run_group_tests_name("filter_compile", tests, NULL, NULL);
}
