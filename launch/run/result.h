/* The result of a run: one flat JSON object, in a file that is there while the module runs and says
 * how it ended afterwards. Written without a general library.
 */
#ifndef LAUNCH_RUN_RESULT_H
#define LAUNCH_RUN_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/run/run.h"

/* The longest path and texts, each byte escaped, fit. */
#define RESULT_MAX 16384

/* Write the object for a run in its state, and a newline, to buf[size]. `limits` are those asked
 * for. Returns its length, or -ENOSPC.
 */
ssize_t result_print(const struct kernel *k, const struct run *run, const struct limits *limits,
		     char *buf, size_t size);

/* Put text[0..len) into the file `path`, whole or not at all: in a new file that then takes its
 * place. What is there the first time and is no regular file (a pipe that somebody reads, a link of
 * the system's as /dev/stderr) is written to instead; any other symbolic link is replaced, for a
 * module may have left it. *way is RESULT_WAY_OPEN the first time, and kept after it: what somebody
 * puts there meanwhile is replaced, not followed. Does not wait for a reader. Returns 0, or -errno
 * with `why`: -ENXIO for a pipe that nobody reads.
 */
enum result_way {
	RESULT_WAY_OPEN,  /* not known yet */
	RESULT_WAY_ANEW,  /* a new file takes the place */
	RESULT_WAY_THERE, /* what is there is written to */
};
int result_write(const struct kernel *k, const char *path, enum result_way *way, const char *text,
		 size_t len, struct fault *why);

/* What a result says about a run: enough to find its container. */
struct result_run {
	bool ended;
	struct container container;
	uint64_t keeper_start; /* with the pid of the keeper this names the run for good */
};

/* Read the text of a result, which is changed. Returns 0, or -EINVAL with `why`. */
int result_parse(char *text, size_t len, struct result_run *ret, struct fault *why);

#endif
