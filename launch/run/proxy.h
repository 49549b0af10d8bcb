/* The proxy of a run: oarbank-egress as a child of ours, which ends when we do. Inside this folder
 * only.
 */
#ifndef LAUNCH_RUN_PROXY_H
#define LAUNCH_RUN_PROXY_H

#include <stdint.h>
#include <sys/types.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"

/* Arguments for it, two for each entry and file of the allow list. */
#define RUN_PROXY_ARGUMENTS_MAX 2048

struct run_proxy {
	pid_t pid;   /* 0: there is none */
	int control; /* closed, it ends; when it ends, readable; -1: none */
	uint16_t port;
};

/* Start `program` with argv[1..), to which "--control-fd 3" is added, and wait until it listens.
 * argv has room for two more, and ends with NULL. Returns 0, or -errno with `why`.
 */
int run_proxy_start(const struct kernel *k, const char *program, const char **argv, unsigned argc,
		    char *const envp[], struct run_proxy *ret, struct fault *why);

/* End it, by SIGKILL if need be. Returns its exit code, or -1 when it was ended by a signal; 0 when
 * there is none. */
int run_proxy_stop(const struct kernel *k, struct run_proxy *proxy);

#endif
