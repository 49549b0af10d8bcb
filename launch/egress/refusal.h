/* Why the egress proxy does not connect, as the client is told and as the log has it. Pure. Inside
 * this folder only.
 */
#ifndef LAUNCH_EGRESS_REFUSAL_H
#define LAUNCH_EGRESS_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum egress_refusal {
	REFUSAL_MALFORMED,
	REFUSAL_METHOD,	     /* neither CONNECT nor absolute http */
	REFUSAL_ADDRESS,     /* an address in place of a name */
	REFUSAL_NOT_ALLOWED, /* not in the allow list */
	REFUSAL_NOT_PUBLIC,  /* some answer for the name is no public address */
	REFUSAL_STRANGER,    /* the client is another user's process */
	REFUSAL_HEAD_TIME,
	REFUSAL_HEAD_SIZE,
	REFUSAL_CONNECTIONS, /* too many at a time */
	/* From here on the request is allowed, and cannot be carried out. */
	REFUSAL_LOOKUP, /* the name has no address */
	REFUSAL_LOOKUP_TIME,
	REFUSAL_CONNECT, /* no address can be connected to */
	REFUSAL_CONNECT_TIME,
};
#define REFUSAL_COUNT 13

struct egress_refusal_kind {
	const char *code; /* in the log */
	int status;
	const char *phrase; /* of the status */
	const char *reason; /* a line for a person */
};
extern const struct egress_refusal_kind egress_refusal_kinds[REFUSAL_COUNT];

/* Is it the client's doing? A conformance run fails on those, and not on a server that is down. */
bool egress_refusal_is_policy(enum egress_refusal refusal);

/* What a refusal is about. Nothing that a client may hold secret: no path, no header, no bytes. */
struct egress_subject {
	const char *host; /* printable ASCII; "": not known */
	uint16_t port;
	const char *detail; /* an error's name, or "" */
};

/* The whole response in buf[EGRESS_REPLY_MAX], ended by NUL. Returns its length. */
#define EGRESS_REPLY_MAX 1024
size_t egress_reply(enum egress_refusal refusal, const struct egress_subject *subject,
		    char buf[EGRESS_REPLY_MAX]);

/* A line of the log with its newline, the `number`th refusal, `ms` after the proxy started. Returns
 * its length. A line is written to a pipe in one piece.
 */
#define EGRESS_LINE_MAX 1024
size_t egress_line(enum egress_refusal refusal, const struct egress_subject *subject,
		   uint64_t number, int64_t ms, char buf[EGRESS_LINE_MAX]);

#endif
