/* Every measure of the launcher, each as the mutant that takes it away. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launch/filter/compile.h"
#include "launch/filter/rules.h"
#include "launch/plan.h"
#include "tests/mutants/mutant.h"

struct list {
	struct mutant *of;
	size_t count;
};

static struct mutant *add(struct list *l, enum mutant_kind kind, const char *name)
{
	static struct mutant lost;
	struct mutant *m = l->count < MUTANTS_MAX ? &l->of[l->count++] : &lost;

	*m = (struct mutant){ .kind = kind };
	snprintf(m->name, sizeof(m->name), "%s", name);
	return m;
}

/* ---- Landlock ---- */

static void list_rights(struct list *l, unsigned abi)
{
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++) {
		const struct ll_right *right = &ll_rights[i];
		struct mutant *m;

		if (right->kind == LL_KIND_RESTRICT || right->since_abi > abi)
			continue;
		m = add(l, MUTANT_UNHANDLED, "");
		snprintf(m->name, sizeof(m->name), "Landlock: %s not handled", right->name);
		m->ll_kind = right->kind;
		m->right = 1ULL << right->bit;
	}
}

/* What each rule on the stage grants, as launch/plan.c has it, is found out by asking it. */
static uint64_t granted(enum root_kind kind, int abi)
{
	static struct policy policy;
	static struct plan plan;
	const struct plan_input input = { .abi = abi };

	policy = (struct policy){ .root_count = 1, .roots = { { kind, "/stage" } } };
	if (plan_make(&policy, &input, &plan, NULL) < 0)
		return 0;
	for (size_t i = 0; i < plan.rule_count; i++)
		if (strcmp(plan.rules[i].path, "/stage") == 0)
			return plan.rules[i].rights;
	return 0;
}

static void list_rule(struct list *l, enum root_kind kind, const char *place, unsigned abi)
{
	uint64_t rights = granted(kind, (int)abi);
	struct mutant *m;

	for (size_t i = 0; i < LL_RIGHT_COUNT; i++) {
		const struct ll_right *right = &ll_rights[i];
		bool has = rights & 1ULL << right->bit;

		if (right->kind != LL_KIND_FS || right->since_abi > abi)
			continue;
		m = add(l, has ? MUTANT_NARROWER : MUTANT_WIDER, "");
		snprintf(m->name, sizeof(m->name), "rule of %s: %s %s", root_kind_name(kind),
			 has ? "without" : "and", right->name);
		m->right = 1ULL << right->bit;
		m->place = place;
	}
	m = add(l, MUTANT_PARENT, "");
	snprintf(m->name, sizeof(m->name), "rule of %s: on the directory above",
		 root_kind_name(kind));
	m->place = place;
}

static void list_rules(struct list *l, unsigned abi)
{
	struct mutant *m;

	list_rule(l, ROOT_RO, "/bundle", abi);
	list_rule(l, ROOT_EXE, "/tools", abi);
	list_rule(l, ROOT_RW, "/work", abi);
	list_rule(l, ROOT_RD, "/in", abi);
	list_rule(l, ROOT_WO, "/out", abi);
	if (abi >= 5) {
		m = add(l, MUTANT_WIDER, "rule of the base system's devices: and IOCTL_DEV");
		m->right = LL_FS_IOCTL_DEV;
		m->place = "/dev/urandom";
	}
	if (abi >= 4)
		add(l, MUTANT_PORTS, "rule of the proxy's port: on every port");
}

/* ---- the filter ---- */

#define LOAD_WORD 0x20
#define JUMP_EQUAL 0x15
#define JUMP_SET 0x45
#define AND 0x54
#define RETURN 0x06
#define OFFSET_NUMBER 0
#define OFFSET_ARCH 4
#define OFFSET_ARG(n) (16 + 8 * (uint32_t)(n))

static void put(struct mutant *m, uint16_t code, uint32_t k)
{
	if (m->insn_count < MUTANT_INSNS_MAX)
		m->insns[m->insn_count++] = (struct sc_insn){ code, 0, 0, k };
}

/* Jumps that leave go behind the last instruction: the filter's first. `jt` or `jf` is marked with
 * 255 until that is known.
 */
#define LEAVE 255

static void leave_unless(struct mutant *m, uint16_t code, uint32_t k)
{
	put(m, code, k);
	m->insns[m->insn_count - 1].jf = LEAVE;
}

static void leave_if(struct mutant *m, uint16_t code, uint32_t k)
{
	put(m, code, k);
	m->insns[m->insn_count - 1].jt = LEAVE;
}

static void finish(struct mutant *m, uint32_t action)
{
	put(m, RETURN, action);
	for (size_t i = 0; i < m->insn_count; i++) {
		uint8_t to = (uint8_t)(m->insn_count - i - 1);

		if (m->insns[i].jt == LEAVE)
			m->insns[i].jt = to;
		if (m->insns[i].jf == LEAVE)
			m->insns[i].jf = to;
	}
}

static void start(struct mutant *m, uint32_t number)
{
	put(m, LOAD_WORD, OFFSET_ARCH);
	leave_unless(m, JUMP_EQUAL, SC_ARCH_NATIVE);
	put(m, LOAD_WORD, OFFSET_NUMBER);
	leave_unless(m, JUMP_EQUAL, number);
}

/* The argument is this word, or any of the test's when `word` is negative. */
static void put_test(struct mutant *m, const struct filter_test *test, int word)
{
	size_t last;

	put(m, LOAD_WORD, OFFSET_ARG(test->arg));
	if (test->op == FILTER_NONZERO) {
		leave_if(m, JUMP_EQUAL, 0);
		return;
	}
	if (test->op == FILTER_HAS) {
		leave_unless(m, JUMP_SET,
			     word < 0 ? filter_test_mask(test) : test->words[word].value);
		return;
	}
	put(m, AND, filter_test_mask(test));
	if (word >= 0) {
		leave_unless(m, JUMP_EQUAL, test->words[word].value);
		return;
	}
	last = test->count - 1U;
	for (size_t i = 0; i < last; i++) {
		put(m, JUMP_EQUAL, test->words[i].value);
		m->insns[m->insn_count - 1].jt = (uint8_t)(last - i);
	}
	leave_unless(m, JUMP_EQUAL, test->words[last].value);
}

/* Which test of a rule lists several words that are measures of their own: -1 none. */
static int test_with_words(const struct filter_rule *rule)
{
	for (int i = 0; i < FILTER_TESTS_MAX && rule->tests[i].name; i++)
		if (rule->tests[i].count > 2)
			return i;
	return -1;
}

static void list_atom(struct list *l, const struct filter_rule *rule, const char *call, size_t len,
		      uint32_t number, int split, int word, uint32_t action)
{
	struct mutant *m = add(l, MUTANT_FILTER, "");
	int n = snprintf(m->name, sizeof(m->name), "filter: %.*s", (int)len, call);

	for (int i = 0; i < FILTER_TESTS_MAX && rule->tests[i].name; i++) {
		const struct filter_test *test = &rule->tests[i];
		const char *what = i == split			? test->words[word].name
				   : test->op == FILTER_NONZERO ? "not 0"
				   : test->count == 1		? test->words[0].name
								: "as listed";

		if (n > 0 && (size_t)n < sizeof(m->name))
			n += snprintf(m->name + n, sizeof(m->name) - (size_t)n, " %s %s",
				      test->name, what);
	}
	if (n > 0 && (size_t)n < sizeof(m->name))
		snprintf(m->name + n, sizeof(m->name) - (size_t)n, " is %s",
			 action == SC_RET_ALLOW ? "allowed" : "refused");
	start(m, number);
	for (int i = 0; i < FILTER_TESTS_MAX && rule->tests[i].name; i++)
		put_test(m, &rule->tests[i], i == split ? word : -1);
	finish(m, action);
}

static void list_filter_rule(struct list *l, const struct filter_arch *arch,
			     const struct filter_rule *rule, uint32_t action)
{
	int split = test_with_words(rule);
	const char *cursor = rule->calls;
	const char *call;
	size_t len;

	while ((call = filter_next_call(&cursor, &len))) {
		int number = filter_number(arch, call, len);

		if (number < 0)
			continue;
		for (int word = 0; word < (split < 0 ? 1 : rule->tests[split].count); word++)
			list_atom(l, rule, call, len, (uint32_t)number, split, word, action);
	}
}

static void list_filter(struct list *l)
{
	const struct filter_arch *arch = NULL;
	struct mutant *m;

	for (size_t i = 0; i < FILTER_ARCHES; i++)
		if (filter_arches[i].token == SC_ARCH_NATIVE)
			arch = &filter_arches[i];
	if (!arch)
		return;
	m = add(l, MUTANT_FILTER, "filter: another instruction set is allowed");
	put(m, LOAD_WORD, OFFSET_ARCH);
	leave_if(m, JUMP_EQUAL, SC_ARCH_NATIVE);
	finish(m, SC_RET_ALLOW);
	m = add(l, MUTANT_FILTER, "filter: numbers of x32 are allowed");
	put(m, LOAD_WORD, OFFSET_NUMBER);
	leave_unless(m, JUMP_SET, SC_X32_BIT);
	finish(m, SC_RET_ALLOW);
	m = add(l, MUTANT_FILTER, "filter: numbers of the future are allowed");
	put(m, LOAD_WORD, OFFSET_NUMBER);
	leave_unless(m, JUMP_SET, 0x200);
	finish(m, SC_RET_ALLOW);
	for (size_t i = 0; i < filter_rule_count; i++) {
		const struct filter_rule *rule = &filter_rules[i];

		/* What a grant changes is a measure either way. */
		if (rule->error)
			list_filter_rule(l, arch, rule, SC_RET_ALLOW);
		if (!rule->error || (rule->grants && !rule->granted))
			list_filter_rule(l, arch, rule, SC_RET_ERRNO | EPERM);
	}
}

/* ---- steps ---- */

static void list_steps(struct list *l)
{
	add(l, MUTANT_NO_LANDLOCK, "step: no Landlock");
	add(l, MUTANT_NO_FILTER, "step: no filter");
	add(l, MUTANT_NO_PRIVS, "step: no_new_privs not set");
	add(l, MUTANT_CAPABILITIES, "step: capabilities kept");
	add(l, MUTANT_BOUNDING, "step: bounding set kept");
	add(l, MUTANT_SECUREBITS, "step: securebits not locked");
	add(l, MUTANT_AMBIENT, "step: ambient set kept");
}

size_t mutants_list(unsigned abi, struct mutant mutants[MUTANTS_MAX])
{
	struct list l = { .of = mutants };

	list_steps(&l);
	list_rights(&l, abi);
	list_rules(&l, abi);
	list_filter(&l);
	return l.count;
}
