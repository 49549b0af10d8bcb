#include "report/needs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"

/* The needs in order, each followed by a space; an always-on one starts with '+'. */
static void join(const struct needs *needs, char *buf, size_t size)
{
	struct text t = text_start(buf, size);

	for (unsigned i = 0; i < needs->count; i++) {
		text_add(&t, needs->need[i].always_on ? "+" : "");
		text_add(&t, needs->need[i].name);
		text_add(&t, " ");
	}
	assert_false(t.cut);
}

static void test_needs(void **state)
{
	static const struct {
		struct grants grants;
		bool endpoint;
		const char *needs;
	} rows[] = {
		{ { .net_mode = "none", .gpu = "none" },
		  false,
		  "filesystem ipc net.none +exec_writable_deny " },
		{ { .net_mode = "none", .gpu = "none", .exec_writable = true },
		  false,
		  "filesystem ipc net.none " },
		{ { .net_mode = "egress-allowlist", .gpu = "none" },
		  false,
		  "filesystem ipc net.egress-allowlist no_loopback +no_link_local +exec_writable_deny " },
		{ { .net_mode = "egress-any", .gpu = "none", .exec_writable = true },
		  false,
		  "filesystem ipc net.egress-any no_loopback +no_link_local " },
		{ { .net_mode = "lan-only", .gpu = "video", .exec_writable = true },
		  false,
		  "filesystem ipc net.lan-only no_loopback gpu.video +no_link_local " },
		{ { .net_mode = "none",
		    .gpu = "compute",
		    .folders_read = true,
		    .folders_write = true },
		  true,
		  "filesystem ipc net.none gpu.compute endpoints folders.read folders.write +exec_writable_deny " },
		{ { .net_mode = "none", .gpu = "none", .folders_write = true, .containers = true },
		  false,
		  "filesystem ipc net.none folders.write +exec_writable_deny " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct module m = { .grants = rows[i].grants, .endpoint = rows[i].endpoint };
		struct needs needs;
		char text[512];

		needs_of(&m, &needs);
		join(&needs, text, sizeof(text));
		assert_string_equal(text, rows[i].needs);
	}
}

static void test_everything_at_once_fits(void **state)
{
	static const char longest[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	const struct module m = {
		.grants = { .net_mode = longest,
			    .gpu = longest,
			    .folders_read = true,
			    .folders_write = true },
		.endpoint = true,
	};
	struct needs needs;

	(void)state;
	assert_int_equal(strlen(longest), rule_word.max);
	needs_of(&m, &needs);
	assert_int_equal(needs.count, NEEDS_MAX);
	assert_int_equal(strlen(needs.need[2].name), strlen("net.") + strlen(longest));
	assert_int_equal(strlen(needs.need[4].name), strlen("gpu.") + strlen(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_everything_at_once_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
