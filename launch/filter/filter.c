#include "launch/filter/filter.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch/filter/compile.h"

#define NAME_MAX_LEN 32

static uint32_t scmp_arch(const struct filter_arch *arch)
{
	switch (arch->token) {
	case SC_ARCH_X86_64:
		return SCMP_ARCH_X86_64;
	case SC_ARCH_AARCH64:
		return SCMP_ARCH_AARCH64;
	default:
		return SCMP_ARCH_RISCV64;
	}
}

/* Calls newer than libseccomp 2.5.4, which knows those up to set_mempolicy_home_node (450, Linux
 * 5.17). From 424 on the numbers are the same everywhere. Source: the kernel's syscall.tbl files.
 */
static const struct {
	const char *name;
	int number;
} newer[] = {
	{ "setxattrat", 463 },	  { "getxattrat", 464 },     { "listxattrat", 465 },
	{ "removexattrat", 466 }, { "open_tree_attr", 467 }, { "file_getattr", 468 },
	{ "file_setattr", 469 },  { "listns", 470 },	     { "fchroot", 472 },
};

static bool copy_name(char text[NAME_MAX_LEN], const char *name, size_t len)
{
	if (len >= NAME_MAX_LEN)
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	return true;
}

int filter_number(const struct filter_arch *arch, const char *name, size_t len)
{
	char text[NAME_MAX_LEN];
	int number;

	if (!copy_name(text, name, len))
		return -1;
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		if (strcmp(newer[i].name, text) == 0)
			return newer[i].number;
	}
	/* A call of another architecture has a negative number of libseccomp's own. */
	number = seccomp_syscall_resolve_name_arch(scmp_arch(arch), text);
	return number < 0 ? -1 : number;
}

/* ---- rules as libseccomp takes them -------------------------------------------------- */

#define COMPARISONS_MAX 64

/* The comparisons any one of which makes a test pass. libseccomp compares all 64 bits, but for
 * MASKED_EQ, so "not 0" is said of the whole argument: only here do the high halves count.
 */
static size_t comparisons(const struct filter_test *test, struct scmp_arg_cmp out[COMPARISONS_MAX])
{
	uint32_t mask = filter_test_mask(test);
	size_t n = 0;

	if (test->op == FILTER_IS) {
		for (; n < test->count; n++)
			out[n] = SCMP_CMP(test->arg, SCMP_CMP_MASKED_EQ, mask,
					  test->words[n].value);
		return n;
	}
	if (test->op == FILTER_NONZERO) {
		out[0] = SCMP_CMP(test->arg, SCMP_CMP_NE, 0, 0);
		return 1;
	}
	for (uint32_t bit = 1; bit; bit <<= 1) {
		if (mask & bit)
			out[n++] = SCMP_CMP(test->arg, SCMP_CMP_MASKED_EQ, bit, bit);
	}
	return n;
}

/* One libseccomp rule for every choice of one comparison from each test. */
static int add_products(scmp_filter_ctx ctx, uint32_t action, int number,
			const struct filter_rule *rule)
{
	struct scmp_arg_cmp all[FILTER_TESTS_MAX][COMPARISONS_MAX];
	size_t count[FILTER_TESTS_MAX], tests = 0, total = 1;

	for (; tests < FILTER_TESTS_MAX && rule->tests[tests].name; tests++) {
		count[tests] = comparisons(&rule->tests[tests], all[tests]);
		total *= count[tests];
	}
	for (size_t pick = 0; pick < total; pick++) {
		struct scmp_arg_cmp args[FILTER_TESTS_MAX];
		size_t rest = pick;

		for (size_t t = 0; t < tests; t++) {
			args[t] = all[t][rest % count[t]];
			rest /= count[t];
		}
		int r = seccomp_rule_add_exact_array(ctx, action, number, (unsigned)tests, args);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	return 0;
}

/* What libseccomp calls a call in a rule, for whatever architecture: its number on the one we run
 * on, or less than 0 when it does not know it, or the architecture has no such call.
 */
static int rule_number(const struct filter_arch *arch, const char *name, size_t len)
{
	char text[NAME_MAX_LEN];

	if (!copy_name(text, name, len) ||
	    seccomp_syscall_resolve_name_arch(scmp_arch(arch), text) < 0)
		return -1;
	return seccomp_syscall_resolve_name(text);
}

static bool names_call(const struct filter_rule *rule, const char *name, size_t len)
{
	const char *cursor = rule->calls, *call;
	size_t n;

	while ((call = filter_next_call(&cursor, &n))) {
		if (n == len && memcmp(call, name, len) == 0)
			return true;
	}
	return false;
}

/* How the rules about a call are said without an order: */
enum call_kind {
	CALL_LEFT_OUT, /* they are not */
	CALL_PLAIN,    /* the refusing ones, as they stand; none allows what a later one refuses */
	CALL_INVERTED, /* what does not pass `allow` is refused with `refuse` */
};

struct call_rules {
	enum call_kind kind;
	const struct filter_rule *allow;
	const struct filter_rule *refuse;
};

/* The values under a small mask, or one value alone, have a complement that can be written down. */
static bool can_invert(const struct filter_rule *rule)
{
	for (size_t i = 0; i < FILTER_TESTS_MAX && rule->tests[i].name; i++) {
		const struct filter_test *test = &rule->tests[i];

		if (test->op != FILTER_IS ||
		    (filter_test_mask(test) > 0xf && (test->count > 1 || test->mask)))
			return false;
	}
	return true;
}

static struct call_rules rules_of(struct filter_choice choice, const char *name, size_t len)
{
	struct call_rules call = { .kind = CALL_PLAIN };
	size_t count = 0;

	for (size_t i = 0; i < filter_rule_count; i++) {
		const struct filter_rule *rule = &filter_rules[i];

		if (!names_call(rule, name, len))
			continue;
		count++;
		if (filter_rule_error(rule, choice) == 0) {
			call.allow = rule;
		} else if (call.allow) {
			call.refuse = rule;
			call.kind = CALL_LEFT_OUT;
		}
	}
	if (call.refuse && count == 2 && can_invert(call.allow))
		call.kind = CALL_INVERTED;
	return call;
}

/* Refuse each value that fails a test of the rule that allows. */
static int add_inverted(scmp_filter_ctx ctx, struct filter_choice choice, int number,
			const struct call_rules *call)
{
	uint32_t action = SCMP_ACT_ERRNO(filter_rule_error(call->refuse, choice));
	int r = 0;

	for (size_t t = 0; t < FILTER_TESTS_MAX && call->allow->tests[t].name && r == 0; t++) {
		const struct filter_test *test = &call->allow->tests[t];
		uint32_t mask = filter_test_mask(test);

		if (mask > 0xf)
			r = seccomp_rule_add_exact(
				ctx, action, number, 1,
				SCMP_CMP(test->arg, SCMP_CMP_NE, test->words[0].value, 0));
		for (uint32_t value = 0; mask <= 0xf && value <= mask && r == 0; value++) {
			bool allowed = false;

			for (size_t i = 0; i < test->count; i++)
				allowed |= test->words[i].value == value;
			if (!allowed)
				r = seccomp_rule_add_exact(
					ctx, action, number, 1,
					SCMP_CMP(test->arg, SCMP_CMP_MASKED_EQ, mask, value));
		}
	}
	return r;
}

/* Add to the program of all calls what the rule says of each call it names. */
static int add_rule(scmp_filter_ctx ctx, const struct filter_arch *arch,
		    struct filter_choice choice, const struct filter_rule *rule)
{
	const char *cursor = rule->calls, *name;
	uint16_t error = filter_rule_error(rule, choice);
	size_t len;
	int r = 0;

	while (r == 0 && (name = filter_next_call(&cursor, &len))) {
		struct call_rules call = rules_of(choice, name, len);
		int number = rule_number(arch, name, len);

		if (number < 0)
			continue;
		if (call.kind == CALL_PLAIN && error)
			r = add_products(ctx, SCMP_ACT_ERRNO(error), number, rule);
		else if (call.kind == CALL_INVERTED && rule == call.allow)
			r = add_inverted(ctx, choice, number, &call);
	}
	return r;
}

/* Add to the program of one call what the rule lets through. */
static int add_allowed(scmp_filter_ctx ctx, const struct filter_arch *arch,
		       struct filter_choice choice, const struct filter_rule *rule,
		       const char *call)
{
	int number = rule_number(arch, call, strlen(call));

	if (number < 0 || !names_call(rule, call, strlen(call)) || filter_rule_error(rule, choice))
		return 0;
	return add_products(ctx, SCMP_ACT_ALLOW, number, rule);
}

static int export(scmp_filter_ctx ctx, struct sc_insn insns[FILTER_REFERENCE_MAX])
{
	size_t size = FILTER_REFERENCE_MAX * sizeof(*insns);
	int fd = memfd_create("filter", MFD_CLOEXEC);
	ssize_t got;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(ctx, fd);
	got = r < 0 ? 0 : pread(fd, insns, size, 0);
	close(fd);
	if (r < 0)
		return r;
	return got < 0 ? -errno : (int)((size_t)got / sizeof(*insns));
}

static int compile(scmp_filter_ctx ctx, const struct filter_arch *arch, struct filter_choice choice,
		   const char *only, struct sc_insn insns[FILTER_REFERENCE_MAX])
{
	int r = 0;

	/* Level 2 is the balanced tree. The context starts with the architecture we run on. */
	if (seccomp_arch_native() != scmp_arch(arch)) {
		r = seccomp_arch_add(ctx, scmp_arch(arch));
		r = r < 0 ? r : seccomp_arch_remove(ctx, SCMP_ARCH_NATIVE);
	}
	r = r < 0 ? r : seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	r = r < 0 ? r : seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; i < filter_rule_count && r == 0; i++) {
		r = only ? add_allowed(ctx, arch, choice, &filter_rules[i], only)
			 : add_rule(ctx, arch, choice, &filter_rules[i]);
	}
	return r < 0 ? r : export(ctx, insns);
}

static int reference(const struct filter_arch *arch, struct filter_choice choice, const char *only,
		     uint32_t otherwise, struct sc_insn insns[FILTER_REFERENCE_MAX],
		     struct fault *why)
{
	scmp_filter_ctx ctx = seccomp_init(otherwise);
	int r = ctx ? compile(ctx, arch, choice, only, insns) : -ENOMEM;

	if (ctx)
		seccomp_release(ctx);
	return r < 0 ? fault_errno(why, "libseccomp", arch->name, -r) : r;
}

bool filter_reference_has(struct filter_choice choice, const char *name, size_t len)
{
	return rules_of(choice, name, len).kind != CALL_LEFT_OUT;
}

int filter_reference(const struct filter_arch *arch, struct filter_choice choice,
		     struct sc_insn insns[FILTER_REFERENCE_MAX], struct fault *why)
{
	return reference(arch, choice, NULL, SCMP_ACT_ALLOW, insns, why);
}

int filter_reference_call(const struct filter_arch *arch, struct filter_choice choice,
			  const char *call, struct sc_insn insns[FILTER_REFERENCE_MAX],
			  struct fault *why)
{
	return reference(arch, choice, call, SCMP_ACT_ERRNO(EPERM), insns, why);
}
