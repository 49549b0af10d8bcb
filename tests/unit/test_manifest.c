#include "report/manifest.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/strict_json.h"
#include "report/toml.h"

#define HEAD "[module]\nid = 'org.example.demo'\nversion = '1.2.3'\n"
#define BASE HEAD "[requires]\nplatforms = ['linux-amd64']\n"
#define SANDBOX BASE "[sandbox]\n"
#define SERVICE BASE "[[services]]\nname = 's'\n"
#define STAGE BASE "[[stages]]\nname = 'st'\n"
#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SET "name = 'a', registry = 'r.example', repository = 'x/', key = 'k.pub'"

static int read_toml(const char *text, struct module *m, struct fault *why)
{
	cJSON *tree;
	int err = toml_tree(text, strlen(text), &tree, why);

	return err < 0 ? err : module_read(tree, m, why);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} rows[] = {
		/* Who it is, and where it runs. */
		{ "", "name: is missing" },
		{ "[module]\nversion = '1'", "module.id: is missing" },
		{ "module = 1", "module: is not a table" },
		{ "[module]\nid = 'nodots'", "module.id: 'nodots' is not a module id" },
		{ "[module]\nid = 'org.Example.x'", "module.id: 'org.Example.x' is not" },
		{ "[module]\nid = 'org.example.'", "module.id: 'org.example.' is not" },
		{ "[module]\nid = 'org.example.x'\nname = '../x'", "module.name: '../x' is not" },
		{ "[module]\nid = 'org.example.x'\nversion = 1",
		  "module.version: is not a string" },
		{ "manifest = 2\n" BASE, "manifest: is not 1" },
		{ HEAD, "requires.platforms: names no platform" },
		{ "requires = []\n" HEAD, "requires: is not a table" },
		{ HEAD "[requires]\nplatforms = 'linux-amd64'",
		  "requires.platforms: is not a list" },
		{ HEAD "[requires]\nplatforms = ['linux-amd64', 'linux']",
		  "requires.platforms[1]: 'linux' is not a platform" },
		{ HEAD "[requires]\nplatforms = [\"linux-amd64\\n\"]",
		  "requires.platforms[0]: 'linux-amd64\\x0a' is not" },
		{ HEAD "[requires]\nplatforms = [1]", "requires.platforms[0]: is not a string" },
		{ BASE "agent = 'new'", "requires.agent: 'new' is not a version range" },
		{ BASE "agent = 2", "requires.agent: is not a string" },
		{ BASE "core = ''", "requires.core: '' is not a version range" },
		{ BASE "features = ['placement', 'magic']",
		  "requires.features[1]: 'magic' is a feature" },
		{ BASE "os = 'linux'", "requires.os: is not a table" },
		{ BASE "os.linux = '>=6'", "requires.os.linux: is not a table" },
		{ BASE "os.darwin = 'x'", "requires.os.darwin: 'x' is not" },
		{ BASE "os.linux.kernel = '>=six'", "requires.os.linux.kernel: '>=six' is not" },
		{ BASE "os.linux.glibc = 2.35", "requires.os.linux.glibc: is not a string" },

		/* [sandbox] */
		{ "sandbox = 1\n" BASE, "sandbox: is not a table" },
		{ SANDBOX "contract = 2", "sandbox.contract: is not 1" },
		{ SANDBOX "contract = '1'", "sandbox.contract: is not 1" },
		{ SANDBOX "contract = 1979-05-27", "sandbox.contract: is not 1" },
		{ SANDBOX "exec_writable = 1", "sandbox.exec_writable: is not true or false" },
		{ SANDBOX "exec_writable = 1979-05-27",
		  "sandbox.exec_writable: is not true or false" },
		{ SANDBOX "net = 'none'", "sandbox.net: is not a table" },
		{ SANDBOX "net.mode = 'None'", "sandbox.net.mode: 'None' is not a word" },
		{ SANDBOX "net.mode = ''", "sandbox.net.mode: '' is not a word" },
		{ SANDBOX "net.mode = 1979-05-27", "sandbox.net.mode: is not a string" },
		{ SANDBOX
		  "net.mode = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
		  "is not a word of a-z, 0-9 and '-' of at most 64 bytes" },
		{ SANDBOX "net = { mode = 'egress-allowlist' }", "sandbox.net.allow: has no host" },
		{ SANDBOX "net = { mode = 'egress-allowlist', allow = [] }",
		  "sandbox.net.allow: has no host" },
		{ SANDBOX "net = { mode = 'egress-any', allow = ['a.example'] }",
		  "sandbox.net.allow: has hosts" },
		{ SANDBOX "net = { allow = ['a.example'] }", "sandbox.net.allow: has hosts" },
		{ SANDBOX "net = { mode = 'egress-allowlist', allow = 'a.example' }",
		  "sandbox.net.allow: is not a list" },
		{ SANDBOX
		  "net = { mode = 'egress-allowlist', allow = ['a.example', 'b', 'http://x'] }",
		  "sandbox.net.allow[2]: 'http://x' is not host[:port]" },
		{ SANDBOX "net = { mode = 'egress-allowlist', allow = ['a..b'] }",
		  "sandbox.net.allow[0]: 'a..b'" },
		{ SANDBOX "net = { mode = 'egress-allowlist', allow = ['a.*.b'] }",
		  "sandbox.net.allow[0]: 'a.*.b'" },
		{ SANDBOX "net = { mode = 'egress-allowlist', allow = ['a:'] }",
		  "sandbox.net.allow[0]: 'a:'" },
		{ SANDBOX "net = { mode = 'egress-allowlist', allow = ['a:123456'] }",
		  "sandbox.net.allow[0]: 'a:123456'" },
		{ SANDBOX "net = { mode = 'egress-allowlist', allow = ['[::1]:443'] }",
		  "sandbox.net.allow[0]: '[::1]:443'" },
		{ SANDBOX "net = { mode = 'egress-allowlist', allow = ['10.0.0.1:443'] }",
		  "'10.0.0.1:443' is an address" },
		{ SANDBOX "net = { mode = 'lan', allow = ['127.1'] }", "'127.1' is an address" },
		{ SANDBOX "net = { mode = 'lan', allow = ['2130706433'] }",
		  "'2130706433' is an address" },
		{ SANDBOX "devices = ['gpu']", "sandbox.devices: is not a table" },
		{ SANDBOX "devices.gpu = true", "sandbox.devices.gpu: is not a string" },
		{ SANDBOX "devices.gpu = 'Compute'",
		  "sandbox.devices.gpu: 'Compute' is not a word" },
		{ SANDBOX "tools = ['jdk']", "sandbox.tools[0]: is not a table" },
		{ SANDBOX "tools = [{ trust = 'read' }]", "sandbox.tools[0].id: is missing" },
		{ SANDBOX "tools = [{ id = 'Jdk' }]", "sandbox.tools[0].id: 'Jdk' is not an id" },
		{ SANDBOX "tools = [{ id = 'jdk', trust = 'full' }]",
		  "sandbox.tools[0].trust: 'full' is not read or code-exec" },
		{ SANDBOX "tools = [{ id = 'jdk', arch = 'x86_64' }]",
		  "sandbox.tools[0].arch: 'x86_64' is not any" },
		{ SANDBOX "tools = [{ id = 'jdk', version = '17' }]",
		  "sandbox.tools[0].version: '17' is not a tool version" },
		{ SANDBOX "tools = [{ id = 'a' }, { id = 'b' }, { id = 'a' }]",
		  "sandbox.tools[2].id: 'a' is there more than once" },
		{ SANDBOX "containers = [{ image = 'docker.io/org/tool:1.2' }]",
		  "sandbox.containers[0].image: 'docker.io/org/tool:1.2' is not an image" },
		{ SANDBOX "containers = [{ image = 'a@sha256:" HEX64 "0' }]",
		  "sandbox.containers[0].image:" },
		{ SANDBOX "containers = [{ image = 'a@sha256:" HEX64 "', platform = 'linux' }]",
		  "sandbox.containers[0].platform: 'linux'" },
		{ SANDBOX "containers = [{ platform = 'linux/amd64' }]",
		  "sandbox.containers[0].image: is missing" },
		{ SANDBOX "container_sets = [{ name = 'a' }]",
		  "sandbox.container_sets[0].registry: is missing" },
		{ SANDBOX "container_sets = [{ " SET " }, { " SET " }]",
		  "sandbox.container_sets[1].name: 'a' is there more than once" },
		{ SANDBOX "container_sets = [{ " SET ", index = 'untagged' }]",
		  "sandbox.container_sets[0].index: 'untagged'" },
		{ SANDBOX
		  "container_sets = [{ name = 'a', registry = '-r', repository = 'x', key = 'k' }]",
		  "registry: '-r' is not" },
		{ SANDBOX
		  "container_sets = [{ name = 'a', registry = 'r', repository = '/x', key = 'k' }]",
		  "repository: '/x' is not" },
		{ SANDBOX
		  "container_sets = [{ name = 'a', registry = 'r', repository = 'x', key = '../k' }]",
		  "key: '../k' is not a portable path" },
		{ SANDBOX
		  "container_sets = [{ name = 'a', registry = 'r', repository = 'x', key = 'a/NUL.pub' }]",
		  "key: 'a/NUL.pub' is not" },
		{ SANDBOX "folders = [{ id = 'in' }]", "sandbox.folders[0].access: is missing" },
		{ SANDBOX "folders = [{ id = 'in', access = 'rw' }]",
		  "sandbox.folders[0].access: 'rw' is not read or write" },
		{ SANDBOX
		  "folders = [{ id = 'in', access = 'read' }, { id = 'in', access = 'write' }]",
		  "sandbox.folders[1].id: 'in' is there" },
		{ HEAD
		  "[requires]\ncore = '>=2.0,<3'\nplatforms = ['linux-amd64']\n[sandbox]\nfolders = [{ id = 'in', access = 'read' }]",
		  "requires.core: '>=2.0,<3' admits cores before 2.5" },
		{ HEAD
		  "[requires]\ncore = '<3'\nplatforms = ['linux-amd64']\n[sandbox]\ncontainer_sets = [{ " SET
		  " }]",
		  "requires.core: '<3' admits cores before 2.5" },

		/* Services and what binds them to [sandbox]. */
		{ "services = {}\n" BASE, "services: is not a list" },
		{ "services = [1]\n" BASE, "services[0]: is not a table" },
		{ BASE "[[services]]\nexec = ['python']", "services[0].name: is missing" },
		{ SERVICE "[[services]]\nname = 's'",
		  "services[1].name: 's' is there more than once" },
		{ SERVICE "exec = 'python x.py'", "services[0].exec: is not a list" },
		{ SERVICE "exec = [1]", "services[0].exec[0]: is not a string" },
		{ SERVICE "lifecycle = 'sometimes'",
		  "services[0].lifecycle: 'sometimes' is not on_demand" },
		{ SERVICE "idle_timeout_s = -1", "services[0].idle_timeout_s: is below 0" },
		{ SERVICE "start_timeout_s = 0", "services[0].start_timeout_s: is not above 0" },
		{ SERVICE "stop_timeout_s = '5'", "services[0].stop_timeout_s: is not a number" },
		{ SERVICE "restart.max_failures = 0",
		  "services[0].restart.max_failures: is not above 0" },
		{ SERVICE "yieldable = 'no'", "services[0].yieldable: is not true or false" },
		{ SERVICE "endpoint = 1", "services[0].endpoint: is not true or false" },
		{ SERVICE "endpoint = true", "services[0].endpoint: needs a pool" },
		{ SERVICE "endpoint = true\nprovides.pools = ['p']\nlifecycle = 'manual'",
		  "services[0].lifecycle: 'manual' does not go" },
		{ SERVICE "provides.pools = ['P']",
		  "services[0].provides.pools[0]: 'P' is not a name" },
		{ SERVICE "gpu.use = 'some'", "services[0].gpu.use: 'some' is not none" },
		{ SERVICE "gpu.use = 'shared'",
		  "services[0].gpu.use: 'shared' needs sandbox.devices.gpu" },
		{ SERVICE "gpu.use = 'shared'\n[sandbox]\ndevices.gpu = 'video'",
		  "services[0].gpu.use: 'shared' needs" },
		{ SERVICE "env = { Path = 'x' }", "services[0].env: 'Path' is not a variable" },
		{ BASE "[runner]\nenv = { LD_PRELOAD = 1 }",
		  "runner.env.LD_PRELOAD: is not a string" },
		{ BASE "[runner]\nenv = { OARBANK_X = 'x' }",
		  "runner.env: 'OARBANK_X' is not a variable" },
		{ BASE "[runner]\nenv = { XDG_CACHE_HOME = 'x' }",
		  "runner.env: 'XDG_CACHE_HOME' is not" },
		{ BASE "[runner.variants.linux]\nenv = { PATH = 'x' }",
		  "runner.variants.linux.env: 'PATH' is not" },
		{ BASE "[runner]\ngpu.use = 'all'", "runner.gpu.use: 'all' is not none" },
		{ "stages = 1\n" BASE, "stages: is not a list" },
		{ BASE "[[stages]]\ntimeout_s = 1", "stages[0].name: is missing" },
		{ STAGE "[[stages]]\nname = 'st'", "stages[1].name: 'st' is there more than once" },
		{ STAGE "requires.pools = { model = 1 }",
		  "stages[0].requires.pools: 'model' is a pool nothing here provides" },
		{ STAGE "requires.pools = { containers = 1 }",
		  "stages[0].requires.pools: 'containers' is a pool nothing" },
		{ STAGE "requires.pools = ['containers']",
		  "stages[0].requires.pools: is not a table" },
		{ STAGE "requires.needs_pools = ['a']",
		  "stages[0].requires.needs_pools[0]: 'a' is a pool nothing" },
		{ STAGE
		  "requires.pools = { gpu = 1 }\n[sandbox]\ncontainers = [{ image = 'a@sha256:" HEX64
		  "' }]",
		  "stages[0].requires.pools: 'gpu' needs the containers pool" },
		{ STAGE
		  "requires.pools = { gpu = 1, containers = 1 }\n[sandbox]\ncontainers = [{ image = 'a@sha256:" HEX64
		  "' }]",
		  "stages[0].requires.pools: 'gpu' needs runner.gpu.in_container" },
		{ STAGE
		  "requires.pools = { gpu = 1, containers = 1 }\n[runner]\ngpu = { use = 'none', in_container = true }\n"
		  "[sandbox]\ncontainers = [{ image = 'a@sha256:" HEX64 "' }]",
		  "stages[0].requires.pools: 'gpu' needs runner.gpu.in_container" },
		{ STAGE "bootstrap = true\n[sandbox]\nnet.mode = 'egress-any'",
		  "stages[0].bootstrap: does not go with" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct module m = { .endpoint = true };
		struct fault why = { "" };

		if (read_toml(rows[i].text, &m, &why) != -EINVAL)
			fail_msg("row %zu was accepted: %s", i, rows[i].text);
		assert_true(m.endpoint);
		if (!strstr(why.text, rows[i].says))
			fail_msg("row %zu: '%s' instead of '%s'", i, why.text, rows[i].says);
	}
}

static void test_accepted(void **state)
{
	static const char *const rows[] = {
		BASE,
		"manifest = 1\n" BASE
		"core = '>=2.0,<3'\nfeatures = ['placement']\nos.windows = '>=10.0.19045'",
		"name = 'plain'\n[requires]\nplatforms = ['plan9-mips']",
		SANDBOX
		"net = { mode = 'egress-allowlist', allow = ['a', '*.b', 'c.d:99999', '1.2.3.x', '*.1.2'] }",
		SANDBOX "net = { mode = 'lan-only', allow = ['nas'] }\ndevices.gpu = 'video'",
		SANDBOX
		"tools = [{ id = 'jdk', version = '~> 17.0', arch = 'native' }, { id = 'python' }]",
		SANDBOX "containers = [{ image = 'docker.io/org/tool:1.2@sha256:" HEX64 "' }]",
		SANDBOX "container_sets = [{ " SET ", index = 'r.example/x/i:v1' }]",
		HEAD
		"[requires]\ncore = '>=2.5,<3'\nplatforms = ['linux-amd64']\n[sandbox]\nfolders = [{ id = 'in', access = 'read' }]",
		SERVICE
		"endpoint = true\nprovides.pools = ['p']\n[[stages]]\nname = 'st'\nrequires.pools = { p = 2 }",
		SERVICE "endpoint = true\nlisteners = ['peer']\nlifecycle = 'always'",
		SERVICE "gpu.use = 'shared'\n[sandbox]\ndevices.gpu = 'compute'",
		STAGE
		"bootstrap = true\n[sandbox]\nnet = { mode = 'egress-allowlist', allow = ['a.example'] }",
		STAGE
		"requires = { pools = { gpu = 1, containers = 1 }, needs_pools = ['containers'] }\n"
		"[runner]\ngpu = { use = 'exclusive', in_container = true }\nenv = { MKL_CBWR = 'COMPATIBLE' }\n"
		"[sandbox]\ncontainers = [{ image = 'a@sha256:" HEX64 "' }]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault why = { "" };
		struct module m;

		if (read_toml(rows[i], &m, &why) < 0)
			fail_msg("row %zu: %s", i, why.text);
		module_free(&m);
		assert_null(m.document);
	}
}

static void test_what_is_read(void **state)
{
	static const char text[] =
		"[module]\nid = 'org.example.demo'\nversion = '1.2.3'\n"
		"[requires]\nplatforms = ['linux-amd64', 'darwin-arm64']\nagent = '>=2'\n"
		"[requires.os.linux]\nkernel = '>=6.1'\n"
		"[sandbox]\nexec_writable = true\n"
		"net = { mode = 'egress-allowlist', allow = ['a.example'] }\n"
		"devices = { gpu = 'compute' }\n"
		"folders = [{ id = 'out', access = 'write' }]\n";
	struct module m;

	(void)state;
	assert_int_equal(read_toml(text, &m, NULL), 0);
	assert_string_equal(m.name, "demo");
	assert_string_equal(m.version, "1.2.3");
	assert_true(module_lists(&m, "linux-amd64"));
	assert_false(module_lists(&m, "linux-arm64"));
	assert_string_equal(m.kernel.text, ">=6.1");
	assert_null(m.glibc.text);
	assert_string_equal(m.agent.text, ">=2");
	assert_string_equal(m.grants.net_mode, "egress-allowlist");
	assert_string_equal(m.grants.gpu, "compute");
	assert_true(m.grants.exec_writable);
	assert_false(m.grants.folders_read);
	assert_true(m.grants.folders_write);
	assert_false(m.endpoint);
	assert_int_equal(cJSON_GetArraySize(m.unknown), 0);
	module_free(&m);
}

static void test_silence_means_the_defaults(void **state)
{
	struct module m;

	(void)state;
	assert_int_equal(read_toml("name = 'x'\n[requires]\nplatforms = ['a-b']", &m, NULL), 0);
	assert_string_equal(m.name, "x");
	assert_null(m.version);
	assert_string_equal(m.grants.net_mode, "none");
	assert_string_equal(m.grants.gpu, "none");
	assert_false(m.grants.exec_writable);
	module_free(&m);
}

static void test_unknown_keys_are_noted(void **state)
{
	static const char *const want[] = {
		"sandbox.net.inbound", "sandbox.devices.npu", "sandbox.teleport\\x1b",
		"requires.moon",       "services[0].turbo",
	};
	struct module m;

	(void)state;
	assert_int_equal(read_toml(BASE "moon = 1979-05-27\n[sandbox]\nnet = { inbound = [] }\n"
					"devices.npu = 'x'\n\"teleport\\u001b\" = true\n"
					"[[services]]\nname = 's'\nturbo = 1\n[other]\nx = 1\n",
				   &m, NULL),
			 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(m.unknown, (int)i)),
				    want[i]);
	assert_int_equal(cJSON_GetArraySize(m.unknown), sizeof(want) / sizeof(want[0]));
	module_free(&m);
}

static void test_null_means_absent_where_it_may(void **state)
{
	static const struct {
		const char *text;
		const char *says; /* NULL: accepted */
	} rows[] = {
		{ "{\"name\": \"x\", \"requires\": {\"platforms\": [\"linux-amd64\"], \"os\": null, \"agent\": null},"
		  "\"sandbox\": {\"tools\": [{\"id\": \"jdk\", \"version\": null}]},"
		  "\"runner\": {\"variants\": {\"linux\": {\"gpu\": null, \"env\": null}}}}",
		  NULL },
		{ "{\"name\": \"x\", \"requires\": {\"platforms\": [\"linux-amd64\"], \"os\": {\"linux\": {\"kernel\": null}}}}",
		  NULL },
		{ "{\"name\": null, \"requires\": {\"platforms\": [\"linux-amd64\"]}}",
		  "name: is not a string" },
		{ "{\"name\": \"x\", \"requires\": {\"platforms\": null}}",
		  "requires.platforms: is not a list" },
		{ "{\"name\": \"x\", \"requires\": {\"platforms\": [\"linux-amd64\"]}, \"sandbox\": {\"net\": null}}",
		  "sandbox.net: is not a table" },
		{ "{\"modules\": [], \"format\": 2}", "pass it with --modules" },
		{ "[]", "a manifest is one table" },
		{ "\"x\"", "a manifest is one table" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault why = { "" };
		struct module m;
		cJSON *tree;
		int err;

		assert_int_equal(json_tree(rows[i].text, strlen(rows[i].text), &tree, &why), 0);
		err = module_read(tree, &m, &why);
		if ((err == 0) != !rows[i].says)
			fail_msg("row %zu: %s", i, why.text);
		if (rows[i].says)
			assert_non_null(strstr(why.text, rows[i].says));
		else
			module_free(&m);
	}
}

static void test_a_long_list_is_refused(void **state)
{
	char *text = calloc(1, 16 * (LIST_MAX + 64));
	struct fault why = { "" };
	struct module m;

	(void)state;
	assert_non_null(text);
	strcpy(text, "name = 'x'\n[requires]\nplatforms = [");
	for (int i = 0; i <= LIST_MAX; i++)
		strcat(text, "'a-b',");
	strcat(text, "]");
	assert_int_equal(read_toml(text, &m, &why), -EINVAL);
	assert_string_equal(why.text, "requires.platforms: has more than 1024 entries");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_what_is_read),
		cmocka_unit_test(test_silence_means_the_defaults),
		cmocka_unit_test(test_unknown_keys_are_noted),
		cmocka_unit_test(test_null_means_absent_where_it_may),
		cmocka_unit_test(test_a_long_list_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
