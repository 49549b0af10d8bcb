/* A change of metadata, made for a module by its parent: of what lies beneath a writable root, and
 * of nothing else (attacks.md "metadata of the user's own files outside"). Inside this folder only.
 */
#ifndef LAUNCH_SUPERVISE_METADATA_H
#define LAUNCH_SUPERVISE_METADATA_H

#include <stddef.h>
#include <sys/types.h>

#include "kabi/fault.h"
#include "kabi/notify.h"

#define METADATA_ROOTS_MAX 512

/* The writable roots, opened. */
struct metadata_roots {
	size_t count;
	int fds[METADATA_ROOTS_MAX];
};

/* Open them: paths[0..count), none of which may be a symbolic link (-ELOOP). To be done before the
 * module runs, which may put something else there. Returns 0, or -errno with `why`, and then none
 * is open.
 */
int metadata_roots_open(const char *const paths[], size_t count, struct metadata_roots *ret,
			struct fault *why);
void metadata_roots_close(struct metadata_roots *roots);

/* Carry out the call of `notif`. The caller's path is copied once, and opened here, relative to the
 * caller, without magic links; what it leads to is opened once more beneath a root, without any
 * link; that is what is changed. Returns 0, or -errno: what the call is to fail with, or -ENOENT
 * when the caller has given up, so that nothing was done.
 */
int metadata_change(int listener, const struct sc_notif *notif, const struct metadata_roots *roots);

#endif
