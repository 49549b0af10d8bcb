/* What this kernel's Landlock can restrict. The version number is asked for, and then each right,
 * scope and flag by itself: a number that disagrees with them is for the reader to see.
 *
 * This process may end up with no_new_privs set, which landlock_restrict_self(2) wants before it
 * looks at its flags. Nothing else is left behind.
 *
 * The kernel configuration is read only where the answer leaves a question. ENOSYS: not built, a
 * kernel too old to have the option, or a filter that plays either; EPERM: a filter. A kernel that
 * answers with a version, or with EOPNOTSUPP, has said itself that Landlock is built.
 */
#include "probe/probes.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "kabi/file.h"
#include "kabi/landlock.h"
#include "kabi/text.h"
#include "probe/kconfig.h"

#define LSM_LIST "/sys/kernel/security/lsm"

/* No descriptor has this number, so that a request stops there. Not -1: with LOG_SUBDOMAINS_OFF
 * that means "no ruleset", and the flag takes effect. */
#define NO_RULESET (-2)

static enum landlock_state state_from(int abi)
{
	if (abi > 0)
		return LANDLOCK_PRESENT;
	switch (-abi) {
	case ENOSYS:
		return LANDLOCK_NOT_BUILT;
	case EOPNOTSUPP:
		return LANDLOCK_OFF_AT_BOOT;
	case EPERM:
	case EACCES:
		return LANDLOCK_FILTERED;
	default:
		return LANDLOCK_UNKNOWN;
	}
}

/* What the state says of everything Landlock has. */
static enum answer state_answer(enum landlock_state state)
{
	switch (state) {
	case LANDLOCK_PRESENT:
		return ANSWER_YES;
	case LANDLOCK_NOT_BUILT:
	case LANDLOCK_OFF_AT_BOOT:
		return ANSWER_NO;
	case LANDLOCK_UNKNOWN:
	case LANDLOCK_FILTERED:
		return ANSWER_UNKNOWN;
	}
	return ANSWER_UNKNOWN;
}

static void ask_version(const struct kernel *k, struct landlock_facts *ret)
{
	int abi = k->ll_create(k, NULL, 0, LL_CREATE_VERSION);

	ret->state = state_from(abi);
	fact_call(&ret->abi, state_answer(ret->state), "landlock_create_ruleset(VERSION)", abi);
}

/* EINVAL is a kernel that has no such question, which is no statement about its mistakes. */
static void ask_errata(const struct kernel *k, struct landlock_facts *ret)
{
	int mask = k->ll_create(k, NULL, 0, LL_CREATE_ERRATA);

	fact_call(&ret->errata, mask >= 0 ? ANSWER_YES : ANSWER_UNKNOWN,
		  "landlock_create_ruleset(ERRATA)", mask);
}

static const char *field_name(enum ll_kind kind)
{
	switch (kind) {
	case LL_KIND_FS:
		return "landlock_create_ruleset(handled_access_fs = ";
	case LL_KIND_NET:
		return "landlock_create_ruleset(handled_access_net = ";
	case LL_KIND_SCOPE:
		return "landlock_create_ruleset(scoped = ";
	case LL_KIND_RESTRICT:
		return "landlock_restrict_self(no ruleset, ";
	}
	return "";
}

/* A ruleset that handles this one right. E2BIG: the kernel's struct ends before the field. */
static int ask_right(const struct kernel *k, const struct ll_right *right, enum answer *ret_answer)
{
	struct ll_ruleset_attr attr = {
		.handled_fs = right->kind == LL_KIND_FS ? 1ULL << right->bit : 0,
		.handled_net = right->kind == LL_KIND_NET ? 1ULL << right->bit : 0,
		.scoped = right->kind == LL_KIND_SCOPE ? 1ULL << right->bit : 0,
	};
	int fd = k->ll_create(k, &attr, ll_attr_size(&attr), 0);

	*ret_answer = fd >= 0			      ? ANSWER_YES
		      : fd == -EINVAL || fd == -E2BIG ? ANSWER_NO
						      : ANSWER_UNKNOWN;
	if (fd < 0)
		return fd;
	k->close(k, fd);
	return 0;
}

/* The kernel looks at no_new_privs (EPERM), then at the flags (EINVAL), then at the ruleset
 * (EBADF). The flag NO_NEW_PRIVS is asked last of all, as the table has it. */
static int ask_flag(const struct kernel *k, const struct ll_right *right, enum answer *ret_answer)
{
	uint32_t flag = 1U << right->bit;
	int r = k->ll_restrict(k, NO_RULESET, flag);

	if (r == -EPERM && k->prctl(k, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		r = k->ll_restrict(k, NO_RULESET, flag);
	*ret_answer = r == -EBADF ? ANSWER_YES : r == -EINVAL ? ANSWER_NO : ANSWER_UNKNOWN;
	return r;
}

static void ask_one(const struct kernel *k, const struct ll_right *right, struct fact *f)
{
	char call[sizeof(f->call)];
	struct text t = TEXT_BUF(call);
	enum answer answer;
	int r;

	r = right->kind == LL_KIND_RESTRICT ? ask_flag(k, right, &answer)
					    : ask_right(k, right, &answer);
	text_add(&t, field_name(right->kind));
	text_add(&t, right->name);
	text_add(&t, ")");
	fact_call(f, answer, call, r);
}

static void ask_rights(const struct kernel *k, struct landlock_facts *ret)
{
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++) {
		if (ret->state == LANDLOCK_PRESENT)
			ask_one(k, &ll_rights[i], &ret->rights[i]);
		else
			ret->rights[i] = ret->abi;
	}
}

static void claim_lsm_list(const struct kernel *k, struct fact *f)
{
	char list[512];
	ssize_t n = file_read_line(k, LSM_LIST, list, sizeof(list));

	if (n < 0)
		fact_call(f, ANSWER_UNKNOWN, LSM_LIST, n);
	else
		fact_text(f, text_in_list(list, "landlock") ? ANSWER_YES : ANSWER_NO, BASIS_CLAIMED,
			  LSM_LIST, list);
}

static void claim_config(const struct kernel *k, enum landlock_state state, struct fact *f)
{
	switch (state) {
	case LANDLOCK_PRESENT:
	case LANDLOCK_OFF_AT_BOOT:
		fact_text(f, ANSWER_UNKNOWN, BASIS_NONE, "kernel configuration",
			  "not needed: the kernel's answer says that Landlock is built");
		return;
	case LANDLOCK_UNKNOWN:
	case LANDLOCK_NOT_BUILT:
	case LANDLOCK_FILTERED:
		kconfig_ask(k, "CONFIG_SECURITY_LANDLOCK", f);
		return;
	}
}

/* ENOSYS and EOPNOTSUPP are the kernel's own words, but a filter can say them too: engines answer
 * ENOSYS for calls that their profile does not know. Where the kernel's configuration or its list
 * of modules says otherwise, it was a filter, and what the kernel would have answered is unknown.
 */
static bool is_contradicted(const struct landlock_facts *l)
{
	switch (l->state) {
	case LANDLOCK_NOT_BUILT:
		return l->lsm_list.answer == ANSWER_YES || l->config.answer == ANSWER_YES;
	case LANDLOCK_OFF_AT_BOOT:
		return l->lsm_list.answer == ANSWER_YES;
	case LANDLOCK_UNKNOWN:
	case LANDLOCK_FILTERED:
	case LANDLOCK_PRESENT:
		return false;
	}
	return false;
}

static void doubt(struct landlock_facts *l)
{
	l->state = LANDLOCK_FILTERED;
	l->abi.answer = ANSWER_UNKNOWN;
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++)
		l->rights[i].answer = ANSWER_UNKNOWN;
}

void probe_landlock(const struct kernel *k, struct landlock_facts *ret)
{
	ask_version(k, ret);
	ask_errata(k, ret);
	ask_rights(k, ret);
	claim_lsm_list(k, &ret->lsm_list);
	claim_config(k, ret->state, &ret->config);
	if (is_contradicted(ret))
		doubt(ret);
}
