#include "launch/egress/body.h"

#define DIGITS_MAX 15 /* of a chunk's size */

struct egress_body egress_body_start(bool chunked, uint64_t length)
{
	if (chunked)
		return (struct egress_body){ .state = BODY_SIZE };
	return (struct egress_body){ .state = length ? BODY_PLAIN : BODY_DONE, .left = length };
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Strictly: a size that another reader could read otherwise is none. */
static enum egress_body_state after_size(struct egress_body *b, char c)
{
	int digit = hex_digit(c);

	if (digit >= 0 && b->digits < DIGITS_MAX) {
		b->left = b->left * 16 + (unsigned)digit;
		b->digits++;
		return BODY_SIZE;
	}
	if (digit >= 0 || b->digits == 0)
		return BODY_BAD;
	b->digits = 0;
	return c == '\r' ? BODY_SIZE_LF : c == ';' ? BODY_EXTENSION : BODY_BAD;
}

/* Inside a line that ends with CR LF; no other control character is in it. */
static enum egress_body_state inside(char c, enum egress_body_state same,
				     enum egress_body_state at_end)
{
	if (c == '\r')
		return at_end;
	return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f ? BODY_BAD : same;
}

static enum egress_body_state after(struct egress_body *b, char c)
{
	switch (b->state) {
	case BODY_BAD:
	case BODY_DONE:
	case BODY_PLAIN:
	case BODY_CHUNK:
		break;
	case BODY_SIZE:
		return after_size(b, c);
	case BODY_EXTENSION:
		return inside(c, BODY_EXTENSION, BODY_SIZE_LF);
	case BODY_SIZE_LF:
		return c != '\n' ? BODY_BAD : b->left ? BODY_CHUNK : BODY_TRAILER;
	case BODY_CHUNK_CR:
		return c == '\r' ? BODY_CHUNK_LF : BODY_BAD;
	case BODY_CHUNK_LF:
		return c == '\n' ? BODY_SIZE : BODY_BAD;
	case BODY_TRAILER:
		return inside(c, BODY_TRAILER_LINE, BODY_LAST_LF);
	case BODY_TRAILER_LINE:
		return inside(c, BODY_TRAILER_LINE, BODY_TRAILER_LF);
	case BODY_TRAILER_LF:
		return c == '\n' ? BODY_TRAILER : BODY_BAD;
	case BODY_LAST_LF:
		return c == '\n' ? BODY_DONE : BODY_BAD;
	}
	return BODY_BAD;
}

size_t egress_body_take(struct egress_body *body, const char *data, size_t len)
{
	size_t at = 0;

	while (at < len && body->state != BODY_DONE && body->state != BODY_BAD) {
		uint64_t sure = egress_body_sure(body);

		if (sure > len - at)
			sure = len - at;
		if (sure > 0)
			egress_body_pass(body, sure);
		else
			body->state = after(body, data[at]);
		at += sure ? (size_t)sure : 1;
	}
	return at;
}

uint64_t egress_body_sure(const struct egress_body *body)
{
	return body->state == BODY_PLAIN || body->state == BODY_CHUNK ? body->left : 0;
}

void egress_body_pass(struct egress_body *body, uint64_t len)
{
	body->left -= len;
	if (body->left == 0)
		body->state = body->state == BODY_PLAIN ? BODY_DONE : BODY_CHUNK_CR;
}
