#include "kabi/fault.h"

#include <stdarg.h>
#include <string.h>

#include "kabi/text.h"

/* Add `s` so that the whole stays one line a terminal can show. */
static void add_shown(struct text *t, const char *s)
{
	static const char hex[] = "0123456789abcdef";
	size_t len = strlen(s);

	while (len > 0) {
		size_t n = utf8_sequence(s, len);
		unsigned char c = (unsigned char)*s;

		/* U+0080..U+009F are control characters too; they start with 0xC2. */
		if (n == 0 || c < 0x20 || c == 0x7f ||
		    (n == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0)) {
			char escaped[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

			text_add_bytes(t, escaped, sizeof(escaped));
			n = 1;
		} else {
			text_add_bytes(t, s, n);
		}
		s += n;
		len -= n;
	}
}

static void finish(struct text *t)
{
	if (t->cut)
		memcpy(t->buf + t->size - 4, "...", 4);
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
		add_shown(&t, part);
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

	add_shown(&t, prefix);
	text_add(&t, ": ");
	text_add(&t, old.text);
	finish(&t);
}
