/* The network of a run: its proxy, and the supervisor that makes the module's connections. Inside
 * this folder only.
 */
#ifndef LAUNCH_RUN_NETWORK_H
#define LAUNCH_RUN_NETWORK_H

#include <poll.h>
#include <stdbool.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/run/proxy.h"
#include "launch/supervise/supervise.h"
#include "launch/supervise_choice.h"

struct run_options;

/* All zero: no proxy, and a supervisor when the policy grants a network or a broker. */
struct network_options {
	enum supervise_choice supervise;
	bool alarm; /* for the supervisor: struct supervise_rules */
	const char
		*program; /* of the proxy; NULL: OARBANK_EGRESS_EXEC, or oarbank-egress beside us */
	const char *log;  /* of the proxy; NULL: none */
	unsigned count;	  /* of arguments of the proxy; 0: no proxy */
	const char *arguments[RUN_PROXY_ARGUMENTS_MAX];
};

/* Add an argument with its value. Returns 0, or -E2BIG when there is no room. */
int network_argument(struct network_options *options, const char *name, const char *value);

struct network;

/* Make what o->network and the policy need, and change the rest of `o` so that the module is
 * started with it: its policy, environment and descriptors, which are the network's then. Returns
 * 0, or -errno with `why`, and nothing is left.
 */
int network_new(const struct kernel *k, struct run_options *o, struct network **ret,
		struct fault *why);

/* The module is started: let go of what is its own. `news` is what its starter waits for. Returns
 * 0, or -errno with `why`.
 */
int network_started(const struct kernel *k, struct network *net, int news, struct fault *why);

/* Readable when there is something to do, or `news` is; -1: there is nothing but `news`. */
int network_fd(const struct network *net);

/* What else to wait for before network_serve(); sooner than by network_fd(). */
#define NETWORK_FDS (SUPERVISOR_FDS + 1)
void network_fds(const struct network *net, struct pollfd ret[NETWORK_FDS]);

/* Do what there is to do, without waiting. */
void network_serve(struct network *net, const struct pollfd fds[NETWORK_FDS]);

/* Is there what was asked for? A launcher that is confined has given us its listener before it says
 * so, if it knows of supervisors at all: then a module that we were to supervise is.
 */
bool network_is_ready(const struct network *net);

/* What became of the calls that were put to us; all zero when none could be. */
void network_counts(const struct network *net, struct supervise_counts *ret);

/* End all of it. Returns 0, or -ECHILD when the proxy did not end well. */
int network_free(const struct kernel *k, struct network *net);

#endif
