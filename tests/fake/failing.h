/* A kernel of which one call fails: to see that nothing leaks, and that what could not be found out
 * is not taken for an answer.
 */
#ifndef TESTS_FAKE_FAILING_H
#define TESTS_FAKE_FAILING_H

#include "kabi/kernel.h"

struct failing {
	struct kernel kernel;	    /* to ask */
	const struct kernel *inner; /* what answers otherwise */
	unsigned fail_at;	    /* the call that fails, from 1; 0: none */
	int error;		    /* a positive errno */
	unsigned calls;		    /* how many there were */
	int open;		    /* descriptors opened and not closed */
};

/* Start counting anew. `f` must stay where it is while f->kernel is used. Closing never fails and
 * is not counted.
 */
void failing_start(struct failing *f, const struct kernel *answers, unsigned fail_at, int err);

#endif
