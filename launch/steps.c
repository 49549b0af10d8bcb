#include "launch/steps.h"

#include <errno.h>
#include <sys/prctl.h>

#include "launch/descriptors.h"
#include "launch/inherit.h"
#include "launch/landlock.h"

static int step_pipe(const struct kernel *k, struct launch *l, struct fault *why)
{
	(void)l;
	return inherit_sigpipe_ignored(k, why);
}

static int step_signal(const struct kernel *k, struct launch *l, struct fault *why)
{
	(void)k;
	(void)why;
	l->signal_fd = descriptors_take_signal(l->envp);
	return 0;
}

static int step_supervisor(const struct kernel *k, struct launch *l, struct fault *why)
{
	(void)k;
	return ask_take(l->envp, &l->ask, why);
}

static int step_policy(const struct kernel *k, struct launch *l, struct fault *why)
{
	int r = policy_read(k, l->policy_path, l->text, sizeof(l->text), &l->policy, why);

	if (r < 0)
		fault_prefix(why, l->policy_path);
	return r;
}

static int step_descriptors(const struct kernel *k, struct launch *l, struct fault *why)
{
	return descriptors_close(k, l->envp, l->signal_fd, l->ask.socket, why);
}

static int make_plan(const struct kernel *k, struct launch *l, int abi, struct fault *why)
{
	const struct plan_input input = {
		.abi = abi,
		.gpu = &l->gpu,
		.asked = l->ask.what,
	};
	int r = 0;

	if (l->policy.gpu)
		r = gpu_find(k, &l->gpu, why);
	return r < 0 ? r : plan_make(&l->policy, &input, &l->plan, why);
}

static int step_plan(const struct kernel *k, struct launch *l, struct fault *why)
{
	int r = make_plan(k, l, landlock_abi(k), why);

	return r < 0 ? r : plan_check(&l->plan, why);
}

static int step_signals(const struct kernel *k, struct launch *l, struct fault *why)
{
	(void)l;
	return inherit_signals(k, why);
}

static int step_limits(const struct kernel *k, struct launch *l, struct fault *why)
{
	(void)l;
	return inherit_limits(k, why);
}

static int step_capabilities(const struct kernel *k, struct launch *l, struct fault *why)
{
	(void)l;
	return inherit_capabilities(k, why);
}

static int step_no_new_privs(const struct kernel *k, struct launch *l, struct fault *why)
{
	int r = k->prctl(k, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

	(void)l;
	return r < 0 ? fault_errno(why, "prctl", NULL, -r) : 0;
}

static int step_landlock(const struct kernel *k, struct launch *l, struct fault *why)
{
	return landlock_apply(k, &l->plan, why);
}

static int step_seccomp(const struct kernel *k, struct launch *l, struct fault *why)
{
	int r = k->seccomp(k, SC_SET_MODE_FILTER, 0, filter_program(l->plan.filter));

	return r < 0 ? fault_errno(why, "load the filter", NULL, -r) : 0;
}

static int step_ask(const struct kernel *k, struct launch *l, struct fault *why)
{
	return l->ask.socket < 0 ? 0 : ask_parent(k, &l->ask, why);
}

static int step_confined(const struct kernel *k, struct launch *l, struct fault *why)
{
	ssize_t n;
	int r;

	if (l->signal_fd >= 0) {
		do
			n = k->write(k, l->signal_fd, "1", 1);
		while (n == -EINTR);
		if (n != 1)
			return fault_errno(why, "tell the parent", NULL, n < 0 ? (int)-n : EIO);
		r = k->close(k, l->signal_fd);
		if (r < 0 && r != -EINTR)
			return fault_errno(why, "close the signal", NULL, -r);
	}
	return inherit_sigpipe_default(k, why);
}

static int step_exec(const struct kernel *k, struct launch *l, struct fault *why)
{
	int r = k->execve(k, l->argv[0], l->argv, l->envp);
	char name[ERRNO_NAME_MAX];

	inherit_sigpipe_ignored(k, NULL);
	fault_join(why, l->argv[0], ": ", errno_name(-r, name), NULL);
	return r;
}

static const struct {
	const char *name;
	int (*run)(const struct kernel *k, struct launch *l, struct fault *why);
} steps[] = {
	[STEP_PIPE] = { "pipe", step_pipe },
	[STEP_SIGNAL] = { "signal", step_signal },
	[STEP_SUPERVISOR] = { "supervisor", step_supervisor },
	[STEP_POLICY] = { "policy", step_policy },
	[STEP_DESCRIPTORS] = { "descriptors", step_descriptors },
	[STEP_PLAN] = { "plan", step_plan },
	[STEP_SIGNALS] = { "signals", step_signals },
	[STEP_LIMITS] = { "limits", step_limits },
	[STEP_CAPABILITIES] = { "capabilities", step_capabilities },
	[STEP_NO_NEW_PRIVS] = { "no_new_privs", step_no_new_privs },
	[STEP_LANDLOCK] = { "landlock", step_landlock },
	[STEP_SECCOMP] = { "seccomp", step_seccomp },
	[STEP_ASK] = { "ask", step_ask },
	[STEP_CONFINED] = { "confined", step_confined },
	[STEP_EXEC] = { "exec", step_exec },
};
_Static_assert(sizeof(steps) / sizeof(steps[0]) == STEP_COUNT, "one row per step");

static int run_step(const struct kernel *k, struct launch *l, enum launch_step step,
		    struct fault *why)
{
	int r = steps[step].run(k, l, why);

	if (r < 0) {
		l->failed = step;
		fault_prefix(why, steps[step].name);
	}
	return r;
}

int launch_run(const struct kernel *k, struct launch *l, struct fault *why)
{
	int r = 0;

	for (unsigned step = 0; r >= 0 && step < STEP_COUNT; step++)
		r = run_step(k, l, (enum launch_step)step, why);
	return r;
}

int launch_confine(const struct kernel *k, struct launch *l, struct fault *why)
{
	static const enum launch_step confining[] = {
		STEP_PLAN, STEP_CAPABILITIES, STEP_NO_NEW_PRIVS, STEP_LANDLOCK, STEP_SECCOMP,
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(confining) / sizeof(confining[0]); i++)
		r = run_step(k, l, confining[i], why);
	return r < 0 ? r : 0;
}

int launch_plan(const struct kernel *k, struct launch *l, int abi, enum supervise_choice choice,
		struct fault *why)
{
	int r = run_step(k, l, STEP_POLICY, why);

	if (r < 0)
		return r;
	l->ask.what = supervise_choice_asks(choice, &l->policy);
	r = make_plan(k, l, abi, why);
	if (r < 0) {
		l->failed = STEP_PLAN;
		fault_prefix(why, steps[STEP_PLAN].name);
	}
	return r;
}
