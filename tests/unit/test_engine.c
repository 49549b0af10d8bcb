/* probe/engine.c and probe/cdi.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/cdi.h"
#include "probe/probes.h"
#include "tests/fake/tree.h"

#define PROGRAM(path) "stat " path " = file 0755 0 0\naccess " path " x = 0\n"

static void the_engine_is_looked_for_in_order(void **state)
{
	static const struct {
		const char *rows;
		enum engine_state state;
		const char *runtime, *path, *detail;
	} rows[] = {
		{ "", ENGINE_ABSENT, "", "",
		  "neither podman nor docker is in /usr/bin, /usr/local/bin or /bin" },
		{ PROGRAM("/usr/bin/docker"), ENGINE_INSTALLED, "docker", "/usr/bin/docker",
		  "docker is at /usr/bin/docker" },
		{ PROGRAM("/usr/bin/docker") PROGRAM("/bin/podman"), ENGINE_INSTALLED, "podman",
		  "/bin/podman", "podman is at /bin/podman" },
		{ PROGRAM("/usr/local/bin/podman") PROGRAM("/bin/podman"), ENGINE_INSTALLED,
		  "podman", "/usr/local/bin/podman", "podman is at /usr/local/bin/podman" },
		{ "stat /usr/bin/docker = link 0777 0 0\naccess /usr/bin/docker x = 0\n",
		  ENGINE_INSTALLED, "docker", "/usr/bin/docker", "docker is at /usr/bin/docker" },
		/* a dangling link, and a directory of that name */
		{ "stat /usr/bin/docker = link 0777 0 0\naccess /usr/bin/docker x = ENOENT\n"
		  "stat /bin/podman = dir 0755 0 0\naccess /bin/podman x = 0\n",
		  ENGINE_ABSENT, "", "",
		  "neither podman nor docker is in /usr/bin, /usr/local/bin or /bin" },
		{ "stat /usr/bin/podman = file 0750 0 0\naccess /usr/bin/podman x = EACCES\n",
		  ENGINE_ABSENT, "", "",
		  "no container engine can be executed: '/usr/bin/podman': EACCES" },
		{ "stat /usr/bin/podman = file 0750 0 0\n" PROGRAM("/usr/bin/docker"),
		  ENGINE_INSTALLED, "docker", "/usr/bin/docker", "docker is at /usr/bin/docker" },
		{ "stat /usr/bin/podman = file 0750 0 0\n", ENGINE_UNKNOWN, "", "",
		  "no container engine can be executed: '/usr/bin/podman': not recorded" },
		{ "stat /usr/bin/podman = EIO\n", ENGINE_UNKNOWN, "", "",
		  "no container engine can be executed: '/usr/bin/podman': EIO" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct engine_facts f = { 0 };
		struct tree t;

		print_message("# row %zu\n", i);
		tree_make(&t, NULL, rows[i].rows);
		probe_engine(&t.kernel, &f);
		tree_remove(&t);
		assert_int_equal(f.state, rows[i].state);
		assert_string_equal(f.runtime, rows[i].runtime);
		assert_string_equal(f.path, rows[i].path);
		assert_string_equal(f.detail, rows[i].detail);
		assert_string_equal(f.cdi_kind, "");
	}
}

static void a_spec_needs_a_kind_and_all(void **state)
{
	static const struct {
		const char *text;
		const char *kind; /* NULL: not found */
	} rows[] = {
		{ "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n- name: all\n",
		  "nvidia.com/gpu" },
		{ "---\nkind: 'amd.com/gpu' # comment\ndevices:\n  - name: \"all\"\n",
		  "amd.com/gpu" },
		{ "kind: \"a.b/c\"\ndevices:\n  -\n    name: all   # every one\n", "a.b/c" },
		{ "kind: a.b/c\r\ndevices:\r\n- name: all\r\n", "a.b/c" },
		{ "kind: a.b/c\ndevices:\n- name: alligator\n", NULL },
		{ "kind: a.b/c\ndevices:\n- nickname: all\n", NULL },
		{ "kind: a.b/c\ndevices:\n- name: '0'\n", NULL },
		{ "kind: gpu\ndevices:\n- name: all\n", NULL },
		{ "metadata:\n  kind: a.b/c\ndevices:\n- name: all\n", NULL },
		{ "# kind: a.b/c\ndevices:\n- name: all\n", NULL },
		{ "devices:\n- name: all\n", NULL },
		{ "", NULL },
		{ "kind: a.b/c", NULL },
		{ "kind: a.b/c\nkind: d.e/f\n- name: all", "a.b/c" },
		{ "kind: 0123456789012345678901234567890/gpu\n- name: all\n", NULL },

		{ "{\"cdiVersion\":\"0.5.0\",\"kind\":\"nvidia.com/gpu\",\"devices\":[{\"name\":"
		  "\"0\"},{\"name\":\"all\",\"containerEdits\":{}}]}",
		  "nvidia.com/gpu" },
		{ " {\n \"devices\" : [ { \"name\" : \"all\" } ],\n \"kind\" : \"a.b\\/c\" }",
		  "a.b/c" },
		/* "all" that is the name of something else, or not a name */
		{ "{\"kind\":\"a/b\",\"name\":\"all\",\"devices\":[{\"name\":\"0\"}]}", NULL },
		{ "{\"kind\":\"a/b\",\"devices\":[{\"name\":\"0\",\"x\":[{\"name\":\"all\"}]}]}",
		  NULL },
		{ "{\"kind\":\"a/b\",\"devices\":[{\"name\":[\"all\"]}]}", NULL },
		{ "{\"kind\":\"a/b\",\"devices\":[{\"key\":\"name\",\"b\":\"all\"}]}", NULL },
		{ "{\"kind\":\"a/b\",\"devices\":[{\"name\":\"al\\u006c\"}]}", NULL },
		{ "{\"x\":{\"kind\":\"a/b\"},\"devices\":[{\"name\":\"all\"}]}", NULL },
		{ "{\"k\":\"\\\"kind\\\":\\\"a/b\",\"devices\":[{\"name\":\"all\"}]}", NULL },
		{ "{\"kind\":\"a/b\",\"x\":\"}]{\",\"devices\":[{\"name\":\"all\"}]}", "a/b" },
		{ "{\"kind\":\"a/b\",\"devices\":[{\"name\":\"all", NULL },
		{ "{\"kind\":\"a/b\",\"devices\":[{\"name\":\"all\\", NULL },
		{ "{\"kind", NULL },
		{ "{", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = strdup(rows[i].text);
		char kind[32];

		print_message("# row %zu\n", i);
		assert_non_null(text);
		assert_int_equal(cdi_scan(text, kind, sizeof(kind)), rows[i].kind != NULL);
		assert_string_equal(kind, rows[i].kind ? rows[i].kind : "");
		free(text);
	}
}

static void the_first_spec_wins(void **state)
{
	const struct tree_file files[] = {
		{ "/etc/cdi/a.txt", "kind: a/txt\n- name: all\n" },
		{ "/etc/cdi/b.yaml", "kind: b/one\n- name: '0'\n" },
		{ "/etc/cdi/c.yml", "kind: c/yml\n- name: all\n" },
		{ "/etc/cdi/d.json", "{\"kind\":\"d/json\",\"devices\":[{\"name\":\"all\"}]}" },
		{ "/var/run/cdi/a.yaml", "kind: run/a\n- name: all\n" },
		{ NULL, NULL }
	};
	struct engine_facts f = { 0 };
	struct tree t;

	(void)state;
	tree_make(&t, files, "");
	probe_engine(&t.kernel, &f);
	assert_string_equal(f.cdi_kind, "c/yml");
	assert_string_equal(f.cdi_file, "/etc/cdi/c.yml");
	tree_remove(&t);

	memset(&f, 0, sizeof(f));
	tree_make(&t, files + 4, "list /etc/cdi = EACCES\n");
	probe_engine(&t.kernel, &f);
	assert_string_equal(f.cdi_kind, "run/a");
	assert_string_equal(f.detail, "neither podman nor docker is in /usr/bin, /usr/local/bin or "
				      "/bin; CDI: '/etc/cdi': EACCES");
	tree_remove(&t);
}

static void a_spec_that_cannot_be_read_is_said(void **state)
{
	char *big = malloc((1 << 20) + 64);
	struct tree_file files[] = { { "/etc/cdi/big.yaml", big },
				     { "/etc/cdi/small.yaml", "kind: s/m\n- name: all\n" },
				     { NULL, NULL } };
	struct engine_facts f = { 0 };
	struct tree t;

	(void)state;
	assert_non_null(big);
	strcpy(big, "kind: b/ig\n- name: all\n#");
	memset(big + strlen(big), 'x', 1 << 20);
	big[(1 << 20) + 8] = '\0';
	tree_make(&t, files, PROGRAM("/bin/docker"));
	probe_engine(&t.kernel, &f);
	tree_remove(&t);
	free(big);
	assert_string_equal(f.cdi_kind, "s/m");
	assert_string_equal(f.detail, "docker is at /bin/docker; CDI: '/etc/cdi/big.yaml': EFBIG");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_engine_is_looked_for_in_order),
		cmocka_unit_test(a_spec_needs_a_kind_and_all),
		cmocka_unit_test(the_first_spec_wins),
		cmocka_unit_test(a_spec_that_cannot_be_read_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
