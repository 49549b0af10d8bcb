#include "launch/run/network.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kabi/text.h"
#include "launch/ask.h"
#include "launch/policy_print.h"
#include "launch/run/mounts.h"
#include "launch/run/run.h"

/* All but the port are set by the run; whatever was there before is not the module's. */
static const char *const variables[] = {
	"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy",
};
#define VARIABLE_COUNT 5
static const char *const removed[] = { "NO_PROXY", "no_proxy", "all_proxy" };

/* The launcher's end of the supervisor's channel, and the policy. */
#define OWN_KEEP 2

struct network {
	struct run_proxy proxy;
	unsigned asked; /* of us, as bits of launch/ask.h */
	bool alarm;
	struct supervise_rules rules;
	struct supervisor *supervisor;
	struct supervise_counts counts; /* of one that has ended */
	bool listened;			/* it did */
	int news;	   /* an epoll set: the supervisor and what a starter waits for; -1 */
	int theirs;	   /* the launcher's end of the supervisor's channel; -1 */
	int copy;	   /* of the policy, with the proxy's port; -1 */
	int *keep;	   /* malloc */
	const char **envp; /* malloc */
	char policy_path[32];
	char supervised[64];
	char variables[VARIABLE_COUNT][48];
	const char *writable[POLICY_ROOTS_MAX];
	struct policy policy;
	char text[POLICY_BYTES_MAX + 1]; /* of the policy, whose strings lie here */
};

/* ---- the environment ---- */

static bool names(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static bool is_ours(const char *entry, bool proxy)
{
	bool ours = names(entry, "OARBANK_SUPERVISOR");

	for (size_t i = 0; proxy && i < VARIABLE_COUNT; i++)
		ours |= names(entry, variables[i]);
	for (size_t i = 0; proxy && i < sizeof(removed) / sizeof(removed[0]); i++)
		ours |= names(entry, removed[i]);
	return ours;
}

static int make_environment(struct network *net, struct run_options *o, struct fault *why)
{
	bool proxy = net->proxy.pid > 0;
	size_t count = 0;
	size_t at = 0;

	while (o->envp[count])
		count++;
	net->envp = calloc(count + VARIABLE_COUNT + 2, sizeof(*net->envp));
	if (!net->envp)
		return fault_errno(why, "make the environment", NULL, ENOMEM);
	for (size_t i = 0; i < count; i++)
		if (!is_ours(o->envp[i], proxy))
			net->envp[at++] = o->envp[i];
	for (size_t i = 0; proxy && i < VARIABLE_COUNT; i++) {
		struct text t = TEXT_BUF(net->variables[i]);

		text_add(&t, variables[i]);
		text_add(&t, "=http://127.0.0.1:");
		text_add_int(&t, net->proxy.port);
		net->envp[at++] = net->variables[i];
	}
	if (net->theirs >= 0) {
		struct text t = TEXT_BUF(net->supervised);

		text_add(&t, "OARBANK_SUPERVISOR=fd:");
		text_add_int(&t, net->theirs);
		text_add(&t, net->asked & ASK_METADATA ? ",metadata" : "");
		net->envp[at++] = net->supervised;
	}
	o->envp = (char *const *)net->envp;
	return 0;
}

/* ---- the proxy ---- */

static int start_proxy(const struct kernel *k, const struct network_options *options,
		       char *const envp[], struct network *net, struct fault *why)
{
	const char *program = options->program;
	/* The program, the log, the control, the end. */
	const char *argv[RUN_PROXY_ARGUMENTS_MAX + 6];
	char found[PATH_MAX];
	unsigned argc = 1;
	int r = 0;

	if (!program)
		r = run_find_program(k, envp, "OARBANK_EGRESS_EXEC", "oarbank-egress", found,
				     sizeof(found), why);
	if (r < 0)
		return r;
	program = program ? program : found;
	for (unsigned i = 0; i < options->count; i++)
		argv[argc++] = options->arguments[i];
	if (options->log) {
		argv[argc++] = "--log";
		argv[argc++] = options->log;
	}
	return run_proxy_start(k, program, argv, argc, envp, &net->proxy, why);
}

/* ---- the policy ---- */

/* What the launcher inherits needs a number above the standard ones. Returns it, and `fd` is
 * closed; or -errno.
 */
static int move_up(const struct kernel *k, int fd)
{
	int r = fd > STDERR_FILENO ? fd : k->fcntl(k, fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (r != fd)
		k->close(k, fd);
	return r;
}

/* The launcher reads a copy: with our proxy's port, and as it was when it was read here. */
static int copy_policy(const struct kernel *k, struct network *net, struct run_options *o,
		       struct fault *why)
{
	/* A control character of a label is six bytes. */
	static char buf[POLICY_BYTES_MAX];
	struct text t = TEXT_BUF(buf);
	ssize_t n;

	policy_print(&net->policy, &t);
	if (t.cut)
		return fault_errno(why, "copy the policy", NULL, EFBIG);
	net->copy = memfd_create("policy", MFD_CLOEXEC);
	if (net->copy < 0)
		return fault_errno(why, "copy the policy", NULL, errno);
	net->copy = move_up(k, net->copy);
	if (net->copy < 0)
		return fault_errno(why, "copy the policy", NULL, -net->copy);
	n = k->write(k, net->copy, buf, t.len);
	if (n != (ssize_t)t.len)
		return fault_errno(why, "copy the policy", NULL, n < 0 ? (int)-n : EIO);
	t = TEXT_BUF(net->policy_path);
	text_add(&t, "/proc/self/fd/");
	text_add_int(&t, net->copy);
	o->policy = net->policy_path;
	return 0;
}

static int read_policy(const struct kernel *k, const char *path, struct network *net,
		       struct fault *why)
{
	uint16_t port = net->proxy.port;
	int r = port ? policy_read_for_proxy(k, path, port, net->text, sizeof(net->text),
					     &net->policy, why)
		     : policy_read(k, path, net->text, sizeof(net->text), &net->policy, why);

	if (r < 0)
		fault_prefix(why, path);
	if (r == 0 && port && net->policy.net != NET_EGRESS_ALLOWLIST) {
		fault_join(why, path, ": key 'net': a proxy needs 'egress-allowlist'", NULL);
		r = -EINVAL;
	}
	return r;
}

/* ---- the supervisor ---- */

static void set_rules(struct network *net)
{
	const struct policy *policy = &net->policy;

	net->rules = (struct supervise_rules){
		.proxy_port = policy->net == NET_EGRESS_ALLOWLIST ? policy->proxy_port : 0,
		.broker = policy->broker_socket,
		.writable = net->writable,
		.alarm = net->alarm,
	};
	for (size_t i = 0; net->asked & ASK_METADATA && i < policy->root_count; i++)
		if (policy->roots[i].kind == ROOT_RW || policy->roots[i].kind == ROOT_WO)
			net->writable[net->rules.writable_count++] = policy->roots[i].path;
}

static int watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int make_supervisor(const struct kernel *k, struct network *net, struct fault *why)
{
	int ends[2];
	int r = k->channel(k, ends);

	if (r < 0)
		return fault_errno(why, "make a channel for the listener", NULL, -r);
	net->theirs = move_up(k, ends[1]);
	if (net->theirs < 0) {
		k->close(k, ends[0]);
		return fault_errno(why, "make a channel for the listener", NULL, -net->theirs);
	}
	set_rules(net);
	r = supervisor_new(ends[0], &net->rules, &net->supervisor, why);
	if (r < 0)
		return r;
	net->news = epoll_create1(EPOLL_CLOEXEC);
	r = net->news < 0 ? -errno : watch(net->news, supervisor_fd(net->supervisor));
	if (r == 0 && net->proxy.pid > 0)
		r = watch(net->news, net->proxy.control);
	return r < 0 ? fault_errno(why, "watch the supervisor", NULL, -r) : 0;
}

/* What the launcher inherits beside what it would have. */
static int make_keep(struct network *net, struct run_options *o, struct fault *why)
{
	net->keep = calloc(o->keep_count + OWN_KEEP, sizeof(*net->keep));
	if (!net->keep)
		return fault_errno(why, "make the descriptors", NULL, ENOMEM);
	for (unsigned i = 0; i < o->keep_count; i++)
		net->keep[i] = o->keep[i];
	if (net->theirs >= 0)
		net->keep[o->keep_count++] = net->theirs;
	if (net->copy >= 0)
		net->keep[o->keep_count++] = net->copy;
	o->keep = net->keep;
	return 0;
}

static int begin(const struct kernel *k, struct run_options *o, struct network *net,
		 struct fault *why)
{
	int r = 0;

	if (o->network.count > 0)
		r = start_proxy(k, &o->network, o->envp, net, why);
	if (r < 0)
		return r;
	r = read_policy(k, o->policy, net, why);
	if (r == 0)
		r = mounts_check(k, &net->policy, why);
	if (r < 0)
		return r;
	net->alarm = o->network.alarm;
	net->asked = supervise_choice_asks(o->network.supervise, &net->policy);
	if (o->network.count > 0 || o->network.supervise != SUPERVISE_NONE)
		r = copy_policy(k, net, o, why);
	if (r == 0 && net->asked)
		r = make_supervisor(k, net, why);
	if (r == 0)
		r = make_keep(net, o, why);
	return r == 0 ? make_environment(net, o, why) : r;
}

/* ---- public ---- */

int network_argument(struct network_options *options, const char *name, const char *value)
{
	if (options->count + 2 > RUN_PROXY_ARGUMENTS_MAX)
		return -E2BIG;
	options->arguments[options->count++] = name;
	options->arguments[options->count++] = value;
	return 0;
}

int network_new(const struct kernel *k, struct run_options *o, struct network **ret,
		struct fault *why)
{
	struct network *net = calloc(1, sizeof(*net));
	int r;

	if (!net)
		return fault_errno(why, "make the network", NULL, ENOMEM);
	net->proxy.control = net->news = net->theirs = net->copy = -1;
	r = begin(k, o, net, why);
	if (r < 0)
		network_free(k, net);
	else
		*ret = net;
	return r;
}

/* What is the module's alone. */
static void let_go(const struct kernel *k, struct network *net)
{
	if (net->theirs >= 0)
		k->close(k, net->theirs);
	if (net->copy >= 0)
		k->close(k, net->copy);
	net->theirs = net->copy = -1;
	free(net->envp);
	free(net->keep);
	net->envp = NULL;
	net->keep = NULL;
}

int network_started(const struct kernel *k, struct network *net, int news, struct fault *why)
{
	int r = net->news < 0 ? 0 : watch(net->news, news);

	let_go(k, net);
	return r < 0 ? fault_errno(why, "watch the module", NULL, -r) : 0;
}

int network_fd(const struct network *net)
{
	return net->news;
}

void network_fds(const struct network *net, struct pollfd ret[NETWORK_FDS])
{
	bool watched = net->supervisor && net->proxy.pid > 0 && !net->rules.proxy_gone;

	for (size_t i = 0; i < NETWORK_FDS; i++)
		ret[i] = (struct pollfd){ .fd = -1 };
	if (net->supervisor)
		supervisor_fds(net->supervisor, ret);
	if (watched)
		ret[SUPERVISOR_FDS] = (struct pollfd){ .fd = net->proxy.control, .events = POLLIN };
}

/* It says nothing, so that it can be heard to end. Its port may be anybody's now. */
static void lose_proxy(struct network *net)
{
	net->rules.proxy_gone = true;
	epoll_ctl(net->news, EPOLL_CTL_DEL, net->proxy.control, NULL);
}

void network_serve(struct network *net, const struct pollfd fds[NETWORK_FDS])
{
	if (fds[SUPERVISOR_FDS].revents)
		lose_proxy(net);
	if (net->supervisor && !supervisor_run(net->supervisor)) {
		supervisor_counts(net->supervisor, &net->counts);
		net->listened = supervisor_listens(net->supervisor);
		supervisor_free(net->supervisor);
		net->supervisor = NULL;
	}
}

bool network_is_ready(const struct network *net)
{
	return !net->asked || net->listened ||
	       (net->supervisor && supervisor_listens(net->supervisor));
}

void network_counts(const struct network *net, struct supervise_counts *ret)
{
	if (net->supervisor)
		supervisor_counts(net->supervisor, ret);
	else
		*ret = net->counts;
}

int network_free(const struct kernel *k, struct network *net)
{
	int r = run_proxy_stop(k, &net->proxy);

	let_go(k, net);
	supervisor_free(net->supervisor);
	if (net->news >= 0)
		close(net->news);
	free(net);
	return r == 0 ? 0 : -ECHILD;
}
