/* Start a module in a container, follow it, and learn how it ended: what a parent does. The work is
 * the keeper's (launch/run/keeper.h).
 */
#ifndef LAUNCH_RUN_RUN_H
#define LAUNCH_RUN_RUN_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/run/container.h"
#include "launch/run/keeper.h"
#include "launch/run/leaf.h"
#include "launch/run/network.h"
#include "launch/run/outcome.h"

enum container_choice {
	CHOOSE_AUTO, /* a leaf where one can be made, else a group */
	CHOOSE_LEAF,
	CHOOSE_GROUP,
};

/* All zero but for what is wanted; run_options_init() sets the rest. */
struct run_options {
	const char *launcher; /* its path; see run_find_launcher() */
	const char *policy;   /* its file */
	char *const *argv;    /* of the module; argv[0] is an absolute path */
	char *const *envp;
	const char *directory; /* NULL: this process's */
	int stdio[3];	       /* -1, and 0 to 2 where they are not open: /dev/null */
	const int *keep;
	unsigned keep_count;
	bool ignore_usr1;
	enum container_choice container;
	struct limits limits; /* any of them needs a leaf: without one nothing is started */
	int64_t guard_ms;
	int64_t grace_ms;
	int64_t timeout_ms;
	struct network_options network;
};

#define RUN_GUARD_MS 60000 /* spec/wire.md §2 */
#define RUN_GRACE_MS 20000 /* spec/wire.md §7 */

/* Our own descriptors, the usual times, no limits. */
void run_options_init(struct run_options *o);

/* The path of another program of this project in buf[size]: what `variable` says, if `envp` has it,
 * else `name` beside the program that this process executes, where it must be. The launcher is
 * oarbank-sandbox, or what OARBANK_SANDBOX_EXEC says. Returns 0, or -errno with `why`.
 */
int run_find_program(const struct kernel *k, char *const envp[], const char *variable,
		     const char *name, char *buf, size_t size, struct fault *why);
int run_find_launcher(const struct kernel *k, char *const envp[], char *buf, size_t size,
		      struct fault *why);

enum run_state {
	RUN_STARTING, /* the launcher has not said that it is confined */
	RUN_CONFINED, /* it has, and it is */
	RUN_ENDED,
};

struct run {
	enum run_state state;
	struct container container;
	struct fault no_leaf;		/* why CHOOSE_AUTO came to a group; "" */
	struct reaped reaped;		/* what ended runs had left behind, and is gone now */
	int channel;			/* from the keeper; -1: it has ended */
	struct network *network;	/* NULL: it has ended too */
	struct supervise_counts counts; /* of the supervisor, once it has ended */
	bool proxy_failed;		/* the proxy did not end well */
	bool unsupervised;		/* and it was to be */
	struct outcome outcome;		/* of RUN_ENDED */
};

/* Find the delegated cgroup, step aside in it, hand its controllers down, and clear what ended runs
 * left. Once, before the first module; without it run_start() does the same when limits ask for
 * it. `launcher_pid` is spec/wire.md §7's OARBANK_LAUNCHER_PID, or 0. Returns 0, or -errno with
 * `why`: then containers are groups.
 */
int run_setup(const struct kernel *k, pid_t launcher_pid, struct fault *why);

/* Start it. Returns 0 once the process exists; it is not known to be confined yet. Else -errno with
 * `why`, and nothing is left. Not for two threads at a time.
 */
int run_start(const struct kernel *k, const struct run_options *o, struct run *ret,
	      struct fault *why);

/* What to wait for before run_act(). */
#define RUN_FDS (1 + NETWORK_FDS)
void run_fds(const struct run *run, struct pollfd ret[RUN_FDS]);

/* The same as one descriptor; -1: there is nothing more to come. */
int run_fd(const struct run *run);

/* Do what they say there is to do: make the module's connections, take news. Returns whether there
 * was news, as below.
 */
bool run_act(const struct kernel *k, struct run *run, const struct pollfd fds[RUN_FDS]);

/* Wait for news, `timeout_ms` at most (-1: for ever), and do what there is to do meanwhile. Returns
 * 0 with run->state new; -ETIMEDOUT; -EINTR; or another -errno, for run_give_up(). After RUN_ENDED
 * nothing of the module is left but what outcome.left_behind says.
 */
int run_next(const struct kernel *k, struct run *run, int timeout_ms);

/* What became of the calls that were put to the supervisor, until now. */
void run_counts(const struct run *run, struct supervise_counts *ret);

/* SIGTERM, the grace time, SIGKILL; or SIGKILL at once. Its end is news. */
int run_stop(const struct kernel *k, struct run *run);
int run_kill(const struct kernel *k, struct run *run);

/* Waiting for it has failed with `error`, a positive errno, and would again: end it. run->state is
 * RUN_ENDED then.
 */
void run_give_up(const struct kernel *k, struct run *run, int error);

/* Let go of it: it is ended if it has not. */
void run_free(const struct kernel *k, struct run *run);

#endif
