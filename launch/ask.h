/* The second filter, in which a call is put to the parent: it decides, acts itself, and answers
 * (launch/supervise/supervise.h). It lies over the filter of launch/filter/filter.h, whose refusals
 * win; so what is put to the parent is only what that one allows.
 */
#ifndef LAUNCH_ASK_H
#define LAUNCH_ASK_H

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "kabi/seccomp.h"

/* What is asked, as bits. */
enum {
	ASK_CONNECT = 1,  /* and SO_LINGER, with which a socket's last close may wait for long */
	ASK_METADATA = 2, /* the chmod, chown and utime families */
};

/* OARBANK_SUPERVISOR=fd:<n>, or fd:<n>,metadata: the socket on which the parent waits for the
 * filter's listener.
 */
struct ask {
	int socket; /* -1: nobody is to be asked */
	unsigned what;
};

/* Take the variable out of `envp`, in place. Returns 0, or -EINVAL with `why`: whoever asked for
 * supervision is not to get less, so what is not understood ends the launch.
 */
int ask_take(char **envp, struct ask *ret, struct fault *why);

#define ASK_INSNS_MAX 40

/* The program for `what` in insns; program->insns points there. */
void ask_program(unsigned what, struct sc_insn insns[ASK_INSNS_MAX], struct sc_program *program);

/* Load the filter for this process, and give its listener to the parent; then no copy of it, nor
 * the socket, is left here. Returns 0, or -errno with `why`.
 */
int ask_parent(const struct kernel *k, const struct ask *ask, struct fault *why);

#endif
