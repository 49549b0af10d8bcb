/* probe/host.c and probe/libc.c, against recorded machines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "probe/probes.h"
#include "tests/fake/tree.h"

#define SUPPLY "/sys/class/power_supply/"
#define UNAME "uname nodename = box\nuname release = 6.1.0\nuname machine = x86_64\n"

static void probe_tree(const struct tree_file *files, const char *rows, struct host_facts *ret)
{
	struct tree tree;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, files, rows);
	probe_host(&tree.kernel, "/home/agent", ret);
	tree_remove(&tree);
}

static void a_whole_machine(void **state)
{
	static const struct tree_file files[] = {
		{ "/etc/os-release",
		  "ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n" },
		{ "/proc/cpuinfo", "model name\t: Some CPU\nflags\t: fpu\n\n" },
		{ "/proc/meminfo", "MemTotal:       65536000 kB\nMemFree: 1 kB\n" },
		{ SUPPLY "AC/type", "Mains\n" },
		{ NULL, NULL },
	};
	struct host_facts f;

	(void)state;
	probe_tree(files,
		   UNAME "cpu_count = 4\nlibrary glibc version = 2036\n"
			 "statfs /home/agent = 0xef53 4096 1000\nids = 1000 1001 27\n"
			 "capget = 0x1 0x3 0x0\n",
		   &f);
	assert_string_equal(f.hostname, "box");
	assert_string_equal(f.os_id, "debian");
	assert_string_equal(f.os_version, "12");
	assert_string_equal(f.os_release_path, "/etc/os-release");
	assert_string_equal(f.uts.release, "6.1.0");
	assert_string_equal(f.libc, "glibc");
	assert_string_equal(f.libc_version, "2.36");
	assert_string_equal(f.cpu_model, "Some CPU");
	assert_int_equal(f.perf_cores, -1);
	assert_int_equal(f.logical, 4);
	assert_true(f.memory_bytes == 65536000ULL * 1024);
	assert_int_equal(f.disk.answer, ANSWER_YES);
	assert_int_equal(f.disk.value, 4096000);
	assert_string_equal(f.disk.call, "statfs /home/agent");
	assert_string_equal(f.disk_path, "/home/agent");
	assert_int_equal(f.battery.answer, ANSWER_NO);
	assert_string_equal(f.virtualisation, "none");
	assert_int_equal(f.ids.uid, 1000);
	assert_int_equal(f.ids.group_count, 1);
	assert_int_equal(f.caps.permitted, 3);
	assert_int_equal(f.caps_asked.answer, ANSWER_YES);
}

static void an_empty_machine_is_all_unknown(void **state)
{
	struct host_facts f;

	(void)state;
	probe_tree(NULL, "", &f);
	assert_string_equal(f.hostname, "");
	assert_string_equal(f.os_id, "");
	assert_string_equal(f.libc, "");
	assert_string_equal(f.cpu_model, "");
	assert_int_equal(f.perf_cores, -1);
	assert_int_equal(f.eff_cores, -1);
	assert_int_equal(f.logical, -1);
	assert_true(f.memory_bytes == 0);
	assert_int_equal(f.disk.answer, ANSWER_UNKNOWN);
	assert_int_equal(f.battery.answer, ANSWER_UNKNOWN);
	assert_string_equal(f.virtualisation, "");
	assert_string_equal(f.container, "");
	/* Not root's id by accident. */
	assert_true(f.ids.uid == UINT32_MAX);
	assert_int_equal(f.caps_asked.answer, ANSWER_UNKNOWN);
}

static void write_environ(const struct tree *tree, const char *bytes, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/self/environ", tree->root);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

#define NAME_63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff012"

static void the_operators_name_wins(void **state)
{
	static const struct {
		const char *name; /* NULL: not set */
		const char *hostname;
	} rows[] = {
		{ NULL, "box" },
		{ "node-1", "node-1" },
		{ "  node-1\t", "node-1" },
		{ "", "box" },
		{ "   ", "box" },
		{ NAME_63, NAME_63 },
		{ NAME_63 "3", "box" },
		{ " " NAME_63 " ", NAME_63 },
	};
	static const struct tree_file files[] = { { "/proc/self/environ", "" }, { NULL, NULL } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts f = { .libc = "" };
		char bytes[256] = "PATH=/bin\0XOARBANK_NODE_NAME=no";
		size_t len = sizeof("PATH=/bin\0XOARBANK_NODE_NAME=no");
		struct tree tree;

		if (rows[i].name)
			len += (size_t)snprintf(bytes + len, sizeof(bytes) - len,
						"OARBANK_NODE_NAME=%s", rows[i].name) +
			       1;
		tree_make(&tree, files, UNAME);
		write_environ(&tree, bytes, len);
		probe_host(&tree.kernel, NULL, &f);
		tree_remove(&tree);
		assert_string_equal(f.hostname, rows[i].hostname);
		assert_string_equal(f.disk_path, "/");
	}
}

static void memory_is_a_number_or_unknown(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{ "MemTotal:  1 kB\n", 1024 },
		{ "X: 1\nMemTotal:\t2 kB\n", 2048 },
		{ "MemTotal:  1\n", 0 },
		{ "MemTotal:  1 MB\n", 0 },
		{ "MemTotal:\n", 0 },
		{ "MemTotal: -1 kB\n", 0 },
		{ "MemTotal: 18446744073709551615 kB\n", 0 },
		{ "MemTotalX: 1 kB\n", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = { { "/proc/meminfo", rows[i].text },
						   { NULL, NULL } };
		struct host_facts f;

		probe_tree(files, "", &f);
		assert_true(f.memory_bytes == rows[i].bytes);
	}
}

static void a_disk_beyond_measure_is_unknown(void **state)
{
	static const char *const rows[] = {
		"statfs /home/agent = 1 0xffffffffffff 0xfffffffffff\n",
		"statfs /home/agent = 1 4611686018427387904 2\n",
		"statfs /home/agent = EACCES\n",
		"statfs /home/agent = 1 0 10\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts f;

		probe_tree(NULL, rows[i], &f);
		assert_int_equal(f.disk.answer, ANSWER_UNKNOWN);
	}
}

/* The agent's home need not be there yet. */
static void the_disk_of_what_is_not_there_yet(void **state)
{
	static const struct {
		const char *rows;
		enum answer answer;
		const char *path, *got;
	} rows[] = {
		{ "statfs /home/agent = ENOENT\nstatfs /home = 1 4096 1000\n", ANSWER_YES, "/home",
		  "4096000" },
		{ "statfs /home/agent = ENOENT\nstatfs /home = ENOENT\nstatfs / = 1 4096 2\n",
		  ANSWER_YES, "/", "8192" },
		{ "statfs /home/agent = ENOENT\nstatfs /home = ENOENT\nstatfs / = ENOENT\n",
		  ANSWER_UNKNOWN, "/", "ENOENT" },
		{ "statfs /home/agent = ENOENT\nstatfs /home = EACCES\nstatfs / = 1 4096 2\n",
		  ANSWER_UNKNOWN, "/home", "EACCES" },
		{ "statfs / = 1 4096 2\n", ANSWER_UNKNOWN, "/home/agent", "not recorded" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts f;

		probe_tree(NULL, rows[i].rows, &f);
		assert_int_equal(f.disk.answer, rows[i].answer);
		assert_string_equal(f.disk_path, rows[i].path);
		assert_string_equal(f.disk.got, rows[i].got);
	}
}

static void batteries(void **state)
{
	static const struct {
		struct tree_file files[6];
		const char *rows;
		enum answer answer;
		const char *got;
	} rows[] = {
		{ { { SUPPLY "AC/type", "Mains\n" }, { SUPPLY "BAT0/type", "Battery\n" } },
		  "",
		  ANSWER_YES,
		  "BAT0" },
		{ { { SUPPLY "BAT0/type", "Battery\n" }, { SUPPLY "BAT0/scope", "System\n" } },
		  "",
		  ANSWER_YES,
		  "BAT0" },
		{ { { SUPPLY "mouse/type", "Battery\n" }, { SUPPLY "mouse/scope", "Device\n" } },
		  "",
		  ANSWER_NO,
		  "no battery" },
		{ { { SUPPLY "BATTERY/type", "UPS\n" } }, "", ANSWER_NO, "no battery" },
		{ { { "/sys/class/net/lo", "" } }, "", ANSWER_NO, "ENOENT" },
		{ { { "/sys/class/net/lo", "" } },
		  "list /sys/class/power_supply = EACCES\n",
		  ANSWER_UNKNOWN,
		  "EACCES" },
		{ { { "/x", "" } }, "", ANSWER_UNKNOWN, "ENOENT" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts f;

		probe_tree(rows[i].files, rows[i].rows, &f);
		assert_int_equal(f.battery.answer, rows[i].answer);
		assert_string_equal(f.battery.got, rows[i].got);
	}
}

static void the_machines_c_library(void **state)
{
	static const struct {
		struct tree_file files[4];
		const char *rows;
		const char *libc, *version;
	} rows[] = {
		{ { { "/x", "" } }, "library glibc version = 2036\n", "glibc", "2.36" },
		{ { { "/x", "" } }, "library glibc version = 3000\n", "glibc", "3.0" },
		{ { { "/x", "" } }, "library glibc version = 1000000\n", "", "" },
		{ { { "/x", "" } }, "library glibc version = 9223372036854775807\n", "", "" },
		{ { { "/bin/sh", "ELF" } }, "library glibc version = 2041\n", "glibc", "2.41" },
		{ { { "/bin/sh", "/lib/ld-musl-x86_64.so.1" } }, "", "musl", "" },
		{ { { "/bin/sh", "/lib/ld-musl-x86_64.so.1" } },
		  "library glibc version = ENOSYS\n",
		  "musl",
		  "" },
		{ { { "/bin/sh", "/lib64/ld-linux-x86-64.so.2" } }, "", "glibc", "" },
		{ { { "/bin/sh", "/lib64/ld-linux-x86-64.so.2" },
		    { "/lib/x86_64-linux-gnu/libc.so.6",
		      "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\nCopy" } },
		  UNAME,
		  "glibc",
		  "2.36" },
		{ { { "/bin/sh", "/lib64/ld-linux-x86-64.so.2" },
		    { "/lib64/libc.so.6", "GNU C Library stable release version 2.17, by R." } },
		  UNAME,
		  "glibc",
		  "2.17" },
		{ { { "/bin/sh", "a shell that names no loader" } }, "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts f;

		probe_tree(rows[i].files, rows[i].rows, &f);
		assert_string_equal(f.libc, rows[i].libc);
		assert_string_equal(f.libc_version, rows[i].version);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_machine),
		cmocka_unit_test(an_empty_machine_is_all_unknown),
		cmocka_unit_test(the_operators_name_wins),
		cmocka_unit_test(memory_is_a_number_or_unknown),
		cmocka_unit_test(a_disk_beyond_measure_is_unknown),
		cmocka_unit_test(the_disk_of_what_is_not_there_yet),
		cmocka_unit_test(batteries),
		cmocka_unit_test(the_machines_c_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
