/* Route dumps: links when the first byte is even, addresses when it is odd. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/netlink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_facts f = { .truncated = false };
	void *aligned;

	if (size == 0 || !(aligned = malloc(size - 1 ? size - 1 : 1)))
		return 0;
	memcpy(aligned, data + 1, size - 1);
	if (data[0] % 2 == 0)
		netlink_take_links(aligned, size - 1, &f);
	else
		netlink_take_addresses(aligned, size - 1, &f);
	free(aligned);
	if (f.link_count > NET_LINKS_MAX || f.address_count > NET_ADDRESSES_MAX)
		__builtin_trap();
	for (uint32_t i = 0; i < f.address_count; i++)
		if (f.addresses[i].scope == SCOPE_UNKNOWN || !f.addresses[i].text[0])
			__builtin_trap();
	return 0;
}
