/* launch: a policy that is written is read as it was, with a proxy's port of our own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "launch/policy_print.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct policy first;
static struct policy again;

static void what_is_written_is_read_as_it_was(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{\"module\":\"m\\u0001\\\"\\\\\\u001f\\u00e9\",\"kind\":\"doctor\"}",
		"{\"net\":\"egress-allowlist\",\"proxy_port\":65535,\"broker_socket\":\"/b\",\"gpu\":true}",
		"{\"exec_rw\":true,\"exe\":\"/usr/bin/a b\",\"ro\":[\"/r1\",\"/r2\"],\"rw\":[\"/w\"]}",
		"{\"wo\":[\"/o\\\"\\\\\"],\"rd\":[\"/i\",\"/j\"],\"rw\":[\"/x\"],\"ro\":[\"/y\"]}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char text[1024];
		char printed[1024];
		char copy[1024];
		struct text t = TEXT_BUF(printed);
		struct fault why;

		strcpy(text, rows[i]);
		assert_int_equal(policy_parse(text, strlen(text), &first, &why), 0);
		policy_print(&first, &t);
		assert_false(t.cut);
		strcpy(copy, printed);
		if (policy_parse(copy, strlen(copy), &again, &why) < 0)
			fail_msg("%s: %s", printed, why.text);
		assert_string_equal(again.module, first.module);
		assert_string_equal(again.kind, first.kind);
		assert_int_equal(again.net, first.net);
		assert_int_equal(again.proxy_port, first.proxy_port);
		assert_int_equal(!again.broker_socket, !first.broker_socket);
		assert_int_equal(again.gpu, first.gpu);
		assert_int_equal(again.exec_rw, first.exec_rw);
		assert_int_equal(again.root_count, first.root_count);
		for (size_t a = 0; a < first.root_count; a++) {
			size_t b = 0;

			while (b < again.root_count &&
			       (again.roots[b].kind != first.roots[a].kind ||
				strcmp(again.roots[b].path, first.roots[a].path) != 0))
				b++;
			assert_true(b < again.root_count);
		}
	}
}

static void what_does_not_fit_is_cut(void **state)
{
	char small[16];
	struct text t = TEXT_BUF(small);
	char text[] = "{}";

	(void)state;
	assert_int_equal(policy_parse(text, strlen(text), &first, NULL), 0);
	policy_print(&first, &t);
	assert_true(t.cut);
}

static int read_for(uint16_t port, const char *json, char *text, size_t size, struct fault *why)
{
	char path[] = "/tmp/test-policy-XXXXXX";
	int fd = mkstemp(path);
	int r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, json, strlen(json)), (ssize_t)strlen(json));
	r = policy_read_for_proxy(&kernel_live, path, port, text, size, &first, why);
	close(fd);
	unlink(path);
	return r;
}

static void our_port_takes_the_place_of_any(void **state)
{
	static const char *const rows[] = {
		"{\"net\":\"egress-allowlist\"}",
		"{\"net\":\"egress-allowlist\",\"proxy_port\":null}",
		"{\"net\":\"egress-allowlist\",\"proxy_port\":0}",
		"{\"net\":\"egress-allowlist\",\"proxy_port\":7}",
	};
	char text[256];
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(read_for(3128, rows[i], text, sizeof(text), &why), 0);
		assert_int_equal(first.proxy_port, 3128);
	}
	assert_int_equal(read_for(0, rows[0], text, sizeof(text), &why), -EINVAL);
	assert_int_equal(read_for(0, rows[2], text, sizeof(text), &why), -EINVAL);
	assert_int_equal(read_for(3128, "{\"net\":\"none\"}", text, sizeof(text), &why), 0);
	assert_int_equal(first.proxy_port, 0);
	assert_int_equal(read_for(3128, "{\"net\":\"egress-any\"}", text, sizeof(text), &why),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_as_it_was),
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(our_port_takes_the_place_of_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
