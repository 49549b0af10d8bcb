/* The body of an http request to the egress proxy: how much of what a client sends is still of it
 * (RFC 9112, 6). What comes behind it is another request, and not for the same server. Pure. Inside
 * this folder only.
 */
#ifndef LAUNCH_EGRESS_BODY_H
#define LAUNCH_EGRESS_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum egress_body_state {
	BODY_BAD, /* no chunks; nothing more is of it */
	BODY_DONE,
	BODY_PLAIN, /* `left` bytes more */
	BODY_SIZE,
	BODY_EXTENSION,
	BODY_SIZE_LF,
	BODY_CHUNK, /* `left` bytes more, and CR LF */
	BODY_CHUNK_CR,
	BODY_CHUNK_LF,
	BODY_TRAILER,
	BODY_TRAILER_LINE,
	BODY_TRAILER_LF,
	BODY_LAST_LF,
};

struct egress_body {
	enum egress_body_state state;
	uint64_t left;
	unsigned digits; /* of a size */
};

struct egress_body egress_body_start(bool chunked, uint64_t length);

/* Take what is of the body from data[0..len). Returns how much that is: less than `len` only when
 * it is done, or bad.
 */
size_t egress_body_take(struct egress_body *body, const char *data, size_t len);

/* So many bytes are of it whatever they are; and `len` of these have been taken unseen. */
uint64_t egress_body_sure(const struct egress_body *body);
void egress_body_pass(struct egress_body *body, uint64_t len);

#endif
