/* The seccomp filter as a table of rules, before it is compiled: internal to launch/. */
#ifndef LAUNCH_FILTER_RULES_H
#define LAUNCH_FILTER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch/filter/build.h"

enum filter_op {
	FILTER_NONZERO, /* the argument is not 0 */
	FILTER_IS,	/* the argument, under `mask`, is one of `words` */
	FILTER_HAS,	/* the argument has a bit of one of `words` */
};

struct filter_word {
	uint32_t value;
	const char *name;
};

/* One comparison with the low half of an argument, which is all the kernel reads of the arguments
 * named here: they are int or unsigned int, or flags in the low half of a long.
 */
struct filter_test {
	const char *name; /* what the argument is called; NULL ends a rule's tests */
	const struct filter_word *words;
	uint32_t mask; /* of FILTER_IS; 0 means every bit */
	uint8_t count; /* of words */
	uint8_t arg;   /* 0 to 5 */
	enum filter_op op;
};

#define FILTER_TESTS_MAX 3

/* "A call of one of `calls` whose arguments pass every test answers `error`", or, when any of the
 * `grants` is given, `granted`. The first such rule decides. An error of 0 allows. Without tests a
 * rule is for every such call; what no rule is for is allowed.
 */
struct filter_rule {
	const char *calls; /* names as in the kernel's table, with one space between two */
	const char *why;
	struct filter_test tests[FILTER_TESTS_MAX];
	uint8_t grants;
	uint16_t error; /* a positive errno, the same on every architecture here */
	uint16_t granted;
};

/* A span of system call numbers. */
struct filter_span {
	uint32_t first;
	uint32_t last;
};

#define FILTER_SPANS_MAX 4

/* An architecture, and the numbers this build knows to be calls of it. Any other number answers
 * ENOSYS: what a newer kernel put there was not looked at, and programs fall back.
 */
struct filter_arch {
	uint32_t token;
	const char *name;
	struct filter_span
		known[FILTER_SPANS_MAX]; /* ascending; a span that is all zero ends them early */
};

/* The newest call looked at: fchroot, Linux 7.3. From 424 on all architectures share one numbering.
 */
#define FILTER_NEWEST 472

extern const struct filter_rule filter_rules[];
extern const size_t filter_rule_count;

#define FILTER_ARCHES 3
extern const struct filter_arch filter_arches[FILTER_ARCHES];

/* The rule's error under this choice. */
uint16_t filter_rule_error(const struct filter_rule *rule, struct filter_choice choice);

/* The next of a rule's calls: *cursor starts as rule->calls. Returns its name, *ret_len bytes
 * without an end, or NULL after the last.
 */
const char *filter_next_call(const char **cursor, size_t *ret_len);

/* Is `number` in one of the architecture's spans? */
bool filter_number_known(const struct filter_arch *arch, uint32_t number);

/* What a comparison looks at and how: `mask` with the default filled in. */
uint32_t filter_test_mask(const struct filter_test *test);

#endif
