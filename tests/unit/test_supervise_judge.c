/* launch: where a module may connect, from the bytes it gives. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

#include "launch/supervise/judge.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BROKER "/run/broker.sock"

static const struct supervise_rules both = { .proxy_port = 3128, .broker = BROKER };
static const struct supervise_rules none = { 0 };
static const struct supervise_rules gone = {
	.proxy_port = 3128,
	.proxy_gone = true,
	.broker = BROKER,
};
static const struct socket_kind tcp4 = { AF_INET, SOCK_STREAM, IPPROTO_TCP };
static const struct socket_kind tcp6 = { AF_INET6, SOCK_STREAM, IPPROTO_TCP };
static const struct socket_kind local = { AF_UNIX, SOCK_STREAM, 0 };

/* From memory of its own size, so that a sanitizer sees a byte too far. */
static struct destination judge(const struct supervise_rules *rules, const struct socket_kind *kind,
				const void *address, size_t len)
{
	void *copy = malloc(len ? len : 1);
	struct destination d;

	assert_non_null(copy);
	memcpy(copy, address, len);
	d = supervise_judge(rules, kind, copy, len);
	free(copy);
	return d;
}

static void an_internet_address_is_the_proxys_or_refused(void **state)
{
	static const struct {
		const char *address;
		uint16_t port;
		enum destination_kind kind;
	} rows[] = {
		{ "127.0.0.1", 3128, DESTINATION_PROXY },
		{ "127.0.0.1", 3129, DESTINATION_REFUSED },
		{ "127.0.0.1", 0, DESTINATION_REFUSED },
		{ "127.0.0.2", 3128, DESTINATION_REFUSED },
		{ "0.0.0.0", 3128, DESTINATION_REFUSED },
		{ "255.255.255.255", 3128, DESTINATION_REFUSED },
		{ "169.254.169.254", 3128, DESTINATION_REFUSED },
		{ "93.184.216.34", 3128, DESTINATION_REFUSED },
		{ "::ffff:127.0.0.1", 3128, DESTINATION_PROXY },
		{ "::ffff:127.0.0.1", 3129, DESTINATION_REFUSED },
		{ "::ffff:127.0.0.2", 3128, DESTINATION_REFUSED },
		{ "::127.0.0.1", 3128, DESTINATION_REFUSED },
		{ "64:ff9b::127.0.0.1", 3128, DESTINATION_REFUSED },
		{ "::1", 3128, DESTINATION_REFUSED },
		{ "::", 3128, DESTINATION_REFUSED },
		{ "fe80::1", 3128, DESTINATION_REFUSED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(rows[i].port) };
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
					    .sin6_port = htons(rows[i].port),
					    .sin6_flowinfo = 1,
					    .sin6_scope_id = 7 };
		bool v4 = inet_pton(AF_INET, rows[i].address, &in.sin_addr) == 1;
		const void *address = v4 ? (const void *)&in : (const void *)&in6;
		size_t len = v4 ? sizeof(in) : sizeof(in6);
		const struct socket_kind *kind = v4 ? &tcp4 : &tcp6;
		struct destination d;

		assert_true(v4 || inet_pton(AF_INET6, rows[i].address, &in6.sin6_addr) == 1);
		d = judge(&both, kind, address, len);
		if (d.kind != rows[i].kind || (d.kind == DESTINATION_REFUSED && d.error != EACCES))
			fail_msg("%s:%u is %d", rows[i].address, rows[i].port, (int)d.kind);
		assert_int_equal(judge(&none, kind, address, len).error, EACCES);
		assert_int_equal(judge(&both, v4 ? &tcp6 : &tcp4, address, len).error, EACCES);
		assert_int_equal(judge(&both, &local, address, len).error, EACCES);
	}
}

static void the_address_that_is_used_is_ours(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(3128),
				    .sin6_flowinfo = 1,
				    .sin6_scope_id = 7 };
	struct destination d;
	struct sockaddr_in6 used;

	(void)state;
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &in6.sin6_addr);
	d = judge(&both, &tcp6, &in6, sizeof(in6));
	memcpy(&used, &d.address, sizeof(used));
	assert_int_equal(d.len, sizeof(used));
	assert_int_equal(used.sin6_flowinfo, 0);
	assert_int_equal(used.sin6_scope_id, 0);
	assert_int_equal(used.sin6_port, htons(3128));
}

static void only_tcp_goes_to_the_proxy(void **state)
{
	static const struct socket_kind kinds[] = {
		{ AF_INET, SOCK_STREAM, 262 /* MPTCP */ },
		{ AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		{ AF_INET, SOCK_DGRAM, IPPROTO_UDP },
		{ AF_INET, SOCK_RAW, IPPROTO_TCP },
		{ AF_INET, 0, 0 },
	};
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(3128),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };

	(void)state;
	assert_int_equal(judge(&both, &tcp4, &in, sizeof(in)).kind, DESTINATION_PROXY);
	for (size_t i = 0; i < COUNT(kinds); i++)
		assert_int_equal(judge(&both, &kinds[i], &in, sizeof(in)).error, EACCES);
}

static void a_path_is_the_brokers_or_refused(void **state)
{
	static const struct {
		const char *path;
		size_t len; /* of the path's bytes */
		enum destination_kind kind;
	} rows[] = {
		{ BROKER, sizeof(BROKER), DESTINATION_BROKER },
		{ BROKER, sizeof(BROKER) - 1, DESTINATION_BROKER }, /* without an end */
		{ BROKER "\0more", sizeof(BROKER) + 4, DESTINATION_BROKER },
		{ BROKER "x", sizeof(BROKER) + 1, DESTINATION_REFUSED },
		{ BROKER, sizeof(BROKER) - 2, DESTINATION_REFUSED },
		{ "\0" BROKER, sizeof(BROKER), DESTINATION_REFUSED }, /* abstract */
		{ "/run/./broker.sock", 19, DESTINATION_REFUSED },
		{ "/run/docker.sock", 17, DESTINATION_REFUSED },
		{ "", 1, DESTINATION_REFUSED },
		{ "", 0, DESTINATION_REFUSED },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sockaddr_un un = { .sun_family = AF_UNIX };
		size_t len = offsetof(struct sockaddr_un, sun_path) + rows[i].len;
		struct socket_kind packets = { AF_UNIX, SOCK_SEQPACKET, 0 };

		memcpy(un.sun_path, rows[i].path, rows[i].len);
		if (judge(&both, &local, &un, len).kind != rows[i].kind)
			fail_msg("row %zu", i);
		assert_int_equal(judge(&none, &local, &un, len).error, EACCES);
		assert_int_equal(judge(&both, &packets, &un, len).error, EACCES);
		assert_int_equal(judge(&both, &tcp4, &un, len).error, EACCES);
	}
}

static void what_is_too_short_or_too_long_is_invalid(void **state)
{
	char bytes[sizeof(struct sockaddr_storage)] = { 0 };
	sa_family_t family = AF_INET;

	(void)state;
	assert_int_equal(judge(&both, &tcp4, bytes, 0).error, EINVAL);
	assert_int_equal(judge(&both, &tcp4, bytes, 1).error, EINVAL);
	memcpy(bytes, &family, sizeof(family));
	assert_int_equal(judge(&both, &tcp4, bytes, sizeof(struct sockaddr_in) - 1).error, EINVAL);
	family = AF_INET6;
	memcpy(bytes, &family, sizeof(family));
	assert_int_equal(judge(&both, &tcp6, bytes, 23).error, EINVAL);
	assert_int_equal(judge(&both, &tcp6, bytes, 24).error, EACCES);
	family = AF_UNIX;
	memcpy(bytes, &family, sizeof(family));
	assert_int_equal(judge(&both, &local, bytes, sizeof(bytes)).error, EINVAL);
	family = AF_UNSPEC;
	memcpy(bytes, &family, sizeof(family));
	assert_int_equal(judge(&both, &tcp4, bytes, sizeof(bytes)).error, EACCES);
}

/* Its port may be anybody's. */
static void a_proxy_that_is_gone_is_nobody(void **state)
{
	static const struct {
		const char *address;
		int error;
	} rows[] = { { "127.0.0.1", ECONNREFUSED },
		     { "127.0.0.2", EACCES },
		     { "::ffff:127.0.0.1", ECONNREFUSED },
		     { "::1", EACCES } };
	const struct sockaddr_un un = { AF_UNIX, BROKER };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(3128) };
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(3128) };
		bool v4 = inet_pton(AF_INET, rows[i].address, &in.sin_addr) == 1;
		struct destination d;

		inet_pton(AF_INET6, rows[i].address, &in6.sin6_addr);
		d = v4 ? judge(&gone, &tcp4, &in, sizeof(in))
		       : judge(&gone, &tcp6, &in6, sizeof(in6));
		assert_int_equal(d.kind, DESTINATION_REFUSED);
		assert_int_equal(d.error, rows[i].error);
	}
	assert_int_equal(judge(&gone, &local, &un, sizeof(un)).kind, DESTINATION_BROKER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_internet_address_is_the_proxys_or_refused),
		cmocka_unit_test(the_address_that_is_used_is_ours),
		cmocka_unit_test(only_tcp_goes_to_the_proxy),
		cmocka_unit_test(a_path_is_the_brokers_or_refused),
		cmocka_unit_test(a_proxy_that_is_gone_is_nobody),
		cmocka_unit_test(what_is_too_short_or_too_long_is_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
