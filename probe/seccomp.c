/* What seccomp this process runs under, and what of it this kernel has. Nothing is installed. */
#include "probe/probes.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "kabi/seccomp.h"
#include "kabi/status.h"
#include "kabi/text.h"

#define SELF_STATUS "/proc/self/status"

/* The system call and /proc, which has such a line where there is seccomp, are two witnesses. When
 * they disagree, something between us and the kernel answers one of them, and the mode is unknown.
 */
static void ask_mode(const struct kernel *k, const struct proc_status *status, struct fact *f)
{
	int mode = k->prctl(k, PR_GET_SECCOMP, 0, 0, 0, 0);
	struct text got;
	char said[sizeof(f->got)];

	fact_call(f,
		  mode >= 0 && mode <= 2 ? ANSWER_YES
		  : mode == -EINVAL	 ? ANSWER_NO
					 : ANSWER_UNKNOWN,
		  "prctl(PR_GET_SECCOMP)", mode);
	if (f->answer == ANSWER_UNKNOWN || !status->has[PROC_SECCOMP] ||
	    (mode >= 0 && status->value[PROC_SECCOMP] == (uint64_t)mode))
		return;
	text_copy(said, sizeof(said), f->got);
	got = TEXT_BUF(f->got);
	text_add(&got, said);
	text_add(&got, ", but " SELF_STATUS " says ");
	text_add_int(&got, (int64_t)status->value[PROC_SECCOMP]);
	f->answer = ANSWER_UNKNOWN;
}

static void count_filters(const struct proc_status *status, int status_error, struct fact *f)
{
	int64_t count = (int64_t)status->value[PROC_SECCOMP_FILTERS];
	const char *call = SELF_STATUS " Seccomp_filters";

	if (status_error < 0)
		fact_call(f, ANSWER_UNKNOWN, call, status_error);
	else if (status->has[PROC_SECCOMP_FILTERS] && count >= 0)
		fact_call(f, count > 0 ? ANSWER_YES : ANSWER_NO, call, count);
	else
		fact_text(f, ANSWER_UNKNOWN, BASIS_NONE, call, "no such line");
}

static void ask_no_new_privs(const struct kernel *k, struct fact *f)
{
	int r = k->prctl(k, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);

	fact_call(f,
		  r > 0	   ? ANSWER_YES
		  : r == 0 ? ANSWER_NO
			   : ANSWER_UNKNOWN,
		  "prctl(PR_GET_NO_NEW_PRIVS)", r);
}

static void ask_word(struct fact *f, const char *before, const struct sc_word *word,
		     enum answer answer, int r)
{
	char call[sizeof(f->call)];
	struct text t = TEXT_BUF(call);

	text_add(&t, before);
	text_add(&t, word->name);
	text_add(&t, ")");
	fact_call(f, answer, call, r);
}

/* The operation is as old as Linux 4.14. EINVAL, from an older kernel, tells nothing of the action.
 */
static void ask_action(const struct kernel *k, const struct sc_word *action, struct fact *f)
{
	uint32_t value = action->value;
	int r = k->seccomp(k, SC_GET_ACTION_AVAIL, 0, &value);
	enum answer answer = r == 0 ? ANSWER_YES : r == -EOPNOTSUPP ? ANSWER_NO : ANSWER_UNKNOWN;

	ask_word(f, "seccomp(GET_ACTION_AVAIL, ", action, answer, r);
}

/* The kernel looks at the flags (EINVAL), and then copies the program, which is not there (EFAULT):
 * before it makes a listener's descriptor, and before it installs anything. WAIT_KILLABLE_RECV is
 * valid only together with NEW_LISTENER; every other flag alone.
 */
static void ask_flag(const struct kernel *k, const struct sc_word *flag, enum answer listener,
		     struct fact *f)
{
	bool dependent = flag->value == SC_FLAG_WAIT_KILLABLE_RECV;
	unsigned flags = flag->value | (dependent ? SC_FLAG_NEW_LISTENER : 0);
	int r = k->seccomp(k, SC_SET_MODE_FILTER, flags, NULL);
	enum answer answer = r == -EFAULT ? ANSWER_YES : r == -EINVAL ? ANSWER_NO : ANSWER_UNKNOWN;

	/* When it is unknown whether there are listeners, EINVAL may be about them. */
	if (dependent && answer == ANSWER_NO && listener == ANSWER_UNKNOWN)
		answer = ANSWER_UNKNOWN;
	ask_word(f,
		 dependent ? "seccomp(SET_MODE_FILTER, NEW_LISTENER | "
			   : "seccomp(SET_MODE_FILTER, ",
		 flag, answer, r);
}

/* Where not one flag is known, not even TSYNC, which is as old as the call, it is not the kernel
 * that says EINVAL.
 */
static void doubt_refusals(struct fact flags[SC_FLAG_COUNT])
{
	for (size_t i = 0; i < SC_FLAG_COUNT; i++)
		if (flags[i].answer == ANSWER_YES)
			return;
	for (size_t i = 0; i < SC_FLAG_COUNT; i++)
		flags[i].answer = ANSWER_UNKNOWN;
}

static void ask_flags(const struct kernel *k, struct fact flags[SC_FLAG_COUNT])
{
	enum answer listener = ANSWER_UNKNOWN;

	for (size_t i = 0; i < SC_FLAG_COUNT; i++) {
		ask_flag(k, &sc_flags[i], listener, &flags[i]);
		if (sc_flags[i].value == SC_FLAG_NEW_LISTENER)
			listener = flags[i].answer;
	}
	doubt_refusals(flags);
}

/* i386 and x32 are entries of x86-64 kernels, which call themselves i686 to a 32-bit personality.
 * Without a name, asking tells. */
static bool may_have_entries(const struct kernel *k)
{
	struct uts uts;

	if (k->uname(k, &uts) < 0)
		return true;
	return strcmp(uts.machine, "x86_64") == 0 ||
	       (uts.machine[0] == 'i' && text_ends(uts.machine, "86"));
}

static void ask_entry(const struct kernel *k, enum foreign_entry entry, const char *call,
		      struct fact *f)
{
	int r = k->try_foreign(k, entry);

	fact_call(f, r == 0 ? ANSWER_YES : r == -ENOSYS ? ANSWER_NO : ANSWER_UNKNOWN, call, r);
}

static void ask_entries(const struct kernel *k, struct seccomp_facts *ret)
{
	if (may_have_entries(k)) {
		ask_entry(k, FOREIGN_I386, "getpid by int $0x80", &ret->entry_i386);
		ask_entry(k, FOREIGN_X32, "getpid by its x32 number", &ret->entry_x32);
		return;
	}
	fact_text(&ret->entry_i386, ANSWER_NO, BASIS_OBSERVED, "uname", "not on this architecture");
	ret->entry_x32 = ret->entry_i386;
}

void probe_seccomp(const struct kernel *k, struct seccomp_facts *ret)
{
	struct proc_status status = { 0 };
	int status_error = proc_status_read(k, SELF_STATUS, &status);

	ask_mode(k, &status, &ret->mode);
	count_filters(&status, status_error, &ret->filters);
	ask_no_new_privs(k, &ret->no_new_privs);
	for (size_t i = 0; i < SC_ACTION_COUNT; i++)
		ask_action(k, &sc_actions[i], &ret->actions[i]);
	ask_flags(k, ret->flags);
	ask_entries(k, ret);
}
