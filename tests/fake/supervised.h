/* A child whose calls are put to a supervisor in this process, and what it may and may not connect
 * to: for tests of this kernel.
 */
#ifndef TESTS_FAKE_SUPERVISED_H
#define TESTS_FAKE_SUPERVISED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "launch/ask.h"
#include "launch/supervise/supervise.h"

/* ---- what is connected to ---- */

/* Sockets that listen: the proxy, the same port elsewhere, another port, two unix sockets. */
struct place {
	char dir[32];
	char broker_path[64];
	char other_path[64];
	char link_path[64]; /* leads to the other */
	char name[64];	    /* abstract, after '@' */
	int proxy;
	int elsewhere;	/* 127.0.0.2 */
	int elsewhere6; /* ::1; -1 where there is no IPv6 */
	int other_port;
	int broker;
	uint16_t port;
	uint16_t second_port;
	struct supervise_rules rules; /* the proxy and the broker */
};
extern struct place place;

/* For a group of tests. */
int place_set_up(void **state);
int place_tear_down(void **state);

/* Listen; of port 0, *ret_port is which it became. */
int listen_on(const char *address, uint16_t port, uint16_t *ret_port);
int listen_on_all(uint16_t *ret_port); /* every address, of both families */
int listen_at(const char *path, int backlog);

/* The address of a unix socket: a path, or an abstract name after '@'. Returns its length. */
socklen_t unix_address(const char *path, struct sockaddr_un *ret);

/* Take all that have connected. Returns how many. */
unsigned accept_all(int listener);

/* In a child. Returns 0 or the errno. */
int connect_to(int fd, const char *address, uint16_t port);

/* ---- children ---- */

/* What a child runs; it exits with what that returns. */
typedef int child_body(void);

struct supervised {
	pid_t pid;
	int end; /* readable when it has ended; -1 once it is reaped */
	struct supervisor *supervisor;
	bool reaped;
	int status;
};

/* A child that asks for `what` (launch/ask.h). */
struct supervised supervised_start(child_body *body, unsigned what,
				   const struct supervise_rules *rules);

/* Wait for something to do, 20 ms at most, and reap. Before Linux 6.11 a filter goes with the task
 * that is reaped, not with the one that has ended. So orphans of the child are ours to reap too.
 */
void supervised_wait(struct supervised *c);

/* What supervised_start() began ends. Returns the exit code, or 1000 and the signal. */
int supervised_end(struct supervised *c);

/* All of it: answer until there is nobody left, and see that nothing is left open. */
int supervised(child_body *body, unsigned what, const struct supervise_rules *rules,
	       struct supervise_counts *ret);

/* The control: the same body without a supervisor. */
int not_supervised(child_body *body);

/* What is open here. */
unsigned open_descriptors(void);

/* In a child: end with a code that says where, unless it holds. */
#define EXPECT(condition)                      \
	do {                                   \
		if (!(condition))              \
			return __LINE__ % 250; \
	} while (0)

/* ---- how long ---- */

/* Whether the program was told "quick": on an emulated machine a race costs seconds. */
extern bool quick;
void take_arguments(int argc, char **argv);

/* For how many rounds a race goes on; and on a slow or busy machine until it was seen both ways, in
 * time.
 */
double race_clock(void);
bool race_on(int round, bool seen, double start);

#endif
