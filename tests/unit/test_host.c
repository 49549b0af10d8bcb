/* kabi: hosts of an allow list, spellings of addresses, and what is public. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/address.h"
#include "kabi/host.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define LABEL_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NAME_253                               \
	LABEL_63 "." LABEL_63 "." LABEL_63 "." \
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void names_and_addresses_are_told_apart(void **state)
{
	static const struct {
		const char *text;
		enum host_kind kind;
		const char *name;
	} rows[] = {
		{ "example.org", HOST_NAME, "example.org" },
		{ "API.Example.ORG.", HOST_NAME, "api.example.org" },
		{ "a..", HOST_NAME, "a" },
		{ "localhost", HOST_NAME, "localhost" },
		{ "1.2.3.4.example", HOST_NAME, "1.2.3.4.example" },
		{ "a_b.example", HOST_NAME, "a_b.example" },
		{ "0xfg", HOST_NAME, "0xfg" },
		{ "7f000001", HOST_NAME, "7f000001" },
		{ LABEL_63 ".x", HOST_NAME, LABEL_63 ".x" },
		{ NAME_253, HOST_NAME, NAME_253 },
		{ "127.0.0.1", HOST_ADDRESS, NULL },
		{ "127.0.0.1.", HOST_ADDRESS, NULL },
		{ "127.1", HOST_ADDRESS, NULL },
		{ "2130706433", HOST_ADDRESS, NULL },
		{ "017700000001", HOST_ADDRESS, NULL },
		{ "0x7f000001", HOST_ADDRESS, NULL },
		{ "0X7F.1", HOST_ADDRESS, NULL },
		{ "127.0.0.0x1", HOST_ADDRESS, NULL },
		{ "0x", HOST_ADDRESS, NULL },
		{ "x.1", HOST_ADDRESS, NULL },
		{ "999.999.999.999", HOST_ADDRESS, NULL },
		{ "::1", HOST_ADDRESS, NULL },
		{ "[::1]", HOST_ADDRESS, NULL },
		{ "[::1", HOST_ADDRESS, NULL },
		{ "[fe80::1%25eth0]", HOST_ADDRESS, NULL },
		{ "fe80::1%eth0", HOST_ADDRESS, NULL },
		{ "::ffff:127.0.0.1", HOST_ADDRESS, NULL },
		{ "", HOST_MALFORMED, NULL },
		{ ".", HOST_MALFORMED, NULL },
		{ ".x", HOST_MALFORMED, NULL },
		{ "a..b", HOST_MALFORMED, NULL },
		{ "a b", HOST_MALFORMED, NULL },
		{ "a/b", HOST_MALFORMED, NULL },
		{ "a@b", HOST_MALFORMED, NULL },
		{ "a%2eb", HOST_MALFORMED, NULL },
		{ "*.a", HOST_MALFORMED, NULL },
		{ "\303\251.example", HOST_MALFORMED, NULL },
		{ "a" LABEL_63 ".x", HOST_MALFORMED, NULL },
		{ "a" NAME_253, HOST_MALFORMED, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char name[HOST_MAX + 1];
		enum host_kind kind = host_read(rows[i].text, strlen(rows[i].text), name);

		if (kind != rows[i].kind)
			fail_msg("'%s' is %d", rows[i].text, (int)kind);
		if (kind == HOST_NAME)
			assert_string_equal(name, rows[i].name);
	}
	assert_int_equal(host_read("a\0b", 3, (char[HOST_MAX + 1]){ 0 }), HOST_MALFORMED);
	assert_int_equal(host_read("a.bc", 3, (char[HOST_MAX + 1]){ 0 }), HOST_NAME);
}

static void entries_are_read(void **state)
{
	static const struct {
		const char *text;
		const char *name; /* NULL: refused */
		bool subdomains;
		uint32_t port;
	} rows[] = {
		{ "api.example.org", "api.example.org", false, 443 },
		{ " API.example.org\t", "api.example.org", false, 443 },
		{ "*.files.example.org:8443", "files.example.org", true, 8443 },
		{ "*.org", "org", true, 443 },
		{ "a:0", "a", false, 0 },
		{ "a:99999", "a", false, 99999 },
		{ "*.4", "4", true, 443 },
		{ "", NULL, false, 0 },
		{ "*", NULL, false, 0 },
		{ "*.", NULL, false, 0 },
		{ "*.*.a", NULL, false, 0 },
		{ "a.", NULL, false, 0 },
		{ "a..b", NULL, false, 0 },
		{ "a:", NULL, false, 0 },
		{ "a:123456", NULL, false, 0 },
		{ "a:x", NULL, false, 0 },
		{ "a b", NULL, false, 0 },
		{ "a_b", NULL, false, 0 },
		{ "1.2.3.4", NULL, false, 0 },
		{ "1:443", NULL, false, 0 },
		{ "[::1]", NULL, false, 0 },
		{ "http://a", NULL, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct host_entry entry;
		struct fault why;
		int r = host_entry_read(rows[i].text, &entry, &why);

		if (r != (rows[i].name ? 0 : -EINVAL))
			fail_msg("'%s' gave %d", rows[i].text, r);
		if (r < 0)
			continue;
		assert_string_equal(entry.name, rows[i].name);
		assert_int_equal(entry.subdomains, rows[i].subdomains);
		assert_int_equal(entry.port, rows[i].port);
	}
}

static void an_entry_matches_its_host_and_port_alone(void **state)
{
	static const struct {
		const char *entry;
		const char *name;
		uint16_t port;
		bool matches;
	} rows[] = {
		{ "a.example", "a.example", 443, true },
		{ "a.example", "a.example", 80, false },
		{ "a.example", "b.a.example", 443, false },
		{ "a.example", "xa.example", 443, false },
		{ "a.example", "a.example.org", 443, false },
		{ "a.example:80", "a.example", 80, true },
		{ "*.example", "a.example", 443, true },
		{ "*.example", "b.a.example", 443, true },
		{ "*.example", "example", 443, false },
		{ "*.example", ".example", 443, false },
		{ "*.example", "xexample", 443, false },
		{ "*.example:8443", "a.example", 443, false },
		{ "a:65979", "a", 443, false }, /* 65536 + 443 */
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct host_entry entry;

		assert_int_equal(host_entry_read(rows[i].entry, &entry, NULL), 0);
		if (host_entry_matches(&entry, rows[i].name, rows[i].port) != rows[i].matches)
			fail_msg("%s and %s:%u", rows[i].entry, rows[i].name, rows[i].port);
	}
}

static bool is_public(const char *text)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct address address;

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		address = address_of((const struct sockaddr *)&v4);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
		address = address_of((const struct sockaddr *)&v6);
	}
	return address_is_public(&address);
}

/* The first and the last address of every block, and the neighbours. */
static void only_public_addresses_are_public(void **state)
{
	static const char *const public[] = {
		"1.0.0.0",	   "9.255.255.255",    "11.0.0.0",
		"100.63.255.255",  "100.128.0.0",      "126.255.255.255",
		"128.0.0.0",	   "169.253.255.255",  "169.255.0.0",
		"172.15.255.255",  "172.32.0.0",       "191.255.255.255",
		"192.0.0.9",	   "192.0.0.10",       "192.0.1.0",
		"192.0.1.255",	   "192.0.3.0",	       "192.88.98.255",
		"192.88.100.0",	   "192.167.255.255",  "192.169.0.0",
		"198.17.255.255",  "198.20.0.0",       "198.51.99.255",
		"198.51.101.0",	   "203.0.112.255",    "203.0.114.0",
		"223.255.255.255", "8.8.8.8",	       "2001:1::1",
		"2001:1::2",	   "2001:3::",	       "2001:3:ffff:ffff::1",
		"2001:4:112::1",   "2001:20::1",       "2001:2f:ffff::1",
		"2001:30::1",	   "2001:3f:ffff::1",  "2001:200::",
		"2001:4860::8888", "2001:db7:ffff::1", "2001:db9::",
		"2003::",	   "2606:4700::1",     "3ffe:ffff::",
		"3fff:1000::",	   "2000::",	       "2001:dff::1",
	};
	static const char *const not_public[] = {
		"0.0.0.0",
		"0.255.255.255",
		"10.0.0.0",
		"10.255.255.255",
		"100.64.0.0",
		"100.127.255.255",
		"127.0.0.1",
		"127.255.255.255",
		"169.254.0.0",
		"169.254.169.254",
		"172.16.0.0",
		"172.31.255.255",
		"192.0.0.0",
		"192.0.0.8",
		"192.0.0.11",
		"192.0.0.255",
		"192.0.2.0",
		"192.0.2.255",
		"192.88.99.1",
		"192.168.0.0",
		"192.168.255.255",
		"198.18.0.0",
		"198.19.255.255",
		"198.51.100.0",
		"198.51.100.255",
		"203.0.113.0",
		"203.0.113.255",
		"224.0.0.0",
		"239.255.255.255",
		"240.0.0.0",
		"255.255.255.255",
		"::",
		"::1",
		"::8.8.8.8",	  /* compatible */
		"::ffff:8.8.8.8", /* mapped */
		"::ffff:127.0.0.1",
		"::ffff:224.0.0.1",
		"::ffff:0:8.8.8.8", /* translated */
		"64:ff9b::8.8.8.8", /* NAT64 */
		"64:ff9b::127.0.0.1",
		"64:ff9b:1::1",
		"100::1",
		"2001::1", /* Teredo */
		"2001:0:ffff::",
		"2001:1::",
		"2001:1::3",
		"2001:2::1",
		"2001:4:111::1",
		"2001:10::1",
		"2001:1f:ffff::1",
		"2001:40::1",
		"2001:1ff:ffff::1",
		"2001:db8::",
		"2001:db8:ffff::1",
		"2002::1",
		"2002:0808:0808::1",
		"2002:7f00:1::",
		"3fff::",
		"3fff:fff:ffff::1",
		"4000::",
		"5f00::1",
		"fc00::1",
		"fdff::1",
		"fe80::1",
		"febf::1",
		"fec0::1", /* site-local */
		"ff02::1",
		"ff0e::1",
		"1fff:ffff::1",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(public); i++)
		if (!is_public(public[i]))
			fail_msg("%s is public", public[i]);
	for (size_t i = 0; i < COUNT(not_public); i++)
		if (is_public(not_public[i]))
			fail_msg("%s is not public", not_public[i]);
}

static void what_is_no_internet_address_is_not_public(void **state)
{
	struct sockaddr unix_path = { .sa_family = AF_UNIX };
	struct address none = address_of(&unix_path);
	struct address odd = { .bytes = { 8, 8, 8, 8 }, .len = 5 };

	(void)state;
	assert_int_equal(none.len, 0);
	assert_false(address_is_public(&none));
	assert_false(address_is_public(&odd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_addresses_are_told_apart),
		cmocka_unit_test(entries_are_read),
		cmocka_unit_test(an_entry_matches_its_host_and_port_alone),
		cmocka_unit_test(only_public_addresses_are_public),
		cmocka_unit_test(what_is_no_internet_address_is_not_public),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
