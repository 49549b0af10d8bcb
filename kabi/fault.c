#include "kabi/fault.h"

#include <stdarg.h>
#include <string.h>

#include "kabi/text.h"

static void finish(struct text *t)
{
	char *end = t->buf + t->size - 4;

	if (!t->cut)
		return;
	/* Not in the middle of a character: what is left must be UTF-8. */
	while (end > t->buf && ((unsigned char)*end & 0xc0) == 0x80)
		end--;
	memcpy(end, "...", 4);
}

void fault_join(struct fault *why, ...)
{
	va_list parts;
	const char *part;

	if (!why)
		return;

	struct text t = TEXT_BUF(why->text);

	va_start(parts, why);
	while ((part = va_arg(parts, const char *)))
		text_add_shown(&t, part);
	va_end(parts);
	finish(&t);
}

int fault_errno(struct fault *why, const char *attempt, const char *object, int err)
{
	char name[ERRNO_NAME_MAX];

	if (object)
		fault_join(why, attempt, " '", object, "': ", errno_name(err, name), NULL);
	else
		fault_join(why, attempt, ": ", errno_name(err, name), NULL);
	return -err;
}

void fault_prefix(struct fault *why, const char *prefix)
{
	struct fault old;

	if (!why)
		return;
	old = *why;

	struct text t = TEXT_BUF(why->text);

	text_add_shown(&t, prefix);
	text_add(&t, ": ");
	text_add(&t, old.text);
	finish(&t);
}
