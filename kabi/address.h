/* Internet addresses: which of them are out in the public internet. */
#ifndef KABI_ADDRESS_H
#define KABI_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* A place for one IPv4 or IPv6 address, in network order. */
struct address {
	uint8_t bytes[16];
	uint8_t len; /* 4 or 16; 0: none */
};

/* Take the address of an AF_INET or AF_INET6 sockaddr; of any other family len becomes 0. */
struct address address_of(const struct sockaddr *sa);

/* Is it a unicast address that the whole internet routes? Public is what the IANA registries of
 * special-purpose addresses call global, and less: no multicast; of IPv6 only 2000::/3, so that
 * every form with an IPv4 address inside is out (mapped, compatible, translated, NAT64), and
 * without Teredo and 6to4. spec/wire.md §8 has the list, §14 item 8 what it forgot.
 */
bool address_is_public(const struct address *address);

#endif
