/* /proc/PID/stat (proc_pid_stat(5)), as far as it tells one process from another. */
#ifndef KABI_PROCSTAT_H
#define KABI_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/kernel.h"

/* The kernel cuts a name after 15 bytes; a thread of the kernel may have a longer one. */
#define PROC_NAME_MAX 64

struct proc_stat {
	char name[PROC_NAME_MAX];
	char state; /* 'R', 'S', 'T', 'Z', … */
	pid_t parent;
	pid_t group;
	pid_t session;
	uint64_t threads; /* of an ended process 1, its main one */
	uint64_t start; /* clock ticks after boot: with the pid, this names one process for good */
};

/* Take the file's text apart; it is written to. A name may hold spaces and parentheses. Returns
 * false when it is not of that form.
 */
bool proc_stat_parse(char *text, struct proc_stat *ret);

/* Read it for process `pid`. Returns 0; -ENOENT or -ESRCH when there is no such process; -EINVAL
 * when it is not of that form; or -errno. *ret is set only on success.
 */
int proc_stat_read(const struct kernel *k, pid_t pid, struct proc_stat *ret);

/* "/proc/PID/NAME". */
#define PROC_PATH_MAX 64
void proc_path(char buf[PROC_PATH_MAX], pid_t pid, const char *name);

#endif
