/* From a policy file to the module, in steps. Every step is carried out in full or the launch ends.
 *
 * The order: first what needs the caller's surroundings (its policy file and descriptors), then
 * what the module inherits, then the confinement from the weakest to the strongest, so that each
 * call is still allowed when it is made. The policy is read before strays are closed because its
 * path may be one of them (/dev/fd/N).
 */
#ifndef LAUNCH_STEPS_H
#define LAUNCH_STEPS_H

#include "kabi/fault.h"
#include "kabi/kernel.h"
#include "launch/ask.h"
#include "launch/plan.h"
#include "launch/policy.h"
#include "launch/supervise_choice.h"

enum launch_step {
	STEP_PIPE,	   /* SIGPIPE ignored while this process is ours */
	STEP_SIGNAL,	   /* OARBANK_CONFINED taken and forgotten */
	STEP_SUPERVISOR,   /* OARBANK_SUPERVISOR too */
	STEP_POLICY,	   /* the policy read */
	STEP_DESCRIPTORS,  /* strays closed */
	STEP_PLAN,	   /* the kernel asked, the plan made and checked */
	STEP_SIGNALS,	   /* dispositions and mask */
	STEP_LIMITS,	   /* core limit, OOM score */
	STEP_CAPABILITIES, /* all dropped */
	STEP_NO_NEW_PRIVS,
	STEP_LANDLOCK,
	STEP_SECCOMP,
	STEP_ASK,      /* the filter that asks the parent, if it is to be asked */
	STEP_CONFINED, /* the byte that tells the parent so */
	STEP_EXEC,
};
#define STEP_COUNT 15

/* Large: make it static. All zero but for what the caller gives. */
struct launch {
	const char *policy_path;
	char *const *argv; /* argv[0] is an absolute path */
	char **envp;	   /* changed in place */

	/* Filled by the steps. */
	int signal_fd; /* -1: nobody waits for the byte */
	struct ask ask;
	struct policy policy;
	struct gpu_nodes gpu;
	struct plan plan;
	enum launch_step failed; /* set when a step fails */
	char text[POLICY_BYTES_MAX + 1];
};

/* Become the module. Returns only on failure, with -errno, l->failed, and `why`, which begins with
 * the step's name; what was done until then is not undone, so the caller must end.
 */
int launch_run(const struct kernel *k, struct launch *l, struct fault *why);

/* Confine this process as launch_run() would for a policy that is in l->policy already: the plan,
 * the capabilities, no_new_privs, Landlock and the filter; no other step. For a parent's own checks
 * in a child. Returns 0, or as above.
 */
int launch_confine(const struct kernel *k, struct launch *l, struct fault *why);

/* Read the policy file and make the plan for it on a kernel with Landlock `abi` (a negative one is
 * the errno of having none), under a parent that supervises it so. GPU nodes are looked for on this
 * machine. Returns 0, or as launch_run().
 */
int launch_plan(const struct kernel *k, struct launch *l, int abi, enum supervise_choice choice,
		struct fault *why);

#endif
