#include "report/assume.h"

#include <string.h>

#include "kabi/text.h"
#include "report/command.h"
#include "report/version.h"

#define ASSUMED_ABI_MAX 64

bool assumption_made(const struct assumption *a)
{
	return a->abi_set || a->kernel;
}

int assumption_take_abi(const char *arg, struct assumption *a, struct fault *why)
{
	int64_t abi;

	if (text_int(arg, 0, ASSUMED_ABI_MAX, &abi) < 0)
		return command_refuse(why, "'", arg, "' is not a Landlock ABI, a number up to 64");
	a->abi_set = true;
	a->abi = (unsigned)abi;
	return 0;
}

int assumption_take_kernel(const char *arg, struct assumption *a, struct fault *why)
{
	struct version v;

	if (arg[strspn(arg, "0123456789.")] || version_read(arg, &v) < 0 || !strchr(arg, '.') ||
	    text_ends(arg, ".") || strlen(arg) >= UTS_TEXT_MAX)
		return command_refuse(why, "'", arg, "' is not a kernel release such as 6.12");
	a->kernel = arg;
	return 0;
}

static unsigned abi_of(const struct assumption *a)
{
	struct version wanted;
	struct version first;
	unsigned abi = 0;

	if (a->abi_set || version_read(a->kernel, &wanted) < 0)
		return a->abi;
	for (unsigned i = 1; i <= LL_ABI_KNOWN; i++)
		if (ll_abi_linux(i) && version_read(ll_abi_linux(i), &first) == 0 &&
		    version_compare(&first, &wanted) <= 0)
			abi = i;
	return abi;
}

static void assume(struct fact *f, enum answer answer, int64_t value, const char *call,
		   const char *got)
{
	char asked[sizeof(f->call)];

	text_copy(asked, sizeof(asked), f->call[0] ? f->call : call);
	fact_text(f, answer, BASIS_ASSUMED, asked, got);
	f->value = value;
}

static void assume_landlock(struct landlock_facts *l, unsigned abi)
{
	char number[16];
	struct text t = TEXT_BUF(number);

	text_add_int(&t, abi);
	l->state = abi ? LANDLOCK_PRESENT : LANDLOCK_NOT_BUILT;
	assume(&l->abi, abi ? ANSWER_YES : ANSWER_NO, abi, "landlock_create_ruleset(VERSION)",
	       abi ? number : "ENOSYS");
	assume(&l->errata, ANSWER_UNKNOWN, 0, "landlock_create_ruleset(ERRATA)",
	       "known on the kernel itself");
	for (int i = 0; i < LL_RIGHT_COUNT; i++) {
		bool there = abi && ll_rights[i].since_abi <= abi;

		assume(&l->rights[i], there ? ANSWER_YES : ANSWER_NO, 0, ll_rights[i].name,
		       there ? "0"
		       : abi ? "EINVAL"
			     : "ENOSYS");
	}
}

/* Files of a cgroup that came with a release, and are in every kernel that has control groups. */
static const struct {
	const char *name;
	struct version first;
} cgroup_files[] = { { "cgroup.kill", { { 5, 14 } } }, { "cgroup.freeze", { { 5, 2 } } } };

static void assume_cgroup(struct cgroup_facts *c, const struct version *kernel)
{
	struct fact *const facts[] = { &c->kill, &c->freeze };
	uint32_t kept = 0;

	if (c->mounted.answer != ANSWER_YES)
		return;
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		bool there = version_compare(&cgroup_files[i].first, kernel) <= 0;

		if (facts[i]->answer != (there ? ANSWER_YES : ANSWER_NO))
			assume(facts[i], there ? ANSWER_YES : ANSWER_NO, 0, cgroup_files[i].name,
			       there ? "0" : "ENOENT");
	}
	/* What a kernel lacks is said anew by the capabilities. */
	for (uint32_t i = 0; i < c->missing_count; i++)
		if (c->missing[i].obstacle != LEAF_OLD_KERNEL)
			c->missing[kept++] = c->missing[i];
	c->missing_count = kept;
}

void assume_facts(const struct assumption *a, struct facts *facts)
{
	struct version kernel;

	facts->assumed = true;
	if (a->kernel && version_read(a->kernel, &kernel) == 0) {
		text_copy(facts->host.uts.release, sizeof(facts->host.uts.release), a->kernel);
		assume_cgroup(&facts->cgroup, &kernel);
	}
	switch (facts->landlock.state) {
	case LANDLOCK_UNKNOWN:
	case LANDLOCK_OFF_AT_BOOT:
	case LANDLOCK_FILTERED:
		return;
	case LANDLOCK_NOT_BUILT:
	case LANDLOCK_PRESENT:
		assume_landlock(&facts->landlock, abi_of(a));
		return;
	}
}

void assumption_text(const struct assumption *a, char buf[ASSUMPTION_TEXT_MAX])
{
	struct text t = text_start(buf, ASSUMPTION_TEXT_MAX);

	if (a->kernel) {
		text_add(&t, "Linux ");
		text_add(&t, a->kernel);
		text_add(&t, " (");
	}
	text_add(&t, "Landlock ABI ");
	text_add_int(&t, abi_of(a));
	text_add(&t, a->kernel ? ")" : "");
}

static void mark(char why[FACTS_LINE_MAX], const char *what)
{
	char marked[FACTS_LINE_MAX];
	struct text t = TEXT_BUF(marked);

	text_add(&t, "assuming ");
	text_add(&t, what);
	text_add(&t, ": ");
	text_add(&t, why);
	memcpy(why, marked, sizeof(marked));
}

void assume_reasons(const struct assumption *a, struct capabilities *capabilities)
{
	char what[ASSUMPTION_TEXT_MAX];

	assumption_text(a, what);
	if (capabilities->backend.why[0])
		mark(capabilities->backend.why, what);
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		mark(capabilities->of[i].why, what);
}
