#include "launch/run_network.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kabi/path.h"
#include "kabi/text.h"
#include "launch/ask.h"
#include "launch/policy_print.h"
#include "launch/run_mounts.h"

#define PROXY_VARIABLE "OARBANK_EGRESS_EXEC"
#define PROXY_NAME "oarbank-egress"

/* All but the port are set by the run; whatever was there before is not the module's. */
static const char *const variables[] = {
	"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy",
};
#define VARIABLE_COUNT 5
static const char *const removed[] = { "NO_PROXY", "no_proxy", "all_proxy" };

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

static int find_proxy(const struct kernel *k, char *const envp[], char buf[PATH_MAX],
		      struct fault *why)
{
	char self[PATH_MAX];
	ssize_t n;

	for (; *envp; envp++)
		if (names(*envp, PROXY_VARIABLE) && (*envp)[sizeof(PROXY_VARIABLE)] == '/')
			return text_copy(buf, PATH_MAX, *envp + sizeof(PROXY_VARIABLE))
				       ? 0
				       : -ENAMETOOLONG;
	n = k->readlink(k, "/proc/self/exe", self, sizeof(self));
	if (n < 0)
		return fault_errno(why, "find the proxy beside", "/proc/self/exe", (int)-n);
	*strrchr(self, '/') = '\0';
	if (!path_join(buf, PATH_MAX, self, PROXY_NAME))
		return fault_errno(why, "find the proxy beside", self, ENAMETOOLONG);
	return 0;
}

static int start_proxy(const struct kernel *k, const struct network_options *options,
		       char *const envp[], struct network *net, struct fault *why)
{
	/* The program, the log, the control, the end. */
	const char *argv[RUN_PROXY_ARGUMENTS_MAX + 6];
	char program[PATH_MAX];
	unsigned argc = 1;
	int r = find_proxy(k, envp, program, why);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < options->count; i++)
		argv[argc++] = options->arguments[i];
	if (options->log) {
		argv[argc++] = "--log";
		argv[argc++] = options->log;
	}
	return run_proxy_start(k, program, argv, argc, envp, &net->proxy, why);
}

/* ---- the policy ---- */

/* The launcher reads a copy: with our proxy's port, and as it was when it was read here. */
static int copy_policy(const struct kernel *k, const struct policy *policy, struct network *net,
		       struct fault *why)
{
	/* A control character of a label is six bytes. */
	static char buf[POLICY_BYTES_MAX];
	struct text t = TEXT_BUF(buf);
	ssize_t n;

	policy_print(policy, &t);
	if (t.cut)
		return fault_errno(why, "copy the policy", NULL, EFBIG);
	net->policy = memfd_create("policy", MFD_CLOEXEC);
	if (net->policy < 0)
		return fault_errno(why, "copy the policy", NULL, errno);
	n = k->write(k, net->policy, buf, t.len);
	if (n != (ssize_t)t.len)
		return fault_errno(why, "copy the policy", NULL, n < 0 ? (int)-n : EIO);
	t = TEXT_BUF(net->policy_path);
	text_add(&t, "/proc/self/fd/");
	text_add_int(&t, net->policy);
	return 0;
}

static int read_policy(const struct kernel *k, const struct network *net,
		       const struct run_options *o, struct policy *ret, struct fault *why)
{
	static char text[POLICY_BYTES_MAX + 1];
	int r = net->proxy.port ? policy_read_for_proxy(k, o->policy, net->proxy.port, text,
							sizeof(text), ret, why)
				: policy_read(k, o->policy, text, sizeof(text), ret, why);

	if (r < 0)
		fault_prefix(why, o->policy);
	return r;
}

static int make_supervisor(const struct kernel *k, const struct policy *policy, struct network *net,
			   struct fault *why)
{
	int ends[2];
	int r = k->channel(k, ends);

	if (r < 0)
		return fault_errno(why, "make a channel for the listener", NULL, -r);
	net->theirs = ends[1];
	net->rules = (struct supervise_rules){
		.proxy_port = policy->net == NET_EGRESS_ALLOWLIST ? policy->proxy_port : 0,
		.broker = policy->broker_socket,
		.writable = net->writable,
	};
	for (size_t i = 0; i < policy->root_count; i++)
		if (policy->roots[i].kind == ROOT_RW || policy->roots[i].kind == ROOT_WO)
			net->writable[net->rules.writable_count++] = policy->roots[i].path;
	return supervisor_new(ends[0], &net->rules, &net->supervisor, why);
}

/* What the launcher inherits beside what it would have. */
static int hand_on(struct network *net, struct run_options *o, struct fault *why)
{
	unsigned count = 0;

	if (net->theirs >= 0)
		net->keep[count++] = net->theirs;
	if (net->policy >= 0) {
		net->keep[count++] = net->policy;
		o->policy = net->policy_path;
	}
	o->keep = net->keep;
	o->keep_count = count;
	return make_environment(net, o, why);
}

/* ---- public ---- */

void network_init(struct network *net)
{
	*net = (struct network){ .proxy.control = -1, .theirs = -1, .policy = -1 };
}

int network_begin(const struct kernel *k, const struct network_options *options,
		  struct run_options *o, struct network *net, struct fault *why)
{
	static struct policy policy;
	struct fault unread;
	bool granted;
	int r = 0;

	if (options->count > 0)
		r = start_proxy(k, options, o->envp, net, why);
	if (r < 0)
		return r;
	r = read_policy(k, net, o, &policy, &unread);
	if (r < 0 && net->proxy.pid == 0)
		return 0; /* for the launcher to refuse, as it does */
	if (r < 0) {
		*why = unread;
		return r;
	}
	if (net->proxy.pid > 0 && policy.net != NET_EGRESS_ALLOWLIST) {
		fault_join(why, "the policy's net is not 'egress-allowlist', and there is a proxy",
			   NULL);
		return -EINVAL;
	}
	r = mounts_check(k, &policy, why);
	if (r < 0)
		return r;
	net->asked = supervise_choice_asks(options->supervise, &policy);
	granted = policy.net != NET_NONE || policy.broker_socket || net->asked;
	if (net->asked)
		r = make_supervisor(k, &policy, net, why);
	if (r == 0 && granted)
		r = copy_policy(k, &policy, net, why);
	return r == 0 && granted ? hand_on(net, o, why) : r;
}

void network_started(const struct kernel *k, struct network *net)
{
	if (net->theirs >= 0)
		k->close(k, net->theirs);
	if (net->policy >= 0)
		k->close(k, net->policy);
	net->theirs = net->policy = -1;
	free(net->envp);
	net->envp = NULL;
}

void network_fds(const struct network *net, struct pollfd ret[NETWORK_FDS])
{
	if (net->supervisor) {
		supervisor_fds(net->supervisor, ret);
		return;
	}
	for (size_t i = 0; i < NETWORK_FDS; i++)
		ret[i] = (struct pollfd){ .fd = -1 };
}

void network_serve(struct network *net)
{
	if (net->supervisor && !supervisor_run(net->supervisor)) {
		supervisor_free(net->supervisor);
		net->supervisor = NULL;
	}
}

int network_end(const struct kernel *k, struct network *net)
{
	network_started(k, net);
	supervisor_free(net->supervisor);
	net->supervisor = NULL;
	return run_proxy_stop(k, &net->proxy) == 0 ? 0 : 1;
}
