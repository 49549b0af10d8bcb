/* launch: where the body of a request to the proxy ends, however its bytes come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "launch/egress/body.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NEXT "GET http://b/ HTTP/1.1\r\n\r\n"

static const struct {
	bool chunked;
	uint64_t length;
	const char *text;
	size_t of_body;
	enum egress_body_state state;
} rows[] = {
	{ false, 0, NEXT, 0, BODY_DONE },
	{ false, 4, "body" NEXT, 4, BODY_DONE },
	{ false, 4, "bo", 2, BODY_PLAIN },
	{ false, UINT64_MAX, NEXT, sizeof(NEXT) - 1, BODY_PLAIN },
	{ true, 0, "0\r\n\r\n" NEXT, 5, BODY_DONE },
	{ true, 0, "4\r\nbody\r\n0\r\n\r\n" NEXT, 14, BODY_DONE },
	{ true, 0, "000a\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n" NEXT, 23, BODY_DONE },
	{ true, 0, "A;x=\"y\";z\r\n0123456789\r\n00\r\n\r\n" NEXT, 29, BODY_DONE },
	{ true, 0, "0\r\nX: y\r\nZ: \t\r\n\r\n" NEXT, 17, BODY_DONE },
	{ true, 0, "4\r\nbod", 6, BODY_CHUNK },
	{ true, 0, "4\r\nbody", 7, BODY_CHUNK_CR },
	{ true, 0, "0\r\nX", 4, BODY_TRAILER_LINE },
	{ true, 0, "fffffffffffffff\r\nx", 18, BODY_CHUNK },
	{ true, 0, "ffffffffffffffff\r\n", 16, BODY_BAD },
	{ true, 0, "\r\n", 1, BODY_BAD },
	{ true, 0, ";x\r\n", 1, BODY_BAD },
	{ true, 0, " 4\r\nbody\r\n", 1, BODY_BAD },
	{ true, 0, "4 \r\nbody\r\n", 2, BODY_BAD },
	{ true, 0, "0x4\r\nbody\r\n", 2, BODY_BAD },
	{ true, 0, "+4\r\nbody\r\n", 1, BODY_BAD },
	{ true, 0, "4\nbody\r\n", 2, BODY_BAD },
	{ true, 0, "4\rbody\r\n", 3, BODY_BAD },
	{ true, 0, "4\r\nbodyx", 8, BODY_BAD },
	{ true, 0, "4\r\nbody\n", 8, BODY_BAD },
	{ true, 0, "4\r\nbody\r\r", 9, BODY_BAD },
	{ true, 0, "4;a\nb\r\nbody\r\n", 4, BODY_BAD },
	{ true, 0, "4;a\rb\r\nbody\r\n", 5, BODY_BAD },
	{ true, 0, "0\r\nX: y\n\r\n", 8, BODY_BAD },
	{ true, 0, "0\r\n\n", 4, BODY_BAD },
	{ true, 0, "0\r\n\rx", 5, BODY_BAD },
};

static void what_is_behind_it_is_not_of_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct egress_body body = egress_body_start(rows[i].chunked, rows[i].length);
		size_t n = egress_body_take(&body, rows[i].text, strlen(rows[i].text));

		if (n != rows[i].of_body || body.state != rows[i].state)
			fail_msg("row %zu: %zu bytes, state %d", i, n, (int)body.state);
		/* And it stays so. */
		if (body.state == BODY_DONE || body.state == BODY_BAD)
			assert_int_equal(egress_body_take(&body, NEXT, strlen(NEXT)), 0);
	}
}

static void it_is_the_same_in_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t piece = 1; piece < 4; piece++) {
			struct egress_body body = egress_body_start(rows[i].chunked,
								    rows[i].length);
			size_t len = strlen(rows[i].text);
			size_t all = 0;

			for (size_t at = 0; at < len; at += piece)
				all += egress_body_take(&body, rows[i].text + at,
							len - at < piece ? len - at : piece);
			assert_int_equal(all, rows[i].of_body);
			assert_int_equal(body.state, rows[i].state);
		}
}

static void what_is_sure_needs_no_look(void **state)
{
	struct egress_body body = egress_body_start(false, 7);

	(void)state;
	assert_int_equal(egress_body_sure(&body), 7);
	egress_body_pass(&body, 3);
	assert_int_equal(egress_body_sure(&body), 4);
	egress_body_pass(&body, 4);
	assert_int_equal(body.state, BODY_DONE);
	assert_int_equal(egress_body_sure(&body), 0);

	body = egress_body_start(true, 0);
	assert_int_equal(egress_body_sure(&body), 0);
	assert_int_equal(egress_body_take(&body, "1f\r\n", 4), 4);
	assert_int_equal(egress_body_sure(&body), 31);
	egress_body_pass(&body, 31);
	assert_int_equal(egress_body_sure(&body), 0);
	assert_int_equal(egress_body_take(&body, "\r\n0\r\n\r\n" NEXT, 9 + 3), 7);
	assert_int_equal(body.state, BODY_DONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_behind_it_is_not_of_it),
		cmocka_unit_test(it_is_the_same_in_pieces),
		cmocka_unit_test(what_is_sure_needs_no_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
