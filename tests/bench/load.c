/* Load for a proxy: a server that sends to all who connect, and clients that count what they get.
 *
 * usage: load serve ADDRESS PORT            serve what each client asks for, 8 bytes, little-endian
 *        load get VIA-PORT TARGET COUNT BYTES [hold]
 *             COUNT connections at once, to 127.0.0.1:VIA-PORT; TARGET "-" is a relay that needs no
 *             request, else CONNECT is sent for it; BYTES from each. hold: then wait for a line of
 *             input before they are closed.
 *        load connect PORT COUNT            connect and close, in turn
 * prints: SECONDS of the whole, and for connect NANOSECONDS of the median one
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 16384
#define BLOCK (1024 * 1024)

static char block[BLOCK];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };

	inet_pton(AF_INET, address, &in.sin_addr);
	return in;
}

/* ---- the server ---- */

struct served {
	int fd;
	uint64_t left;
	bool asked;
};

static void serve_one(struct served *c, int epoll)
{
	struct epoll_event out = { .events = EPOLLOUT, .data.ptr = c };

	if (!c->asked) {
		if (recv(c->fd, &c->left, sizeof(c->left), MSG_WAITALL) != sizeof(c->left)) {
			close(c->fd);
			free(c);
			return;
		}
		c->asked = true;
		epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &out);
	}
	while (c->left > 0) {
		ssize_t n = send(c->fd, block, c->left < BLOCK ? c->left : BLOCK, MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			break;
		c->left -= (uint64_t)n;
	}
	/* Wait for the client's end. */
	c->asked = false;
	out.events = EPOLLIN;
	epoll_ctl(epoll, EPOLL_CTL_MOD, c->fd, &out);
}

static _Noreturn void serve(const char *address, const char *port)
{
	struct sockaddr_in in = address_of(address, port);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(listener, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(listener, 4096) < 0)
		die("listen");
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < n; i++) {
			struct served *c = events[i].data.ptr;
			int fd;

			if (c) {
				serve_one(c, epoll);
				continue;
			}
			while ((fd = accept4(listener, NULL, NULL, 0)) >= 0) {
				c = calloc(1, sizeof(*c));
				if (!c)
					die("calloc");
				c->fd = fd;
				event = (struct epoll_event){ .events = EPOLLIN, .data.ptr = c };
				epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
			}
		}
	}
}

/* ---- clients ---- */

struct client {
	int fd;
	bool established; /* the proxy has answered */
	size_t head;	  /* bytes of the answer's end seen */
	uint64_t left;
};

static struct client clients[CONNECTIONS_MAX];

static void ask(struct client *c, uint64_t bytes)
{
	if (send(c->fd, &bytes, sizeof(bytes), 0) != sizeof(bytes))
		die("ask");
	c->established = true;
}

static void start_client(struct client *c, const char *via, const char *target, uint64_t bytes,
			 int epoll)
{
	struct sockaddr_in in = address_of("127.0.0.1", via);
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	char head[512];
	int len;

	*c = (struct client){ .fd = socket(AF_INET, SOCK_STREAM, 0), .left = bytes };
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&in, sizeof(in)) < 0)
		die("connect");
	epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
	if (strcmp(target, "-") == 0) {
		ask(c, bytes);
		return;
	}
	len = snprintf(head, sizeof(head), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target,
		       target);
	if (send(c->fd, head, (size_t)len, 0) != len)
		die("request");
}

/* The answer's head, by bytes, so that nothing after it is taken for it. */
static void read_head(struct client *c, uint64_t bytes)
{
	static const char end[] = "\r\n\r\n";
	char byte;

	while (c->head < 4 && recv(c->fd, &byte, 1, MSG_DONTWAIT) == 1)
		c->head = byte == end[c->head] ? c->head + 1 : byte == '\r' ? 1 : 0;
	if (c->head == 4)
		ask(c, bytes);
}

static bool read_body(struct client *c)
{
	static char sink[BLOCK];
	ssize_t n = recv(c->fd, sink, BLOCK, MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN))
		die("the connection ended early");
	if (n > 0)
		c->left -= (uint64_t)n;
	return c->left == 0;
}

static int get(char **argv)
{
	unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
	uint64_t bytes = strtoull(argv[3], NULL, 10);
	int epoll = epoll_create1(0);
	double start = now();
	unsigned done = 0;

	if (count > CONNECTIONS_MAX)
		return 64;
	for (unsigned i = 0; i < count; i++)
		start_client(&clients[i], argv[0], argv[1], bytes, epoll);
	while (done < count) {
		struct epoll_event events[64];
		int n = epoll_wait(epoll, events, 64, 60000);

		if (n <= 0)
			die("nothing comes");
		for (int i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;

			if (!c->established) {
				read_head(c, bytes);
			} else if (read_body(c)) {
				epoll_ctl(epoll, EPOLL_CTL_DEL, c->fd, NULL);
				done++;
			}
		}
	}
	printf("%.6f\n", now() - start);
	fflush(stdout);
	if (argv[4])
		getchar();
	for (unsigned i = 0; i < count; i++)
		close(clients[i].fd);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static int connect_in_turn(const char *port, const char *times)
{
	struct sockaddr_in in = address_of("127.0.0.1", port);
	size_t count = strtoul(times, NULL, 10);
	double *each = calloc(count, sizeof(*each));
	double start = now();

	if (!each || count == 0)
		return 64;
	for (size_t i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		double before = now();

		if (connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0)
			die("connect");
		each[i] = now() - before;
		close(fd);
	}
	start = now() - start;
	qsort(each, count, sizeof(*each), by_value);
	printf("%.6f %.0f\n", start, each[count / 2] * 1e9);
	free(each);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit limit;

	signal(SIGPIPE, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (argc == 4 && strcmp(argv[1], "serve") == 0)
		serve(argv[2], argv[3]);
	if (argc >= 6 && strcmp(argv[1], "get") == 0)
		return get(argv + 2);
	if (argc == 4 && strcmp(argv[1], "connect") == 0)
		return connect_in_turn(argv[2], argv[3]);
	return 64;
}
