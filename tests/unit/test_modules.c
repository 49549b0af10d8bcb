#include "report/modules.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/needs.h"

#define DIR "tests/golden/modules/"

static void test_sample_manifests(void **state)
{
	static const struct {
		const char *file;
		const char *name;
		const char *third; /* the need that depends on the network mode */
	} rows[] = {
		{ DIR "runner.toml", "primes", "net.none" },
		{ DIR "egress.toml", "fetch", "net.egress-allowlist" },
		{ DIR "egress-any.toml", "crawl", "net.egress-any" },
		{ DIR "gpu.toml", "train", "net.none" },
		{ DIR "exec-writable.toml", "build", "net.none" },
		{ DIR "folders.toml", "archive", "net.none" },
		{ DIR "endpoint.toml", "model", "net.none" },
		{ DIR "open-sets.json", "future", "net.lan-only" },
	};
	struct modules list = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct needs needs;

		assert_int_equal(modules_add_manifest(&list, rows[i].file), 0);
		if (list.entries[i].refused)
			fail_msg("%s: %s", rows[i].file, list.entries[i].error.text);
		assert_string_equal(list.entries[i].module.name, rows[i].name);
		assert_int_equal(list.entries[i].index, -1);
		needs_of(&list.entries[i].module, &needs);
		assert_string_equal(needs.need[2].name, rows[i].third);
	}
	assert_int_equal(list.count, sizeof(rows) / sizeof(rows[0]));
	assert_int_equal(list.refused, 0);
	modules_free(&list);
}

static void test_broken_manifests(void **state)
{
	static const struct {
		const char *file;
		const char *says;
	} rows[] = {
		{ DIR "bad/syntax.toml", "line 6, column" },
		{ DIR "bad/duplicate.toml", "line 8, column" },
		{ DIR "bad/host.toml", "sandbox.net.allow[1]: 'http://x' is not host[:port]" },
		{ DIR "bad/address.toml", "sandbox.net.allow[0]: '10.0.0.1:443' is an address" },
		{ DIR "bad/contract.toml", "sandbox.contract: is not 1" },
		{ DIR "bad/type.toml", "sandbox.exec_writable: is not true or false" },
		{ DIR "bad/range.toml", "requires.os.linux.kernel: 'six' is not a version range" },
		{ DIR "bad/platforms.toml", "requires.platforms: names no platform" },
		{ DIR "bad/date.toml", "sandbox.contract: is not 1" },
		{ DIR "bad/trailing.json", "line 1, column 83: something follows" },
		{ DIR "bad/twice.json", "key 'requires' is there twice" },
		{ DIR "modules.json", "pass it with --modules" },
		{ DIR "absent.toml", "open '" DIR "absent.toml': ENOENT" },
		{ DIR, "read '" DIR "': EISDIR" },
		{ "/dev/zero", "'/dev/zero' has more than 4 MiB" },
	};
	struct modules list = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(modules_add_manifest(&list, rows[i].file), 0);
		assert_true(list.entries[i].refused);
		assert_string_equal(list.entries[i].file, rows[i].file);
		if (!strstr(list.entries[i].error.text, rows[i].says))
			fail_msg("%s: %s", rows[i].file, list.entries[i].error.text);
	}
	assert_int_equal(list.refused, list.count);
	modules_free(&list);
}

static void test_a_bad_entry_loses_only_itself(void **state)
{
	struct modules list = { 0 };

	(void)state;
	assert_int_equal(modules_add_manifest(&list, DIR "runner.toml"), 0);
	assert_int_equal(modules_add_release(&list, DIR "modules.json"), 0);
	assert_int_equal(list.count, 5);
	assert_int_equal(list.refused, 2);

	assert_int_equal(list.entries[1].index, 0);
	assert_false(list.entries[1].refused);
	assert_string_equal(list.entries[1].module.name, "primes");
	assert_true(module_lists(&list.entries[1].module, "linux-amd64"));
	assert_false(module_lists(&list.entries[1].module, "linux-arm64"));

	assert_true(list.entries[2].refused);
	assert_string_equal(
		list.entries[2].error.text,
		"modules[1] (broken): sandbox.net.allow[1]: 'http://b.example.org' is not host[:port]");

	assert_false(list.entries[3].refused);
	assert_string_equal(list.entries[3].module.name, "fetch");
	assert_true(list.entries[3].module.endpoint);

	assert_true(list.entries[4].refused);
	assert_int_equal(list.entries[4].index, 3);
	assert_string_equal(list.entries[4].error.text, "modules[3]: an entry is one object");
	modules_free(&list);
}

#define ONE(entry) "{\"format\": 2, \"platform\": \"linux-amd64\", \"modules\": [" entry "]}"

static void test_releases(void **state)
{
	static const struct {
		const char *text;
		const char *says; /* NULL: accepted */
	} rows[] = {
		{ ONE(""), NULL },
		{ ONE("{\"name\": \"a\"}"), NULL },
		{ ONE("{\"name\": \"a\", \"requires\": {\"platforms\": [\"x-y\"]}}"), NULL },
		{ "{\"format\": 2.0, \"platform\": \"p-q\", \"modules\": []}", NULL },
		{ "", "line 1, column 1:" },
		{ "[]", "this is no modules.json" },
		{ "{\"modules\": []}", "this is no modules.json" },
		{ "{\"format\": 1, \"platform\": \"p-q\", \"modules\": []}", "format: is not 2" },
		{ "{\"format\": 3, \"platform\": \"p-q\", \"modules\": []}", "format: is not 2" },
		{ "{\"format\": \"2\", \"platform\": \"p-q\", \"modules\": []}",
		  "format: is not 2" },
		{ "{\"format\": 2, \"modules\": []}", "platform: is missing" },
		{ "{\"format\": 2, \"platform\": \"linux\", \"modules\": []}",
		  "platform: 'linux' is not" },
		{ "{\"format\": 2, \"platform\": \"p-q\"}", "modules: is missing" },
		{ "{\"format\": 2, \"platform\": \"p-q\", \"modules\": {}}",
		  "modules: is not a list" },
		{ "{\"format\": 2, \"format\": 2, \"platform\": \"p-q\", \"modules\": []}",
		  "key 'format' is there twice" },
		{ ONE("{\"version\": \"1\"}"), "modules[0]: name: is missing" },
		{ ONE("{\"name\": 1}"), "modules[0]: name: is not a string" },
		{ ONE("{\"name\": \"a/b\"}"),
		  "modules[0] (a/b): name: 'a/b' is not a module's name" },
		{ ONE("{\"name\": \"a\", \"requires\": [1]}"),
		  "modules[0] (a): requires[0]: is not a string" },
		{ ONE("{\"name\": \"a\", \"requires\": {}}"),
		  "modules[0] (a): requires.platforms: names no platform" },
		{ ONE("{\"name\": \"a\", \"requires\": \"x\"}"),
		  "modules[0] (a): requires: is not a list" },
		{ ONE("{\"name\": \"a\", \"stages\": [{\"name\": \"s\", \"pools\": {}}]}"),
		  "stages[0].pools: is not a list" },
		{ ONE("{\"name\": \"a\", \"stages\": [{\"name\": \"s\", \"bootstrap\": true}], \"sandbox\": {\"net\": {\"mode\": \"egress-any\"}}}"),
		  "stages[0].bootstrap: does not go with" },
		{ ONE("{\"name\": \"a\", \"services\": [{\"name\": \"s\", \"gpu\": {\"use\": \"shared\"}}]}"),
		  "services[0].gpu.use:" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct modules list = { 0 };

		assert_int_equal(
			modules_parse_release(&list, "r", rows[i].text, strlen(rows[i].text)), 0);
		assert_int_equal(list.refused, rows[i].says ? 1 : 0);
		if (rows[i].says && !strstr(list.entries[0].error.text, rows[i].says))
			fail_msg("row %zu: %s", i, list.entries[0].error.text);
		modules_free(&list);
	}
}

static void test_the_spelling_is_told_by_name_or_by_content(void **state)
{
	static const char json[] = " \n{\"name\": \"x\", \"requires\": {\"platforms\": [\"a-b\"]}}";
	static const char toml[] = "name = 'x'\n[requires]\nplatforms = ['a-b']";
	static const struct {
		const char *file;
		const char *text;
		bool good;
	} rows[] = {
		{ "m.json", json, true }, { "m.toml", json, false }, { "m", json, true },
		{ "-", json, true },	  { "m.json", toml, false }, { "m.toml", toml, true },
		{ "m", toml, true },	  { "json", toml, true },
	};
	struct modules list = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(modules_parse_manifest(&list, rows[i].file, rows[i].text,
							strlen(rows[i].text)),
				 0);
		assert_int_equal(list.entries[i].refused, !rows[i].good);
	}
	modules_free(&list);
}

static void test_standard_input(void **state)
{
	static const char toml[] = "name = 'piped'\n[requires]\nplatforms = ['a-b']";
	int keep = dup(STDIN_FILENO);
	struct modules list = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], toml, sizeof(toml) - 1), sizeof(toml) - 1);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	assert_int_equal(modules_add_manifest(&list, "-"), 0);
	dup2(keep, STDIN_FILENO);
	close(keep);
	assert_false(list.entries[0].refused);
	assert_string_equal(list.entries[0].module.name, "piped");
	modules_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample_manifests),
		cmocka_unit_test(test_broken_manifests),
		cmocka_unit_test(test_a_bad_entry_loses_only_itself),
		cmocka_unit_test(test_releases),
		cmocka_unit_test(test_the_spelling_is_told_by_name_or_by_content),
		cmocka_unit_test(test_standard_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
