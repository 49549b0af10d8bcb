#include "launch/run/command.h"

#include <errno.h>
#include <string.h>

#include "kabi/host.h"

#define MILLI 1000
#define GIB (1ULL << 30)
#define CPU_MAX 4096
#define MEM_MAX_GIB (1U << 20)
#define PIDS_MAX (1U << 22) /* PID_MAX_LIMIT */
#define SECONDS_MAX (365U * 24 * 3600)
#define CPU_MIN_MILLI 10 /* the kernel's shortest quota is a hundredth of our period */

int run_command_milli(const char *text, uint64_t max, uint64_t *ret)
{
	char whole[24];
	char fraction[4] = "000";
	size_t len = strcspn(text, ".");
	size_t digits = text[len] ? strlen(text + len + 1) : 0;
	uint64_t value;
	uint64_t thousandths;
	int r;

	if (len == 0 || len >= sizeof(whole) || (text[len] && (digits == 0 || digits > 3)))
		return -EINVAL;
	memcpy(whole, text, len);
	whole[len] = '\0';
	memcpy(fraction, text + len + (text[len] != '\0'), digits);
	if (text_uint(fraction, 10, MILLI - 1, &thousandths) < 0)
		return -EINVAL;
	r = text_uint(whole, 10, max, &value);
	if (r < 0)
		return r;
	value = value * MILLI + thousandths;
	if (value == 0)
		return -EINVAL;
	if (value > max * MILLI)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* ---- the options ---- */

static int set_policy(struct run_command *c, const char *value)
{
	c->options.policy = value;
	return 0;
}

static int set_cpu(struct run_command *c, const char *value)
{
	uint64_t milli;
	int r = run_command_milli(value, CPU_MAX, &milli);

	if (r == 0 && milli < CPU_MIN_MILLI)
		return -ERANGE;
	if (r == 0)
		c->options.limits.cpu_milli = (uint32_t)milli;
	return r;
}

static int set_memory(struct run_command *c, const char *value)
{
	uint64_t milli;
	int r = run_command_milli(value, MEM_MAX_GIB, &milli);

	if (r == 0)
		c->options.limits.memory_bytes = milli * GIB / MILLI;
	return r;
}

static int set_pids(struct run_command *c, const char *value)
{
	int64_t count;
	int r = text_int(value, 1, PIDS_MAX, &count);

	if (r == 0)
		c->options.limits.pids = (uint32_t)count;
	return r;
}

static int set_seconds(const char *value, int64_t *ret_ms)
{
	uint64_t milli;
	int r = run_command_milli(value, SECONDS_MAX, &milli);

	if (r == 0)
		*ret_ms = (int64_t)milli;
	return r;
}

static int set_timeout(struct run_command *c, const char *value)
{
	return set_seconds(value, &c->options.timeout_ms);
}

static int set_guard(struct run_command *c, const char *value)
{
	return set_seconds(value, &c->options.guard_ms);
}

/* Unlike the others, none at all is possible. */
static int set_grace(struct run_command *c, const char *value)
{
	if (strcmp(value, "0") != 0)
		return set_seconds(value, &c->options.grace_ms);
	c->options.grace_ms = 0;
	return 0;
}

static int set_container(struct run_command *c, const char *value)
{
	static const char *const words[] = {
		[CHOOSE_AUTO] = "auto",
		[CHOOSE_LEAF] = "leaf",
		[CHOOSE_GROUP] = "group",
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(value, words[i]) != 0)
			continue;
		c->options.container = (enum container_choice)i;
		return 0;
	}
	return -EINVAL;
}

static int set_result(struct run_command *c, const char *value)
{
	c->result = value;
	return *value ? 0 : -EINVAL;
}

static int set_egress_allow(struct run_command *c, const char *value)
{
	struct host_entry entry;

	return host_entry_read(value, &entry, NULL) < 0
		       ? -EINVAL
		       : network_argument(&c->options.network, "--allow", value);
}

static int set_egress_allow_file(struct run_command *c, const char *value)
{
	return network_argument(&c->options.network, "--allow-file", value);
}

static int set_egress_log(struct run_command *c, const char *value)
{
	c->options.network.log = value;
	return *value ? 0 : -EINVAL;
}

static int set_supervise(struct run_command *c, const char *value)
{
	return supervise_choice_read(value, &c->options.network.supervise);
}

static const struct option {
	const char *name;
	const char *value;
	const char *takes; /* what a value must be */
	const char *help;
	int (*set)(struct run_command *c, const char *value);
} options[] = {
	{ "--policy", "FILE", "a file", "what the module may do; needed", set_policy },
	{ "--cpu", "N", "a number from 0.01 to 4096", "at most N CPUs, 0.01 or more; needs a leaf",
	  set_cpu },
	{ "--mem-gb", "N", "a number from 0.001 to 1048576",
	  "at most N GiB of memory and no swap; needs a leaf", set_memory },
	{ "--pids", "N", "a whole number from 1 to 4194304",
	  "at most N processes and threads; needs a leaf", set_pids },
	{ "--timeout", "SECONDS", "a number from 0.001 to 31536000", "stop it after that time",
	  set_timeout },
	{ "--stop-grace", "SECONDS", "a number from 0 to 31536000",
	  "between SIGTERM and SIGKILL: 20", set_grace },
	{ "--guard", "SECONDS", "a number from 0.001 to 31536000",
	  "in which the launcher must be confined: 60", set_guard },
	{ "--container", "auto|leaf|group", "auto, leaf or group",
	  "a cgroup of its own, or a process group; auto: a leaf if it can be had", set_container },
	{ "--egress-allow", "HOST[:PORT]", "a host's name, with or without :PORT",
	  "a proxy for the module that connects it to this host; again for more",
	  set_egress_allow },
	{ "--egress-allow-file", "FILE", "a file", "the same for every line of FILE",
	  set_egress_allow_file },
	{ "--egress-log", "FILE", "a file", "what the proxy refused, as lines of JSON",
	  set_egress_log },
	{ "--supervise", "auto|none|metadata", "auto, none or metadata",
	  "make the module's connections for it; auto: with a network or broker\n"
	  "\tgrant; metadata: and its changes of modes, owners and times, in its\n"
	  "\twritable folders only",
	  set_supervise },
	{ "--result", "FILE", "a file", "how it is going, and how it ended, as JSON", set_result },
};
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

void run_command_help(struct text *t)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		text_add(t, "  ");
		text_add(t, options[i].name);
		text_add(t, " ");
		text_add(t, options[i].value);
		text_add(t, "\n\t");
		text_add(t, options[i].help);
		text_add(t, "\n");
	}
}

static const struct option *find(const char *name)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

static int set_option(struct run_command *c, const char *name, const char *value, struct fault *why)
{
	const struct option *option = find(name);
	int r;

	if (!option) {
		if (name[0] == '-')
			fault_join(why, "unknown option '", name, "'", NULL);
		else
			fault_join(why, "'--' is needed before the program, here before '", name,
				   "'", NULL);
		return -EINVAL;
	}
	if (!value) {
		fault_join(why, name, " needs a value: ", option->value, NULL);
		return -EINVAL;
	}
	r = option->set(c, value);
	if (r == -E2BIG)
		fault_join(why, name, " is given too often: --egress-allow-file takes many hosts",
			   NULL);
	else if (r < 0)
		fault_join(why, name, ": '", value, "' is not ", option->takes, NULL);
	return r < 0 ? -EINVAL : 0;
}

int run_command_parse(int argc, char **argv, struct run_command *ret, struct fault *why)
{
	static struct run_command c;
	int at = 1;

	memset(&c, 0, sizeof(c));
	run_options_init(&c.options);
	for (; at < argc && strcmp(argv[at], "--") != 0; at += 2) {
		int r = set_option(&c, argv[at], at + 1 < argc ? argv[at + 1] : NULL, why);

		if (r < 0)
			return r;
	}
	if (!c.options.policy)
		fault_join(why, "--policy FILE is needed", NULL);
	else if (at + 1 >= argc)
		fault_join(why, "'-- /absolute/program [argument]...' is needed", NULL);
	else if (argv[at + 1][0] != '/')
		fault_join(why, "the program must be an absolute path, not '", argv[at + 1], "'",
			   NULL);
	else {
		c.options.argv = argv + at + 1;
		*ret = c;
		return 0;
	}
	return -EINVAL;
}
