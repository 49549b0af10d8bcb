#include "probe/sysctl.h"

#include <errno.h>

#include "kabi/file.h"
#include "kabi/text.h"

/* Read the setting into buf, and its path into `path`. Returns false, with *ret filled, when that
 * fails. */
static bool read_setting(const struct kernel *k, const char *name, char path[96], char *buf,
			 size_t size, struct fact *ret)
{
	struct text t = text_start(path, 96);
	ssize_t n;

	text_add(&t, "/proc/sys/");
	text_add(&t, name);
	n = file_read_line(k, path, buf, size);
	if (n < 0)
		fact_call(ret, ANSWER_UNKNOWN, path, n);
	return n >= 0;
}

void sysctl_claim(const struct kernel *k, const char *name, struct fact *ret)
{
	char path[96];
	char said[64];
	int64_t value;

	if (!read_setting(k, name, path, said, sizeof(said), ret))
		return;
	if (text_int(said, INT64_MIN + 1, INT64_MAX, &value) < 0) {
		fact_text(ret, ANSWER_UNKNOWN, BASIS_CLAIMED, path, said);
		return;
	}
	fact_text(ret, value != 0 ? ANSWER_YES : ANSWER_NO, BASIS_CLAIMED, path, said);
	ret->value = value;
}

void sysctl_claim_text(const struct kernel *k, const char *name, const char *start,
		       struct fact *ret)
{
	char path[96];
	char said[256];

	if (read_setting(k, name, path, said, sizeof(said), ret))
		fact_text(ret, text_starts(said, start) ? ANSWER_YES : ANSWER_NO, BASIS_CLAIMED,
			  path, said);
}
