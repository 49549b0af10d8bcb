#include <stddef.h>

#include "kabi/fault.h"
#include "kabi/text.h"
#include "launch/filter/rules.h"

#define LINE_MAX_LEN 768

static void add_number(struct text *t, uint32_t value)
{
	if (value < 10)
		text_add_int(t, value);
	else
		text_add_hex(t, value);
}

static void add_test(struct text *t, const struct filter_test *test)
{
	text_add(t, test->name);
	switch (test->op) {
	case FILTER_NONZERO:
		text_add(t, " is not 0");
		return;
	case FILTER_HAS:
		text_add(t, " has ");
		break;
	case FILTER_IS:
		if (test->mask) {
			text_add(t, " & ");
			add_number(t, test->mask);
		}
		text_add(t, " is ");
		break;
	}
	for (size_t i = 0; i < test->count; i++) {
		text_add(t, i > 0 ? " or " : "");
		text_add(t, test->words[i].name);
	}
}

static void add_rule(struct text *t, const struct filter_rule *rule, struct filter_choice choice)
{
	uint16_t error = filter_rule_error(rule, choice);
	char name[ERRNO_NAME_MAX];

	text_add(t, rule->calls);
	for (size_t i = 0; i < FILTER_TESTS_MAX && rule->tests[i].name; i++) {
		text_add(t, i > 0 ? " and " : " if ");
		add_test(t, &rule->tests[i]);
	}
	text_add(t, " -> ");
	text_add(t, error ? errno_name(error, name) : "allow");
	if (rule->grants)
		text_add(t, rule->grants & filter_index(choice) ? " (granted)" : " (not granted)");
	text_add(t, ": ");
	text_add(t, rule->why);
}

static const struct filter_arch *native(void)
{
	const struct filter_arch *arch = filter_arches;

	while (arch->token != SC_ARCH_NATIVE)
		arch++;
	return arch;
}

static void add_known(struct text *t, const struct filter_arch *arch)
{
	for (size_t i = 0; i < FILTER_SPANS_MAX && arch->known[i].last; i++) {
		text_add(t, i > 0 ? ", " : "");
		text_add_int(t, arch->known[i].first);
		text_add(t, "-");
		text_add_int(t, arch->known[i].last);
	}
}

void filter_print(struct filter_choice choice, void (*line)(void *arg, const char *text), void *arg)
{
	const struct filter_arch *arch = native();
	char buf[LINE_MAX_LEN];
	struct text t = TEXT_BUF(buf);

	text_add(&t, "architecture is not ");
	text_add(&t, arch->name);
	text_add(&t, " -> kill: its numbers mean other calls");
	line(arg, buf);

	t = TEXT_BUF(buf);
	text_add(&t, "number is not in ");
	add_known(&t, arch);
	text_add(&t, " -> ENOSYS: x32, or newer than this build");
	line(arg, buf);

	for (size_t i = 0; i < filter_rule_count; i++) {
		t = TEXT_BUF(buf);
		add_rule(&t, &filter_rules[i], choice);
		line(arg, buf);
	}
	line(arg, "anything else -> allow");
}
