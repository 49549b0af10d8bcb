/* /proc/self/mountinfo, read line by line in place (proc_pid_mountinfo(5)). */
#ifndef KABI_MOUNTINFO_H
#define KABI_MOUNTINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/kernel.h"

/* One mount. The texts point into the buffer that is read, with \040 and the like decoded. */
struct mount {
	uint64_t id;
	uint64_t parent;
	const char *root;    /* the directory of the filesystem that is mounted here */
	const char *point;   /* where, as this process sees it */
	const char *options; /* of this mount: "rw,nosuid" */
	const char *type;
	const char *source; /* "" is possible */
	const char *super;  /* options of the filesystem; "" when the line has none */
};

struct mountinfo {
	char *cursor;
	uint32_t skipped; /* lines that are no mount */
};

/* Start on a text that ends in NUL; it is changed in place. */
struct mountinfo mountinfo_start(char *text);

/* The next mount. False at the end. A line that is not a mount is counted and passed over. */
bool mountinfo_next(struct mountinfo *it, struct mount *ret);

/* Read /proc/self/mountinfo into the one buffer of this file, and start on it; what an earlier call
 * handed out is gone. Returns 0; -EFBIG for a table of more than 1 MiB, which must not be taken
 * for one that lacks a mount; or -errno.
 */
int mountinfo_open(const struct kernel *k, struct mountinfo *ret);

#endif
