/* liboarbank-launch as an agent uses it: through its header alone, from a process with threads,
 * without a disposition for SIGCHLD, several modules at a time. TAP.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "launch/run/oarbank-launch.h"

static char policy[] = "/tmp/oarbank-library-XXXXXX";
static char launcher[PATH_MAX + 32];
static char egress[PATH_MAX + 32];
static int failures;

static void check(int good, const char *name)
{
	printf("%sok - %s\n", good ? "" : "not ", name);
	failures += !good;
}

static struct oarbank_launch_options options_of(char *const argv[])
{
	struct oarbank_launch_options o;

	oarbank_launch_options_init(&o);
	o.launcher = launcher;
	o.policy = policy;
	o.argv = argv;
	o.grace_ms = 500;
	return o;
}

static struct oarbank_module *start(const struct oarbank_launch_options *o)
{
	struct oarbank_module *module = NULL;
	char why[400] = "";

	if (oarbank_launch_start(o, &module, why, sizeof(why)) < 0)
		printf("# %s\n", why);
	return module;
}

/* Until it is in that state, ten seconds at most. */
static int until(struct oarbank_module *module, int state)
{
	int r = OARBANK_STATE_STARTING;

	while (r != state && r >= 0 && r != OARBANK_STATE_ENDED)
		r = oarbank_launch_wait(module, 10000);
	return r == state;
}

static struct oarbank_launch_outcome outcome_of(struct oarbank_module *module)
{
	struct oarbank_launch_outcome o = { .size = sizeof(o) };

	until(module, OARBANK_STATE_ENDED);
	if (oarbank_launch_outcome(module, &o) < 0)
		o.reason = "none";
	return o;
}

static void an_end(void)
{
	char *const argv[] = { "/bin/sh", "-c", "exit 7", NULL };
	struct oarbank_launch_options options = options_of(argv);
	struct oarbank_module *module = start(&options);
	struct oarbank_launch_outcome o = outcome_of(module);
	char json[16384];

	check(strcmp(o.reason, "exit_nonzero") == 0 && o.code == 7 && o.verified && o.wall_us > 0,
	      "an exit code and its reason");
	check(oarbank_launch_fd(module) == -1, "there is no more news");
	check(oarbank_launch_result(module, json, sizeof(json)) > 0 &&
		      strstr(json, "\"reason\":\"exit_nonzero\"") != NULL,
	      "the result as JSON");
	check(oarbank_launch_stop(module) == -ESRCH, "what has ended cannot be stopped");
	oarbank_launch_free(module);
}

static void descriptors(void)
{
	char *const argv[] = { "/bin/sh", "-c", "cat; echo $OARBANK_SERVICE_X >&2", NULL };
	char *const envp[] = { "OARBANK_SERVICE_X=none", NULL };
	struct oarbank_launch_options options = options_of(argv);
	struct oarbank_module *module;
	char out[64] = "";
	int in[2];
	int pipes[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(pipes, O_CLOEXEC) < 0 ||
	    write(in[1], "hello\n", 6) != 6)
		abort();
	options.stdio[0] = in[0];
	options.stdio[1] = pipes[1];
	options.stdio[2] = pipes[1];
	options.envp = envp;
	module = start(&options);
	close(in[0]);
	close(in[1]);
	close(pipes[1]);
	until(module, OARBANK_STATE_ENDED);
	/* The keeper held none of them open. */
	check(read(pipes[0], out, sizeof(out) - 1) > 0 && strcmp(out, "hello\nnone\n") == 0 &&
		      read(pipes[0], out, 1) == 0,
	      "standard descriptors and the environment are those that were given");
	close(pipes[0]);
	oarbank_launch_free(module);
}

/* In a process that has none, ours get the numbers 0 to 2. */
static int run_without_standard_descriptors(void)
{
	char *const argv[] = { "/bin/sh", "-c",
			       "for i in 0 1 2; do [ /proc/self/fd/$i -ef /dev/null ] || exit 9; "
			       "done; exit 7",
			       NULL };
	struct oarbank_launch_options options = options_of(argv);
	struct oarbank_launch_outcome o = { .size = sizeof(o) };
	struct oarbank_module *module = NULL;
	char why[256];

	close(0);
	close(1);
	close(2);
	if (oarbank_launch_start(&options, &module, why, sizeof(why)) < 0)
		return 1;
	until(module, OARBANK_STATE_ENDED);
	return oarbank_launch_outcome(module, &o) < 0 ? 2 : o.code;
}

/* Nobody is told how a child ends here. */
static void closed_descriptors(void)
{
	char code = 0;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	if (fork() == 0) {
		code = (char)run_without_standard_descriptors();
		_exit(write(ends[1], &code, 1) != 1);
	}
	close(ends[1]);
	check(read(ends[0], &code, 1) == 1 && code == 7,
	      "closed standard descriptors are /dev/null to the module, not what we have opened");
	close(ends[0]);
}

static void acting(void)
{
	char *const argv[] = { "/bin/sh", "-c", "sleep 100 & setsid sleep 100 & wait", NULL };
	struct oarbank_launch_options options = options_of(argv);
	struct oarbank_module *module = start(&options);
	struct oarbank_launch_outcome o = { .size = sizeof(o) };

	check(until(module, OARBANK_STATE_CONFINED), "it is told to be confined");
	check(oarbank_launch_outcome(module, &o) == -EBUSY, "no outcome before it has ended");
	check(oarbank_launch_wait(module, 0) == -ETIMEDOUT, "no news");
	for (int i = 0; i < 500 && oarbank_launch_count(module) < 3; i++)
		poll(NULL, 0, 10);
	check(oarbank_launch_count(module) == 3, "its processes are counted");
	check(oarbank_launch_freeze(module) == 0 && oarbank_launch_thaw(module) == 0,
	      "freeze and thaw");
	check(kill(oarbank_launch_pid(module), 0) == 0, "its process id");
	check(oarbank_launch_stop(module) == 0, "stop");
	o = outcome_of(module);
	check(strcmp(o.reason, "signal") == 0 && o.signal == SIGTERM && o.stopped && !o.left_behind,
	      "it is told to have been stopped");
	oarbank_launch_free(module);
}

static void letting_go(void)
{
	char *const argv[] = { "/bin/sh", "-c", "sleep 100", NULL };
	struct oarbank_launch_options options = options_of(argv);
	struct oarbank_module *module = start(&options);
	pid_t pid;

	until(module, OARBANK_STATE_CONFINED);
	pid = oarbank_launch_pid(module);
	oarbank_launch_free(module);
	check(kill(pid, 0) < 0 && errno == ESRCH, "what is let go of is ended");
	oarbank_launch_free(NULL);
}

static void many(void)
{
	char *const argv[] = { "/bin/sh", "-c", "sleep 0.1; exit 3", NULL };
	struct oarbank_launch_options options = options_of(argv);
	struct oarbank_module *modules[8];
	int right = 0;

	for (int i = 0; i < 8; i++)
		modules[i] = start(&options);
	for (int i = 7; i >= 0; i--) {
		right += outcome_of(modules[i]).code == 3;
		oarbank_launch_free(modules[i]);
	}
	check(right == 8, "eight modules at a time");
}

/* ---- supervision ---- */

static int listen_on(uint32_t address, uint16_t port, uint16_t *ret_port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	in.sin_addr.s_addr = htonl(address);
	if (bind(fd, (struct sockaddr *)&in, len) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		abort();
	*ret_port = ntohs(in.sin_port);
	return fd;
}

static int accepted(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void write_policy(const char *path, uint16_t port)
{
	FILE *f = fopen(path, "w");

	if (!f || fprintf(f, "{\"net\":\"egress-allowlist\",\"proxy_port\":%u}", port) < 0 ||
	    fclose(f) != 0)
		abort();
}

/* bash connects to 127.0.0.1 and to another address on the same port. */
#define CONNECTS                                                           \
	"exec 3<>/dev/tcp/127.0.0.1/$0 && echo there >&3 && exec 3>&- && " \
	"{ ! exec 4<>/dev/tcp/127.0.0.2/$0; } 2>/dev/null"

struct place {
	char policy[64];
	char port[8];
	int proxy;
	int elsewhere;
};

static void make_place(struct place *p)
{
	uint16_t port;

	p->proxy = listen_on(INADDR_LOOPBACK, 0, &port);
	p->elsewhere = listen_on(INADDR_LOOPBACK + 1, port, &port);
	snprintf(p->policy, sizeof(p->policy), "%s-%u", policy, port);
	snprintf(p->port, sizeof(p->port), "%u", port);
	write_policy(p->policy, port);
}

static void end_place(struct place *p)
{
	unlink(p->policy);
	close(p->proxy);
	close(p->elsewhere);
}

/* Two at a time, by one descriptor each, as an event loop has it. */
static void supervised(void)
{
	struct place places[2];
	struct oarbank_module *modules[2];
	struct oarbank_launch_calls calls = { .size = sizeof(calls) };
	int code[2] = { -1, -1 };
	int numbers[2];

	for (int i = 0; i < 2; i++) {
		struct oarbank_launch_options o;
		char *const argv[] = { "/bin/bash", "-c", CONNECTS, places[i].port, NULL };

		make_place(&places[i]);
		o = options_of(argv);
		o.policy = places[i].policy;
		modules[i] = start(&o);
		numbers[i] = oarbank_launch_fd(modules[i]);
	}
	while (oarbank_launch_fd(modules[0]) >= 0 || oarbank_launch_fd(modules[1]) >= 0) {
		struct pollfd fds[2];

		for (int i = 0; i < 2; i++)
			fds[i] = (struct pollfd){ .fd = oarbank_launch_fd(modules[i]),
						  .events = POLLIN };
		if (poll(fds, 2, 10000) <= 0)
			break;
		for (int i = 0; i < 2; i++)
			if (fds[i].revents && fds[i].fd == numbers[i])
				oarbank_launch_wait(modules[i], 0);
	}
	for (int i = 0; i < 2; i++) {
		code[i] = outcome_of(modules[i]).code;
		check(code[i] == 0 && accepted(places[i].proxy) && !accepted(places[i].elsewhere),
		      "a supervised module reaches its proxy and nothing else");
	}
	check(oarbank_launch_calls(modules[0], &calls) == 0 && calls.connected == 1 &&
		      calls.refused == 1 && calls.failed == 0 && calls.changed == 0,
	      "the calls are counted");
	calls.size = 1;
	check(oarbank_launch_calls(modules[0], &calls) == -EINVAL, "counts of another size");
	for (int i = 0; i < 2; i++) {
		oarbank_launch_free(modules[i]);
		end_place(&places[i]);
	}
}

/* The control: it would reach the other address. */
static void not_supervised(void)
{
	struct place place;
	char *const argv[] = { "/bin/bash", "-c", CONNECTS, place.port, NULL };
	struct oarbank_launch_options o = options_of(argv);
	struct oarbank_launch_outcome outcome;
	struct oarbank_module *module;

	make_place(&place);
	o.policy = place.policy;
	o.supervise = OARBANK_SUPERVISE_NONE;
	module = start(&o);
	outcome = outcome_of(module);
	if (strcmp(outcome.reason, "launch_failed") == 0)
		printf("ok - without a supervisor it reaches another address # SKIP not confined "
		       "here: %s\n",
		       outcome.detail);
	else
		check(outcome.code == 1 && accepted(place.proxy) && accepted(place.elsewhere),
		      "without a supervisor it reaches another address");
	oarbank_launch_free(module);
	end_place(&place);
}

static void changes(void)
{
	char outside[] = "/tmp/oarbank-library-outside-XXXXXX";
	char inside[] = "/tmp/oarbank-library-inside-XXXXXX";
	char path[64];
	char *const argv[] = { "/bin/sh", "-c",
			       "touch f && chmod 604 f && { ! chmod 604 \"$0\"; } 2>/dev/null",
			       outside, NULL };
	struct oarbank_launch_options o = options_of(argv);
	struct oarbank_launch_calls calls = { .size = sizeof(calls) };
	struct oarbank_module *module;
	struct stat st;
	FILE *f;

	close(mkstemp(outside));
	if (!mkdtemp(inside))
		abort();
	snprintf(path, sizeof(path), "%s.json", inside);
	f = fopen(path, "w");
	if (!f || fprintf(f, "{\"rw\":[\"%s\"]}", inside) < 0 || fclose(f) != 0)
		abort();
	o.policy = path;
	o.directory = inside;
	o.supervise = OARBANK_SUPERVISE_METADATA;
	module = start(&o);
	check(outcome_of(module).code == 0 && stat(outside, &st) == 0 &&
		      (st.st_mode & 0777) == 0600,
	      "metadata is changed in a writable folder and not outside");
	oarbank_launch_calls(module, &calls);
	check(calls.changed > 0 && calls.refused > 0, "changes are counted");
	oarbank_launch_free(module);
	unlink(path);
	unlink(outside);
	snprintf(path, sizeof(path), "%s/f", inside);
	unlink(path);
	rmdir(inside);
}

static void a_proxy(void)
{
	const char *const allow[] = { "a.example", "*.b.example:8443", NULL };
	const char *const wrong[] = { "1.2.3.4", NULL };
	char *const argv[] = {
		"/bin/bash", "-c",
		"exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:} && "
		"printf 'CONNECT c.example:443 HTTP/1.1\\r\\n\\r\\n' >&3 && "
		"read -r answer <&3 && case $answer in *403*) exit 0;; *) exit 1;; esac",
		NULL
	};
	struct oarbank_launch_options o = options_of(argv);
	struct oarbank_module *module = NULL;
	char why[400] = "";
	struct place place;

	make_place(&place);
	o.policy = place.policy;
	o.egress_allow = allow;
	o.egress = egress;
	module = start(&o);
	check(outcome_of(module).code == 0, "a proxy of the module's own");
	oarbank_launch_free(module);
	o.egress_allow = wrong;
	check(oarbank_launch_start(&o, &module, why, sizeof(why)) == -EINVAL &&
		      strstr(why, "1.2.3.4"),
	      "an address is no host to allow");
	o.egress_allow = allow;
	o.egress = "/no/such/program";
	check(oarbank_launch_start(&o, &module, why, sizeof(why)) < 0 && strstr(why, "proxy"),
	      "a proxy that cannot be had is no start");
	o.egress = egress;
	o.policy = policy;
	check(oarbank_launch_start(&o, &module, why, sizeof(why)) == -EINVAL &&
		      strstr(why, "egress-allowlist"),
	      "a proxy for a policy without a network is no start");
	end_place(&place);
}

/* It is refused, and named. */
static void refused(const struct oarbank_launch_options *options, const char *text)
{
	struct oarbank_module *module = NULL;
	char why[400] = "";
	char name[500];
	int r = oarbank_launch_start(options, &module, why, sizeof(why));

	if (!strstr(why, text))
		printf("# %s\n", why);
	snprintf(name, sizeof(name), "an option that is none: %s", text);
	check(r == -EINVAL && !module && strstr(why, text), name);
}

static void wrong_options(void)
{
	char *const relative[] = { "relative", NULL };
	char *const nothing[] = { NULL };
	char *const right[] = { "/bin/true", NULL };
	const struct oarbank_launch_options good = options_of(right);
	struct oarbank_launch_options o;
	struct oarbank_module *module;
	char why[8];

	o = good, o.policy = NULL;
	refused(&o, "option 'policy' is NULL");
	o = good, o.argv = NULL;
	refused(&o, "option 'argv' is empty");
	o = good, o.argv = nothing;
	refused(&o, "option 'argv' is empty");
	o = good, o.argv = relative;
	refused(&o, "option 'argv' begins with the program, by its absolute path: relative");
	check(oarbank_launch_start(&o, &module, why, sizeof(why)) == -EINVAL && strlen(why) == 7,
	      "a buffer that is too small");
	o = good, o.reserved = 1;
	refused(&o, "option 'reserved' is 1");
	o = good, o.guard_ms = 0;
	refused(&o, "option 'guard_ms' is 0");
	o = good, o.grace_ms = -1;
	refused(&o, "option 'grace_ms' is -1");
	o = good, o.timeout_ms = -7;
	refused(&o, "option 'timeout_ms' is -7");
	o = good, o.container = 77;
	refused(&o, "option 'container' is 77");
	o = good, o.size++;
	refused(&o, "of a newer library");
	o = good, o.size = 0;
	refused(&o, "of no library");
	o = good, o.supervise = 77;
	refused(&o, "option 'supervise' is 77");
	o.size = offsetof(struct oarbank_launch_options, supervise);
	module = start(&o);
	check(module && outcome_of(module).code == 0, "options of an older caller");
	oarbank_launch_free(module);
}

static void *idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	const char *build = getenv("BUILD");
	char resolved[PATH_MAX];
	pthread_t thread;
	int fd = mkstemp(policy);

	setvbuf(stdout, NULL, _IOLBF, 0);
	snprintf(launcher, sizeof(launcher), "%s/oarbank-sandbox",
		 realpath(build ? build : "build", resolved) ? resolved : "build");
	snprintf(egress, sizeof(egress), "%s/oarbank-egress", resolved);
	if (fd < 0 || write(fd, "{\"net\":\"none\"}", 14) != 14)
		abort();
	close(fd);
	signal(SIGCHLD, SIG_IGN);
	pthread_create(&thread, NULL, idle, NULL);
	an_end();
	descriptors();
	closed_descriptors();
	acting();
	letting_go();
	many();
	supervised();
	not_supervised();
	changes();
	a_proxy();
	wrong_options();
	unlink(policy);
	return failures != 0;
}
