#include "launch/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/path.h"
#include "kabi/text.h"
#include "launch/check.h"

#define SIGNAL_VARIABLE "OARBANK_CONFINED"

void run_options_init(struct run_options *o)
{
	*o = (struct run_options){
		.stdio = { 0, 1, 2 },
		.guard_ms = RUN_GUARD_MS,
		.grace_ms = RUN_GRACE_MS,
	};
}

/* ---- the launcher and its arguments ---- */

static bool is_variable(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

int run_find_program(const struct kernel *k, char *const envp[], const char *variable,
		     const char *name, char *buf, size_t size, struct fault *why)
{
	char self[PATH_MAX];
	ssize_t n;

	for (; *envp; envp++) {
		const char *path = *envp + strlen(variable) + 1;

		if (!is_variable(*envp, variable))
			continue;
		if (path[0] == '/' && text_copy(buf, size, path))
			return 0;
		fault_join(why, variable, path[0] == '/' ? " is too long" : " is no absolute path",
			   ": '", path, "'", NULL);
		return path[0] == '/' ? -ENAMETOOLONG : -EINVAL;
	}
	n = k->readlink(k, "/proc/self/exe", self, sizeof(self));
	if (n < 0)
		return fault_errno(why, "find this program", NULL, (int)-n);
	*strrchr(self, '/') = '\0';
	if (!path_join(buf, size, self, name))
		return fault_errno(why, "find a program beside", self, ENAMETOOLONG);
	if (k->access(k, buf, F_OK) == -ENOENT) {
		fault_join(why, "there is no '", buf, "' beside this program: ", variable,
			   " names another", NULL);
		return -ENOENT;
	}
	return 0;
}

int run_find_launcher(const struct kernel *k, char *const envp[], char *buf, size_t size,
		      struct fault *why)
{
	return run_find_program(k, envp, "OARBANK_SANDBOX_EXEC", "oarbank-sandbox", buf, size, why);
}

static size_t count_of(char *const list[])
{
	size_t count = 0;

	while (list[count])
		count++;
	return count;
}

/* What the keeper and the child read, in one piece of memory. */
struct arguments {
	char variable[RUN_VARIABLE_MAX];
	const char *list[]; /* the launcher's arguments, NULL, the environment, NULL */
};

static struct arguments *make_arguments(const struct run_options *o, struct run_request *request)
{
	static const size_t fixed = 4; /* launcher, verb, policy, -- */
	size_t module = count_of(o->argv);
	size_t variables = count_of(o->envp);
	struct arguments *a =
		calloc(1, sizeof(*a) + (fixed + module + variables + 3) * sizeof(a->list[0]));
	const char **at;

	if (!a)
		return NULL;
	at = a->list;
	*at++ = o->launcher;
	*at++ = "sandbox-exec";
	*at++ = o->policy;
	*at++ = "--";
	memcpy(at, o->argv, module * sizeof(*at));
	at += module + 1;
	request->argv = (char *const *)a->list;
	request->envp = (char *const *)at;
	for (size_t i = 0; i < variables; i++)
		if (!is_variable(o->envp[i], SIGNAL_VARIABLE))
			*at++ = o->envp[i];
	*at = a->variable;
	request->variable = a->variable;
	return a;
}

/* ---- the container ---- */

static bool has_limits(const struct limits *l)
{
	return l->memory_bytes || l->cpu_milli || l->pids;
}

/* Every limit needs its controller. */
static int check_controllers(const struct limits *l, const struct delegation *d,
			     const struct fault *not_enabled, struct fault *why)
{
	const char *missing = NULL;

	if (l->memory_bytes && !(d->enabled & 1U << CONTROLLER_MEMORY))
		missing = "memory";
	else if (l->cpu_milli && !(d->enabled & 1U << CONTROLLER_CPU))
		missing = "cpu";
	else if (l->pids && !(d->enabled & 1U << CONTROLLER_PIDS))
		missing = "pids";
	if (!missing)
		return 0;
	fault_join(why, "the ", missing, " controller is not to be had in '", d->dir, "'",
		   not_enabled->text[0] ? ": " : "", not_enabled->text,
		   " (oarbank-probe --explain limits.", missing, " says what would change it)",
		   NULL);
	return -EOPNOTSUPP;
}

static int make_leaf(const struct kernel *k, const struct run_options *o, struct run *run,
		     struct fault *why)
{
	struct fault not_enabled = { "" };
	struct delegation d;
	int r = delegation_find(k, &d, why);

	if (r < 0)
		return r;
	leaf_reap(k, &d, &run->reaped);
	if (has_limits(&o->limits)) {
		delegation_enable(k, &d, 0, &not_enabled);
		r = check_controllers(&o->limits, &d, &not_enabled, why);
		if (r < 0)
			return r;
	}
	r = leaf_make(k, &d, &o->limits, &run->container.leaf, why);
	if (r == 0)
		run->container.kind = CONTAINER_LEAF;
	return r;
}

static int make_container(const struct kernel *k, const struct run_options *o, struct run *run,
			  struct fault *why)
{
	int r = 0;

	run->container.kind = CONTAINER_GROUP;
	run->container.leaf.fd = -1;
	switch (o->container) {
	case CHOOSE_AUTO:
		if (make_leaf(k, o, run, &run->no_leaf) == 0 || !has_limits(&o->limits))
			break;
		*why = run->no_leaf;
		fault_prefix(why, "limits need a leaf");
		r = -EOPNOTSUPP;
		break;
	case CHOOSE_LEAF:
		r = make_leaf(k, o, run, why);
		break;
	case CHOOSE_GROUP:
		if (!has_limits(&o->limits))
			break;
		fault_join(why, "a process group has no limits", NULL);
		r = -EOPNOTSUPP;
		break;
	}
	return r;
}

int run_setup(const struct kernel *k, pid_t launcher_pid, struct fault *why)
{
	struct reaped reaped;
	struct delegation d;
	int r = delegation_find(k, &d, why);

	if (r < 0)
		return r;
	leaf_reap(k, &d, &reaped);
	return delegation_enable(k, &d, launcher_pid, why);
}

/* ---- the keeper ---- */

/* Every signal is blocked in the keeper, from before it exists. */
static int make_keeper(const struct kernel *k, const struct run_request *request, struct run *run,
		       struct fault *why)
{
	int ends[2];
	uint64_t mask;
	uint64_t all;
	int pid;
	int r = k->channel(k, ends);

	if (r < 0)
		return fault_errno(why, "make a channel to the keeper", NULL, -r);
	r = k->signal_mask(k, UINT64_MAX, &mask);
	if (r < 0) {
		fault_errno(why, "block the signals", NULL, -r);
	} else {
		pid = k->clone(k, -1);
		if (pid == 0)
			k->exit(k, keeper_run(k, request, &run->container, ends[1], ends[0]));
		k->signal_mask(k, mask, &all);
		r = pid;
		if (pid < 0)
			fault_errno(why, "make the keeper", NULL, -pid);
	}
	k->close(k, ends[1]);
	if (r < 0) {
		k->close(k, ends[0]);
		return r;
	}
	run->container.keeper = r;
	run->channel = ends[0];
	return 0;
}

/* The keeper holds the leaf from now on; or nobody has to. */
static void let_go_of_leaf(const struct kernel *k, struct run *run)
{
	if (run->container.leaf.fd >= 0)
		k->close(k, run->container.leaf.fd);
	run->container.leaf.fd = -1;
}

/* A filter around this process may refuse what a module is waited for and ended by. Asked with
 * calls that have no effect.
 */
static int check_calls(const struct kernel *k, struct fault *why)
{
	struct ended ended;
	int r = k->poll(k, NULL, 0, 0);

	if (r < 0)
		return fault_errno(why, "a module could not be waited for: poll", NULL, -r);
	r = k->wait(k, 0, WEXITED | WNOHANG | WNOWAIT, &ended);
	if (r < 0 && r != -ECHILD)
		return fault_errno(why, "a module could not be waited for: waitid", NULL, -r);
	r = k->kill(k, k->getpid(k), 0);
	return r < 0 ? fault_errno(why, "a module could not be ended: kill", NULL, -r) : 0;
}

/* One of ours that is not open is /dev/null. What this process opens from now on gets its number,
 * and must not become the module's.
 */
static int standard(const struct kernel *k, const struct run_options *o, int fd)
{
	bool closed = o->stdio[fd] == fd && k->fcntl(k, fd, F_GETFD, 0) == -EBADF;

	return closed ? -1 : o->stdio[fd];
}

static void close_channel(const struct kernel *k, struct run *run)
{
	struct ended keeper;

	k->close(k, run->channel);
	run->channel = -1;
	/* It ends at once. Whoever reaps all children of this process may have been quicker. */
	while (k->wait(k, run->container.keeper, WEXITED, &keeper) == -EINTR)
		;
}

/* To the keeper this is the end of its parent. It ends everything, and then itself. */
static void close_all(const struct kernel *k, struct run *run)
{
	if (run->channel >= 0)
		close_channel(k, run);
	if (!run->network)
		return;
	network_counts(run->network, &run->counts);
	run->proxy_failed = network_free(k, run->network) < 0;
	run->network = NULL;
}

static int start(const struct kernel *k, const struct run_options *o, struct run *run,
		 struct fault *why)
{
	struct run_request request = {
		.directory = o->directory,
		.stdio = { o->stdio[0], o->stdio[1], o->stdio[2] },
		.keep = o->keep,
		.keep_count = o->keep_count,
		.ignore_usr1 = o->ignore_usr1,
		.guard_ms = o->guard_ms,
		.grace_ms = o->grace_ms,
		.timeout_ms = o->timeout_ms,
	};
	struct arguments *arguments;
	int r = make_container(k, o, run, why);

	if (r < 0)
		return r;
	arguments = make_arguments(o, &request);
	r = arguments ? make_keeper(k, &request, run, why)
		      : fault_errno(why, "make the arguments", NULL, ENOMEM);
	free(arguments);
	if (r < 0 && run->container.kind == CONTAINER_LEAF)
		leaf_remove(k, &run->container.leaf, NULL);
	let_go_of_leaf(k, run);
	return r;
}

int run_start(const struct kernel *k, const struct run_options *o, struct run *ret,
	      struct fault *why)
{
	struct run_options changed = *o;
	struct run run = { .channel = -1 };
	int r;

	for (int fd = 0; fd < 3; fd++)
		changed.stdio[fd] = standard(k, o, fd);
	r = check_proc(k, why);
	if (r == 0)
		r = check_calls(k, why);
	if (r == 0)
		r = network_new(k, &changed, &run.network, why);
	if (r < 0)
		return r;
	r = start(k, &changed, &run, why);
	if (r == 0)
		r = network_started(k, run.network, run.channel, why);
	if (r < 0)
		close_all(k, &run);
	else
		*ret = run;
	return r;
}

/* ---- following it ---- */

/* The keeper said nothing of the end. If something killed it, the module's own process has died
 * with it (PR_SET_PDEATHSIG), and all of a leaf can still be ended here. What escaped from a group
 * has gone to the next subreaper above.
 */
static void end_untold(const struct kernel *k, struct run *run, const char *text, const char *more)
{
	struct outcome *o = &run->outcome;

	close_all(k, run);
	*o = (struct outcome){ .reason = REASON_LAUNCH_FAILED, .code = -1, .left_behind = true };
	fault_join(&o->why, text, more, NULL);
	if (run->container.kind == CONTAINER_LEAF) {
		leaf_kill(k, &run->container.leaf, NULL);
		o->left_behind = leaf_remove(k, &run->container.leaf, NULL) < 0;
	}
	run->state = RUN_ENDED;
}

void run_give_up(const struct kernel *k, struct run *run, int error)
{
	char name[ERRNO_NAME_MAX];

	end_untold(k, run, "the parent cannot wait: ", errno_name(error, name));
}

/* It is confined, but its calls are not put to us: the launcher knows of no supervisor. */
static void refuse_unsupervised(const struct kernel *k, struct run *run)
{
	run->unsupervised = true;
	run_kill(k, run);
}

static void end_with(const struct kernel *k, struct run *run, const struct outcome *outcome)
{
	struct outcome *o = &run->outcome;

	*o = *outcome;
	if (run->unsupervised) {
		o->reason = REASON_SANDBOX_MISSING;
		o->stopped = false;
		fault_join(&o->why, "the launcher did not put the module's calls to its parent",
			   NULL);
	}
	run->state = RUN_ENDED;
	close_all(k, run);
}

static void take_news(const struct kernel *k, struct run *run)
{
	struct keeper_message message;
	ssize_t n;

	do
		n = k->read(k, run->channel, &message, sizeof(message));
	while (n == -EINTR);
	if (n != (ssize_t)sizeof(message)) {
		end_untold(k, run, "the keeper was killed", "");
		return;
	}
	switch (message.event) {
	case KEEPER_STARTED:
		run->container.leader = message.leader;
		return;
	case KEEPER_CONFINED:
		if (network_is_ready(run->network))
			run->state = RUN_CONFINED;
		else
			refuse_unsupervised(k, run);
		return;
	case KEEPER_ENDED:
		end_with(k, run, &message.outcome);
		return;
	}
}

void run_fds(const struct run *run, struct pollfd ret[RUN_FDS])
{
	ret[0] = (struct pollfd){ .fd = run->channel, .events = POLLIN };
	for (size_t i = 1; i < RUN_FDS; i++)
		ret[i] = (struct pollfd){ .fd = -1 };
	if (run->network)
		network_fds(run->network, ret + 1);
}

int run_fd(const struct run *run)
{
	int fd = run->network ? network_fd(run->network) : -1;

	return fd < 0 ? run->channel : fd;
}

bool run_act(const struct kernel *k, struct run *run, const struct pollfd fds[RUN_FDS])
{
	bool asked = false;

	for (size_t i = 1; i < RUN_FDS; i++)
		asked |= fds[i].revents != 0;
	/* The listener comes before the news that the module is confined. */
	if (asked)
		network_serve(run->network, fds + 1);
	if (fds[0].revents)
		take_news(k, run);
	return fds[0].revents;
}

int run_next(const struct kernel *k, struct run *run, int timeout_ms)
{
	int64_t end = timeout_ms > 0 ? k->now_us(k) + timeout_ms * INT64_C(1000) : 0;

	while (run->channel >= 0) {
		struct pollfd fds[RUN_FDS];
		int r;

		run_fds(run, fds);
		r = k->poll(k, fds, RUN_FDS, timeout_ms);
		if (r < 0)
			return r;
		if (r == 0)
			return -ETIMEDOUT;
		if (run_act(k, run, fds))
			return 0;
		if (timeout_ms > 0)
			timeout_ms = (int)((end - k->now_us(k) + 999) / 1000);
		if (timeout_ms == 0 || (timeout_ms < 0 && end > 0))
			return -ETIMEDOUT;
	}
	return 0;
}

void run_counts(const struct run *run, struct supervise_counts *ret)
{
	if (run->network)
		network_counts(run->network, ret);
	else
		*ret = run->counts;
}

static int command(const struct kernel *k, struct run *run, char what)
{
	ssize_t n = -ESRCH;

	if (run->channel >= 0)
		n = k->send(k, run->channel, &what, 1);
	return n < 0 ? (int)n : 0;
}

int run_stop(const struct kernel *k, struct run *run)
{
	return command(k, run, KEEPER_STOP);
}

int run_kill(const struct kernel *k, struct run *run)
{
	return command(k, run, KEEPER_KILL);
}

void run_free(const struct kernel *k, struct run *run)
{
	close_all(k, run);
}
