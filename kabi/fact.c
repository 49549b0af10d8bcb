#include "kabi/fact.h"

#include <errno.h>

#include "kabi/fault.h"
#include "kabi/recorded.h"
#include "kabi/text.h"

void fact_call(struct fact *f, enum answer answer, const char *call, int64_t r)
{
	struct text got = TEXT_BUF(f->got);
	char name[ERRNO_NAME_MAX];

	if (r >= 0)
		text_add_int(&got, r);
	else if (r == -KERNEL_NOT_RECORDED)
		text_add(&got, "not recorded");
	else
		text_add(&got, errno_name((int)-r, name));
	f->answer = r == -KERNEL_NOT_RECORDED ? ANSWER_UNKNOWN : answer;
	f->basis = r == -KERNEL_NOT_RECORDED ? BASIS_NONE : BASIS_OBSERVED;
	f->value = r >= 0 ? r : 0;
	f->error = r >= 0 || r == -KERNEL_NOT_RECORDED ? 0 : (int)-r;
	text_copy(f->call, sizeof(f->call), call);
}

void fact_text(struct fact *f, enum answer answer, enum basis basis, const char *call,
	       const char *got)
{
	f->answer = answer;
	f->basis = basis;
	f->error = 0;
	text_copy(f->call, sizeof(f->call), call);
	text_copy(f->got, sizeof(f->got), got);
}

const char *answer_name(enum answer answer)
{
	switch (answer) {
	case ANSWER_UNKNOWN:
		return "unknown";
	case ANSWER_NO:
		return "no";
	case ANSWER_YES:
		return "yes";
	}
	return "unknown";
}

const char *basis_name(enum basis basis)
{
	switch (basis) {
	case BASIS_NONE:
		return "none";
	case BASIS_CLAIMED:
		return "claimed";
	case BASIS_OBSERVED:
		return "observed";
	case BASIS_ASSUMED:
		return "assumed";
	}
	return "none";
}
