/* launch: the egress proxy's requests, what is sent on, and what is refused in which words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/egress/head.h"
#include "launch/egress/refusal.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define END "\r\n\r\n"

/* The head is in memory of its own size, so that a sanitizer sees a byte too far. */
static struct egress_request read_request(const char *text)
{
	size_t len = strlen(text);
	char *head = malloc(len);
	struct egress_scan scan = { 0 };
	struct egress_request request;

	assert_non_null(head);
	memcpy(head, text, len);
	if (egress_scan(&scan, head, len) != (long)len)
		fail_msg("'%s' is no head", text);
	egress_request_read(head, len, &request);
	free(head);
	return request;
}

static void the_end_is_found_however_it_comes(void **state)
{
	static const struct {
		const char *text;
		long end; /* 0: not there */
	} rows[] = {
		{ "GET / HTTP/1.1" END, 18 },	  { "GET / HTTP/1.1" END "more", 18 },
		{ "GET / HTTP/1.1" END END, 18 }, { "a\r\nb: c\td\r\n\r\n", 13 },
		{ "a\r\nb: \303\251" END, 12 },	  { "GET / HTTP/1.1\r\n", 0 },
		{ "GET / HTTP/1.1\r\n\r", 0 },	  { "", 0 },
		{ "\r\n\r\n", -EINVAL },	  { "a\n\n", -EINVAL },
		{ "a\r\nb\n\r\n", -EINVAL },	  { "a\rb" END, -EINVAL },
		{ "a\r\r\n", -EINVAL },		  { "a\r\n\rb", -EINVAL },
		{ "a\001" END, -EINVAL },	  { "a\177" END, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		size_t len = strlen(rows[i].text);
		struct egress_scan whole = { 0 };
		struct egress_scan bytes = { 0 };
		long r = 0;

		if (egress_scan(&whole, rows[i].text, len) != rows[i].end)
			fail_msg("row %zu, whole", i);
		for (size_t n = 0; n <= len && r == 0; n++)
			r = egress_scan(&bytes, rows[i].text, n);
		if (r != rows[i].end)
			fail_msg("row %zu, by bytes: %ld", i, r);
	}
	assert_int_equal(egress_scan(&(struct egress_scan){ 0 }, "a\0b\r\n\r\n", 7), -EINVAL);
}

static void requests_are_read(void **state)
{
	static const struct {
		const char *line;
		enum egress_request_kind kind;
		enum host_kind host_kind;
		const char *host;
		uint16_t port;
	} rows[] = {
		{ "CONNECT A.example:8443 HTTP/1.1", REQUEST_CONNECT, HOST_NAME, "a.example",
		  8443 },
		{ "CONNECT a.example. HTTP/1.0", REQUEST_CONNECT, HOST_NAME, "a.example", 443 },
		{ "CONNECT 127.0.0.1:80 HTTP/1.1", REQUEST_CONNECT, HOST_ADDRESS, "127.0.0.1", 80 },
		{ "CONNECT 0x7f.1 HTTP/1.1", REQUEST_CONNECT, HOST_ADDRESS, "0x7f.1", 443 },
		{ "CONNECT [::1]:80 HTTP/1.1", REQUEST_CONNECT, HOST_ADDRESS, "[::1]", 80 },
		{ "CONNECT [fe80::1%eth0] HTTP/1.1", REQUEST_CONNECT, HOST_ADDRESS,
		  "[fe80::1%eth0]", 443 },
		{ "CONNECT ::1:80 HTTP/1.1", REQUEST_CONNECT, HOST_ADDRESS, "::1:80", 443 },
		{ "GET http://a.example HTTP/1.1", REQUEST_HTTP, HOST_NAME, "a.example", 80 },
		{ "GET HTTP://a.example:8080/x?y HTTP/1.1", REQUEST_HTTP, HOST_NAME, "a.example",
		  8080 },
		{ "POST http://a.example?x HTTP/1.1", REQUEST_HTTP, HOST_NAME, "a.example", 80 },
		{ "GET http://2130706433/ HTTP/1.1", REQUEST_HTTP, HOST_ADDRESS, "2130706433", 80 },
		{ "GET / HTTP/1.1", REQUEST_OTHER, 0, NULL, 0 },
		{ "GET https://a.example/ HTTP/1.1", REQUEST_OTHER, 0, NULL, 0 },
		{ "GET ftp://a.example/ HTTP/1.1", REQUEST_OTHER, 0, NULL, 0 },
		{ "OPTIONS * HTTP/1.1", REQUEST_OTHER, 0, NULL, 0 },
		{ "connect a.example:443 HTTP/1.1", REQUEST_OTHER, 0, NULL, 0 },
		{ "CONNECT a.example:443", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example:443 HTTP/2.0", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example:443 HTTP/1.11", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT  a.example:443 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example:443  HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ " CONNECT a.example:443 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example:443 HTTP/1.1 ", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example: HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example:0 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example:65536 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example:+1 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a.example:80/x HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT u@a.example:80 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT u:p@a.example:80 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT :443 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT [::1]x:443 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT [::1 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT https://a.example:443/x?secret HTTP/1.1", REQUEST_MALFORMED,
		  HOST_MALFORMED, "", 443 },
		{ "CONNECT a:b:secret HTTP/1.1", REQUEST_MALFORMED, HOST_MALFORMED, "", 443 },
		{ "CONNECT [secret] HTTP/1.1", REQUEST_MALFORMED, HOST_MALFORMED, "", 443 },
		{ "CONNECT [::1%/secret] HTTP/1.1", REQUEST_MALFORMED, HOST_MALFORMED, "", 443 },
		{ "CONNECT x/secret HTTP/1.1", REQUEST_MALFORMED, HOST_MALFORMED, "", 443 },
		{ "GET http://a.example:80:secret/ HTTP/1.1", REQUEST_MALFORMED, HOST_MALFORMED, "",
		  80 },
		{ "GET http://a.example%2f/ HTTP/1.1", REQUEST_MALFORMED, HOST_MALFORMED, "", 80 },
		{ "CONNECT a\tb:443 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "CONNECT a\303\251:443 HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "GET http:/// HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "GET http:// HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "GET http://u:p@a.example/ HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "GET http://a.example/#x HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "GET http://a.example\\@b/ HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "G(T http://a.example/ HTTP/1.1", REQUEST_MALFORMED, 0, NULL, 0 },
		{ "x", REQUEST_MALFORMED, 0, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[512];
		struct text t = TEXT_BUF(text);
		struct egress_request request;

		text_add(&t, rows[i].line);
		text_add(&t, "\r\nHost: elsewhere" END);
		request = read_request(text);
		if (request.kind != rows[i].kind)
			fail_msg("'%s' is %d", rows[i].line, (int)request.kind);
		if (!rows[i].host)
			continue;
		if (request.host_kind != rows[i].host_kind || request.port != rows[i].port)
			fail_msg("'%s': port %u", rows[i].line, request.port);
		assert_string_equal(request.host, rows[i].host);
	}
}

static void lines_that_are_no_headers_are_malformed(void **state)
{
	static const char *const lines[] = { " folded", "\tfolded", "no colon",	  ": x",
					     "a b: c",	"a : b",    "\303\251: x" };

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		char text[256];
		struct text t = TEXT_BUF(text);

		text_add(&t, "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n");
		text_add(&t, lines[i]);
		text_add(&t, END);
		if (read_request(text).kind != REQUEST_MALFORMED)
			fail_msg("'%s'", lines[i]);
	}
}

static void one_line_says_how_long_the_body_is(void **state)
{
	static const struct {
		const char *lines;
		bool good;
		bool chunked;
		uint64_t length;
	} rows[] = {
		{ "X: y", true, false, 0 },
		{ "Content-Length: 5", true, false, 5 },
		{ "content-length:\t5 ", true, false, 5 },
		{ "Content-Length: 18446744073709551615", true, false, UINT64_MAX },
		{ "Transfer-Encoding: chunked", true, true, 0 },
		{ "TRANSFER-ENCODING: \tChunked\t", true, true, 0 },
		{ "Content-Length: 18446744073709551616", false, false, 0 },
		{ "Content-Length: 000000000000000000000000005", false, false, 0 },
		{ "Transfer-Encoding: gzip", false, false, 0 },
		{ "Transfer-Encoding: gzip, chunked", false, false, 0 },
		{ "Transfer-Encoding: chunked, chunked", false, false, 0 },
		{ "Transfer-Encoding: xchunked", false, false, 0 },
		{ "Transfer-Encoding:", false, false, 0 },
		{ "Content-Length: 5\r\nContent-Length: 5", false, false, 0 },
		{ "Content-Length: 5\r\nTransfer-Encoding: chunked", false, false, 0 },
		{ "Transfer-Encoding: chunked\r\nX: y\r\nContent-Length: 5", false, false, 0 },
		{ "Transfer-Encoding: chunked\r\nTRANSFER-ENCODING: identity", false, false, 0 },
		{ "Content-Length: 5, 5", false, false, 0 },
		{ "Content-Length: +5", false, false, 0 },
		{ "Content-Length: 5 5", false, false, 0 },
		{ "Content-Length: 0x5", false, false, 0 },
		{ "Content-Length:", false, false, 0 },
		{ "Content-Length: ", false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[256];
		struct text t = TEXT_BUF(text);

		struct egress_request request;

		text_add(&t, "POST http://a/ HTTP/1.1\r\n");
		text_add(&t, rows[i].lines);
		text_add(&t, END);
		request = read_request(text);
		if ((request.kind == REQUEST_HTTP) != rows[i].good ||
		    (rows[i].good &&
		     (request.chunked != rows[i].chunked || request.length != rows[i].length)))
			fail_msg("'%s'", rows[i].lines);
	}
	assert_int_equal(
		read_request("POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked" END).kind,
		REQUEST_MALFORMED);
}

static void a_server_is_sent_what_is_meant_for_it(void **state)
{
	static const struct {
		const char *head;
		const char *sent;
	} rows[] = {
		{ "GET http://A.example/x?y=z HTTP/1.1\r\nHost: b\r\nAccept: */*" END,
		  "GET /x?y=z HTTP/1.1\r\nHost: A.example\r\nConnection: close\r\nAccept: */*" END },
		{ "GET http://a.example:81 HTTP/1.0" END,
		  "GET / HTTP/1.0\r\nHost: a.example:81\r\nConnection: close" END },
		{ "GET http://a.example?q HTTP/1.1" END,
		  "GET /?q HTTP/1.1\r\nHost: a.example\r\nConnection: close" END },
		{ "OPTIONS http://a.example HTTP/1.1" END,
		  "OPTIONS * HTTP/1.1\r\nHost: a.example\r\nConnection: close" END },
		{ "PUT http://a/ HTTP/1.1\r\nproxy-authorization: Basic c2VjcmV0\r\n"
		  "Content-Length: 3\r\nProxy-Connection: keep-alive\r\nCONNECTION: keep-alive\r\n"
		  "Keep-Alive: 5\r\nTE: x\r\nUpgrade: h2c\r\nAuthorization: Basic eA==\r\n"
		  "Connection-Id: 7" END,
		  "PUT / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 3\r\n"
		  "Authorization: Basic eA==\r\nConnection-Id: 7" END },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct egress_request request = read_request(rows[i].head);
		size_t len = strlen(rows[i].head);
		char buf[1024];
		long n = egress_forward(rows[i].head, len, &request, buf,
					len + EGRESS_FORWARD_MORE);

		assert_int_equal(request.kind, REQUEST_HTTP);
		assert_int_equal(n, strlen(rows[i].sent));
		assert_memory_equal(buf, rows[i].sent, (size_t)n);
		assert_int_equal(egress_forward(rows[i].head, len, &request, buf, (size_t)n),
				 -ENOSPC);
	}
}

static void a_refusal_is_a_whole_response(void **state)
{
	const struct egress_subject subject = { "a.example", 443, "ECONNREFUSED" };
	char buf[EGRESS_REPLY_MAX];

	(void)state;
	for (unsigned i = 0; i < REFUSAL_COUNT; i++) {
		size_t len = egress_reply((enum egress_refusal)i, &subject, buf);
		const char *body = strstr(buf, END);
		char length[48];
		struct text t = TEXT_BUF(length);

		assert_non_null(body);
		body += strlen(END);
		assert_int_equal(len, strlen(buf));
		assert_ptr_equal(strchr(body, '\n'), buf + len - 1);
		text_add(&t, "\r\nContent-Length: ");
		text_add_int(&t, (int64_t)strlen(body));
		text_add(&t, "\r\n");
		assert_non_null(strstr(buf, length));
		assert_true(text_starts(buf, "HTTP/1.1 "));
	}
	egress_reply(REFUSAL_NOT_ALLOWED, &(struct egress_subject){ "", 0, "" }, buf);
	assert_true(text_ends(buf, END "this host and port are not in the allow list\n"));
}

static void a_line_of_the_log_is_json(void **state)
{
	char longest[HOST_MAX + 1];
	char buf[EGRESS_LINE_MAX];

	(void)state;
	egress_line(REFUSAL_NOT_ALLOWED, &(struct egress_subject){ "a\"\\b", 8443, "" }, 7, 12,
		    buf);
	assert_string_equal(buf, "{\"event\":\"refused\",\"number\":7,\"ms\":12,"
				 "\"reason\":\"not_allowed\",\"status\":403,"
				 "\"host\":\"a\\\"\\\\b\",\"port\":8443}\n");
	egress_line(REFUSAL_CONNECT, &(struct egress_subject){ "", 0, "EPIPE" }, 1, 0, buf);
	assert_string_equal(buf, "{\"event\":\"failed\",\"number\":1,\"ms\":0,"
				 "\"reason\":\"connect\",\"status\":502,\"detail\":\"EPIPE\"}\n");
	memset(longest, '"', HOST_MAX);
	longest[HOST_MAX] = '\0';
	egress_line(REFUSAL_HEAD_SIZE, &(struct egress_subject){ longest, 65535, "EHOSTUNREACH" },
		    UINT64_MAX / 2, INT64_MAX, buf);
	assert_true(text_ends(buf, "}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_is_found_however_it_comes),
		cmocka_unit_test(requests_are_read),
		cmocka_unit_test(lines_that_are_no_headers_are_malformed),
		cmocka_unit_test(one_line_says_how_long_the_body_is),
		cmocka_unit_test(a_server_is_sent_what_is_meant_for_it),
		cmocka_unit_test(a_refusal_is_a_whole_response),
		cmocka_unit_test(a_line_of_the_log_is_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
