/* launch: connections made by a supervisor, on this kernel: where they go, and what a client sees.
 * Each denial has its control: the same call of a child that nobody supervises.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/fake/supervised.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NOT_TRIED 255
#define LOOPBACK_INDEX 1

static int supervise(child_body *body, struct supervise_counts *ret)
{
	return supervised(body, ASK_CONNECT, &place.rules, ret);
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
	{ "the proxy", AF_INET, "127.0.0.1", &place.port, 0 },
	{ "the proxy from IPv6", AF_INET6, "::ffff:127.0.0.1", &place.port, 0 },
	{ "the broker", AF_UNIX, place.broker_path, NULL, 0 },
	{ "the proxy's port elsewhere", AF_INET, "127.0.0.2", &place.port, EACCES },
	{ "the proxy's port elsewhere from IPv6", AF_INET6, "::ffff:127.0.0.2", &place.port,
	  EACCES },
	{ "the proxy's port by any address", AF_INET, "0.0.0.0", &place.port, EACCES },
	{ "the proxy's port by any IPv6 address", AF_INET6, "::", &place.port, EACCES },
	{ "the proxy's port on ::1", AF_INET6, "::1", &place.port, EACCES },
	{ "another port", AF_INET, "127.0.0.1", &place.second_port, EACCES },
	{ "another unix socket", AF_UNIX, place.other_path, NULL, EACCES },
	{ "another unix socket by a link", AF_UNIX, place.link_path, NULL, EACCES },
	{ "an abstract unix socket", AF_UNIX, place.name, NULL, EACCES },
};

#define TARGETS_MAX 16

/* What is tried, and what each attempt gave, in memory that the children share: a socket that
 * blocks and one that does not.
 */
static const struct target *tried;
static size_t tried_count;
static int (*results)[2];

static socklen_t address_of_target(const struct target *t, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

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
		if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			in6->sin6_scope_id = LOOPBACK_INDEX;
		return sizeof(*in6);
	}
	return unix_address(t->address, (struct sockaddr_un *)ret);
}

/* Returns the errno, or 0; NOT_TRIED when there is no such socket here. */
static int attempt(const struct target *target, int socket_flags)
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

static int attempt_all(void)
{
	for (size_t i = 0; i < tried_count; i++) {
		results[i][0] = attempt(&tried[i], 0);
		results[i][1] = attempt(&tried[i], SOCK_NONBLOCK);
	}
	return 0;
}

/* Returns how many were reached without a supervisor, and are as expected with one; or minus the
 * number of the first that is not, from 1.
 */
static int try_all(const struct target list[], size_t count)
{
	int controls[TARGETS_MAX][2];
	int reached = 0;

	tried = list;
	tried_count = count;
	if (not_supervised(attempt_all) != 0)
		return -1;
	memcpy(controls, results, count * sizeof(controls[0]));
	accept_all(place.proxy);
	if (supervise(attempt_all, NULL) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (controls[i][0] != 0 || controls[i][1] != 0)
			continue;
		if (results[i][0] != list[i].expected || results[i][1] != list[i].expected)
			return -(int)i - 1;
		reached++;
	}
	return reached;
}

static void only_the_proxy_and_the_broker_are_reached(void **state)
{
	size_t count = COUNT(targets);
	size_t without = 0;
	int r;

	(void)state;
	for (size_t i = 0; i < count; i++)
		without += targets[i].family == AF_INET6 && place.elsewhere6 < 0;
	r = try_all(targets, count);
	if (r < 0)
		fail_msg("%s: %d and %d", targets[-r - 1].what, results[-r - 1][0],
			 results[-r - 1][1]);
	assert_in_range(r, count - without, count);
	accept_all(place.broker);
}

/* attacks.md: "also through a symlink at the broker's path". */
static void a_link_at_the_brokers_path_is_not_followed(void **state)
{
	static const struct target link[] = {
		{ "a link in the broker's place", AF_UNIX, place.link_path, NULL, ECONNREFUSED },
	};

	(void)state;
	place.rules.broker = place.link_path;
	assert_int_equal(try_all(link, 1), 1);
	place.rules.broker = place.broker_path;
}

/* ---- addresses that no machine has ---- */

/* attacks.md: "127.0.0.2, link-local, ::1 and public addresses on the proxy's port". */
static const struct target beyond[] = {
	{ "link-local", AF_INET, "169.254.7.7", &place.port, EACCES },
	{ "private", AF_INET, "10.9.8.7", &place.port, EACCES },
	{ "public", AF_INET, "93.184.216.34", &place.port, EACCES },
	{ "public, mapped", AF_INET6, "::ffff:93.184.216.34", &place.port, EACCES },
	{ "link-local of IPv6", AF_INET6, "fe80::7", &place.port, EACCES },
	{ "public of IPv6", AF_INET6, "2606:2800:220:1::1", &place.port, EACCES },
	{ "loopback by NAT64", AF_INET6, "64:ff9b::7f00:1", &place.port, EACCES },
	{ "the proxy", AF_INET, "127.0.0.1", &place.port, 0 },
};

static void add_address(const char *text, int alias)
{
	struct ifreq name = { .ifr_flags = 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&name.ifr_addr;
	struct {
		struct in6_addr address;
		uint32_t prefix;
		int index;
	} six = { .prefix = 128, .index = LOOPBACK_INDEX };
	bool is_six = inet_pton(AF_INET6, text, &six.address) == 1;
	int fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(name.ifr_name, sizeof(name.ifr_name), "lo:%d", alias);
	in->sin_family = AF_INET;
	if (!is_six && inet_pton(AF_INET, text, &in->sin_addr) == 1)
		ioctl(fd, SIOCSIFADDR, &name);
	else
		ioctl(fd, SIOCSIFADDR, &six);
	close(fd);
}

/* A network of its own, where the loopback has all of them. */
static bool enter_network(void)
{
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	/* With the capabilities of a namespace a process is closed to its own user. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &up) < 0)
		return false;
	close(fd);
	for (size_t i = 0; i < COUNT(beyond); i++)
		add_address(beyond[i].address, (int)i);
	return true;
}

/* Returns what try_all() does, or 100 and the number of the first that is not as expected; 0
 * without such a network.
 */
static int try_beyond(void)
{
	int listener;
	int r;

	if (!enter_network())
		return 0;
	listener = listen_on_all(&place.port);
	place.rules.proxy_port = place.port;
	place.proxy = listener;
	r = try_all(beyond, COUNT(beyond));
	/* Nothing came from the supervised child but what went to the proxy. */
	return r < 0 ? 100 - r : accept_all(listener) == 2 ? r : 100;
}

static void nor_is_any_other_address(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(try_beyond());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 0) {
		print_message("# no network namespace can be had here\n");
		skip();
	}
	assert_in_range(WEXITSTATUS(status), 4, COUNT(beyond));
}

/* ---- what a client sees ---- */

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
	EXPECT(connect_to(fd, "127.0.0.1", place.port) == 0);
	EXPECT(fcntl(fd, F_GETFD) == FD_CLOEXEC && !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	EXPECT(get(fd, IPPROTO_TCP, TCP_NODELAY) == 1 && get(fd, SOL_SOCKET, SO_KEEPALIVE) == 1);
	EXPECT(get(fd, IPPROTO_TCP, TCP_KEEPIDLE) == 77);
	EXPECT(get(fd, SOL_SOCKET, SO_RCVBUF) == before);
	linger = (struct linger){ 0, 7 };
	getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len);
	EXPECT(linger.l_onoff && linger.l_linger == 0);
	EXPECT(getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0);
	EXPECT(peer.sin_port == htons(place.port) &&
	       peer.sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	EXPECT(connect_to(fd, "127.0.0.1", place.port) == EISCONN);
	EXPECT(connect_to(fd, "127.0.0.2", place.port) == EACCES);
	before = connect_to(open_fd, "127.0.0.1", place.port);
	EXPECT(before == 0 || before == EINPROGRESS);
	EXPECT(fcntl(open_fd, F_GETFD) == 0 && fcntl(open_fd, F_GETFL) & O_NONBLOCK);
	return 0;
}

static void flags_and_options_are_kept(void **state)
{
	(void)state;
	assert_int_equal(supervise(keeps_flags_and_options, NULL), 0);
	accept_all(place.proxy);
}

static int makes_mistakes(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(place.port) };
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
	EXPECT(connect_to(fd, "127.0.0.1", place.port) == 0);
	return 0;
}

static void mistakes_are_told_as_the_kernel_does(void **state)
{
	struct supervise_counts counts;

	(void)state;
	assert_int_equal(supervise(makes_mistakes, &counts), 0);
	assert_int_equal(counts.connected, 1);
	accept_all(place.proxy);
}

/* docs/supervision.md: what was made of a socket before it is connected stands for the old one. */
static int has_old_sockets(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int copy;
	int epoll = epoll_create1(0);
	int r;

	EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
	r = connect_to(fd, "127.0.0.1", place.port);
	EXPECT(r == 0 || r == EINPROGRESS);
	/* The parent lets go of the old one a moment later; until then that one has an event. */
	alarm(30);
	while (epoll_wait(epoll, &event, 1, 0) == 1)
		sched_yield();
	EXPECT(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT);
	EXPECT(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
	EXPECT(epoll_wait(epoll, &event, 1, 5000) == 1 && event.events == EPOLLOUT);

	fd = socket(AF_INET, SOCK_STREAM, 0);
	copy = dup(fd);
	EXPECT(connect_to(fd, "127.0.0.1", place.port) == 0);
	EXPECT(write(fd, "x", 1) == 1);
	EXPECT(send(copy, "x", 1, MSG_NOSIGNAL) < 0 && (errno == ENOTCONN || errno == EPIPE));
	EXPECT(recv(copy, &event, 1, 0) < 0 && errno == ENOTCONN);
	EXPECT(connect_to(copy, "127.0.0.1", place.port) == 0);
	return write(copy, "x", 1) == 1 ? 0 : 1;
}

static void what_was_there_before_stands_for_the_old_socket(void **state)
{
	(void)state;
	assert_int_equal(supervise(has_old_sockets, NULL), 0);
	accept_all(place.proxy);
}

static int is_refused_by_nobody_there(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	EXPECT(connect_to(fd, "127.0.0.1", place.port) == ECONNREFUSED);
	return connect_to(fd, "127.0.0.1", place.port) == ECONNREFUSED ? 0 : 1;
}

static void a_proxy_that_is_gone_is_an_ordinary_error(void **state)
{
	struct supervise_rules saved = place.rules;
	uint16_t saved_port = place.port;
	int gone = listen_on("127.0.0.1", 0, &place.port);

	(void)state;
	close(gone);
	place.rules.proxy_port = place.port;
	assert_int_equal(supervise(is_refused_by_nobody_there, NULL), 0);
	place.rules = saved;
	place.port = saved_port;
}

static int set_up(void **state)
{
	results = mmap(NULL, TARGETS_MAX * sizeof(*results), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return results == MAP_FAILED ? -1 : place_set_up(state);
}

static int tear_down(void **state)
{
	munmap(results, TARGETS_MAX * sizeof(*results));
	return place_tear_down(state);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_proxy_and_the_broker_are_reached),
		cmocka_unit_test(a_link_at_the_brokers_path_is_not_followed),
		cmocka_unit_test(nor_is_any_other_address),
		cmocka_unit_test(flags_and_options_are_kept),
		cmocka_unit_test(mistakes_are_told_as_the_kernel_does),
		cmocka_unit_test(what_was_there_before_stands_for_the_old_socket),
		cmocka_unit_test(a_proxy_that_is_gone_is_an_ordinary_error),
	};

	take_arguments(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
