/* Route netlink answers taken apart. The probe itself is in probes.h. */
#ifndef PROBE_NETLINK_H
#define PROBE_NETLINK_H

#include <stddef.h>

#include "probe/facts.h"

/* Add the links of a RTM_GETLINK dump's whole answer, or the addresses of a RTM_GETADDR dump's, to
 * *ret. `answer` is aligned for a uint32_t. Returns 0; the kernel's -errno when the answer holds
 * one; -EBADMSG when it is not whole. `truncated` is set when there were more than fit in *ret, or
 * when the kernel says that the dump was overtaken by a change.
 */
int netlink_take_links(const void *answer, size_t len, struct net_facts *ret);
int netlink_take_addresses(const void *answer, size_t len, struct net_facts *ret);

#endif
