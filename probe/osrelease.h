/* os-release(5): what the operating system calls itself. */
#ifndef PROBE_OSRELEASE_H
#define PROBE_OSRELEASE_H

#include "kabi/kernel.h"
#include "probe/facts.h"

struct osrelease {
	char id[FACTS_WORD_MAX];	 /* "linux" when the file does not say */
	char version_id[FACTS_WORD_MAX]; /* "" when the file does not say, as Debian testing's */
	char pretty_name[FACTS_LINE_MAX];
};

/* Take one line into *o: NAME=value, with the value quoted as a shell would read it (without
 * expansion), or a comment, or nothing we know. The last assignment of a name counts; one with a
 * quote that is not closed, or too long for us, is passed over. The line is written to.
 */
void osrelease_line(struct osrelease *o, char *line);

/* Read /etc/os-release, or /usr/lib/os-release when the first cannot be read. Returns 0 with
 * *ret_path the file that was read, or -errno of the second.
 */
int osrelease_read(const struct kernel *k, struct osrelease *ret, const char **ret_path);

#endif
