/* Where a module may connect, judged from a copy of its address. Pure. Inside this folder only. */
#ifndef LAUNCH_SUPERVISE_JUDGE_H
#define LAUNCH_SUPERVISE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* What a module may reach. All zero: nothing. */
struct supervise_rules {
	uint16_t proxy_port; /* of 127.0.0.1; 0: no proxy */
	bool proxy_gone;     /* it has ended: whoever has its port now is another */
	const char *broker;  /* the path of the broker's socket; NULL: no broker */
	/* The writable roots, beneath which metadata may be changed; none are needed when the
	 * launcher does not ask about it.
	 */
	const char *const *writable;
	size_t writable_count;
	bool alarm; /* SIGALRM is the supervisor's: no caller keeps it (launch/supervise/plant.h) */
};

enum destination_kind {
	DESTINATION_REFUSED,
	DESTINATION_PROXY,
	DESTINATION_BROKER,
};

/* Where to connect. The address is made of the rules, never of what the module wrote. */
struct destination {
	enum destination_kind kind;
	int error;			 /* a positive errno, of a refusal */
	struct sockaddr_storage address; /* of the proxy */
	socklen_t len;
};

/* What is known of the socket that the module connects. */
struct socket_kind {
	int domain;
	int type;
	int protocol;
};

/* Judge address[0..len), the bytes that the module gave to connect(2) for a socket of that kind.
 * The proxy is reached as 127.0.0.1, from an IPv6 socket as ::ffff:127.0.0.1 (JVMs do); the broker
 * by its path, spelled as in the policy. Anything else is EACCES, as where Landlock refuses it. A
 * proxy that is gone refuses the connection.
 */
struct destination supervise_judge(const struct supervise_rules *rules,
				   const struct socket_kind *socket, const void *address,
				   size_t len);

#endif
