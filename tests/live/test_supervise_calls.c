/* launch: a supervisor that many call at once, whose callers change what they have given, are
 * interrupted, or are killed; on this kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/fake/supervised.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int supervise(child_body *body, struct supervise_counts *ret)
{
	return supervised(body, ASK_CONNECT, &place.rules, ret);
}

/* ---- many at a time ---- */

#define THREADS 8
#define OFTEN 100 /* of which every fifth is refused */

static _Atomic unsigned caught;

static void *connect_often(void *arg)
{
	for (int i = 0; i < OFTEN; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | (i % 2 ? SOCK_NONBLOCK : 0), 0);
		int r = connect_to(fd, i % 5 ? "127.0.0.1" : "127.0.0.2", place.port);

		if (i % 5 ? r != 0 && r != EINPROGRESS : r != EACCES)
			return arg;
		close(fd);
	}
	return NULL;
}

static int many_threads(void)
{
	pthread_t threads[THREADS];
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
	accept_all(place.elsewhere);
	assert_int_equal(supervise(many_threads, &counts), 0);
	assert_int_equal(counts.connected, THREADS * OFTEN * 4 / 5);
	assert_int_equal(counts.refused, THREADS * OFTEN / 5);
	assert_true(accept_all(place.proxy) > 0);
	assert_int_equal(accept_all(place.elsewhere), 0);
}

/* The broker's queue is full: a blocking connect waits, and those to the proxy do not. */
static void *connect_broker(void *arg)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int *ret = arg;

	strcpy(un.sun_path, place.rules.broker);
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
	strcpy(un.sun_path, place.rules.broker);
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
	char byte;
	bool room = false;
	int full;

	(void)state;
	snprintf(path, sizeof(path), "%s/full", place.dir);
	full = listen_at(path, 1);
	assert_int_equal(pipe2(others_may, O_NONBLOCK | O_CLOEXEC), 0);
	place.rules.broker = path;
	c = supervised_start(one_slow_many_quick, ASK_CONNECT, &place.rules);
	accept_all(place.proxy);
	while (supervisor_run(c.supervisor)) {
		accept_all(place.proxy);
		room |= read(others_may[0], &byte, 1) == 1;
		if (room)
			accept_all(full);
		supervised_wait(&c);
	}
	assert_int_equal(supervised_end(&c), 0);
	place.rules.broker = place.broker_path;
	close(full);
	unlink(path);
	close(others_may[0]);
	close(others_may[1]);
}

/* The proxy's queue has room for one: the second connection waits for a second, as without a
 * supervisor. Both are held for a while.
 */
static int holds_two(void)
{
	int first = socket(AF_INET, SOCK_STREAM, 0);
	int second = socket(AF_INET, SOCK_STREAM, 0);

	EXPECT(connect_to(first, "127.0.0.1", place.rules.proxy_port) == 0);
	EXPECT(connect_to(second, "127.0.0.1", place.rules.proxy_port) == 0);
	usleep(300000);
	return 0;
}

/* What is watched once must not be watched for ever: a module's connection is ready all the time.
 */
static void a_connection_that_is_held_costs_nothing(void **state)
{
	uint16_t saved = place.rules.proxy_port;
	struct supervise_counts counts;
	struct supervised c;
	unsigned rounds = 0;
	int narrow = listen_on("127.0.0.1", 0, &place.rules.proxy_port);

	(void)state;
	assert_int_equal(listen(narrow, 0), 0);
	c = supervised_start(holds_two, ASK_CONNECT, &place.rules);
	while (supervisor_run(c.supervisor)) {
		supervised_wait(&c);
		supervisor_counts(c.supervisor, &counts);
		if (counts.connected > 0)
			accept_all(narrow);
		rounds++;
	}
	assert_int_equal(supervised_end(&c), 0);
	assert_int_equal(counts.connected, 2);
	assert_true(rounds < 500);
	close(narrow);
	place.rules.proxy_port = saved;
}

/* Three callers of a proxy whose queue has room for one: the first is there, the second waits and
 * is killed, the third comes then.
 */
static int go[2];

static int fills_is_killed_comes(void)
{
	int first = socket(AF_INET, SOCK_STREAM, 0);
	int last = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	pid_t pid;
	char byte;

	EXPECT(connect_to(first, "127.0.0.1", place.rules.proxy_port) == 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		connect_to(socket(AF_INET, SOCK_STREAM, 0), "127.0.0.1", place.rules.proxy_port);
		pause();
	}
	EXPECT(read(go[0], &byte, 1) == 1);
	kill(pid, SIGKILL);
	EXPECT(waitpid(pid, NULL, 0) == pid);
	EXPECT(connect_to(last, "127.0.0.1", place.rules.proxy_port) == 0);
	return getpeername(last, (struct sockaddr *)&peer, &len) == 0 ? 0 : 1;
}

static void until_readable(int fd)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&readable, 1, 30000), 1);
}

static int listener_of(const struct supervised *c)
{
	struct pollfd fds[SUPERVISOR_FDS];

	supervisor_fds(c->supervisor, fds);
	return fds[0].fd;
}

/* All at once, in this order: the clock, with which the second caller is found to be gone; the
 * third one's call, which gets its place; and the second one's connection.
 */
static void nobody_gets_the_connection_of_who_had_its_place(void **state)
{
	uint16_t saved = place.rules.proxy_port;
	struct supervise_counts counts = { 0 };
	struct supervised c;
	int narrow = listen_on("127.0.0.1", 0, &place.rules.proxy_port);

	(void)state;
	assert_int_equal(listen(narrow, 0), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	c = supervised_start(fills_is_killed_comes, ASK_CONNECT, &place.rules);
	while (counts.connected < 1) {
		assert_true(supervisor_run(c.supervisor));
		supervisor_counts(c.supervisor, &counts);
		supervised_wait(&c);
	}
	until_readable(listener_of(&c));
	assert_true(supervisor_run(c.supervisor));
	until_readable(supervisor_fd(c.supervisor));
	assert_int_equal(write(go[1], "x", 1), 1);
	until_readable(listener_of(&c));
	assert_int_equal(accept_all(narrow), 1);
	until_readable(narrow);
	assert_true(supervisor_run(c.supervisor));
	supervisor_counts(c.supervisor, &counts);
	assert_int_equal(counts.connected, 1);
	while (supervisor_run(c.supervisor)) {
		accept_all(narrow);
		supervised_wait(&c);
	}
	assert_int_equal(supervised_end(&c), 0);
	close(go[0]);
	close(go[1]);
	close(narrow);
	place.rules.proxy_port = saved;
}

/* ---- races ---- */

static _Atomic bool race_over;
static volatile struct sockaddr_in raced;
static int raced_fd;
static int spare_fd;

static void *change_address(void *arg)
{
	(void)arg;
	for (unsigned i = 0; !race_over; i++) {
		raced.sin_addr.s_addr = htonl(INADDR_LOOPBACK + i % 2);
		raced.sin_port = htons(i % 4 < 2 ? place.port : place.second_port);
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
			EXPECT(peer.sin_port == htons(place.port));
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
			wrong += peer.sin_port != htons(place.port) ||
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
	assert_int_equal(not_supervised(lose_the_address), 0);
	accept_all(place.proxy);
	accept_all(place.elsewhere);
	accept_all(place.other_port);
	assert_int_equal(supervise(race_for_the_address, NULL), 0);
	assert_true(accept_all(place.proxy) > 0);
	assert_int_equal(accept_all(place.elsewhere), 0);
	assert_int_equal(accept_all(place.other_port), 0);
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
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(place.port) };
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
	accept_all(place.broker);
	assert_int_equal(supervise(race_for_the_descriptor, NULL), 0);
	accept_all(place.proxy);
	assert_int_equal(accept_all(place.elsewhere), 0);
	assert_int_equal(accept_all(place.broker), 0);
}

/* ---- the end ---- */

static int is_killed_while_it_waits(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	strcpy(un.sun_path, place.rules.broker);
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
	snprintf(path, sizeof(path), "%s/full", place.dir);
	full = listen_at(path, 0);
	place.rules.broker = path;
	assert_int_equal(supervise(in_a_group_of_its_own, NULL), 1000 + SIGKILL);
	place.rules.broker = place.broker_path;
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
	double start = race_clock();
	pid_t parent = getpid();
	pid_t child;

	sigaction(SIGUSR1, &action, NULL);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			kill(parent, SIGUSR1);
		_exit(0);
	}
	for (int i = 0; race_on(i, caught > 0, start); i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		int r = connect_to(fd, "127.0.0.1", place.port);

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
	assert_int_equal(supervise(is_interrupted, NULL), 0);
	accept_all(place.proxy);
}

static int outlives_its_supervisor(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	int r = connect_to(fd, "127.0.0.1", place.port);

	for (int i = 0; i < 200 && r == 0; i++) {
		usleep(10000);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		r = connect_to(fd, "127.0.0.1", place.port);
	}
	EXPECT(r == ENOSYS);
	return connect_to(fd, "127.0.0.2", place.port) == ENOSYS ? 0 : 1;
}

static void without_a_supervisor_nothing_is_connected(void **state)
{
	struct supervised c = supervised_start(outlives_its_supervisor, ASK_CONNECT, &place.rules);
	struct supervise_counts counts = { 0 };

	(void)state;
	while (counts.connected < 3) {
		assert_true(supervisor_run(c.supervisor));
		supervisor_counts(c.supervisor, &counts);
		supervised_wait(&c);
	}
	assert_int_equal(supervised_end(&c), 0);
	accept_all(place.proxy);
}
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_threads_are_served),
		cmocka_unit_test(a_slow_connect_holds_nobody_up),
		cmocka_unit_test(a_connection_that_is_held_costs_nothing),
		cmocka_unit_test(nobody_gets_the_connection_of_who_had_its_place),
		cmocka_unit_test(an_address_that_changes_is_judged_as_it_is_used),
		cmocka_unit_test(a_descriptor_that_changes_gets_nothing_else),
		cmocka_unit_test(callers_that_are_killed_leave_nothing),
		cmocka_unit_test(signals_do_no_harm),
		cmocka_unit_test(without_a_supervisor_nothing_is_connected),
	};

	take_arguments(argc, argv);
	return cmocka_run_group_tests(tests, place_set_up, place_tear_down);
}
