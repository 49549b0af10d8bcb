/* The head of a request to the egress proxy: where it ends, what it asks for, and what of it is
 * sent on. Pure. The subset of RFC 9112 that a proxy for CONNECT and absolute http:// needs,
 * strictly: a head that two readers could read in two ways is malformed. Inside this folder only.
 */
#ifndef LAUNCH_EGRESS_HEAD_H
#define LAUNCH_EGRESS_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/host.h"

/* How far a head has been looked at. Starts as all zero. */
struct egress_scan {
	size_t seen;
	size_t line; /* where the line starts that `seen` is in */
};

/* Look on in head[0..len), which holds what was given before and more. Returns the length of the
 * head with the empty line that ends it; 0 when there is more to come; or -EINVAL: a line that does
 * not end in CR LF, a control character, nothing before the empty line.
 */
long egress_scan(struct egress_scan *scan, const char *head, size_t len);

enum egress_request_kind {
	REQUEST_MALFORMED,
	REQUEST_OTHER, /* well-formed, and neither of the two below */
	REQUEST_CONNECT,
	REQUEST_HTTP, /* another method with an absolute http:// target */
};

/* Of a CONNECT and an http request. */
struct egress_request {
	enum egress_request_kind kind;
	enum host_kind host_kind;
	/* A name: as host_read() leaves it. An address: as it was written, cut. "" when it is
	 * neither: then it may be anything, and is nobody's business.
	 */
	char host[HOST_MAX + 1];
	uint16_t port;

	/* Of an http request, in its head. */
	size_t method_len;
	size_t authority;
	size_t authority_len;
	size_t path; /* may be empty */
	size_t path_len;
	size_t headers; /* the first line after the request line */
	bool chunked;
	uint64_t length; /* of a body that is not in chunks */
};

/* Read the whole head[0..len). Sets ret->kind, and the rest as far as it is known; without a port
 * CONNECT means 443 and http means 80.
 */
void egress_request_read(const char *head, size_t len, struct egress_request *ret);

/* How much longer than the head what is sent on may be. */
#define EGRESS_FORWARD_MORE (HOST_MAX + 64)

/* What a server is sent of an http request: its line with the path alone, Host as the target has
 * it, "Connection: close" so that the next request comes to the proxy again, and all other lines
 * but those between a client and its proxy, one of which may hold a secret. Returns its length, or
 * -ENOSPC.
 */
long egress_forward(const char *head, size_t len, const struct egress_request *request, char *buf,
		    size_t size);

#endif
