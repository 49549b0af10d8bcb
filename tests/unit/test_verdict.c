#include "report/verdict.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/strict_json.h"
#include "report/toml.h"
#include "report/verdict_json.h"

#define LIMIT "Landlock knows ports, not addresses"

/* What a node with Landlock ABI `abi` enforces, as contract-linux.md's table has it. */
static size_t capabilities_at(unsigned abi, struct node_capability caps[16])
{
	static const struct node_capability rows[] = {
		{ .name = "filesystem", .needed_abi = 3 },
		{ .name = "ipc", .needed_abi = 6 },
		{ .name = "net.none", .needed_abi = 3 },
		{ .name = "net.egress-allowlist", .needed_abi = 4 },
		{ .name = "net.egress-any", .why = LIMIT },
		{ .name = "no_loopback", .needed_abi = 4 },
		{ .name = "no_link_local", .needed_abi = 4 },
		{ .name = "gpu.compute", .needed_abi = 3 },
		{ .name = "exec_writable_deny", .needed_abi = 3 },
		{ .name = "folders.read", .needed_abi = 3 },
		{ .name = "folders.write", .needed_abi = 3 },
	};
	size_t count = sizeof(rows) / sizeof(rows[0]);

	for (size_t i = 0; i < count; i++) {
		caps[i] = rows[i];
		if (abi >= 3 && rows[i].needed_abi && rows[i].needed_abi <= abi)
			caps[i].status = STATUS_ENFORCED;
	}
	return count;
}

struct scenario {
	const char *name;
	const char *requires;
	const char *sandbox;
	unsigned abi;
	const char *kernel;
	const char *glibc;
	/* Expected. */
	enum verdict_code code;
	const char *missing; /* each followed by a space */
	const char *at;	     /* the kernel that would change it, "" for none */
	bool placed;
	const char *says;
};

#define NO_CHANGE ""
#define ALLOWLIST "net = { mode = 'egress-allowlist', allow = ['a.example'] }\n"

static const struct scenario scenarios[] = {
	{ .name = "all is well",
	  .abi = 6,
	  .kernel = "6.12.1",
	  .code = VERDICT_RUNS,
	  .missing = "",
	  .at = NO_CHANGE,
	  .placed = true,
	  .says = "demo runs here" },
	{ .name = "network on a new kernel",
	  .sandbox = ALLOWLIST,
	  .abi = 7,
	  .kernel = "6.18.44-fc-v669",
	  .code = VERDICT_RUNS,
	  .missing = "",
	  .at = NO_CHANGE,
	  .placed = true,
	  .says = "demo runs here" },
	{ .name = "no scopes below ABI 6",
	  .abi = 5,
	  .kernel = "6.10.3",
	  .code = VERDICT_CAPABILITY_NOT_ENFORCED,
	  .missing = "ipc ",
	  .at = "6.12",
	  .says = "demo needs ipc, which this node does not enforce (unavailable)" },
	{ .name = "more is missing on ABI 3",
	  .sandbox = ALLOWLIST,
	  .abi = 3,
	  .kernel = "6.1.0-18-amd64",
	  .code = VERDICT_CAPABILITY_NOT_ENFORCED,
	  .missing = "ipc net.egress-allowlist no_loopback no_link_local ",
	  .at = "6.12",
	  .says = "demo needs ipc, which this node does not enforce (unavailable), nor 3 other things it needs" },
	{ .name = "no kernel brings egress-any",
	  .sandbox = "net.mode = 'egress-any'\n",
	  .abi = 11,
	  .kernel = "7.3.0",
	  .code = VERDICT_CAPABILITY_NOT_ENFORCED,
	  .missing = "net.egress-any ",
	  .at = NO_CHANGE,
	  .says = "demo needs net.egress-any, which this node does not enforce (unavailable): " LIMIT },
	{ .name = "nor where another thing would help",
	  .sandbox = "net.mode = 'egress-any'\n",
	  .abi = 3,
	  .kernel = "6.2",
	  .code = VERDICT_CAPABILITY_NOT_ENFORCED,
	  .missing = "ipc net.egress-any no_loopback no_link_local ",
	  .at = NO_CHANGE,
	  .says = "demo needs ipc" },
	{ .name = "an unknown mode is enforced by nobody",
	  .sandbox = "net.mode = 'lan-only'\ndevices.gpu = 'video'\n",
	  .abi = 11,
	  .kernel = "7.3",
	  .code = VERDICT_CAPABILITY_NOT_ENFORCED,
	  .missing = "net.lan-only gpu.video ",
	  .at = NO_CHANGE,
	  .says = "demo needs net.lan-only, which this node does not enforce (unavailable), nor 1 other thing "
		  "it needs: it is not among the capabilities of a report" },
	{ .name = "no backend comes before all else",
	  .requires = "os.linux.kernel = '>=9'\n",
	  .abi = 0,
	  .kernel = "5.10.0",
	  .code = VERDICT_SANDBOX_BACKEND_MISSING,
	  .missing = "filesystem ipc net.none exec_writable_deny ",
	  .at = "9.0",
	  .says = "this node has no sandbox, so no module runs here: no Landlock" },
	{ .name = "no backend on an old kernel",
	  .abi = 0,
	  .kernel = "5.10.0",
	  .code = VERDICT_SANDBOX_BACKEND_MISSING,
	  .missing = "filesystem ipc net.none exec_writable_deny ",
	  .at = "6.12",
	  .says = "no sandbox" },
	{ .name = "Landlock off at boot: no kernel helps",
	  .abi = 0,
	  .kernel = "6.18.1",
	  .code = VERDICT_SANDBOX_BACKEND_MISSING,
	  .missing = "filesystem ipc net.none exec_writable_deny ",
	  .at = NO_CHANGE,
	  .says = "no sandbox" },
	{ .name = "another platform",
	  .requires = "",
	  .abi = 3,
	  .kernel = "6.2",
	  .code = VERDICT_PLATFORM_UNSUPPORTED,
	  .missing = "ipc ",
	  .at = NO_CHANGE,
	  .says = "demo is not made for linux-riscv64" },
	{ .name = "an older kernel than asked for",
	  .requires = "os.linux.kernel = '>=6.14,<8'\n",
	  .abi = 6,
	  .kernel = "6.12.9",
	  .code = VERDICT_OS_VERSION_UNSUPPORTED,
	  .missing = "",
	  .at = "6.14",
	  .placed = false,
	  .says = "demo does not run on this system's version (12): it asks for a kernel >=6.14,<8, this one is 6.12.9" },
	{ .name = "the kernel asked for is older than the ABI",
	  .requires = "os.linux.kernel = '<6.9'\n",
	  .abi = 4,
	  .kernel = "6.8.0",
	  .code = VERDICT_CAPABILITY_NOT_ENFORCED,
	  .missing = "ipc ",
	  .at = NO_CHANGE,
	  .says = "demo needs ipc" },
	{ .name = "a newer kernel than asked for",
	  .requires = "os.linux.kernel = '<6.9'\n",
	  .abi = 7,
	  .kernel = "6.18",
	  .code = VERDICT_OS_VERSION_UNSUPPORTED,
	  .missing = "",
	  .at = NO_CHANGE,
	  .says = "a kernel <6.9, this one is 6.18" },
	{ .name = "both the kernel and its ABI",
	  .requires = "os.linux.kernel = '>6.1'\n",
	  .abi = 3,
	  .kernel = "6.1",
	  .code = VERDICT_OS_VERSION_UNSUPPORTED,
	  .missing = "ipc ",
	  .at = "6.12",
	  .says = "a kernel >6.1" },
	{ .name = "glibc",
	  .requires = "os.linux.glibc = '>=2.38'\n",
	  .abi = 6,
	  .kernel = "6.12",
	  .glibc = "2.36",
	  .code = VERDICT_OS_VERSION_UNSUPPORTED,
	  .missing = "",
	  .at = NO_CHANGE,
	  .says = "demo does not run on this system's version (12): it asks for glibc >=2.38, this one is 2.36" },
	{ .name = "another C library fails a glibc range",
	  .requires = "os.linux.glibc = '>=2.0'\n",
	  .abi = 6,
	  .kernel = "6.12",
	  .code = VERDICT_OS_VERSION_UNSUPPORTED,
	  .missing = "",
	  .at = NO_CHANGE,
	  .says = "this one is unknown" },
	{ .name = "an unknown kernel fails a range",
	  .requires = "os.linux.kernel = '>=5'\n",
	  .abi = 6,
	  .code = VERDICT_OS_VERSION_UNSUPPORTED,
	  .missing = "",
	  .at = NO_CHANGE,
	  .says = "this one is unknown" },
};

static void decide(const struct scenario *s, struct module *m, struct verdict *v)
{
	/* "" asks for a platform that is not the node's. */
	const char *platform = s->requires && !*s->requires ? "linux-amd64" : "linux-riscv64";
	static struct node_capability caps[16];
	const struct node_view node = {
		.backend = s->abi >= 3,
		.backend_why = "no Landlock",
		.backend_abi = 3,
		.abi = s->abi,
		.platform = "linux-riscv64",
		.os_version = "12",
		.kernel = s->kernel,
		.glibc = s->glibc,
		.capabilities = caps,
		.capability_count = capabilities_at(s->abi, caps),
	};
	struct fault why;
	char text[512];
	cJSON *tree;

	snprintf(text, sizeof(text),
		 "name = 'demo'\n[requires]\nplatforms = ['%s']\n%s\n[sandbox]\n%s", platform,
		 s->requires ? s->requires : "", s->sandbox ? s->sandbox : "");
	if (toml_tree(text, strlen(text), &tree, &why) < 0 || module_read(tree, m, &why) < 0)
		fail_msg("%s: %s", s->name, why.text);
	verdict_decide(m, &node, v);
}

static void test_scenarios(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		const struct scenario *s = &scenarios[i];
		char missing[256] = "";
		struct verdict v;
		struct module m;

		decide(s, &m, &v);
		for (unsigned j = 0; j < v.missing_count; j++) {
			strcat(missing, v.missing[j].need->name);
			strcat(missing, " ");
		}
		if (v.code != s->code)
			fail_msg("%s: %s", s->name, v.message);
		if (strcmp(missing, s->missing) != 0)
			fail_msg("%s: missing %s", s->name, missing);
		if (strcmp(v.kernel, s->at) != 0)
			fail_msg("%s: changed by '%s'", s->name, v.kernel);
		if (v.placed != s->placed)
			fail_msg("%s: placed is %d", s->name, v.placed);
		if (!strstr(v.message, s->says))
			fail_msg("%s: says '%s'", s->name, v.message);
		module_free(&m);
	}
}

/* The coordinator does not look at exec_writable_deny; the contract has it enforced. */
static void test_an_always_on_rule_counts(void **state)
{
	static const struct node_capability caps[] = {
		{ .name = "filesystem", .status = STATUS_ENFORCED },
		{ .name = "ipc", .status = STATUS_ENFORCED },
		{ .name = "net.none", .status = STATUS_ENFORCED },
		{ .name = "exec_writable_deny",
		  .status = STATUS_COOPERATIVE,
		  .why = "a loader runs it" },
	};
	static const struct node_view node = {
		.backend = true,
		.abi = 6,
		.platform = "linux-amd64",
		.capabilities = caps,
		.capability_count = 4,
	};
	static const char text[] = "name = 'demo'\n[requires]\nplatforms = ['linux-amd64']\n";
	struct module m;
	struct verdict v;
	cJSON *tree;

	(void)state;
	assert_int_equal(toml_tree(text, strlen(text), &tree, NULL), 0);
	assert_int_equal(module_read(tree, &m, NULL), 0);
	verdict_decide(&m, &node, &v);
	assert_int_equal(v.code, VERDICT_CAPABILITY_NOT_ENFORCED);
	assert_int_equal(v.missing_count, 1);
	assert_int_equal(v.missing[0].status, STATUS_COOPERATIVE);
	assert_true(v.missing[0].need->always_on);
	assert_true(v.placed);
	assert_string_equal(v.message,
			    "demo needs exec_writable_deny, which this node does not enforce "
			    "(cooperative): a loader runs it");
	module_free(&m);
}

static char *print(const struct module_entry *entry, const struct verdict *v)
{
	cJSON *json = cJSON_CreateObject();
	char *text;

	verdict_fill_json(json, entry, v);
	text = cJSON_PrintUnformatted(json);
	cJSON_Delete(json);
	return text;
}

static void test_json(void **state)
{
	const struct scenario scenario = { .sandbox = ALLOWLIST
					   "[other]\n[requires2]\n[services2]\n",
					   .abi = 5,
					   .kernel = "6.10" };
	struct module_entry entry = { .file = "a\xff.toml", .index = -1 };
	struct verdict v;
	char *text;

	(void)state;
	decide(&scenario, &entry.module, &v);
	text = print(&entry, &v);
	assert_string_equal(
		text,
		"{\"file\":\"a�.toml\",\"name\":\"demo\",\"version\":null,\"runs\":false,"
		"\"code\":\"CAPABILITY_NOT_ENFORCED\",\"message\":\"demo needs ipc, which this node does not "
		"enforce (unavailable)\",\"placed\":false,\"missing\":[{\"capability\":\"ipc\",\"status\":"
		"\"unavailable\",\"rule\":\"placement\",\"why\":null,\"kernel\":\"6.12\"}],\"needs\":"
		"[\"filesystem\",\"ipc\",\"net.egress-allowlist\",\"no_loopback\",\"no_link_local\","
		"\"exec_writable_deny\"],\"kernel\":\"6.12\",\"landlock_abi\":6,\"unknown_keys\":[]}");
	free(text);
	module_free(&entry.module);

	entry.refused = true;
	fault_join(&entry.error, "sandbox: is not a table", NULL);
	text = print(&entry, NULL);
	assert_string_equal(text, "{\"file\":\"a�.toml\",\"error\":\"sandbox: is not a table\"}");
	free(text);
}

static void test_json_of_a_module_that_runs(void **state)
{
	const struct scenario scenario = { .abi = 6, .kernel = "6.12" };
	struct module_entry entry = { .file = "m.toml", .index = -1 };
	struct verdict v;
	char *text;

	(void)state;
	decide(&scenario, &entry.module, &v);
	text = print(&entry, &v);
	assert_string_equal(
		text,
		"{\"file\":\"m.toml\",\"name\":\"demo\",\"version\":null,\"runs\":true,\"code\":null,"
		"\"message\":\"demo runs here\",\"placed\":true,\"missing\":[],\"needs\":["
		"\"filesystem\",\"ipc\",\"net.none\",\"exec_writable_deny\"],\"kernel\":null,"
		"\"landlock_abi\":null,\"unknown_keys\":[]}");
	free(text);
	/* The longest message is there to its end. */
	memset(v.message, 'x', sizeof(v.message) - 2);
	memcpy(v.message + sizeof(v.message) - 2, "!", 2);
	text = print(&entry, &v);
	assert_non_null(strstr(text, "xx!\",\"placed\""));
	free(text);
	module_free(&entry.module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenarios),
		cmocka_unit_test(test_an_always_on_rule_counts),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_of_a_module_that_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
