#include "launch/filter/emit.h"

#include <errno.h>
#include <string.h>

#include "kabi/text.h"

/* ---- what each number leads to ------------------------------------------------------- */

#define NUMBERS (FILTER_NEWEST + 1)
#define RULES_MAX 8
#define LEAVES_MAX 64
#define BRANCHES_MAX 160

/* The rules of a call, in order, or, with no rules, one action for all its calls. */
struct leaf {
	const struct filter_rule *rules[RULES_MAX];
	size_t count;
	uint32_t action;
};

/* The numbers from `first` up to the next branch have this leaf. */
struct branch {
	uint32_t first;
	size_t leaf;
};

struct layout {
	struct leaf leaves[LEAVES_MAX];
	size_t leaf_count;
	struct branch branches[BRANCHES_MAX];
	size_t branch_count;
};

static uint32_t action_of(uint16_t error)
{
	return error ? SC_RET_ERRNO | error : SC_RET_ALLOW;
}

static bool has_tests(const struct filter_rule *rule)
{
	return rule->tests[0].name;
}

/* A rule after one without tests is never reached. */
static bool is_closed(const struct leaf *leaf)
{
	return leaf->count > 0 && !has_tests(leaf->rules[leaf->count - 1]);
}

static bool same_leaf(const struct leaf *a, const struct leaf *b)
{
	return a->count == b->count && a->action == b->action &&
	       memcmp(a->rules, b->rules, sizeof(a->rules)) == 0;
}

static int add_rule(const struct filter_arch *arch, const struct filter_rule *rule,
		    filter_number_fn number, struct leaf leaves[NUMBERS], struct fault *why)
{
	const char *cursor = rule->calls, *name;
	char text[32];
	size_t len;

	while ((name = filter_next_call(&cursor, &len))) {
		int nr = number(arch, name, len);

		/* x86-64 has every call that any architecture here has. */
		if (number(&filter_arches[0], name, len) < 0 || nr >= NUMBERS ||
		    (nr >= 0 && leaves[nr].count == RULES_MAX)) {
			struct text t = TEXT_BUF(text);

			text_add_bytes(&t, name, len);
			fault_join(why, "no such call, or too many rules for it: ", text, NULL);
			return -ENOENT;
		}
		if (nr >= 0 && !is_closed(&leaves[nr]))
			leaves[nr].rules[leaves[nr].count++] = rule;
	}
	return 0;
}

static int add_branch(struct layout *layout, uint32_t first, const struct leaf *leaf)
{
	size_t id = 0;

	while (id < layout->leaf_count && !same_leaf(&layout->leaves[id], leaf))
		id++;
	if (id == LEAVES_MAX || layout->branch_count == BRANCHES_MAX)
		return -E2BIG;
	if (id == layout->leaf_count)
		layout->leaves[layout->leaf_count++] = *leaf;
	if (layout->branch_count == 0 || layout->branches[layout->branch_count - 1].leaf != id)
		layout->branches[layout->branch_count++] = (struct branch){ first, id };
	return 0;
}

static int lay_out(const struct filter_arch *arch, filter_number_fn number, struct layout *layout,
		   struct fault *why)
{
	const struct leaf unknown = { .action = SC_RET_ERRNO | ENOSYS };
	struct leaf leaves[NUMBERS] = { 0 };
	int r = 0;

	for (size_t i = 0; i < filter_rule_count && r == 0; i++)
		r = add_rule(arch, &filter_rules[i], number, leaves, why);
	for (uint32_t nr = 0; nr < NUMBERS && r == 0; nr++) {
		struct leaf leaf = leaves[nr];

		leaf.action = SC_RET_ALLOW;
		if (leaf.count == 1 && !has_tests(leaf.rules[0]) && !leaf.rules[0]->grants)
			leaf = (struct leaf){ .action = action_of(leaf.rules[0]->error) };
		r = add_branch(layout, nr, filter_number_known(arch, nr) ? &leaf : &unknown);
	}
	return r < 0 ? r : add_branch(layout, NUMBERS, &unknown);
}

/* ---- how the numbers are told apart -------------------------------------------------- */

/* What loading a program costs the kernel, in steps: it walks every number's way to its answer, for
 * its allow bitmap (3 ns a step on 6.18), and checks, converts and compiles each instruction (170
 * ns).
 */
#define INSN_COST 55

/* The cheapest way to tell branches from..to apart: split[from][to] is the branch that starts the
 * right half, or CHAIN.
 */
struct plan {
	uint32_t cost[BRANCHES_MAX][BRANCHES_MAX];
	uint16_t split[BRANCHES_MAX][BRANCHES_MAX];
};

/* Single numbers within one leaf: a comparison with each is enough. */
#define CHAIN UINT16_MAX

static bool is_chain(const struct branch *b, size_t from, size_t to)
{
	for (size_t i = from + 1; i < to; i += 2) {
		if (b[i + 1].first - b[i].first != 1 || b[i + 1].leaf != b[from].leaf)
			return false;
	}
	return (to - from) % 2 == 0;
}

/* How many numbers the kernel walks in from..to: those past the newest it may not have. */
static uint32_t width(const struct layout *layout, size_t from, size_t to)
{
	const struct branch *b = layout->branches;

	return (to + 1 < layout->branch_count ? b[to + 1].first : NUMBERS) - b[from].first;
}

static void plan_span(const struct layout *layout, size_t from, size_t to, struct plan *plan)
{
	uint32_t node = INSN_COST + width(layout, from, to);
	uint32_t best = UINT32_MAX;

	if (is_chain(layout->branches, from, to)) {
		best = (uint32_t)(to - from) / 2 * node;
		plan->split[from][to] = CHAIN;
	}
	for (size_t middle = from + 1; middle <= to; middle++) {
		uint32_t cost = node + plan->cost[from][middle - 1] + plan->cost[middle][to];

		if (cost < best) {
			best = cost;
			plan->split[from][to] = (uint16_t)middle;
		}
	}
	plan->cost[from][to] = best;
}

static void make_plan(const struct layout *layout, struct plan *plan)
{
	for (size_t i = 0; i < layout->branch_count; i++)
		plan->cost[i][i] = 0;
	for (size_t span = 1; span < layout->branch_count; span++) {
		for (size_t from = 0; from + span < layout->branch_count; from++)
			plan_span(layout, from, from + span, plan);
	}
}

/* ---- instructions, written from the last to the first -------------------------------- */

#define LD_WORD 0x20 /* BPF_LD | BPF_W | BPF_ABS */
#define AND 0x54     /* BPF_ALU | BPF_AND | BPF_K */
#define JEQ 0x15
#define JGE 0x35
#define JSET 0x45
#define RET 0x06

/* A place in the program: how many instructions follow it, itself included. So it stays the same
 * while more are put before it. 0 is no place.
 */
typedef size_t place;

struct emitter {
	struct sc_insn insns[FILTER_INSNS_MAX]; /* filled from the end */
	place used;
	place leaf_at[LEAVES_MAX]; /* 0: not written yet */
	place slot_at[FILTER_SLOTS_MAX];
	const struct filter_rule *slot_rule[FILTER_SLOTS_MAX];
	size_t slot_count;
	struct layout layout;
	struct plan plan;
};

static struct sc_insn *insn_at(struct emitter *e, place at)
{
	return &e->insns[FILTER_INSNS_MAX - at];
}

/* Past the end nothing is kept, but counted, so that filter_emit() can tell. */
static place put(struct emitter *e, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	e->used++;
	if (e->used <= FILTER_INSNS_MAX)
		*insn_at(e, e->used) = (struct sc_insn){ code, jt, jf, k };
	return e->used;
}

static bool is_slot(const struct emitter *e, place at)
{
	for (size_t i = 0; i < e->slot_count && i < FILTER_SLOTS_MAX; i++) {
		if (e->slot_at[i] == at)
			return true;
	}
	return false;
}

/* A place that answers `action`, whatever is granted. */
static place answer(struct emitter *e, uint32_t action)
{
	for (place at = e->used < FILTER_INSNS_MAX ? e->used : FILTER_INSNS_MAX; at > 0; at--) {
		const struct sc_insn *insn = insn_at(e, at);

		if (insn->code == RET && insn->k == action && !is_slot(e, at))
			return at;
	}
	return put(e, RET, 0, 0, action);
}

/* A place that answers what the rule says. */
static place answer_rule(struct emitter *e, const struct filter_rule *rule)
{
	place at;

	if (!rule->grants)
		return answer(e, action_of(rule->error));
	at = put(e, RET, 0, 0, action_of(rule->error));
	if (e->slot_count < FILTER_SLOTS_MAX) {
		e->slot_at[e->slot_count] = at;
		e->slot_rule[e->slot_count] = rule;
	}
	e->slot_count++;
	return at;
}

/* No program is longer than FILTER_INSNS_MAX, so a byte holds how many instructions are skipped. */
static place jump(struct emitter *e, uint16_t code, uint32_t k, place yes, place no)
{
	return put(e, code, (uint8_t)(e->used - yes), (uint8_t)(e->used - no), k);
}

/* Where a rule, or what stands for one, is entered. */
struct entry {
	place start;
	place loaded; /* the same with the argument of `test` loaded already, or 0 */
	const struct filter_test *test;
};

/* After `test` failed, does the accumulator hold what `other` starts with? */
static bool leaves_loaded(const struct filter_test *test, const struct filter_test *other)
{
	bool masked = test->op == FILTER_IS && filter_test_mask(test) != UINT32_MAX;

	return other && test->arg == other->arg && !masked;
}

/* A test without the load of its argument before it. */
static place put_comparison(struct emitter *e, const struct filter_test *test, place yes, place no)
{
	uint32_t mask = filter_test_mask(test);

	switch (test->op) {
	case FILTER_NONZERO:
		return jump(e, JEQ, 0, no, yes);
	case FILTER_HAS:
		return jump(e, JSET, mask, yes, no);
	case FILTER_IS:
		for (size_t i = test->count; i-- > 0;)
			no = jump(e, JEQ, test->words[i].value, yes, no);
		return mask == UINT32_MAX ? no : put(e, AND, 0, 0, mask);
	}
	return no;
}

/* The low word of an argument: these architectures are little-endian. */
static place put_load(struct emitter *e, const struct filter_test *test)
{
	return put(e, LD_WORD, 0, 0,
		   (uint32_t)(offsetof(struct sc_data, args) + test->arg * sizeof(uint64_t)));
}

/* `rule`, which leads to `next` when it does not fit. `before`, if any, is the rule that leads
 * here. */
static struct entry put_rule(struct emitter *e, const struct filter_rule *rule,
			     const struct entry *next, const struct filter_rule *before)
{
	struct entry entry = { .start = answer_rule(e, rule) };

	for (size_t t = FILTER_TESTS_MAX; t-- > 0;) {
		const struct filter_test *test = &rule->tests[t];

		if (!test->name)
			continue;
		entry.test = test;
		entry.loaded = put_comparison(e, test, entry.start,
					      leaves_loaded(test, next->test) ? next->loaded
									      : next->start);
		/* A rule of one test on the same argument enters with it loaded, always. */
		if (t == 0 && before && !before->tests[1].name &&
		    leaves_loaded(before->tests, test))
			entry.start = entry.loaded;
		else
			entry.start = put_load(e, test);
	}
	return entry;
}

/* The rules of one call: each that does not fit leads to the next, and the last to allow. */
static place put_rules(struct emitter *e, const struct leaf *leaf)
{
	struct entry next = { .start = answer(e, SC_RET_ALLOW) };

	for (size_t i = leaf->count; i-- > 0;)
		next = put_rule(e, leaf->rules[i], &next, i > 0 ? leaf->rules[i - 1] : NULL);
	return next.start;
}

static place put_leaf(struct emitter *e, size_t id)
{
	const struct leaf *leaf = &e->layout.leaves[id];

	if (leaf->count == 0)
		return answer(e, leaf->action);
	if (!e->leaf_at[id])
		e->leaf_at[id] = put_rules(e, leaf);
	return e->leaf_at[id];
}

static place put_tree(struct emitter *e, size_t from, size_t to)
{
	const struct branch *b = e->layout.branches;
	size_t middle = e->plan.split[from][to];
	place right, left;

	if (from == to)
		return put_leaf(e, b[from].leaf);
	if (middle == CHAIN) {
		left = put_leaf(e, b[from].leaf);
		for (size_t i = from + 1; i < to; i += 2)
			left = jump(e, JEQ, b[i].first, put_leaf(e, b[i].leaf), left);
		return left;
	}
	right = put_tree(e, middle, to);
	left = put_tree(e, from, middle - 1);
	return jump(e, JGE, b[middle].first, right, left);
}

static void put_program(struct emitter *e, const struct filter_arch *arch)
{
	place tree, foreign;

	put_tree(e, 0, e->layout.branch_count - 1);
	tree = put(e, LD_WORD, 0, 0, offsetof(struct sc_data, nr));
	foreign = answer(e, SC_RET_KILL_PROCESS);
	jump(e, JEQ, arch->token, tree, foreign);
	put(e, LD_WORD, 0, 0, offsetof(struct sc_data, arch));
}

int filter_emit(const struct filter_arch *arch, filter_number_fn number,
		struct filter_compiled *ret, struct fault *why)
{
	struct emitter e = { .used = 0 };
	int r = lay_out(arch, number, &e.layout, why);

	if (r < 0)
		return r;
	make_plan(&e.layout, &e.plan);
	put_program(&e, arch);
	if (e.used > FILTER_INSNS_MAX || e.slot_count > FILTER_SLOTS_MAX) {
		fault_join(why, "the program is too long", NULL);
		return -E2BIG;
	}
	memcpy(ret->insns, insn_at(&e, e.used), e.used * sizeof(*ret->insns));
	for (size_t i = 0; i < e.slot_count; i++) {
		ret->slots[i] = (struct filter_slot){
			.at = (uint16_t)(e.used - e.slot_at[i]),
			.grants = e.slot_rule[i]->grants,
			.granted = action_of(e.slot_rule[i]->granted),
		};
	}
	ret->base = (struct filter_base){ ret->insns, ret->slots, (uint16_t)e.used,
					  (uint16_t)e.slot_count };
	return 0;
}
