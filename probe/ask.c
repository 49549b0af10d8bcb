#include "probe/ask.h"

#include <errno.h>
#include <string.h>

#include "kabi/text.h"

void ask_name(char *buf, size_t size, const char *verb, const char *path)
{
	struct text t = text_start(buf, size);
	size_t len = strlen(path);
	size_t room = size - 1;

	text_add(&t, verb);
	text_add(&t, " ");
	room -= t.len;
	if (len > room && room > 3) {
		text_add(&t, "...");
		path += len - room + 3;
	}
	text_add(&t, path);
}

bool ask_is_passing(ssize_t r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EIO;
}
