/* probe/bpf.c, against recorded machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "probe/probes.h"
#include "tests/fake/tree.h"

/* Capability sets as capget rows. */
#define ALL "capget = 0x1ffffffffff 0x1ffffffffff 0\n"
#define NONE "capget = 0 0 0\n"
#define BPF_ALONE "capget = 0x8000000000 0x8000000000 0\n"
#define BPF_AND_NET "capget = 0x8000001000 0x8000001000 0\n"
#define SYS_ADMIN "capget = 0x200000 0x200000 0\n"

static void probe_rows(const char *rows, const struct tree_file *files, struct bpf_facts *ret)
{
	struct tree tree;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, files, rows);
	probe_bpf(&tree.kernel, ret);
	tree_remove(&tree);
}

static const struct fact *program(const struct bpf_facts *f, const char *name)
{
	for (uint32_t i = 0; i < f->program_count; i++)
		if (strcmp(f->programs[i].name, name) == 0)
			return &f->programs[i].usable;
	fail_msg("no program type %s", name);
	return NULL;
}

static const struct fact *attach(const struct bpf_facts *f, const char *name)
{
	for (uint32_t i = 0; i < f->attach_count; i++)
		if (strcmp(f->attaches[i].name, name) == 0)
			return &f->attaches[i].usable;
	fail_msg("no attach type %s", name);
	return NULL;
}

static void answers_of_the_kernel(void **state)
{
	static const struct {
		const char *result;
		enum answer answer;
	} rows[] = {
		{ "1", ANSWER_YES },	      { "0", ANSWER_NO },
		{ "EINVAL", ANSWER_NO },      { "E2BIG", ANSWER_NO },
		{ "EPERM", ANSWER_UNKNOWN },  { "EACCES", ANSWER_UNKNOWN },
		{ "ENOMEM", ANSWER_UNKNOWN }, { "EAGAIN", ANSWER_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bpf_facts f;
		char text[512];

		snprintf(text, sizeof(text),
			 ALL "library bpf load = 1\nlibrary bpf prog_type xdp = %s\n"
			     "library bpf attach_type cgroup_unix_connect = %s\n",
			 rows[i].result, rows[i].result);
		probe_rows(text, NULL, &f);
		assert_int_equal(f.may_ask.answer, ANSWER_YES);
		assert_int_equal(program(&f, "xdp")->answer, rows[i].answer);
		assert_string_equal(program(&f, "xdp")->got, rows[i].result);
		assert_int_equal(attach(&f, "cgroup_unix_connect")->answer, rows[i].answer);
		/* No row. */
		assert_int_equal(program(&f, "lsm")->answer, ANSWER_UNKNOWN);
		assert_int_equal(program(&f, "lsm")->basis, BASIS_NONE);
	}
}

/* libbpf's 0 stands for EPERM too: a type must not even be asked for without its capability. */
static void without_the_capability_nothing_is_a_no(void **state)
{
	static const struct {
		const char *caps;
		enum answer socket_filter, syscall, xdp, kprobe;
	} rows[] = {
		{ ALL, ANSWER_NO, ANSWER_NO, ANSWER_NO, ANSWER_NO },
		{ SYS_ADMIN, ANSWER_NO, ANSWER_NO, ANSWER_NO, ANSWER_NO },
		{ BPF_AND_NET, ANSWER_NO, ANSWER_NO, ANSWER_NO, ANSWER_UNKNOWN },
		{ BPF_ALONE, ANSWER_NO, ANSWER_NO, ANSWER_UNKNOWN, ANSWER_UNKNOWN },
		{ NONE, ANSWER_NO, ANSWER_UNKNOWN, ANSWER_UNKNOWN, ANSWER_UNKNOWN },
		{ "capget = EPERM\n", ANSWER_NO, ANSWER_UNKNOWN, ANSWER_UNKNOWN, ANSWER_UNKNOWN },
		{ "", ANSWER_NO, ANSWER_UNKNOWN, ANSWER_UNKNOWN, ANSWER_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bpf_facts f;
		char text[512];

		snprintf(text, sizeof(text),
			 "%slibrary bpf load = 1\nlibrary bpf prog_type socket_filter = 0\n"
			 "library bpf prog_type syscall = 0\nlibrary bpf prog_type xdp = 0\n"
			 "library bpf prog_type kprobe = 0\n",
			 rows[i].caps);
		probe_rows(text, NULL, &f);
		assert_int_equal(program(&f, "socket_filter")->answer, rows[i].socket_filter);
		assert_int_equal(program(&f, "syscall")->answer, rows[i].syscall);
		assert_int_equal(program(&f, "xdp")->answer, rows[i].xdp);
		assert_int_equal(program(&f, "kprobe")->answer, rows[i].kprobe);
	}
}

static void the_missing_capability_is_named(void **state)
{
	struct bpf_facts f;

	(void)state;
	probe_rows(BPF_ALONE "library bpf load = 1\n", NULL, &f);
	assert_string_equal(program(&f, "xdp")->got, "not asked: it takes CAP_NET_ADMIN");
	assert_string_equal(program(&f, "lsm")->got, "not asked: it takes CAP_PERFMON");
	probe_rows(NONE "library bpf load = 1\n", NULL, &f);
	assert_string_equal(program(&f, "xdp")->got, "not asked: it takes CAP_BPF");
}

/* Root of a user namespace has every capability, and may load nothing. */
static void a_refused_control_makes_all_unknown(void **state)
{
	static const struct {
		const char *result;
		enum answer may_ask;
	} rows[] = {
		{ "EPERM", ANSWER_NO },
		{ "ENOSYS", ANSWER_NO },
		{ "ENOMEM", ANSWER_UNKNOWN },
		{ "EINVAL", ANSWER_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bpf_facts f;
		char text[512];

		snprintf(text, sizeof(text),
			 ALL "library bpf load = %s\nlibrary bpf prog_type xdp = 1\n"
			     "library bpf attach_type cgroup_device = 0\n",
			 rows[i].result);
		probe_rows(text, NULL, &f);
		assert_int_equal(f.may_ask.answer, rows[i].may_ask);
		assert_string_equal(f.may_ask.got, rows[i].result);
		for (uint32_t j = 0; j < f.program_count; j++)
			assert_int_equal(f.programs[j].usable.answer, ANSWER_UNKNOWN);
		for (uint32_t j = 0; j < f.attach_count; j++)
			assert_int_equal(f.attaches[j].usable.answer, ANSWER_UNKNOWN);
		assert_true(f.program_count > 10 && f.attach_count > 10);
	}
}

static void claims(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/sys/kernel/unprivileged_bpf_disabled", "2\n" },
		{ "/proc/sys/net/core/bpf_jit_enable", "0\n" },
		{ "/sys/kernel/btf/vmlinux", "" },
		{ NULL, NULL },
	};
	static const struct tree_file without[] = { { "/sys/class/x", "" }, { NULL, NULL } };
	struct bpf_facts f;

	(void)state;
	probe_rows("", files, &f);
	assert_int_equal(f.unprivileged.value, 2);
	assert_int_equal(f.jit.answer, ANSWER_NO);
	assert_int_equal(f.btf.answer, ANSWER_YES);
	probe_rows("", NULL, &f);
	assert_int_equal(f.unprivileged.answer, ANSWER_UNKNOWN);
	/* No /sys at all. */
	assert_int_equal(f.btf.answer, ANSWER_UNKNOWN);
	probe_rows("", without, &f);
	assert_int_equal(f.btf.answer, ANSWER_NO);
	probe_rows("stat /sys/kernel/btf/vmlinux = EACCES\n", NULL, &f);
	assert_int_equal(f.btf.answer, ANSWER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_the_kernel),
		cmocka_unit_test(without_the_capability_nothing_is_a_no),
		cmocka_unit_test(the_missing_capability_is_named),
		cmocka_unit_test(a_refused_control_makes_all_unknown),
		cmocka_unit_test(claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
