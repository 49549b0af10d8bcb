/* probe/netlink.c: route dumps, whole and broken. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "probe/netlink.h"
#include "probe/probes.h"
#include "tests/fake/tree.h"

/* An answer under construction; the message that is open last grows. */
struct dump {
	_Alignas(4) char bytes[65536];
	size_t len;
	size_t open;
};

static void put(struct dump *a, const void *bytes, size_t len)
{
	struct nlmsghdr header;
	size_t padded = (len + 3) & ~(size_t)3;

	assert_true(a->len + padded <= sizeof(a->bytes));
	memset(a->bytes + a->len, 0, padded);
	memcpy(a->bytes + a->len, bytes, len);
	a->len += padded;
	memcpy(&header, a->bytes + a->open, sizeof(header));
	header.nlmsg_len = (uint32_t)(a->len - a->open);
	memcpy(a->bytes + a->open, &header, sizeof(header));
}

static void begin(struct dump *a, uint16_t type, uint16_t flags, const void *body, size_t len)
{
	struct nlmsghdr header = { .nlmsg_type = type, .nlmsg_flags = flags };

	a->open = a->len;
	put(a, &header, sizeof(header));
	put(a, body, len);
}

static void attribute(struct dump *a, uint16_t type, const void *value, size_t len)
{
	struct nlattr attr = { .nla_len = (uint16_t)(sizeof(attr) + len), .nla_type = type };

	put(a, &attr, sizeof(attr));
	put(a, value, len);
}

static void add_link(struct dump *a, int index, const char *name, unsigned flags)
{
	struct ifinfomsg info = { .ifi_index = index, .ifi_flags = flags };

	begin(a, RTM_NEWLINK, NLM_F_MULTI, &info, sizeof(info));
	attribute(a, IFLA_TXQLEN, &index, sizeof(index));
	attribute(a, IFLA_IFNAME, name, strlen(name) + 1);
	attribute(a, IFLA_MTU, &index, sizeof(index));
}

static void add_address(struct dump *a, unsigned index, uint16_t attr, const char *text,
			uint8_t prefix)
{
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;
	struct ifaddrmsg info = { .ifa_family = (uint8_t)family,
				  .ifa_prefixlen = prefix,
				  .ifa_index = index };
	uint8_t bytes[16];

	assert_int_equal(inet_pton(family, text, bytes), 1);
	begin(a, RTM_NEWADDR, NLM_F_MULTI, &info, sizeof(info));
	attribute(a, attr, bytes, family == AF_INET ? 4 : 16);
}

static void add_done(struct dump *a, int err)
{
	begin(a, NLMSG_DONE, NLM_F_MULTI, &err, sizeof(err));
}

/* From a block of exactly that size, so that a read beyond it is seen. */
static int take_exactly(int (*take)(const void *, size_t, struct net_facts *), const void *bytes,
			size_t len, struct net_facts *ret)
{
	char *exact = malloc(len ? len : 1);
	int r;

	assert_non_null(exact);
	memcpy(exact, bytes, len);
	memset(ret, 0, sizeof(*ret));
	r = take(exact, len, ret);
	free(exact);
	return r;
}

static void links_and_their_flags(void **state)
{
	static struct dump a;
	struct net_facts f;

	(void)state;
	a.len = 0;
	add_link(&a, 1, "lo", IFF_UP | IFF_LOOPBACK);
	add_link(&a, 2, "eth0", IFF_UP);
	add_link(&a, 7, "a-name-much-longer-than-the-kernel-has", 0);
	add_done(&a, 0);
	assert_int_equal(take_exactly(netlink_take_links, a.bytes, a.len, &f), 0);
	assert_int_equal(f.link_count, 3);
	assert_string_equal(f.links[0].name, "lo");
	assert_true(f.links[0].loopback && f.links[0].up);
	assert_int_equal(f.links[1].index, 2);
	assert_true(f.links[1].up && !f.links[1].loopback);
	assert_false(f.links[2].up);
	assert_int_equal(strlen(f.links[2].name), sizeof(f.links[2].name) - 1);
	assert_false(f.truncated);
}

static void scopes_of_addresses(void **state)
{
	static const struct {
		const char *text;
		enum address_scope scope;
	} rows[] = {
		{ "127.0.0.1", SCOPE_LOOPBACK },
		{ "127.255.255.255", SCOPE_LOOPBACK },
		{ "128.0.0.1", SCOPE_GLOBAL },
		{ "126.255.255.255", SCOPE_GLOBAL },
		{ "169.254.0.1", SCOPE_LINK_LOCAL },
		{ "169.254.255.255", SCOPE_LINK_LOCAL },
		{ "169.255.0.1", SCOPE_GLOBAL },
		{ "169.253.0.1", SCOPE_GLOBAL },
		{ "10.0.0.1", SCOPE_GLOBAL },
		{ "192.168.1.1", SCOPE_GLOBAL },
		{ "::1", SCOPE_LOOPBACK },
		{ "::2", SCOPE_GLOBAL },
		{ "1::1", SCOPE_GLOBAL },
		{ "fe80::1", SCOPE_LINK_LOCAL },
		{ "febf::1", SCOPE_LINK_LOCAL },
		{ "fec0::1", SCOPE_GLOBAL },
		{ "fe7f::1", SCOPE_GLOBAL },
		{ "fd00::1", SCOPE_GLOBAL },
		{ "2001:db8::1", SCOPE_GLOBAL },
	};
	static struct dump a;
	struct net_facts f;

	(void)state;
	a.len = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		add_address(&a, 3, IFA_ADDRESS, rows[i].text, 24);
	add_done(&a, 0);
	assert_int_equal(take_exactly(netlink_take_addresses, a.bytes, a.len, &f), 0);
	assert_int_equal(f.address_count, sizeof(rows) / sizeof(rows[0]));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s/24", rows[i].text);
		assert_string_equal(f.addresses[i].text, text);
		assert_int_equal(f.addresses[i].scope, rows[i].scope);
		assert_int_equal(f.addresses[i].ipv6, strchr(rows[i].text, ':') != NULL);
		assert_int_equal(f.addresses[i].link, 3);
	}
}

static void our_end_of_a_point_to_point_link(void **state)
{
	static struct dump a;
	const uint8_t ours[4] = { 10, 0, 0, 2 };
	struct net_facts f;

	(void)state;
	a.len = 0;
	add_address(&a, 1, IFA_ADDRESS, "10.0.0.1", 32);
	attribute(&a, IFA_LOCAL, ours, sizeof(ours));
	/* One that has no address of its family's size is passed over. */
	add_address(&a, 1, IFA_ADDRESS, "10.0.0.9", 32);
	a.bytes[a.open + NLMSG_HDRLEN] = AF_INET6;
	add_address(&a, 1, IFA_ADDRESS, "10.0.0.9", 32);
	a.bytes[a.open + NLMSG_HDRLEN] = AF_UNIX;
	add_done(&a, 0);
	assert_int_equal(take_exactly(netlink_take_addresses, a.bytes, a.len, &f), 0);
	assert_int_equal(f.address_count, 1);
	assert_string_equal(f.addresses[0].text, "10.0.0.2/32");
}

static void more_than_fit(void **state)
{
	static struct dump a;
	struct net_facts f;

	(void)state;
	a.len = 0;
	for (int i = 0; i < NET_LINKS_MAX + 1; i++)
		add_link(&a, i, "x", 0);
	add_done(&a, 0);
	assert_int_equal(take_exactly(netlink_take_links, a.bytes, a.len, &f), 0);
	assert_int_equal(f.link_count, NET_LINKS_MAX);
	assert_true(f.truncated);

	a.len = 0;
	for (int i = 0; i < NET_ADDRESSES_MAX + 1; i++)
		add_address(&a, 1, IFA_ADDRESS, "::1", 128);
	add_done(&a, 0);
	assert_int_equal(take_exactly(netlink_take_addresses, a.bytes, a.len, &f), 0);
	assert_int_equal(f.address_count, NET_ADDRESSES_MAX);
	assert_true(f.truncated);
}

static void a_dump_overtaken_by_a_change_is_partial(void **state)
{
	static struct dump a;
	struct net_facts f;
	int zero = 0;

	(void)state;
	a.len = 0;
	add_link(&a, 1, "lo", IFF_UP);
	begin(&a, NLMSG_DONE, NLM_F_MULTI | NLM_F_DUMP_INTR, &zero, sizeof(zero));
	assert_int_equal(take_exactly(netlink_take_links, a.bytes, a.len, &f), 0);
	assert_true(f.truncated);
}

static void errors_of_the_kernel(void **state)
{
	static const struct {
		uint16_t type;
		int err;
		int result;
	} rows[] = {
		{ NLMSG_DONE, 0, 0 },
		{ NLMSG_DONE, -ENOMEM, -ENOMEM },
		{ NLMSG_DONE, 5, -EBADMSG },
		{ NLMSG_ERROR, -EPERM, -EPERM },
		{ NLMSG_ERROR, -EOPNOTSUPP, -EOPNOTSUPP },
		/* An acknowledgement is no dump. */
		{ NLMSG_ERROR, 0, -EBADMSG },
		{ NLMSG_ERROR, -100000, -EBADMSG },
	};
	static struct dump a;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct net_facts f;

		a.len = 0;
		add_link(&a, 1, "lo", IFF_UP);
		begin(&a, rows[i].type, 0, &rows[i].err, sizeof(rows[i].err));
		assert_int_equal(take_exactly(netlink_take_links, a.bytes, a.len, &f),
				 rows[i].result);
	}
}

/* Every prefix of a good answer, and every length and attribute length there could be. */
static void broken_answers(void **state)
{
	static struct dump a;
	struct net_facts f;
	size_t done;

	(void)state;
	a.len = 0;
	add_link(&a, 1, "eth0", IFF_UP);
	done = a.len;
	add_done(&a, 0);
	/* The header and the errno are what matters of the last message. */
	for (size_t len = 0; len < a.len; len++)
		assert_int_equal(take_exactly(netlink_take_links, a.bytes, len, &f), -EBADMSG);

	for (uint32_t n = 0; n < 300; n++) {
		struct dump b = a;

		memcpy(b.bytes, &n, sizeof(n));
		take_exactly(netlink_take_links, b.bytes, b.len, &f);
		/* Also as the last message, which has nothing behind it. */
		take_exactly(netlink_take_links, b.bytes, done, &f);
		b = a;
		memcpy(b.bytes + NLMSG_HDRLEN + sizeof(struct ifinfomsg), &n, 2);
		take_exactly(netlink_take_links, b.bytes, b.len, &f);
		take_exactly(netlink_take_links, b.bytes, done, &f);
	}
}

/* ---- the probe, against a recording ---- */

static void write_file(const struct tree *tree, const char *name, const struct dump *a)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", tree->root, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(a->bytes, 1, a->len, f), a->len);
	fclose(f);
}

static void probe_files(const struct dump *links, const struct dump *addresses,
			struct net_facts *ret)
{
	struct tree tree;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, NULL, "route_dump 18 = /links\nroute_dump 22 = /addresses\n");
	write_file(&tree, "links", links);
	write_file(&tree, "addresses", addresses);
	probe_net(&tree.kernel, ret);
	tree_remove(&tree);
}

static void a_recorded_network(void **state)
{
	static struct dump links;
	static struct dump addresses;
	struct net_facts f;

	(void)state;
	links.len = addresses.len = 0;
	add_link(&links, 1, "lo", IFF_UP | IFF_LOOPBACK);
	add_done(&links, 0);
	add_address(&addresses, 1, IFA_ADDRESS, "127.0.0.1", 8);
	add_address(&addresses, 2, IFA_ADDRESS, "fe80::1", 64);
	add_done(&addresses, 0);
	probe_files(&links, &addresses, &f);
	assert_int_equal(f.asked.answer, ANSWER_YES);
	assert_int_equal(f.link_count, 1);
	assert_int_equal(f.address_count, 2);
	assert_int_equal(f.ipv4.answer, ANSWER_NO);
	assert_int_equal(f.ipv6.answer, ANSWER_YES);
	assert_string_equal(f.ipv6.got, "fe80::1/64");

	/* An answer cut short tells nothing, of the links neither. */
	addresses.len -= 4;
	probe_files(&links, &addresses, &f);
	assert_int_equal(f.asked.answer, ANSWER_UNKNOWN);
	assert_string_equal(f.asked.got, "EBADMSG");
	assert_int_equal(f.ipv4.answer, ANSWER_UNKNOWN);
	assert_int_equal(f.link_count, 0);
	assert_int_equal(f.address_count, 0);
}

static void a_partial_dump_proves_no_absence(void **state)
{
	static struct dump links;
	static struct dump addresses;
	struct net_facts f;
	int zero = 0;

	(void)state;
	links.len = addresses.len = 0;
	add_done(&links, 0);
	add_address(&addresses, 2, IFA_ADDRESS, "fd00::1", 64);
	begin(&addresses, NLMSG_DONE, NLM_F_DUMP_INTR, &zero, sizeof(zero));
	probe_files(&links, &addresses, &f);
	assert_int_equal(f.ipv4.answer, ANSWER_UNKNOWN);
	assert_int_equal(f.ipv6.answer, ANSWER_YES);
}

static void a_refused_dump_is_unknown(void **state)
{
	static const char *const rows[] = { "route_dump 18 = EPERM\n",
					    "route_dump 18 = EAFNOSUPPORT\n", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct net_facts f = { .truncated = false };
		struct tree tree;

		tree_make(&tree, NULL, rows[i]);
		probe_net(&tree.kernel, &f);
		tree_remove(&tree);
		assert_int_equal(f.asked.answer, ANSWER_UNKNOWN);
		assert_int_equal(f.ipv4.answer, ANSWER_UNKNOWN);
		assert_int_equal(f.ipv6.answer, ANSWER_UNKNOWN);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_and_their_flags),
		cmocka_unit_test(scopes_of_addresses),
		cmocka_unit_test(our_end_of_a_point_to_point_link),
		cmocka_unit_test(more_than_fit),
		cmocka_unit_test(a_dump_overtaken_by_a_change_is_partial),
		cmocka_unit_test(errors_of_the_kernel),
		cmocka_unit_test(broken_answers),
		cmocka_unit_test(a_recorded_network),
		cmocka_unit_test(a_partial_dump_proves_no_absence),
		cmocka_unit_test(a_refused_dump_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
