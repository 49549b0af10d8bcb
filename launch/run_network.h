/* The network of a run: its proxy, and the supervisor that makes the module's connections. Inside
 * this folder only.
 */
#ifndef LAUNCH_RUN_NETWORK_H
#define LAUNCH_RUN_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/run.h"
#include "launch/run_proxy.h"
#include "launch/supervise.h"
#include "launch/supervise_choice.h"
#include "launch/supervise_metadata.h"

/* What the command line says of it. */
struct network_options {
	enum supervise_choice supervise;
	const char *log; /* of the proxy; NULL: none */
	unsigned count;	 /* of arguments of the proxy; 0: no proxy */
	const char *arguments[RUN_PROXY_ARGUMENTS_MAX];
};

struct network {
	struct run_proxy proxy;
	struct supervise_rules rules;
	struct supervisor *supervisor;
	int theirs; /* the launcher's end of the supervisor's channel; -1 */
	int policy; /* a copy with the proxy's port; -1 */
	char policy_path[32];
	char supervised[64];
	char variables[5][48];
	const char **envp; /* malloc */
	const char *writable[METADATA_ROOTS_MAX];
	unsigned asked; /* of us, as bits of launch/ask.h */
	int keep[2];
};

/* Nothing, so that network_end() has nothing to do. */
void network_init(struct network *net);

/* Make what the policy needs, and change `o` so that the module is started with it: its policy,
 * environment and descriptors. Returns 0, or -errno with `why`; then, too, network_end() is due.
 */
int network_begin(const struct kernel *k, const struct network_options *options,
		  struct run_options *o, struct network *net, struct fault *why);

/* Let go of what is the module's, once it is started. */
void network_started(const struct kernel *k, struct network *net);

/* What to wait for before network_serve(). */
#define NETWORK_FDS SUPERVISOR_FDS
void network_fds(const struct network *net, struct pollfd ret[NETWORK_FDS]);
void network_serve(struct network *net);

/* End all of it. Returns what the proxy did: 0, or 1 when it ended badly. */
int network_end(const struct kernel *k, struct network *net);

#endif
