/* /proc/PID/status (proc_pid_status(5)), as far as confinement shows in it. */
#ifndef KABI_STATUS_H
#define KABI_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/kernel.h"

/* The lines we read. A kernel may lack some: Seccomp_filters came with Linux 5.9. */
enum proc_line {
	PROC_PPID,
	PROC_TRACER, /* TracerPid, 0: none */
	PROC_UID,    /* the effective one */
	PROC_GID,
	PROC_THREADS,
	PROC_CAP_INHERITABLE,
	PROC_CAP_PERMITTED,
	PROC_CAP_EFFECTIVE,
	PROC_CAP_BOUNDING,
	PROC_CAP_AMBIENT,
	PROC_NO_NEW_PRIVS,
	PROC_SECCOMP, /* 0 none, 1 strict, 2 filter */
	PROC_SECCOMP_FILTERS,
	PROC_OUTER_PID, /* NSpid: there only where this /proc is not of the process's own pid
			 * namespace but of one around it; the process's id one further in */
	PROC_LINE_COUNT,
};

struct proc_status {
	bool has[PROC_LINE_COUNT];
	uint64_t value[PROC_LINE_COUNT];
};

/* Take the line "Name:\tvalue" apart, into *s when it is one of those above and its value is a
 * number; any other line is passed over, and so is the second of a name. The line is written to.
 */
void proc_status_line(struct proc_status *s, char *line);

/* Read `path`, "/proc/self/status". Returns 0, or -errno; *ret is set only on success. */
int proc_status_read(const struct kernel *k, const char *path, struct proc_status *ret);

#endif
