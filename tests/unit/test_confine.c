/* launch: a plan carried out by Landlock; paths with links; the nodes of a GPU. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/gpu.h"
#include "launch/landlock.h"
#include "launch/resolve.h"
#include "tests/fake/launch_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct fake_file files[] = {
	{ "/bin", NODE_LINK, "usr/local/bin", 0, 0 },
	{ "/data/in/file", NODE_FILE, "", 0, 0 },
	{ "/data/out/file", NODE_FILE, "", 0, 0 },
	{ "/data/sock", NODE_SOCKET, NULL, 0, 0 },
	{ "/data/sock-link", NODE_LINK, "/data/sock", 0, 0 },
	{ "/dev/dri/card0", NODE_CHAR, NULL, 226, 0 },
	{ "/dev/dri/renderD128", NODE_CHAR, NULL, 226, 128 },
	{ "/dev/dri/renderD129", NODE_FILE, "", 0, 0 },
	{ "/dev/kfd", NODE_CHAR, NULL, 240, 0 },
	{ "/dev/kfd2", NODE_CHAR, NULL, 240, 1 },
	{ "/dev/null", NODE_CHAR, NULL, 1, 3 },
	{ "/dev/nvidia-caps/nvidia-cap1", NODE_CHAR, NULL, 237, 1 },
	{ "/dev/nvidia-caps/other", NODE_CHAR, NULL, 237, 2 },
	{ "/dev/nvidia0", NODE_CHAR, NULL, 195, 0 },
	{ "/dev/nvidia1", NODE_LINK, "/dev/nvidia0", 0, 0 },
	{ "/dev/nvidiactl", NODE_CHAR, NULL, 195, 255 },
	{ "/dev/sda", NODE_BLOCK, NULL, 8, 0 },
	{ "/home", NODE_LINK, "/var/home", 0, 0 },
	{ "/into-usr", NODE_LINK, "/usr", 0, 0 },
	{ "/lib", NODE_LINK, "usr/lib", 0, 0 },
	{ "/loop", NODE_LINK, "/loop", 0, 0 },
	{ "/fifo", NODE_FIFO, NULL, 0, 0 },
	{ "/usr/bin/python3", NODE_LINK, "python3.11", 0, 0 },
	{ "/usr/bin/python3.11", NODE_FILE, "", 0, 0 },
	{ "/usr/lib/x", NODE_FILE, "", 0, 0 },
	{ "/usr/local/bin/python3", NODE_LINK, "../../bin/python3", 0, 0 },
	{ "/var/home/u/bundle/main.py", NODE_FILE, "", 0, 0 },
	{ "/var/home/u/up", NODE_LINK, "../u/./bundle", 0, 0 },
	{ "/var/home/u/work/bundle/x", NODE_FILE, "", 0, 0 },
	{ "/var/home/u/work/link", NODE_LINK, "/var/home/u/secret", 0, 0 },
	{ "/var/home/u/secret/key", NODE_FILE, "", 0, 0 },
	{ NULL, NODE_OTHER, NULL, 0, 0 },
};

static struct fake_process p;
static struct policy policy;
static struct gpu_nodes gpu;
static struct plan plan;

/* Another file system in the machine of the next apply(). */
static const char *mounted;
static uint64_t mounted_magic;

static int apply(const char *json, int abi, struct fault *why)
{
	static char text[4096];
	const struct plan_input input = { .abi = abi, .gpu = &gpu };

	fake_process(&p, files, abi);
	p.mounted = mounted;
	p.mounted_magic = mounted_magic;
	p.no_new_privs = true;
	assert_true(text_copy(text, sizeof(text), json));
	if (policy_parse(text, strlen(text), &policy, why) < 0)
		fail_msg("%s: %s", json, why->text);
	if (policy.gpu)
		assert_int_equal(gpu_find(&p.kernel, &gpu, why), 0);
	if (plan_make(&policy, &input, &plan, why) < 0)
		fail_msg("%s: %s", json, why->text);
	return landlock_apply(&p.kernel, &plan, why);
}

#define RUN (LL_FS_READ_FILE | LL_FS_READ_DIR | LL_FS_EXECUTE)

static void rules_are_on_what_was_opened(void **state)
{
	struct fault why;

	(void)state;
	assert_int_equal(
		apply("{\"ro\":[\"/var/home/u/bundle\",\"/data/in/file\"],\"rw\":[\"/var/home/u/work\","
		      "\"/data/out/file\"],\"exe\":\"/usr/bin/python3\"}",
		      7, &why),
		0);
	assert_true(p.restricted);
	assert_int_equal(p.restrict_flags, LL_RESTRICT_LOG_NEW_EXEC_ON);
	assert_int_equal(p.ruleset.handled_fs, 0xffff);
	assert_int_equal(p.ruleset.handled_net, 3);
	assert_int_equal(p.ruleset.scoped, 3);
	assert_int_equal(fake_rights(&p, "/usr"), RUN);
	/* /lib is a link to usr/lib: the rule on /usr covers it. /bin leads elsewhere. */
	assert_int_equal(fake_rights(&p, "/usr/lib"), 0);
	assert_int_equal(fake_rights(&p, "/usr/local/bin"), RUN);
	assert_int_equal(fake_rights(&p, "/var/home/u/bundle"), RUN);
	/* A rule on a file carries what a file may have. */
	assert_int_equal(fake_rights(&p, "/data/in/file"), LL_FS_READ_FILE | LL_FS_EXECUTE);
	assert_int_equal(fake_rights(&p, "/data/out/file"),
			 LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_TRUNCATE);
	/* The program is a link, and the rule lies on what it leads to. */
	assert_int_equal(fake_rights(&p, "/usr/bin/python3.11"), LL_FS_READ_FILE | LL_FS_EXECUTE);
	/* The parts of the base system that are not here are skipped. */
	assert_int_equal(fake_rights(&p, "/opt"), 0);
	assert_int_equal(fake_rights(&p, "/dev/null"), LL_FS_READ_FILE | LL_FS_WRITE_FILE);
	assert_int_equal(fake_open_count(&p), 0);
}

static void old_kernels_get_what_they_know(void **state)
{
	struct fault why;

	(void)state;
	assert_int_equal(apply("{\"rw\":[\"/var/home/u/work\"]}", 3, &why), 0);
	assert_int_equal(p.ruleset.handled_fs, 0x7fff);
	assert_int_equal(p.ruleset.handled_net, 0);
	assert_int_equal(p.ruleset.scoped, 0);
	assert_int_equal(p.restrict_flags, 0);
	assert_int_equal(apply("{\"net\":\"egress-allowlist\",\"proxy_port\":3128}", 4, &why), 0);
	assert_int_equal(p.port, 3128);
}

static void gpu_nodes_are_found_by_name_and_type(void **state)
{
	static const char *const expected[] = {
		"/dev/kfd",
		"/dev/nvidia0",
		"/dev/nvidiactl",
		"/dev/dri",
		"/dev/dri/renderD128",
		"/dev/nvidia-caps",
		"/dev/nvidia-caps/nvidia-cap1",
	};
	struct fault why;

	(void)state;
	assert_int_equal(apply("{\"gpu\":true}", 7, &why), 0);
	assert_int_equal(gpu.count, COUNT(expected));
	for (size_t i = 0; i < COUNT(expected); i++)
		assert_string_equal(gpu.nodes[i].path, expected[i]);
	assert_int_equal(fake_rights(&p, "/dev/dri"), LL_FS_READ_DIR);
	assert_int_equal(fake_rights(&p, "/dev/dri/renderD128"),
			 LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_IOCTL_DEV);
	assert_int_equal(fake_rights(&p, "/dev/dri/card0"), 0);
	assert_int_equal(fake_rights(&p, "/dev/null"), LL_FS_READ_FILE | LL_FS_WRITE_FILE);
}

static void a_machine_without_gpus_has_none(void **state)
{
	static const struct fake_file no_dev[] = {
		{ "/usr", NODE_DIR, NULL, 0, 0 },
		{ NULL, NODE_OTHER, NULL, 0, 0 },
	};
	struct fault why;

	(void)state;
	fake_process(&p, no_dev, 7);
	assert_int_equal(gpu_find(&p.kernel, &gpu, &why), 0);
	assert_int_equal(gpu.count, 0);
	fake_process(&p, files, 7);
	p.fail_call = 1;
	p.fail_error = EACCES;
	assert_int_equal(gpu_find(&p.kernel, &gpu, &why), -EACCES);
	assert_string_equal(why.text, "list '/dev': EACCES");
	assert_int_equal(gpu.count, 0);
}

static void roots_that_cannot_be_granted_are_refused(void **state)
{
	static const struct {
		const char *json;
		int abi;
		int error;
		const char *refusal;
	} rows[] = {
		{ "{\"ro\":[\"/absent\"]}", 7, -ENOENT, "ro '/absent': ENOENT" },
		{ "{\"exe\":\"/absent\"}", 7, -ENOENT, "exe '/absent': ENOENT" },
		{ "{\"rw\":[\"/absent\"]}", 7, -ENOENT, "rw '/absent': ENOENT" },
		{ "{\"ro\":[\"/fifo\"]}", 7, -EINVAL, "ro '/fifo': a FIFO cannot be granted here" },
		{ "{\"rw\":[\"/data/sock\"]}", 7, -EINVAL, "rw '/data/sock': a socket cannot" },
		/* The last component of what a module may have reached before is no link. */
		{ "{\"rw\":[\"/var/home/u/work/link\"]}", 7, -ELOOP,
		  "rw '/var/home/u/work/link': ELOOP" },
		{ "{\"rd\":[\"/home\"]}", 7, -ELOOP, "rd '/home': ELOOP" },
		{ "{\"wo\":[\"/home\"]}", 7, -ELOOP, "wo '/home': ELOOP" },
		{ "{\"ro\":[\"/loop\"]}", 7, -ELOOP, "ro '/loop': ELOOP" },
		/* Nor does a link on the way bring roots together. */
		{ "{\"rw\":[\"/home/u/work\"],\"ro\":[\"/var/home/u/work/bundle\"]}", 7, -EINVAL,
		  "ro '/var/home/u/work/bundle' lies in rw '/home/u/work'" },
		{ "{\"rw\":[\"/var/home/u/work\"],\"ro\":[\"/home/u/work/bundle\"]}", 7, -EINVAL,
		  "ro '/home/u/work/bundle' lies in rw '/var/home/u/work'" },
		{ "{\"rw\":[\"/into-usr/lib\"]}", 7, -EINVAL,
		  "rw '/into-usr/lib' lies in base system '/usr'" },
		/* The broker's socket, where it can be told from others. */
		{ "{\"broker_socket\":\"/absent\"}", 9, -ENOENT,
		  "broker_socket '/absent': ENOENT" },
		{ "{\"broker_socket\":\"/data/in\"}", 9, -EINVAL,
		  "broker_socket '/data/in': a directory cannot" },
		{ "{\"broker_socket\":\"/data/sock-link\"}", 9, -ELOOP,
		  "broker_socket '/data/sock-link': ELOOP" },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int r = apply(rows[i].json, rows[i].abi, &why);

		if (r != rows[i].error || !strstr(why.text, rows[i].refusal))
			fail_msg("%s: %d '%s'", rows[i].json, r, why.text);
		assert_false(p.restricted);
		assert_int_equal(fake_open_count(&p), 0);
	}
}

static void interfaces_of_the_kernel_are_no_folders(void **state)
{
	static const struct {
		const char *mounted;
		uint64_t magic;
		const char *json;
		const char *refusal; /* NULL: none */
	} rows[] = {
		{ "/data/in", 0x63677270, "{\"rw\":[\"/data/in\"]}",
		  "rw '/data/in': a place in cgroup2 is no folder to grant" },
		{ "/data", 0x9fa0, "{\"rw\":[\"/data/in\"]}", "a place in proc" },
		{ "/data", 0x27e0eb, "{\"wo\":[\"/data/in\"]}",
		  "wo '/data/in': a place in cgroup" },
		{ "/var/home/u/work", 0x19800202, "{\"rw\":[\"/home/u/work\"]}", "in mqueue" },
		/* Ordinary ones, and what may only be read. */
		{ "/data", 0x01021994, "{\"rw\":[\"/data/in\"]}", NULL },
		{ "/data", 0x62656572, "{\"rd\":[\"/data/in\"]}", NULL },
		{ "/data", 0x62656572, "{\"ro\":[\"/data/in\"]}", NULL },
		{ "/data/in", 0x63677270, "{\"rw\":[\"/data/out\"]}", NULL },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int r;

		mounted = rows[i].mounted;
		mounted_magic = rows[i].magic;
		r = apply(rows[i].json, 7, &why);
		mounted = NULL;
		if (r != (rows[i].refusal ? -EINVAL : 0) ||
		    (rows[i].refusal && !strstr(why.text, rows[i].refusal)))
			fail_msg("row %zu: %d '%s'", i, r, why.text);
		assert_int_equal(p.restricted, !rows[i].refusal);
		assert_int_equal(fake_open_count(&p), 0);
	}
}

static void roots_behind_links_are_granted_where_they_are(void **state)
{
	struct fault why;

	(void)state;
	assert_int_equal(
		apply("{\"rw\":[\"/home/u/work\"],\"ro\":[\"/home/u/up\",\"/lib/x\"]}", 7, &why),
		0);
	assert_true(fake_rights(&p, "/var/home/u/work") & LL_FS_WRITE_FILE);
	assert_int_equal(fake_rights(&p, "/var/home/u/bundle"), RUN);
	assert_int_equal(fake_rights(&p, "/usr/lib/x"), LL_FS_READ_FILE | LL_FS_EXECUTE);
}

static void the_broker_is_one_rule(void **state)
{
	struct fault why;

	(void)state;
	assert_int_equal(apply("{\"broker_socket\":\"/data/sock\"}", 9, &why), 0);
	assert_int_equal(fake_rights(&p, "/data/sock"), LL_FS_RESOLVE_UNIX);
	assert_int_equal(apply("{\"broker_socket\":\"/data/sock\"}", 8, &why), 0);
	assert_int_equal(fake_rights(&p, "/data/sock"), 0);
}

static void paths_are_resolved_without_proc(void **state)
{
	static const struct {
		const char *path;
		bool last_link;
		const char *real; /* NULL: refused with `error` */
		int error;
	} rows[] = {
		{ "/", true, "/", 0 },
		{ "/usr/lib", false, "/usr/lib", 0 },
		{ "/lib/x", false, "/usr/lib/x", 0 },
		{ "/lib", true, "/usr/lib", 0 },
		{ "/lib", false, NULL, -ELOOP },
		{ "/home/u/up", true, "/var/home/u/bundle", 0 },
		{ "/home/u/up/main.py", false, "/var/home/u/bundle/main.py", 0 },
		{ "/home/u/up", false, NULL, -ELOOP },
		{ "/bin/python3", true, "/usr/bin/python3.11", 0 },
		{ "/home/../../usr", true, "/usr", 0 },
		{ "/loop", true, NULL, -ELOOP },
		{ "/loop/x", false, NULL, -ELOOP },
		{ "/absent/x", true, NULL, -ENOENT },
	};
	char real[64];

	(void)state;
	fake_process(&p, files, 7);
	for (size_t i = 0; i < COUNT(rows); i++) {
		int r = resolve_path(&p.kernel, rows[i].path, rows[i].last_link, real,
				     sizeof(real));

		if (r != rows[i].error || (r == 0 && strcmp(real, rows[i].real) != 0))
			fail_msg("%s: %d '%s'", rows[i].path, r, real);
	}
	assert_int_equal(resolve_path(&p.kernel, "/usr/lib", true, real, 9), 0);
	assert_int_equal(resolve_path(&p.kernel, "/usr/lib", true, real, 8), -ENAMETOOLONG);
	assert_int_equal(resolve_path(&p.kernel, "/", true, real, 1), -ENAMETOOLONG);
	assert_int_equal(resolve_path(&p.kernel, "/usr", true, real, 0), -ENAMETOOLONG);
}

static void long_paths_are_refused(void **state)
{
	static char path[8192];
	static char real[16384];

	(void)state;
	fake_process(&p, files, 7);
	memset(path, 'a', 300);
	path[0] = '/';
	path[300] = '\0';
	assert_int_equal(resolve_path(&p.kernel, path, true, real, sizeof(real)), -ENAMETOOLONG);
	for (size_t i = 0; i < sizeof(path) - 1; i++)
		path[i] = i % 2 ? '.' : '/';
	path[8190] = '\0';
	assert_int_equal(resolve_path(&p.kernel, path, true, real, sizeof(real)), 0);
	assert_string_equal(real, "/");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_on_what_was_opened),
		cmocka_unit_test(old_kernels_get_what_they_know),
		cmocka_unit_test(gpu_nodes_are_found_by_name_and_type),
		cmocka_unit_test(a_machine_without_gpus_has_none),
		cmocka_unit_test(roots_that_cannot_be_granted_are_refused),
		cmocka_unit_test(interfaces_of_the_kernel_are_no_folders),
		cmocka_unit_test(roots_behind_links_are_granted_where_they_are),
		cmocka_unit_test(the_broker_is_one_rule),
		cmocka_unit_test(paths_are_resolved_without_proc),
		cmocka_unit_test(long_paths_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
