#include "probe/libc.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "kabi/lines.h"
#include "kabi/text.h"

#define LIBC_NUMBER_MAX 999999 /* "999.999" */

/* "2.36" as 2036; a third part ("2.3.6") is left out. Returns -EINVAL for anything else. */
static long version_number(const char *version)
{
	char copy[32];
	char *minor;
	int64_t numbers[2];

	if (!text_copy(copy, sizeof(copy), version))
		return -EINVAL;
	minor = strchr(copy, '.');
	if (!minor)
		return -EINVAL;
	*minor++ = '\0';
	minor[strcspn(minor, ".")] = '\0';
	if (text_int(copy, 0, 999, &numbers[0]) < 0 || text_int(minor, 0, 999, &numbers[1]) < 0)
		return -EINVAL;
	return (long)(numbers[0] * 1000 + numbers[1]);
}

/* A static program has no loader, and its library is the build's. */
static long ask_running(void *arg)
{
	(void)arg;
#ifdef __GLIBC__
	if (getauxval(AT_BASE) != 0)
		return version_number(gnu_get_libc_version());
#endif
	return -ENOSYS;
}

static bool use_number(long number, struct host_facts *ret)
{
	struct text t = TEXT_BUF(ret->libc_version);

	if (number < 0 || number > LIBC_NUMBER_MAX)
		return false;
	text_add_int(&t, number / 1000);
	text_add(&t, ".");
	text_add_int(&t, number % 1000);
	text_copy(ret->libc, sizeof(ret->libc), "glibc");
	return true;
}

/* A program's loader is the string that its first header pages hold. */
static bool find_loader(void *arg, char *string)
{
	char *libc = arg;

	if (text_starts(string, "/lib") && strstr(string, "/ld-musl-"))
		text_copy(libc, sizeof(((struct host_facts *)0)->libc), "musl");
	else if (text_starts(string, "/lib") && strstr(string, "/ld-linux"))
		text_copy(libc, sizeof(((struct host_facts *)0)->libc), "glibc");
	return !libc[0];
}

/* glibc's banner, which the file has as one string:
 * "GNU C Library (…) stable release version 2.36.\nCopyright…"; old ones have a comma there. */
static bool find_banner(void *arg, char *string)
{
	static const char before[] = " release version ";
	char *at;

	if (!text_starts(string, "GNU C Library"))
		return true;
	at = strstr(string, before);
	if (!at)
		return true;
	at += sizeof(before) - 1;
	at[strspn(at, "0123456789.")] = '\0';
	if (text_ends(at, "."))
		at[strlen(at) - 1] = '\0';
	text_copy(arg, sizeof(((struct host_facts *)0)->libc_version), at);
	return false;
}

static void read_glibc(const struct kernel *k, struct host_facts *ret)
{
	static const char *const parts[][2] = {
		{ "/lib/", "-linux-gnu/libc.so.6" },
		{ "/lib64/libc.so.6", NULL },
		{ "/lib/libc.so.6", NULL },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		char path[FACTS_LINE_MAX];
		struct text t = TEXT_BUF(path);

		text_add(&t, parts[i][0]);
		if (parts[i][1]) {
			text_add(&t, ret->uts.machine);
			text_add(&t, parts[i][1]);
		}
		if (lines_read(k, path, '\0', find_banner, ret->libc_version) == 0)
			return;
	}
}

void libc_ask(const struct kernel *k, struct host_facts *ret)
{
	if (use_number(k->library(k, "glibc version", ask_running, NULL), ret))
		return;
	lines_read(k, "/bin/sh", '\0', find_loader, ret->libc);
	if (strcmp(ret->libc, "glibc") == 0)
		read_glibc(k, ret);
}
