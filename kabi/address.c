#include "kabi/address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

struct block {
	uint8_t bytes[16];
	uint8_t bits;
	bool is_public;
};

/* In each table the first block that holds an address decides. */
static const struct block v4[] = {
	{ { 0 }, 8, false },		 /* this network */
	{ { 10 }, 8, false },		 /* private */
	{ { 100, 64 }, 10, false },	 /* shared by carriers */
	{ { 127 }, 8, false },		 /* loopback */
	{ { 169, 254 }, 16, false },	 /* link-local */
	{ { 172, 16 }, 12, false },	 /* private */
	{ { 192, 0, 0, 9 }, 32, true },	 /* port control anycast */
	{ { 192, 0, 0, 10 }, 32, true }, /* TURN anycast */
	{ { 192, 0, 0 }, 24, false },	 /* protocol assignments */
	{ { 192, 0, 2 }, 24, false },	 /* documentation */
	{ { 192, 88, 99 }, 24, false },	 /* 6to4 relays, withdrawn */
	{ { 192, 168 }, 16, false },	 /* private */
	{ { 198, 18 }, 15, false },	 /* benchmarks */
	{ { 198, 51, 100 }, 24, false }, /* documentation */
	{ { 203, 0, 113 }, 24, false },	 /* documentation */
	{ { 224 }, 4, false },		 /* multicast */
	{ { 240 }, 4, false },		 /* reserved, and broadcast */
	{ { 0 }, 0, true },
};

static const struct block v6[] = {
	{ { 0x20, 0x01, 0, 1, [15] = 1 }, 128, true },	/* port control anycast */
	{ { 0x20, 0x01, 0, 1, [15] = 2 }, 128, true },	/* TURN anycast */
	{ { 0x20, 0x01, 0, 3 }, 32, true },		/* AMT */
	{ { 0x20, 0x01, 0, 4, 0x01, 0x12 }, 48, true }, /* AS112 */
	{ { 0x20, 0x01, 0, 0x20 }, 28, true },		/* ORCHIDv2 */
	{ { 0x20, 0x01, 0, 0x30 }, 28, true },		/* drone identifiers */
	{ { 0x20, 0x01 }, 23, false },			/* protocol assignments, Teredo */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, false },	/* documentation */
	{ { 0x20, 0x02 }, 16, false },			/* 6to4 */
	{ { 0x3f, 0xff }, 20, false },			/* documentation */
	{ { 0x20 }, 3, true },				/* global unicast */
	{ { 0 }, 0, false },
};

static bool holds(const struct block *block, const uint8_t *bytes)
{
	unsigned whole = block->bits / 8;
	unsigned rest = block->bits % 8;

	if (memcmp(block->bytes, bytes, whole) != 0)
		return false;
	return rest == 0 || (block->bytes[whole] ^ bytes[whole]) >> (8 - rest) == 0;
}

struct address address_of(const struct sockaddr *sa)
{
	struct address address = { .len = 0 };

	/* By copying, since a sockaddr from elsewhere may lie at any byte. */
	if (sa->sa_family == AF_INET) {
		address.len = 4;
		memcpy(address.bytes, (const char *)sa + offsetof(struct sockaddr_in, sin_addr), 4);
	} else if (sa->sa_family == AF_INET6) {
		address.len = 16;
		memcpy(address.bytes, (const char *)sa + offsetof(struct sockaddr_in6, sin6_addr),
		       16);
	}
	return address;
}

bool address_is_public(const struct address *address)
{
	const struct block *block = address->len == 4 ? v4 : v6;

	if (address->len != 4 && address->len != 16)
		return false;
	while (!holds(block, address->bytes))
		block++;
	return block->is_public;
}
