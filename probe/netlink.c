#include "probe/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "kabi/text.h"
#include "probe/probes.h"

/* A dump of all links without their counters is about 1 KiB a link. Untouched pages cost nothing,
 * and a probe has its process for itself. */
#define ANSWER_MAX (256 * 1024)

#ifndef RTEXT_FILTER_SKIP_STATS
#define RTEXT_FILTER_SKIP_STATS (1 << 3)
#endif

/* ---- answers ---- */

typedef void take_message(const struct nlmsghdr *message, struct net_facts *ret);

static bool has_payload(const struct nlmsghdr *message, size_t size)
{
	return mnl_nlmsg_get_payload_len(message) >= size;
}

/* NLMSG_ERROR and NLMSG_DONE start with an errno, negative or 0. */
static int final_error(const struct nlmsghdr *message)
{
	int err;

	if (!has_payload(message, sizeof(err)))
		return message->nlmsg_type == NLMSG_DONE ? 0 : -EBADMSG;
	memcpy(&err, mnl_nlmsg_get_payload(message), sizeof(err));
	if (err < 0 && err > -4096)
		return err;
	return message->nlmsg_type == NLMSG_DONE && err == 0 ? 0 : -EBADMSG;
}

/* A message is padded to four bytes, and the library looks for attributes up to there. */
static bool is_whole(const struct nlmsghdr *message, int left)
{
	return mnl_nlmsg_ok(message, left) &&
	       MNL_ALIGN((uint64_t)message->nlmsg_len) <= (uint64_t)left;
}

static int take_all(const void *answer, size_t len, uint16_t wanted, take_message *take,
		    struct net_facts *ret)
{
	const struct nlmsghdr *message = answer;
	int left = (int)len;

	if (len > INT_MAX)
		return -EFBIG;
	for (; is_whole(message, left); message = mnl_nlmsg_next(message, &left)) {
		if (message->nlmsg_flags & NLM_F_DUMP_INTR)
			ret->truncated = true;
		if (message->nlmsg_type == NLMSG_ERROR || message->nlmsg_type == NLMSG_DONE)
			return final_error(message);
		if (message->nlmsg_type == wanted)
			take(message, ret);
	}
	return -EBADMSG;
}

static void take_link(const struct nlmsghdr *message, struct net_facts *ret)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	struct net_link *link = &ret->links[ret->link_count];
	const struct nlattr *attr;

	if (!has_payload(message, sizeof(*info)))
		return;
	if (ret->link_count == NET_LINKS_MAX) {
		ret->truncated = true;
		return;
	}
	*link = (struct net_link){
		.index = (uint32_t)info->ifi_index,
		.up = info->ifi_flags & IFF_UP,
		.loopback = info->ifi_flags & IFF_LOOPBACK,
	};
	mnl_attr_for_each (attr, message, sizeof(*info)) {
		const char *name = mnl_attr_get_payload(attr);
		struct text t;

		if (mnl_attr_get_type(attr) != IFLA_IFNAME)
			continue;
		t = TEXT_BUF(link->name);
		text_add_bytes(&t, name, strnlen(name, mnl_attr_get_payload_len(attr)));
	}
	ret->link_count++;
}

static enum address_scope scope_of(int family, const uint8_t *address)
{
	static const uint8_t loopback6[16] = { [15] = 1 };

	if (family == AF_INET) {
		if (address[0] == 127)
			return SCOPE_LOOPBACK;
		return address[0] == 169 && address[1] == 254 ? SCOPE_LINK_LOCAL : SCOPE_GLOBAL;
	}
	if (memcmp(address, loopback6, sizeof(loopback6)) == 0)
		return SCOPE_LOOPBACK;
	return address[0] == 0xfe && (address[1] & 0xc0) == 0x80 ? SCOPE_LINK_LOCAL : SCOPE_GLOBAL;
}

/* On a point-to-point link IFA_ADDRESS is the other end; where there is IFA_LOCAL, that is ours. */
static const uint8_t *own_address(const struct nlmsghdr *message, size_t size)
{
	const uint8_t *address = NULL;
	const uint8_t *local = NULL;
	const struct nlattr *attr;

	mnl_attr_for_each (attr, message, sizeof(struct ifaddrmsg)) {
		if (mnl_attr_get_payload_len(attr) != size)
			continue;
		if (mnl_attr_get_type(attr) == IFA_LOCAL)
			local = mnl_attr_get_payload(attr);
		if (mnl_attr_get_type(attr) == IFA_ADDRESS)
			address = mnl_attr_get_payload(attr);
	}
	return local ? local : address;
}

static void take_address(const struct nlmsghdr *message, struct net_facts *ret)
{
	const struct ifaddrmsg *info = mnl_nlmsg_get_payload(message);
	struct net_address *to = &ret->addresses[ret->address_count];
	const uint8_t *address;
	char text[INET6_ADDRSTRLEN];
	struct text t;

	if (!has_payload(message, sizeof(*info)) ||
	    (info->ifa_family != AF_INET && info->ifa_family != AF_INET6))
		return;
	address = own_address(message, info->ifa_family == AF_INET ? 4 : 16);
	if (!address || !inet_ntop(info->ifa_family, address, text, sizeof(text)))
		return;
	if (ret->address_count == NET_ADDRESSES_MAX) {
		ret->truncated = true;
		return;
	}
	*to = (struct net_address){
		.link = info->ifa_index,
		.ipv6 = info->ifa_family == AF_INET6,
		.scope = scope_of(info->ifa_family, address),
	};
	t = TEXT_BUF(to->text);
	text_add(&t, text);
	text_add(&t, "/");
	text_add_int(&t, info->ifa_prefixlen);
	ret->address_count++;
}

int netlink_take_links(const void *answer, size_t len, struct net_facts *ret)
{
	return take_all(answer, len, RTM_NEWLINK, take_link, ret);
}

int netlink_take_addresses(const void *answer, size_t len, struct net_facts *ret)
{
	return take_all(answer, len, RTM_NEWADDR, take_address, ret);
}

/* ---- requests ---- */

typedef int take_answer(const void *answer, size_t len, struct net_facts *ret);

static int dump(const struct kernel *k, uint16_t type, take_answer *take, struct net_facts *ret)
{
	static _Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
	_Alignas(struct nlmsghdr) char buf[64] = { 0 };
	struct nlmsghdr *request = mnl_nlmsg_put_header(buf);
	ssize_t n;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	request->nlmsg_seq = 1;
	if (type == RTM_GETLINK) {
		mnl_nlmsg_put_extra_header(request, sizeof(struct ifinfomsg));
		mnl_attr_put_u32(request, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	} else {
		mnl_nlmsg_put_extra_header(request, sizeof(struct ifaddrmsg));
	}
	n = k->route_dump(k, type, request, request->nlmsg_len, answer, sizeof(answer));
	return n < 0 ? (int)n : take(answer, (size_t)n, ret);
}

static void judge_family(const struct net_facts *net, bool ipv6, struct fact *ret)
{
	const char *call = ipv6 ? "IPv6 in the RTM_GETADDR dump" : "IPv4 in the RTM_GETADDR dump";

	for (uint32_t i = 0; i < net->address_count; i++) {
		const struct net_address *a = &net->addresses[i];

		if (a->ipv6 != ipv6 || a->scope == SCOPE_LOOPBACK)
			continue;
		fact_text(ret, ANSWER_YES, BASIS_OBSERVED, call, a->text);
		return;
	}
	fact_text(ret, net->truncated ? ANSWER_UNKNOWN : ANSWER_NO, BASIS_OBSERVED, call,
		  "none beyond loopback");
}

void probe_net(const struct kernel *k, struct net_facts *ret)
{
	const char *call = "RTM_GETLINK dump";
	int r = dump(k, RTM_GETLINK, netlink_take_links, ret);

	if (r == 0) {
		call = "RTM_GETADDR dump";
		r = dump(k, RTM_GETADDR, netlink_take_addresses, ret);
	}
	if (r < 0) {
		memset(ret, 0, sizeof(*ret));
		fact_call(&ret->asked, ANSWER_UNKNOWN, call, r);
		return;
	}
	fact_text(&ret->asked, ANSWER_YES, BASIS_OBSERVED, "RTM_GETLINK and RTM_GETADDR dump",
		  ret->truncated ? "in part" : "whole");
	judge_family(ret, false, &ret->ipv4);
	judge_family(ret, true, &ret->ipv6);
}
