/* Host names of an egress allow list, and those a program asks a proxy for. One rule for the
 * manifest's reader and the proxy (spec/wire.md §6.1 and §8).
 */
#ifndef KABI_HOST_H
#define KABI_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/fault.h"

#define HOST_MAX 253  /* bytes, without the end; of an entry with its port too */
#define HOST_PORT 443 /* of an entry that names none */

enum host_kind {
	HOST_MALFORMED,
	HOST_ADDRESS, /* an address, in one of its many spellings */
	HOST_NAME,
};

/* What text[0..len) is. A name is copied to `ret` in the form in which names are compared: lower
 * case, without a dot at the end. An address is anything with a colon, brackets or not, and
 * anything whose last label is a number, decimal or 0x…: that is how inet_aton(3) and browsers find
 * "127.1" and "0x7f000001", and no top-level domain is one. A name has letters, digits, '-' and
 * '_', in labels of 1 to 63.
 */
enum host_kind host_read(const char *text, size_t len, char ret[HOST_MAX + 1]);

/* An entry of an allow list. */
struct host_entry {
	char name[HOST_MAX + 1]; /* as host_read() leaves it */
	bool subdomains;	 /* of any depth, and not the name itself */
	uint32_t port;		 /* 99999 is a port of an entry, and none of a request */
};

/* Is it host[:port], as the manifest's pattern has it? Addresses pass. */
bool host_entry_fits(const char *text);

/* Is it ":" and one to five digits, or nothing? */
bool host_port_fits(const char *text);

/* An IPv4 address in place of an entry's host: all parts between the dots are digits. */
bool host_entry_is_address(const char *text);

/* Read an entry; spaces around it are passed over. Returns 0; or -EINVAL with `why`, which quotes
 * it, when it does not fit, or is an address.
 */
int host_entry_read(const char *text, struct host_entry *ret, struct fault *why);

/* `name` is as host_read() leaves it. */
bool host_entry_matches(const struct host_entry *entry, const char *name, uint16_t port);

#endif
