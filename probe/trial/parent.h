/* The parent of a confined process that makes trials, as oarbank-run is one of a module: it makes
 * the connections and the changes of metadata that are put to it. Inside this folder only.
 */
#ifndef PROBE_TRIAL_PARENT_H
#define PROBE_TRIAL_PARENT_H

#include "probe/trial/confine.h"
#include "probe/trial/stage.h"

struct supervisor;

struct trial_parent {
	int theirs; /* for the child; -1: it has no such parent */
	struct supervisor *supervisor;
};

/* No such parent. */
void trial_parent_init(struct trial_parent *p);

/* Before the child is made. Returns 0, or -errno. */
int trial_parent_begin(struct trial_parent *p, const struct stage *s,
		       const struct trial_grants *grants);

/* After that, in the process that made it. */
void trial_parent_started(struct trial_parent *p);

/* Readable when trial_parent_serve() has something to do; -1: never. */
int trial_parent_fd(const struct trial_parent *p);
void trial_parent_serve(struct trial_parent *p);

void trial_parent_end(struct trial_parent *p);

#endif
