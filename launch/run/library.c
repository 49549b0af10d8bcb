/* liboarbank-launch: launch/run/run.h behind an interface that stays. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kabi/host.h"
#include "kabi/text.h"
#include "launch/run/oarbank-launch.h"
#include "launch/run/result.h"
#include "launch/run/run.h"

static const struct kernel *const k = &kernel_live;

struct oarbank_module {
	struct run run;
	struct limits limits;
};

static int tell(const struct fault *fault, char *why, size_t why_size, int r)
{
	if (r < 0 && why && why_size > 0)
		text_copy(why, why_size, fault->text);
	return r;
}

void oarbank_launch_options_init(struct oarbank_launch_options *options)
{
	*options = (struct oarbank_launch_options){
		.size = sizeof(*options),
		.stdio = { 0, 1, 2 },
		.guard_ms = RUN_GUARD_MS,
		.grace_ms = RUN_GRACE_MS,
	};
}

int oarbank_launch_setup(pid_t launcher_pid, char *why, size_t why_size)
{
	struct fault fault = { "" };

	return tell(&fault, why, why_size, run_setup(k, launcher_pid, &fault));
}

/* ---- options ---- */

static int refuse(struct fault *why, const char *option, const char *text, const char *more)
{
	fault_join(why, "option '", option, "' ", text, more, NULL);
	return -EINVAL;
}

static int refuse_number(struct fault *why, const char *option, int64_t value, const char *text)
{
	char said[24];
	struct text t = TEXT_BUF(said);

	text_add_int(&t, value);
	fault_join(why, "option '", option, "' is ", said, ", ", text, NULL);
	return -EINVAL;
}

static int take_choice(int container, enum container_choice *ret, struct fault *why)
{
	switch (container) {
	case OARBANK_CONTAINER_AUTO:
		*ret = CHOOSE_AUTO;
		return 0;
	case OARBANK_CONTAINER_LEAF:
		*ret = CHOOSE_LEAF;
		return 0;
	case OARBANK_CONTAINER_GROUP:
		*ret = CHOOSE_GROUP;
		return 0;
	default:
		return refuse_number(why, "container", container,
				     "and not one of enum oarbank_launch_container");
	}
}

static int take_supervise(int supervise, enum supervise_choice *ret, struct fault *why)
{
	switch (supervise) {
	case OARBANK_SUPERVISE_AUTO:
		*ret = SUPERVISE_AUTO;
		return 0;
	case OARBANK_SUPERVISE_NONE:
		*ret = SUPERVISE_NONE;
		return 0;
	case OARBANK_SUPERVISE_METADATA:
		*ret = SUPERVISE_METADATA;
		return 0;
	default:
		return refuse_number(why, "supervise", supervise,
				     "and not one of enum oarbank_launch_supervise");
	}
}

/* What an older caller does not know is as usual. */
static int complete(const struct oarbank_launch_options *from, struct oarbank_launch_options *ret,
		    struct fault *why)
{
	int64_t size = from->size < INT64_MAX ? (int64_t)from->size : INT64_MAX;

	if (from->size > sizeof(*ret))
		return refuse_number(why, "size", size,
				     "of a newer library than this one: use that one, or begin "
				     "with oarbank_launch_options_init()");
	if (from->size < offsetof(struct oarbank_launch_options, supervise))
		return refuse_number(why, "size", size,
				     "of no library: begin with oarbank_launch_options_init()");
	oarbank_launch_options_init(ret);
	memcpy(ret, from, from->size);
	return 0;
}

static int check_options(const struct oarbank_launch_options *o, struct fault *why)
{
	if (!o->policy)
		return refuse(why, "policy", "is NULL: name the policy's file", "");
	if (!o->argv || !o->argv[0])
		return refuse(why, "argv", "is empty: it begins with the module's program", "");
	if (o->argv[0][0] != '/')
		return refuse(why, "argv",
			      "begins with the program, by its absolute path: ", o->argv[0]);
	if (o->reserved)
		return refuse_number(why, "reserved", o->reserved, "and must be 0");
	if (o->guard_ms <= 0)
		return refuse_number(why, "guard_ms", o->guard_ms, "and must be above 0");
	if (o->grace_ms < 0)
		return refuse_number(why, "grace_ms", o->grace_ms, "and must be 0 or more");
	if (o->timeout_ms < 0)
		return refuse_number(why, "timeout_ms", o->timeout_ms,
				     "and must be 0, which is never, or more");
	return 0;
}

static int take_proxy(const struct oarbank_launch_options *from, struct network_options *ret,
		      struct fault *why)
{
	const char *const *allow = from->egress_allow;
	struct host_entry entry;

	ret->log = from->egress_log;
	ret->program = from->egress;
	for (; allow && *allow; allow++) {
		int r = host_entry_read(*allow, &entry, why);

		if (r < 0)
			return r;
		r = network_argument(ret, "--allow", *allow);
		if (r < 0)
			return fault_errno(why, "allow", *allow, -r);
	}
	return 0;
}

static void take_plain(const struct oarbank_launch_options *from, struct run_options *ret)
{
	*ret = (struct run_options){
		.launcher = from->launcher,
		.policy = from->policy,
		.argv = from->argv,
		.envp = from->envp ? from->envp : environ,
		.directory = from->directory,
		.stdio = { from->stdio[0], from->stdio[1], from->stdio[2] },
		.keep = from->keep,
		.keep_count = from->keep_count,
		.ignore_usr1 = from->ignore_usr1,
		.limits = {
			.memory_bytes = from->memory_bytes,
			.cpu_milli = from->cpu_milli,
			.pids = from->pids,
		},
		.guard_ms = from->guard_ms,
		.grace_ms = from->grace_ms,
		.timeout_ms = from->timeout_ms,
	};
}

static int take_options(const struct oarbank_launch_options *given, char launcher[PATH_MAX],
			struct run_options *ret, struct fault *why)
{
	struct oarbank_launch_options o;
	int r = complete(given, &o, why);

	if (r == 0)
		r = check_options(&o, why);
	if (r < 0)
		return r;
	take_plain(&o, ret);
	r = take_choice(o.container, &ret->container, why);
	if (r == 0)
		r = take_supervise(o.supervise, &ret->network.supervise, why);
	if (r == 0)
		r = take_proxy(&o, &ret->network, why);
	if (r < 0 || ret->launcher)
		return r;
	ret->launcher = launcher;
	return run_find_launcher(k, ret->envp, launcher, PATH_MAX, why);
}

/* ---- a module ---- */

int oarbank_launch_start(const struct oarbank_launch_options *options, struct oarbank_module **ret,
			 char *why, size_t why_size)
{
	struct fault fault = { "" };
	char launcher[PATH_MAX];
	struct run_options o;
	struct oarbank_module *module;
	int r = take_options(options, launcher, &o, &fault);

	if (r < 0)
		return tell(&fault, why, why_size, r);
	module = calloc(1, sizeof(*module));
	if (!module)
		return tell(&fault, why, why_size,
			    fault_errno(&fault, "make the module", NULL, ENOMEM));
	r = run_start(k, &o, &module->run, &fault);
	if (r < 0) {
		free(module);
		return tell(&fault, why, why_size, r);
	}
	module->limits = o.limits;
	*ret = module;
	return 0;
}

int oarbank_launch_fd(const struct oarbank_module *module)
{
	return run_fd(&module->run);
}

int oarbank_launch_wait(struct oarbank_module *module, int timeout_ms)
{
	int r = run_next(k, &module->run, timeout_ms);

	if (r < 0)
		return r;
	switch (module->run.state) {
	case RUN_STARTING:
		return OARBANK_STATE_STARTING;
	case RUN_CONFINED:
		return OARBANK_STATE_CONFINED;
	case RUN_ENDED:
		return OARBANK_STATE_ENDED;
	}
	return -EINVAL;
}

pid_t oarbank_launch_pid(const struct oarbank_module *module)
{
	return module->run.container.leader;
}

const char *oarbank_launch_cgroup(const struct oarbank_module *module)
{
	const struct container *c = &module->run.container;

	return c->kind == CONTAINER_LEAF ? c->leaf.dir : NULL;
}

int oarbank_launch_stop(struct oarbank_module *module)
{
	return run_stop(k, &module->run);
}

int oarbank_launch_kill(struct oarbank_module *module)
{
	return run_kill(k, &module->run);
}

int oarbank_launch_freeze(struct oarbank_module *module)
{
	return container_freeze(k, &module->run.container, true, NULL);
}

int oarbank_launch_thaw(struct oarbank_module *module)
{
	return container_freeze(k, &module->run.container, false, NULL);
}

int oarbank_launch_count(struct oarbank_module *module)
{
	return container_count(k, &module->run.container);
}

int oarbank_launch_outcome(const struct oarbank_module *module, struct oarbank_launch_outcome *ret)
{
	const struct outcome *o = &module->run.outcome;
	enum container_kind kind = module->run.container.kind;

	if (ret->size != sizeof(*ret))
		return -EINVAL;
	if (module->run.state != RUN_ENDED)
		return -EBUSY;
	*ret = (struct oarbank_launch_outcome){
		.size = sizeof(*ret),
		.reason = reason_word(o->reason),
		.container = container_word(kind),
		.enforcement = container_status(kind),
		.verification = check_word(o->check),
		.detail = o->why.text,
		.code = o->code,
		.signal = o->signal,
		.verified = o->check == CHECK_CONFINED,
		.stopped = o->stopped,
		.left_behind = o->left_behind,
		.killed = o->killed,
		.cpu_us = o->cpu_us,
		.memory_peak = o->memory_peak,
		.wall_us = o->wall_us,
		.peak_of_container = o->peak_of_leaf,
	};
	return 0;
}

int oarbank_launch_calls(const struct oarbank_module *module, struct oarbank_launch_calls *ret)
{
	struct supervise_counts counts;

	if (ret->size != sizeof(*ret))
		return -EINVAL;
	run_counts(&module->run, &counts);
	*ret = (struct oarbank_launch_calls){
		.size = sizeof(*ret),
		.connected = counts.connected,
		.changed = counts.changed,
		.refused = counts.refused,
		.failed = counts.failed,
	};
	return 0;
}

ssize_t oarbank_launch_result(const struct oarbank_module *module, char *buf, size_t size)
{
	return result_print(k, &module->run, &module->limits, buf, size);
}

void oarbank_launch_free(struct oarbank_module *module)
{
	if (!module)
		return;
	run_free(k, &module->run);
	free(module);
}
