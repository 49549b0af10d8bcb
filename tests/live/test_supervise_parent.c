/* launch: what a supervisor acts on is what was at the paths of its rules before the module ran;
 * and what a module's calls cannot do to the process that answers them. On this kernel. Each denial
 * has its control: the same child without a supervisor.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kabi/kernel.h"
#include "launch/ask.h"
#include "launch/supervise/supervise.h"

static char dir[] = "/tmp/supervise-places-XXXXXX";

/* ---- places ---- */

static const char *at(const char *name)
{
	static char paths[4][96];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void make_file(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static int listen_at(const char *name)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	strncpy(un.sun_path, at(name), sizeof(un.sun_path) - 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	assert_int_equal(listen(fd, 16), 0);
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
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	return mkdtemp(dir) && mkdir(at("in"), 0700) == 0 && mkdir(at("out"), 0700) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "in/file",	   "in/socket",	   "in",
					     "out/file",   "out/socket",   "out",
					     "moved/file", "moved/socket", "moved" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(at(names[i]));
	return rmdir(dir);
}

/* Put another directory in the place of "in", as a module can that may write around it. */
static void swap(void)
{
	assert_int_equal(rename(at("in"), at("moved")), 0);
	assert_int_equal(symlink(at("out"), at("in")), 0);
}

/* ---- children ---- */

static pid_t start(int (*body)(void), int channel)
{
	const struct ask ask = { .socket = channel, .what = ASK_CONNECT | ASK_METADATA };
	struct fault why;
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	if (channel >= 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			     ask_parent(&kernel_live, &ask, &why) < 0))
		_exit(254);
	_exit(body());
}

static int code_of(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int make(const struct supervise_rules *rules, struct supervisor **ret, int *ret_theirs)
{
	struct fault why;
	int ends[2];
	int r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	r = supervisor_new(ends[0], rules, ret, &why);
	if (r < 0)
		close(ends[1]);
	*ret_theirs = ends[1];
	return r;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double longest; /* that the supervisor took at a time */

static bool run_timed(struct supervisor *s)
{
	double start = seconds();
	bool more = supervisor_run(s);

	if (seconds() - start > longest)
		longest = seconds() - start;
	return more;
}

static int run(struct supervisor *s, int theirs, int (*body)(void))
{
	struct pollfd fd = { .fd = supervisor_fd(s), .events = POLLIN };
	pid_t pid = start(body, theirs);
	siginfo_t ended = { .si_pid = 0 };

	close(theirs);
	longest = 0;
	while (run_timed(s) && ended.si_pid == 0) {
		poll(&fd, 1, 20);
		waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT);
	}
	supervisor_free(s);
	return code_of(pid);
}

static int in_vain(int (*body)(void))
{
	return code_of(start(body, -1));
}

/* ---- roots ---- */

static const char *changed;

static int change_mode(void)
{
	return chmod(changed, 0640) == 0 ? 0 : errno;
}

static void a_root_is_the_one_from_before(void **state)
{
	static const struct {
		const char *name;
		int result;
	} rows[] = { { "out/file", EACCES }, { "in/file", EACCES }, { "moved/file", 0 } };
	const char *root = strdup(at("in"));
	const struct supervise_rules rules = { .writable = &root, .writable_count = 1 };
	struct supervisor *s[3];
	int theirs[3];

	(void)state;
	make_file("in/file");
	make_file("out/file");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(make(&rules, &s[i], &theirs[i]), 0);
	swap();
	for (size_t i = 0; i < 3; i++) {
		changed = at(rows[i].name);
		assert_int_equal(run(s[i], theirs[i], change_mode), rows[i].result);
		assert_int_equal(in_vain(change_mode), 0);
	}
	free((void *)root);
}

static void a_root_that_is_a_link_is_refused(void **state)
{
	const char *root = strdup(at("in"));
	const struct supervise_rules rules = { .writable = &root, .writable_count = 1 };
	struct supervisor *s;
	int theirs;

	(void)state;
	swap();
	assert_int_equal(make(&rules, &s, &theirs), -ELOOP);
	free((void *)root);
}

/* ---- the broker ---- */

static char broker[96];

static int connect_broker(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(un.sun_path, broker, sizeof(broker));
	return connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0 ? 0 : errno;
}

static int supervised_connect(void (*between)(void))
{
	const struct supervise_rules rules = { .broker = broker };
	struct supervisor *s;
	int theirs;

	strcpy(broker, at("in/socket"));
	assert_int_equal(make(&rules, &s, &theirs), 0);
	between();
	return run(s, theirs, connect_broker);
}

static void move_other_over(void)
{
	assert_int_equal(rename(at("out/socket"), at("in/socket")), 0);
}

static void the_broker_is_the_one_from_before(void **state)
{
	static void (*const ways[])(void) = { swap, move_other_over };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int ours = listen_at("in/socket");
		int other = listen_at("out/socket");

		assert_int_equal(supervised_connect(ways[i]), 0);
		assert_int_equal(accept_all(ours), 1);
		assert_int_equal(accept_all(other), 0);
		assert_int_equal(in_vain(connect_broker), 0);
		assert_int_equal(accept_all(other), 1);
		close(ours);
		close(other);
		tear_down(NULL);
		assert_int_equal(set_up(NULL), 0);
	}
}

static void nothing(void)
{
}

static void make_broker(void)
{
	listen_at("in/socket");
}

static void what_is_no_socket_is_no_broker(void **state)
{
	(void)state;
	assert_int_equal(supervised_connect(nothing), ENOENT);
	assert_int_equal(supervised_connect(make_broker), ENOENT);
	assert_int_equal(supervised_connect(nothing), 0);
	assert_int_equal(rename(at("in/socket"), at("out/socket")), 0);
	assert_int_equal(symlink(at("out/socket"), at("in/socket")), 0);
	assert_int_equal(supervised_connect(nothing), ECONNREFUSED);
	assert_int_equal(remove(at("in/socket")), 0);
	make_file("in/socket");
	assert_int_equal(supervised_connect(nothing), ECONNREFUSED);
}

/* ---- the parent's own ---- */

/* Of a file that the parent has locked. */
static int calls_about_a_file(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = open(at("in/file"), O_RDWR);
	char name[32];

	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0 || errno != ENOTSOCK)
		return 1;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 0 }, sizeof(struct linger)) ==
		    0 ||
	    errno != ENOTSOCK)
		return 2;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	if (fchmod(fd, 0600) != 0 || futimens(fd, NULL) != 0 ||
	    fchownat(fd, "", getuid(), (gid_t)-1, AT_EMPTY_PATH) != 0 || chmod(name, 0640) != 0)
		return 3;
	return 0;
}

static bool is_locked(void)
{
	struct flock lock = { .l_type = F_WRLCK };
	pid_t pid = fork();
	int fd;

	if (pid != 0)
		return code_of(pid) == 0;
	fd = open(at("in/file"), O_RDWR);
	_exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK ? 0 : 1);
}

/* A lock of fcntl(2) ends as soon as its process closes any descriptor of the file. */
static void its_locks_hold(void **state)
{
	const char *root = strdup(at("in"));
	const struct supervise_rules rules = { .writable = &root, .writable_count = 1 };
	const struct flock lock = { .l_type = F_WRLCK };
	struct supervisor *s;
	int theirs;
	int fd;

	(void)state;
	make_file("in/file");
	fd = open(at("in/file"), O_RDWR | O_CLOEXEC);
	assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
	assert_int_equal(make(&rules, &s, &theirs), 0);
	assert_int_equal(run(s, theirs, calls_about_a_file), 0);
	assert_true(is_locked());
	close(open(at("in/file"), O_RDWR | O_CLOEXEC));
	assert_false(is_locked());
	close(fd);
	free((void *)root);
}

static uint16_t port;
static int inherited;

static int listen_tcp(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	port = ntohs(in.sin_port);
	return fd;
}

static int connect_tcp(int fd)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };

	return connect(fd, (struct sockaddr *)&in, sizeof(in));
}

static int set_linger(int fd, int on, int seconds)
{
	const struct linger linger = { on, seconds };

	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* -1: off; else the seconds. */
static int linger_of(int fd)
{
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);

	if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len) < 0)
		return -2;
	return linger.l_onoff ? linger.l_linger : -1;
}

#define EXPECT(condition)                      \
	do {                                   \
		if (!(condition))              \
			return __LINE__ % 250; \
	} while (0)

static int asks_for_lingering(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* One that resets is had, before and after; one that waits is not. */
	EXPECT(set_linger(fd, 1, 0) == 0 && linger_of(fd) == 0);
	EXPECT(connect_tcp(fd) == 0 && linger_of(fd) == 0);
	EXPECT(set_linger(fd, 0, 0) == 0 && linger_of(fd) == -1);
	EXPECT(set_linger(fd, 1, 1000) == 0 && linger_of(fd) == -1);
	EXPECT(set_linger(fd, 1, -1) == 0 && linger_of(fd) == -1);
	EXPECT(set_linger(fd, 1, 0) == 0 && linger_of(fd) == 0);
	/* Nor with a socket that somebody else gave it. */
	EXPECT(linger_of(inherited) == 1000);
	EXPECT(connect_tcp(inherited) == 0 && linger_of(inherited) == -1);
	/* Mistakes are told as the kernel does. */
	EXPECT(setsockopt(fd, SOL_SOCKET, SO_LINGER, &fd, sizeof(fd)) == -1 && errno == EINVAL);
	EXPECT(setsockopt(fd, SOL_SOCKET, SO_LINGER, (void *)8, 8) == -1 && errno == EFAULT);
	EXPECT(set_linger(1000, 1, 1) == -1 && errno == EBADF);
	EXPECT(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int)) == 0);
	return 0;
}

static int lingers(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return set_linger(fd, 1, 1000) == 0 && linger_of(fd) == 1000 ? 0 : 1;
}

/* Where a close waits, the parent's own may be the last one of a socket. */
static void no_close_makes_it_wait(void **state)
{
	int listener = listen_tcp();
	const struct supervise_rules rules = { .proxy_port = port };
	struct supervisor *s;
	int theirs;

	(void)state;
	inherited = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(set_linger(inherited, 1, 1000), 0);
	assert_int_equal(make(&rules, &s, &theirs), 0);
	assert_int_equal(run(s, theirs, asks_for_lingering), 0);
	assert_int_equal(in_vain(lingers), 0);
	close(inherited);
	close(listener);
}

#define HOGS 6
#define HOG_SECONDS 1.5

static void *hog(void *arg)
{
	double end = seconds() + HOG_SECONDS;

	while (seconds() < end)
		;
	return arg;
}

/* The kernel has the caller itself take its new socket. This one gets no processor for it, as long
 * as the others want all of one.
 */
static int connects_without_a_processor(void)
{
	const struct sched_param none = { 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	cpu_set_t all;
	cpu_set_t one;
	pthread_t other;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int i = CPU_SETSIZE - 1; i >= 0 && CPU_COUNT(&one) == 0; i--)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	EXPECT(sched_setaffinity(0, sizeof(one), &one) == 0);
	for (int i = 0; i < HOGS; i++)
		EXPECT(pthread_create(&other, NULL, hog, NULL) == 0);
	EXPECT(sched_setscheduler(0, SCHED_IDLE, &none) == 0);
	EXPECT(connect_tcp(fd) == 0);
	EXPECT(linger_of(fd) == -1);
	return 0;
}

static void a_caller_without_a_processor_keeps_it_no_longer(void **state)
{
	int listener = listen_tcp();
	const struct supervise_rules rules = { .proxy_port = port, .alarm = true };
	struct supervisor *s;
	int theirs;

	(void)state;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	assert_int_equal(make(&rules, &s, &theirs), 0);
	assert_int_equal(run(s, theirs, connects_without_a_processor), 0);
	assert_true(longest < HOG_SECONDS / 3);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_root_is_the_one_from_before, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_root_that_is_a_link_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_broker_is_the_one_from_before, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_socket_is_no_broker, set_up, tear_down),
		cmocka_unit_test_setup_teardown(its_locks_hold, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_close_makes_it_wait, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_caller_without_a_processor_keeps_it_no_longer,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
