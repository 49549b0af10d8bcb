/* A kernel that answers as another does, and writes down what that said: the recording that
 * kabi/recorded.h reads.
 */
#ifndef TESTS_RECORDER_H
#define TESTS_RECORDER_H

#include "kabi/kernel.h"

/* Write into the directory `dir`, which exists, and make *ret answer as `inner`. One at a time.
 * Returns 0 or -errno.
 */
int recorder_open(const char *dir, const struct kernel *inner, struct kernel *ret);

/* Of what was asked more than once, leave the last answer. Returns 0, or as -errno the first error
 * there was in writing.
 */
int recorder_close(void);

#endif
