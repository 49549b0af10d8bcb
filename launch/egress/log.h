/* What the egress proxy tells of its work: a line of JSON for each refusal, and the counts at the
 * end. Inside this folder only.
 */
#ifndef LAUNCH_EGRESS_LOG_H
#define LAUNCH_EGRESS_LOG_H

#include <stdint.h>

#include "kabi/fault.h"
#include "launch/egress/refusal.h"

/* So many lines are written; further refusals are only counted. */
#define EGRESS_LINES_MAX 10000

struct egress_log {
	int fd; /* -1: none */
	uint64_t connections;
	uint64_t served;
	uint64_t refused;
	uint64_t failed;
	uint64_t unlogged; /* lines that were not written */
};

/* Log to `path`: appended to, made with mode 0600; "-" is standard output, NULL nothing. Returns 0,
 * or -errno with `why`.
 */
int egress_log_open(const char *path, struct egress_log *log, struct fault *why);

/* Count a refusal, `ms` after the start, and write its line. Never waits: a line for a pipe that is
 * full is dropped.
 */
void egress_log_refusal(struct egress_log *log, enum egress_refusal refusal,
			const struct egress_subject *subject, int64_t ms);

/* Write the last line. */
void egress_log_end(struct egress_log *log);

#endif
