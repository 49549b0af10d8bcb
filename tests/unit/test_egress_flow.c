/* launch: one direction of a relay, on socket pairs; and the allow list and options of the proxy.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/egress/command.h"
#include "launch/egress/flow.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ours[0] to its[0], its[1] to ours[1]: what is written to ours[0] comes out of ours[1]. */
struct relay {
	int in[2];
	int out[2];
	struct flow flow;
	struct flow_pipes pipes;
};

static struct relay start(void)
{
	struct relay r = { .pipes = { .count = 0 } };

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, r.in), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, r.out), 0);
	r.flow = flow_start(r.in[1], r.out[0]);
	return r;
}

static void stop(struct relay *r)
{
	flow_end(&r->flow);
	flow_pipes_close(&r->pipes);
	for (int i = 0; i < 2; i++) {
		close(r->in[i]);
		close(r->out[i]);
	}
}

static void bytes_and_the_end_pass(void **state)
{
	struct relay r = start();
	char buf[16];

	(void)state;
	assert_false(flow_move(&r.flow, &r.pipes));
	assert_int_equal(r.flow.state, FLOW_READING);
	assert_int_equal(r.pipes.count, 1);
	assert_int_equal(write(r.in[0], "abc", 3), 3);
	assert_true(flow_move(&r.flow, &r.pipes));
	assert_int_equal(r.flow.state, FLOW_READING);
	assert_int_equal(read(r.out[1], buf, sizeof(buf)), 3);
	assert_memory_equal(buf, "abc", 3);
	shutdown(r.in[0], SHUT_WR);
	flow_move(&r.flow, &r.pipes);
	assert_int_equal(r.flow.state, FLOW_DONE);
	assert_int_equal(read(r.out[1], buf, sizeof(buf)), 0);
	/* Only this direction. */
	assert_int_equal(write(r.out[1], "x", 1), 1);
	assert_int_equal(r.pipes.count, 1);
	stop(&r);
}

static void what_comes_first_is_sent_first(void **state)
{
	struct relay r = start();
	char buf[16];

	(void)state;
	r.flow.first = "head";
	r.flow.first_len = 4;
	assert_int_equal(write(r.in[0], "body", 4), 4);
	assert_true(flow_move(&r.flow, &r.pipes));
	assert_int_equal(r.flow.first_len, 0);
	assert_int_equal(recv(r.out[1], buf, 8, MSG_WAITALL), 8);
	assert_memory_equal(buf, "headbody", 8);
	stop(&r);
}

static void a_slow_receiver_holds_the_sender_back(void **state)
{
	struct relay r = start();
	unsigned char block[4096];
	size_t sent = 0;
	size_t got = 0;

	(void)state;
	for (;;) {
		ssize_t n;

		for (size_t i = 0; i < sizeof(block); i++)
			block[i] = (unsigned char)((sent + i) % 251);
		n = write(r.in[0], block, sizeof(block));
		if (n < 0 && !flow_move(&r.flow, &r.pipes))
			break;
		sent += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(r.flow.state, FLOW_WRITING);
	assert_true(r.flow.held > 0);
	assert_int_equal(r.pipes.count, 0);
	while (got < sent) {
		ssize_t n = read(r.out[1], block, sizeof(block));

		for (ssize_t i = 0; i < n; i++)
			assert_int_equal(block[i], (got + (size_t)i) % 251);
		got += n > 0 ? (size_t)n : 0;
		if (n < 0)
			assert_true(flow_move(&r.flow, &r.pipes));
	}
	flow_move(&r.flow, &r.pipes);
	assert_int_equal(r.flow.state, FLOW_READING);
	assert_int_equal(r.pipes.count, 1);
	stop(&r);
}

static void a_receiver_that_is_gone_breaks_it(void **state)
{
	struct relay r = start();

	(void)state;
	close(r.out[1]);
	r.out[1] = open("/dev/null", O_RDONLY);
	assert_int_equal(write(r.in[0], "abc", 3), 3);
	flow_move(&r.flow, &r.pipes);
	assert_int_equal(r.flow.state, FLOW_BROKEN);
	assert_false(flow_move(&r.flow, &r.pipes));
	stop(&r);
}

/* Whatever size the pieces have in which it comes. */
static void what_is_behind_a_body_stays(void **state)
{
	static const char chunks[] = "5\r\nhello\r\n0\r\n\r\n";
	static const char next[] = "GET http://b/ HTTP/1.1\r\n\r\n";
	char all[sizeof(chunks) + sizeof(next)];
	size_t len = sizeof(chunks) + sizeof(next) - 2;

	(void)state;
	memcpy(all, chunks, sizeof(chunks) - 1);
	memcpy(all + sizeof(chunks) - 1, next, sizeof(next));
	for (size_t piece = 1; piece <= len; piece++)
		for (int chunked = 0; chunked < 2; chunked++) {
			struct relay r = start();
			struct egress_body body = egress_body_start(chunked, sizeof(chunks) - 1);
			char buf[128];
			ssize_t got = 0;
			ssize_t n;

			r.flow.body = &body;
			for (size_t at = 0; at < len; at += piece) {
				size_t part = len - at < piece ? len - at : piece;

				assert_int_equal(write(r.in[0], all + at, part), part);
				while (flow_move(&r.flow, &r.pipes))
					;
			}
			assert_int_equal(r.flow.state, FLOW_DONE);
			assert_true(r.flow.behind);
			while ((n = read(r.out[1], buf + got, sizeof(buf) - (size_t)got)) > 0)
				got += n;
			assert_int_equal(n, 0); /* the end, and not that nothing came */
			assert_int_equal(got, sizeof(chunks) - 1);
			assert_memory_equal(buf, chunks, got);
			stop(&r);
		}
}

static void chunks_that_are_none_break_it(void **state)
{
	struct relay r = start();
	struct egress_body body = egress_body_start(true, 0);

	(void)state;
	r.flow.body = &body;
	assert_int_equal(write(r.in[0], "x\r\n", 3), 3);
	flow_move(&r.flow, &r.pipes);
	assert_int_equal(r.flow.state, FLOW_BROKEN);
	stop(&r);
}

static void make_tcp_pair(int ends[2])
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(in);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&in, &len), 0);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(ends[0], (struct sockaddr *)&in, len), 0);
	ends[1] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	assert_true(ends[1] >= 0);
	setsockopt(ends[1], SOL_SOCKET, SO_OOBINLINE, &(int){ 1 }, sizeof(int));
	close(listener);
}

/* As the event loop does. Whatever is readable must move: else that loop would never sleep. */
static void move_all(struct relay *r)
{
	struct pollfd in = { .fd = r->in[1], .events = POLLIN };

	while (r->flow.state == FLOW_READING && poll(&in, 1, 1000) == 1)
		assert_true(flow_move(&r->flow, &r->pipes) || r->flow.state == FLOW_DONE);
}

/* splice(2) stops there: for ever, or taking it for the end. */
static void an_urgent_byte_passes(void **state)
{
	static const struct {
		const char *before;
		const char *after;
		const char *all;
	} rows[] = {
		{ "before", "after", "before!after" },
		{ "", "after", "!after" },
		{ "before", "", "before!" },
		{ "", "", "!" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct relay r = start();
		char buf[32] = "";

		close(r.in[0]);
		close(r.in[1]);
		make_tcp_pair(r.in);
		r.flow.from = r.in[1];
		assert_true(send(r.in[0], rows[i].before, strlen(rows[i].before), 0) >= 0);
		assert_int_equal(send(r.in[0], "!", 1, MSG_OOB), 1);
		assert_true(send(r.in[0], rows[i].after, strlen(rows[i].after), 0) >= 0);
		shutdown(r.in[0], SHUT_WR);
		move_all(&r);
		assert_int_equal(r.flow.state, FLOW_DONE);
		assert_true(read(r.out[1], buf, sizeof(buf) - 1) > 0);
		assert_string_equal(buf, rows[i].all);
		stop(&r);
	}
}

/* ---- options ---- */

static struct egress_allow allow;

static int parse(struct egress_options *options, struct fault *why, int argc,
		 const char *const *words)
{
	char *argv[16] = { "oarbank-egress" };

	for (int i = 0; i < argc; i++)
		argv[i + 1] = (char *)words[i];
	options->allow = &allow;
	return egress_command_parse(&kernel_live, argc + 1, argv, options, why);
}

static void options_are_read(void **state)
{
	static const char *const words[] = { "--allow", "a", "--idle-timeout", "7", "--any-user",
					     "--port",	"1", "--log",	       "-", "--allow",
					     "*.b:8" };
	struct egress_options options;

	(void)state;
	assert_int_equal(parse(&options, NULL, COUNT(words), words), 0);
	assert_int_equal(allow.count, 2);
	assert_true(egress_allowed(&allow, "a", 443));
	assert_true(egress_allowed(&allow, "x.b", 8));
	assert_false(egress_allowed(&allow, "b", 8));
	assert_int_equal(options.idle_s, 7);
	assert_int_equal(options.head_s, 10);
	assert_int_equal(options.port, 1);
	assert_int_equal(options.control, -1);
	assert_true(options.any_user);
	assert_string_equal(options.log, "-");
}

static void wrong_options_are_named(void **state)
{
	static const struct {
		const char *words[4];
		const char *why;
	} rows[] = {
		{ { NULL }, "an allow list is needed: --allow or --allow-file" },
		{ { "--allow" }, "--allow needs a value: HOST[:PORT]" },
		{ { "--allow", "1.2.3.4" }, "--allow: '1.2.3.4' is an address, not a host's name" },
		{ { "x" }, "unknown argument 'x'" },
		{ { "--allow", "a", "--port", "65536" },
		  "--port: '65536' is no number from 0 to 65535" },
		{ { "--idle-timeout", "0" }, "--idle-timeout: '0' is no number from 1 to 86400" },
		{ { "--head-bytes", "255" },
		  "--head-bytes: '255' is no number from 256 to 1048576" },
		{ { "--allow-file", "/no/file" }, "--allow-file: read '/no/file': ENOENT" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct egress_options options;
		struct fault why;
		int count = 0;

		while (count < 4 && rows[i].words[count])
			count++;
		assert_true(parse(&options, &why, count, rows[i].words) < 0);
		assert_string_equal(why.text, rows[i].why);
	}
}

static void a_file_lists_entries(void **state)
{
	static const char good[] = "# ours\n\na.example # the first\n *.b:8\t\n  \n";
	static const char bad[] = "a\n\nb c\n";
	char path[] = "/tmp/test-allow-XXXXXX";
	struct fault why;
	int fd = mkstemp(path);
	char expected[128];
	struct text t = TEXT_BUF(expected);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, good, sizeof(good) - 1), sizeof(good) - 1);
	allow.count = 0;
	assert_int_equal(egress_allow_file(&kernel_live, path, &allow, &why), 0);
	assert_int_equal(allow.count, 2);
	assert_true(egress_allowed(&allow, "a.example", 443));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, bad, sizeof(bad) - 1, 0), sizeof(bad) - 1);
	assert_int_equal(egress_allow_file(&kernel_live, path, &allow, &why), -EINVAL);
	text_add(&t, path);
	text_add(&t, ": line 3: 'b c' is not host[:port]");
	assert_string_equal(why.text, expected);
	close(fd);
	unlink(path);
}

static void a_list_has_its_bound(void **state)
{
	struct fault why;

	(void)state;
	allow.count = 0;
	while (allow.count < EGRESS_ENTRIES_MAX)
		assert_int_equal(egress_allow_add("a", &allow, &why), 0);
	assert_int_equal(egress_allow_add("a", &allow, &why), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_and_the_end_pass),
		cmocka_unit_test(what_comes_first_is_sent_first),
		cmocka_unit_test(a_slow_receiver_holds_the_sender_back),
		cmocka_unit_test(a_receiver_that_is_gone_breaks_it),
		cmocka_unit_test(what_is_behind_a_body_stays),
		cmocka_unit_test(chunks_that_are_none_break_it),
		cmocka_unit_test(an_urgent_byte_passes),
		cmocka_unit_test(options_are_read),
		cmocka_unit_test(wrong_options_are_named),
		cmocka_unit_test(a_file_lists_entries),
		cmocka_unit_test(a_list_has_its_bound),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
