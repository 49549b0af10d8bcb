/* launch: connections made by a supervisor, on this kernel. Each denial has its control: the same
 * call of a child that nobody supervises.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kabi/kernel.h"
#include "launch/ask.h"
#include "launch/supervise.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RACE_ROUNDS 3000
#define RACE_SECONDS 4 /* at most, until a race has been seen both ways */
#define NOT_TRIED 255

static const struct kernel *const k = &kernel_live;

/* What the children connect to: the proxy, the same port elsewhere, another port, two unix sockets.
 */
static char dir[] = "/tmp/supervise-XXXXXX";
static char broker_path[64];
static char other_path[64];
static char link_path[64];
static int proxy = -1;
static int elsewhere = -1;
static int elsewhere6 = -1;
static int other_port = -1;
static int broker = -1;
static uint16_t port;
static uint16_t second_port;
static struct supervise_rules rules;

/* ---- servers ---- */

static int listen_on(const char *address, uint16_t on, uint16_t *ret_port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(on) };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	inet_pton(AF_INET, address, &in.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(fd, 4096), 0);
	getsockname(fd, (struct sockaddr *)&in, &len);
	*ret_port = ntohs(in.sin_port);
	return fd;
}

static int listen_on6(uint16_t on)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(on) };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	in.sin6_addr.s6_addr[15] = 1;
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int));
	if (fd >= 0 && bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0 && listen(fd, 16) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int listen_at(const char *path, int backlog)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strcpy(un.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static unsigned accept_all(int listener)
{
	unsigned count = 0;
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		close(fd);
		count++;
	}
	return count;
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(broker_path, sizeof(broker_path), "%s/broker", dir);
	snprintf(other_path, sizeof(other_path), "%s/other", dir);
	snprintf(link_path, sizeof(link_path), "%s/link", dir);
	proxy = listen_on("127.0.0.1", 0, &port);
	elsewhere = listen_on("127.0.0.2", port, &port);
	elsewhere6 = listen_on6(port);
	other_port = listen_on("127.0.0.1", 0, &second_port);
	broker = listen_at(broker_path, 64);
	listen_at(other_path, 64);
	rules = (struct supervise_rules){ .proxy_port = port, .broker = broker_path };
	return symlink(other_path, link_path);
}

static int tear_down(void **state)
{
	(void)state;
	unlink(broker_path);
	unlink(other_path);
	unlink(link_path);
	return rmdir(dir);
}

/* ---- children ---- */

static unsigned open_descriptors(void)
{
	DIR *list = opendir("/proc/self/fd");
	unsigned count = 0;

	while (list && readdir(list))
		count++;
	if (list)
		closedir(list);
	return count;
}

struct supervised {
	pid_t pid;
	struct supervisor *supervisor;
	bool reaped;
	int status;
};

/* A child that runs `body` and exits with what that returns. */
static pid_t start(int (*body)(void), int socket_for_listener)
{
	const struct ask ask = { .socket = socket_for_listener, .what = ASK_CONNECT };
	struct fault why;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	if (socket_for_listener >= 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ask_parent(k, &ask, &why) < 0))
		_exit(254);
	_exit(body());
}

static int code_in(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int code_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return code_in(status);
}

/* Before Linux 6.11 a filter goes with the task that is reaped, not with the one that has ended. So
 * orphans of the child are ours to reap too.
 */
static void reap(struct supervised *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == c->pid) {
			c->reaped = true;
			c->status = status;
		}
}

static int end_of(struct supervised *c)
{
	supervisor_free(c->supervisor);
	return c->reaped ? code_in(c->status) : code_of(c->pid);
}

static int plain(int (*body)(void))
{
	return code_of(start(body, -1));
}

static struct supervised start_supervised(int (*body)(void))
{
	struct supervised c = { .reaped = false };
	struct fault why;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(supervisor_new(ends[0], &rules, &c.supervisor, &why), 0);
	c.pid = start(body, ends[1]);
	assert_true(c.pid > 0);
	close(ends[1]);
	return c;
}

/* Answer until there is nobody left. */
static int follow(struct supervised *c, struct supervise_counts *ret)
{
	struct pollfd fd = { .fd = supervisor_fd(c->supervisor), .events = POLLIN };
	unsigned rounds = 0;

	while (supervisor_run(c->supervisor)) {
		poll(&fd, 1, 20);
		reap(c);
		rounds++;
	}
	assert_true(rounds < 1000000); /* no spinning */
	if (ret)
		supervisor_counts(c->supervisor, ret);
	return end_of(c);
}

static int supervised(int (*body)(void), struct supervise_counts *ret)
{
	unsigned before = open_descriptors();
	struct supervised c = start_supervised(body);
	int code = follow(&c, ret);

	assert_int_equal(open_descriptors(), before);
	return code;
}

/* ---- one attempt ---- */

struct target {
	const char *what;
	int family;
	const char *address;
	uint16_t *port;
	int expected; /* errno when supervised */
};

static const struct target targets[] = {
	{ "the proxy", AF_INET, "127.0.0.1", &port, 0 },
	{ "the proxy from IPv6", AF_INET6, "::ffff:127.0.0.1", &port, 0 },
	{ "the broker", AF_UNIX, broker_path, NULL, 0 },
	{ "the proxy's port elsewhere", AF_INET, "127.0.0.2", &port, EACCES },
	{ "the proxy's port elsewhere from IPv6", AF_INET6, "::ffff:127.0.0.2", &port, EACCES },
	{ "the proxy's port by any address", AF_INET, "0.0.0.0", &port, EACCES },
	{ "the proxy's port by any IPv6 address", AF_INET6, "::", &port, EACCES },
	{ "the proxy's port on ::1", AF_INET6, "::1", &port, EACCES },
	{ "another port", AF_INET, "127.0.0.1", &second_port, EACCES },
	{ "another unix socket", AF_UNIX, other_path, NULL, EACCES },
	{ "another unix socket by a link", AF_UNIX, link_path, NULL, EACCES },
};

static const struct target *target;
static int socket_flags;

static socklen_t address_of_target(const struct target *t, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_un *un = (struct sockaddr_un *)ret;

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)t->family;
	if (t->family == AF_INET) {
		in->sin_port = htons(*t->port);
		inet_pton(AF_INET, t->address, &in->sin_addr);
		return sizeof(*in);
	}
	if (t->family == AF_INET6) {
		in6->sin6_port = htons(*t->port);
		inet_pton(AF_INET6, t->address, &in6->sin6_addr);
		return sizeof(*in6);
	}
	strcpy(un->sun_path, t->address);
	return sizeof(*un);
}

/* Returns the errno, or 0; NOT_TRIED when there is no such socket here. */
static int attempt(void)
{
	struct sockaddr_storage address;
	socklen_t len = address_of_target(target, &address);
	int fd = socket(target->family, SOCK_STREAM | socket_flags, 0);
	struct pollfd writable = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t error_len = sizeof(error);

	if (fd < 0)
		return NOT_TRIED;
	if (connect(fd, (struct sockaddr *)&address, len) == 0)
		return write(fd, "x", 1) == 1 ? 0 : 253;
	if (errno != EINPROGRESS)
		return errno;
	if (poll(&writable, 1, 5000) != 1 ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_len) < 0)
		return 252;
	return error ? error : write(fd, "x", 1) == 1 ? 0 : 251;
}

static void only_the_proxy_and_the_broker_are_reached(void **state)
{
	(void)state;
	for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK)
		for (size_t i = 0; i < COUNT(targets); i++) {
			int control;
			int got;

			target = &targets[i];
			socket_flags = flags;
			control = plain(attempt);
			got = supervised(attempt, NULL);
			if (control == NOT_TRIED || (target->family == AF_INET6 && elsewhere6 < 0))
				continue;
			if (control != 0 || got != target->expected)
				fail_msg("%s: %d, supervised %d", target->what, control, got);
		}
	accept_all(proxy);
	accept_all(broker);
}

/* ---- what a client sees ---- */

#define EXPECT(condition)                      \
	do {                                   \
		if (!(condition))              \
			return __LINE__ % 250; \
	} while (0)

static int connect_to(int fd, const char *address, uint16_t to)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(to) };

	inet_pton(AF_INET, address, &in.sin_addr);
	return connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0 ? 0 : errno;
}

static int get(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof(value);

	getsockopt(fd, level, name, &value, &len);
	return value;
}

static int keeps_flags_and_options(void)
{
	int before;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int open_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct linger linger = { 1, 0 };
	socklen_t len = sizeof(linger);
	struct sockaddr_in peer;
	socklen_t peer_len = sizeof(peer);

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ 77 }, sizeof(int));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ 30000 }, sizeof(int));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	before = get(fd, SOL_SOCKET, SO_RCVBUF);
	EXPECT(connect_to(fd, "127.0.0.1", port) == 0);
	EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	EXPECT(get(fd, IPPROTO_TCP, TCP_NODELAY) == 1 && get(fd, SOL_SOCKET, SO_KEEPALIVE) == 1);
	EXPECT(get(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 77);
	EXPECT(get(fd, SOL_SOCKET, SO_RCVBUF) == before);
	linger = (struct linger){ 0, 7 };
	getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len);
	EXPECT(linger.l_onoff && linger.l_linger == 0);
	EXPECT(getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0);
	EXPECT(peer.sin_port == htons(port) && peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	EXPECT(connect_to(fd, "127.0.0.1", port) == EISCONN);
	EXPECT(connect_to(fd, "127.0.0.2", port) == EACCES);
	before = connect_to(open_fd, "127.0.0.1", port);
	EXPECT(before == 0 || before == EINPROGRESS);
	EXPECT(fcntl(open_fd, F_GETFD) == 0 && fcntl(open_fd, F_GETFL) & O_NONBLOCK);
	return 0;
}

static void flags_and_options_are_kept(void **state)
{
	(void)state;
	assert_int_equal(supervised(keeps_flags_and_options, NULL), 0);
	accept_all(proxy);
}

static int makes_mistakes(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr *address = (struct sockaddr *)&in;
	int pair[2];
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int null = open("/dev/null", O_RDWR);
	int path = open("/tmp", O_PATH);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	EXPECT(connect(-1, address, sizeof(in)) < 0 && errno == EBADF);
	EXPECT(connect(999, address, sizeof(in)) < 0 && errno == EBADF);
	EXPECT(connect(null, address, sizeof(in)) < 0 && errno == ENOTSOCK);
	EXPECT(connect(path, address, sizeof(in)) < 0 && (errno == ENOTSOCK || errno == EBADF));
	EXPECT(connect(fd, (struct sockaddr *)8, sizeof(in)) < 0 && errno == EFAULT);
	EXPECT(connect(fd, address, (socklen_t)-1) < 0 && errno == EINVAL);
	EXPECT(connect(fd, address, 4096) < 0 && errno == EINVAL);
	EXPECT(connect(fd, address, 0) < 0 && errno == EINVAL);
	EXPECT(connect(fd, address, sizeof(in) - 1) < 0 && errno == EINVAL);
	in.sin_family = AF_UNSPEC;
	EXPECT(connect(fd, address, sizeof(in)) < 0 && errno == EACCES);
	in.sin_family = AF_INET6;
	EXPECT(connect(fd, address, sizeof(in)) < 0 && errno == EACCES);
	EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	in.sin_family = AF_INET;
	EXPECT(connect(pair[0], address, sizeof(in)) < 0 && errno == EACCES);
	EXPECT(connect_to(fd, "127.0.0.1", port) == 0);
	return 0;
}

static void mistakes_are_told_as_the_kernel_does(void **state)
{
	struct supervise_counts counts;

	(void)state;
	assert_int_equal(supervised(makes_mistakes, &counts), 0);
	assert_int_equal(counts.connected, 1);
	accept_all(proxy);
}

static int is_refused_by_nobody_there(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	EXPECT(connect_to(fd, "127.0.0.1", port) == ECONNREFUSED);
	return connect_to(fd, "127.0.0.1", port) == ECONNREFUSED ? 0 : 1;
}

static void a_proxy_that_is_gone_is_an_ordinary_error(void **state)
{
	struct supervise_rules saved = rules;
	uint16_t saved_port = port;
	int gone = listen_on("127.0.0.1", 0, &port);

	(void)state;
	close(gone);
	rules.proxy_port = port;
	assert_int_equal(supervised(is_refused_by_nobody_there, NULL), 0);
	rules = saved;
	port = saved_port;
}

/* ---- many at a time ---- */

static _Atomic unsigned caught;

static void *connect_often(void *arg)
{
	for (int i = 0; i < 100; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | (i % 2 ? SOCK_NONBLOCK : 0), 0);
		int r = connect_to(fd, i % 5 ? "127.0.0.1" : "127.0.0.2", port);

		if (i % 5 ? r != 0 && r != EINPROGRESS : r != EACCES)
			return arg;
		close(fd);
	}
	return NULL;
}

static int many_threads(void)
{
	pthread_t threads[8];
	void *bad = NULL;

	for (size_t i = 0; i < COUNT(threads); i++)
		pthread_create(&threads[i], NULL, connect_often, &caught);
	for (size_t i = 0; i < COUNT(threads); i++) {
		void *r;

		pthread_join(threads[i], &r);
		bad = bad ? bad : r;
	}
	return bad != NULL;
}

static void many_threads_are_served(void **state)
{
	struct supervise_counts counts;

	(void)state;
	accept_all(elsewhere);
	assert_int_equal(supervised(many_threads, &counts), 0);
	assert_int_equal(counts.connected, 640);
	assert_int_equal(counts.refused, 160);
	assert_true(accept_all(proxy) > 0);
	assert_int_equal(accept_all(elsewhere), 0);
}

/* The broker's queue is full: a blocking connect waits, and those to the proxy do not. */
static void *connect_broker(void *arg)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int *ret = arg;

	strcpy(un.sun_path, rules.broker);
	*ret = connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0 ? 0 : errno;
	return NULL;
}

static int others_may[2];

static int one_slow_many_quick(void)
{
	pthread_t slow[5];
	int results[5] = { -1, -1, -1, -1, -1 };
	int unblocked = 0;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	for (size_t i = 0; i < COUNT(slow); i++)
		pthread_create(&slow[i], NULL, connect_broker, &results[i]);
	usleep(100000);
	strcpy(un.sun_path, rules.broker);
	EXPECT(connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0 && errno == EAGAIN);
	EXPECT(!connect_often(NULL));
	for (size_t i = 0; i < COUNT(slow); i++)
		unblocked += results[i] == 0;
	EXPECT(unblocked < 5);
	EXPECT(write(others_may[1], "x", 1) == 1);
	for (size_t i = 0; i < COUNT(slow); i++) {
		pthread_join(slow[i], NULL);
		EXPECT(results[i] == 0);
	}
	return 0;
}

static void a_slow_connect_holds_nobody_up(void **state)
{
	char path[64];
	struct supervised c;
	struct pollfd fd;
	char byte;
	bool room = false;
	int full;

	(void)state;
	snprintf(path, sizeof(path), "%s/full", dir);
	full = listen_at(path, 1);
	assert_int_equal(pipe2(others_may, O_NONBLOCK | O_CLOEXEC), 0);
	rules.broker = path;
	c = start_supervised(one_slow_many_quick);
	fd = (struct pollfd){ .fd = supervisor_fd(c.supervisor), .events = POLLIN };
	accept_all(proxy);
	while (supervisor_run(c.supervisor)) {
		poll(&fd, 1, 20);
		accept_all(proxy);
		room |= read(others_may[0], &byte, 1) == 1;
		if (room)
			accept_all(full);
		reap(&c);
	}
	assert_int_equal(end_of(&c), 0);
	rules.broker = broker_path;
	close(full);
	unlink(path);
	close(others_may[0]);
	close(others_may[1]);
}

/* ---- races ---- */

static double race_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Go on for so many rounds, and on a slow or busy machine until it was seen both ways, in time. */
static bool race_on(int round, bool seen, double start)
{
	double passed = race_clock() - start;

	return passed < RACE_SECONDS && (round < RACE_ROUNDS || !seen);
}

static _Atomic bool race_over;
static volatile struct sockaddr_in raced;
static int raced_fd;
static int spare_fd;

static void *change_address(void *arg)
{
	(void)arg;
	for (unsigned i = 0; !race_over; i++) {
		raced.sin_addr.s_addr = htonl(INADDR_LOOPBACK + i % 2);
		raced.sin_port = htons(i % 4 < 2 ? port : second_port);
	}
	return NULL;
}

static int race_for_the_address(void)
{
	double start = race_clock();
	pthread_t thread;
	unsigned connected = 0;
	unsigned refused = 0;

	raced.sin_family = AF_INET;
	pthread_create(&thread, NULL, change_address, NULL);
	for (int i = 0; race_on(i, refused && connected, start); i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);

		if (connect(fd, (struct sockaddr *)&raced, sizeof(raced)) == 0) {
			EXPECT(getpeername(fd, (struct sockaddr *)&peer, &len) == 0);
			EXPECT(peer.sin_port == htons(port));
			EXPECT(peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
			connected++;
		} else {
			EXPECT(errno == EACCES);
			refused++;
		}
		close(fd);
	}
	race_over = true;
	pthread_join(thread, NULL);
	return refused && connected ? 0 : 1;
}

/* The control: without a supervisor the race is won, so the test can see it. */
static int lose_the_address(void)
{
	double start = race_clock();
	pthread_t thread;
	unsigned wrong = 0;

	raced.sin_family = AF_INET;
	pthread_create(&thread, NULL, change_address, NULL);
	for (int i = 0; race_on(i, wrong > 0, start); i++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(fd, (struct sockaddr *)&raced, sizeof(raced)) == 0 &&
		    getpeername(fd, (struct sockaddr *)&peer, &len) == 0)
			wrong += peer.sin_port != htons(port) ||
				 peer.sin_addr.s_addr != htonl(INADDR_LOOPBACK);
		close(fd);
	}
	race_over = true;
	pthread_join(thread, NULL);
	return wrong > 0 ? 0 : 1;
}

static void an_address_that_changes_is_judged_as_it_is_used(void **state)
{
	(void)state;
	assert_int_equal(plain(lose_the_address), 0);
	accept_all(proxy);
	accept_all(elsewhere);
	accept_all(other_port);
	assert_int_equal(supervised(race_for_the_address, NULL), 0);
	assert_true(accept_all(proxy) > 0);
	assert_int_equal(accept_all(elsewhere), 0);
	assert_int_equal(accept_all(other_port), 0);
}

/* The descriptor is closed, or becomes a file, a pipe, another socket, while its call is judged. */
static int others[3];

static void *change_descriptor(void *arg)
{
	(void)arg;
	for (unsigned i = 0; !race_over; i++) {
		if (i % 4 == 3)
			close(raced_fd);
		else
			dup2(others[i % 4], raced_fd);
		dup2(spare_fd, raced_fd);
		if (i % 16 == 0)
			usleep(100);
	}
	return NULL;
}

static int race_for_the_descriptor(void)
{
	double start = race_clock();
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	pthread_t thread;
	unsigned connected = 0;
	unsigned failed = 0;
	unsigned before;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	others[0] = open("/dev/null", O_RDWR);
	others[1] = socket(AF_INET, SOCK_STREAM, 0);
	others[2] = socket(AF_UNIX, SOCK_STREAM, 0);
	spare_fd = socket(AF_INET, SOCK_STREAM, 0);
	raced_fd = dup(spare_fd);
	before = open_descriptors();
	pthread_create(&thread, NULL, change_descriptor, NULL);
	for (int i = 0; race_on(i, connected && failed, start); i++) {
		bool r = connect(raced_fd, (struct sockaddr *)&in, sizeof(in)) == 0;

		connected += r;
		failed += !r;
	}
	race_over = true;
	pthread_join(thread, NULL);
	EXPECT(connected > 0 && failed > 0);
	/* It ends as a copy of the spare one. */
	return open_descriptors() == before ? 0 : 1;
}

static void a_descriptor_that_changes_gets_nothing_else(void **state)
{
	(void)state;
	accept_all(broker);
	assert_int_equal(supervised(race_for_the_descriptor, NULL), 0);
	accept_all(proxy);
	assert_int_equal(accept_all(elsewhere), 0);
	assert_int_equal(accept_all(broker), 0);
}

/* ---- the end ---- */

static int is_killed_while_it_waits(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	strcpy(un.sun_path, rules.broker);
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			int fd = socket(AF_UNIX, SOCK_STREAM, 0);

			for (;;)
				connect(fd, (struct sockaddr *)&un, sizeof(un));
		}
	usleep(200000);
	kill(0, SIGKILL);
	return 0;
}

static int in_a_group_of_its_own(void)
{
	setpgid(0, 0);
	return is_killed_while_it_waits();
}

static void callers_that_are_killed_leave_nothing(void **state)
{
	char path[64];
	int full;

	(void)state;
	snprintf(path, sizeof(path), "%s/full", dir);
	full = listen_at(path, 0);
	rules.broker = path;
	assert_int_equal(supervised(in_a_group_of_its_own, NULL), 1000 + SIGKILL);
	rules.broker = broker_path;
	close(full);
	unlink(path);
}

static void count_signal(int number)
{
	(void)number;
	caught++;
}

static int is_interrupted(void)
{
	struct sigaction action = { .sa_handler = count_signal };
	pid_t parent = getpid();
	pid_t child;

	sigaction(SIGUSR1, &action, NULL);
	child = fork();
	if (child == 0)
		for (;;)
			kill(parent, SIGUSR1);
	for (int i = 0; i < 2000; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		int r = connect_to(fd, "127.0.0.1", port);

		/* On old kernels a call is given up, and may have been carried out. */
		EXPECT(r == 0 || r == EINTR || r == EISCONN);
		close(fd);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return caught > 0 ? 0 : 1;
}

static void signals_do_no_harm(void **state)
{
	(void)state;
	assert_int_equal(supervised(is_interrupted, NULL), 0);
	accept_all(proxy);
}

static int outlives_its_supervisor(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int r = connect_to(fd, "127.0.0.1", port);

	for (int i = 0; i < 200 && r == 0; i++) {
		usleep(10000);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		r = connect_to(fd, "127.0.0.1", port);
	}
	EXPECT(r == ENOSYS);
	return connect_to(fd, "127.0.0.2", port) == ENOSYS ? 0 : 1;
}

static void without_a_supervisor_nothing_is_connected(void **state)
{
	struct supervised c = start_supervised(outlives_its_supervisor);
	struct pollfd fd = { .fd = supervisor_fd(c.supervisor), .events = POLLIN };
	struct supervise_counts counts = { 0 };

	(void)state;
	while (counts.connected < 3) {
		assert_true(supervisor_run(c.supervisor));
		supervisor_counts(c.supervisor, &counts);
		poll(&fd, 1, 1000);
	}
	assert_int_equal(end_of(&c), 0);
	accept_all(proxy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_proxy_and_the_broker_are_reached),
		cmocka_unit_test(flags_and_options_are_kept),
		cmocka_unit_test(mistakes_are_told_as_the_kernel_does),
		cmocka_unit_test(a_proxy_that_is_gone_is_an_ordinary_error),
		cmocka_unit_test(many_threads_are_served),
		cmocka_unit_test(a_slow_connect_holds_nobody_up),
		cmocka_unit_test(an_address_that_changes_is_judged_as_it_is_used),
		cmocka_unit_test(a_descriptor_that_changes_gets_nothing_else),
		cmocka_unit_test(callers_that_are_killed_leave_nothing),
		cmocka_unit_test(signals_do_no_harm),
		cmocka_unit_test(without_a_supervisor_nothing_is_connected),
	};

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
