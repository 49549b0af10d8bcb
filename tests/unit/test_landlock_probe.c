/* probe/landlock.c and probe/kconfig.c, against recorded machines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "kabi/text.h"
#include "probe/kconfig.h"
#include "probe/probes.h"
#include "tests/fake/tree.h"

static const char *const kinds[] = {
	[LL_KIND_FS] = "fs",
	[LL_KIND_NET] = "net",
	[LL_KIND_SCOPE] = "scope",
	[LL_KIND_RESTRICT] = "restrict",
};

/* A kernel of that ABI, as it answers: a field it lacks is E2BIG, a bit it lacks EINVAL. */
static void rows_of_abi(struct text *t, unsigned abi)
{
	text_add(t, "landlock version = ");
	text_add_int(t, abi);
	text_add(t, "\nlandlock errata = 7\n");
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++) {
		const struct ll_right *right = &ll_rights[i];
		bool has = right->since_abi <= abi;
		bool field = right->kind == LL_KIND_NET	    ? abi >= 4
			     : right->kind == LL_KIND_SCOPE ? abi >= 6
							    : true;

		text_add(t, "landlock ");
		text_add(t, kinds[right->kind]);
		text_add(t, " ");
		text_add_int(t, right->bit);
		text_add(t, " = ");
		if (right->kind == LL_KIND_RESTRICT)
			text_add(t, has ? "EBADF\n" : "EINVAL\n");
		else
			text_add(t, has ? "0\n" : field ? "EINVAL\n" : "E2BIG\n");
	}
	assert_false(t->cut);
}

static void probe_rows(const char *rows, const struct tree_file *files, struct landlock_facts *ret)
{
	struct tree tree;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, files, rows);
	probe_landlock(&tree.kernel, ret);
	tree_remove(&tree);
}

static void every_abi_answers_right_by_right(void **state)
{
	(void)state;
	for (unsigned abi = 1; abi <= LL_ABI_KNOWN; abi++) {
		char rows[4096];
		struct text t = TEXT_BUF(rows);
		struct landlock_facts f;

		rows_of_abi(&t, abi);
		probe_rows(rows, NULL, &f);
		assert_int_equal(f.state, LANDLOCK_PRESENT);
		assert_int_equal(f.abi.answer, ANSWER_YES);
		assert_int_equal(f.abi.value, abi);
		assert_string_equal(f.abi.call, "landlock_create_ruleset(VERSION)");
		assert_int_equal(f.errata.value, 7);
		for (size_t i = 0; i < LL_RIGHT_COUNT; i++) {
			assert_int_equal(f.rights[i].answer,
					 ll_rights[i].since_abi <= abi ? ANSWER_YES : ANSWER_NO);
			assert_int_equal(f.rights[i].basis, BASIS_OBSERVED);
			assert_non_null(strstr(f.rights[i].call, ll_rights[i].name));
		}
		assert_int_equal(f.config.answer, ANSWER_UNKNOWN);
		assert_int_equal(f.config.basis, BASIS_NONE);
		assert_int_equal(f.lsm_list.answer, ANSWER_UNKNOWN);
		assert_string_equal(f.lsm_list.got, "ENOENT");
	}
}

static size_t index_of(const char *name)
{
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++)
		if (strcmp(ll_rights[i].name, name) == 0)
			return i;
	fail_msg("no right %s", name);
	return 0;
}

/* ABI 6 by number, whose signal scope is not there, and whose TRUNCATE a filter refuses. */
static void a_right_that_contradicts_the_number_shows(void **state)
{
	char rows[4096];
	struct text t = TEXT_BUF(rows);
	struct landlock_facts f;

	(void)state;
	text_add(&t,
		 "landlock scope 1 = EINVAL\nlandlock fs 14 = EPERM\nlandlock fs 13 = ENOMEM\n");
	text_add(&t, "landlock version = 6\nlandlock scope 0 = 0\nlandlock fs 12 = 0\n");
	probe_rows(rows, NULL, &f);
	assert_int_equal(f.abi.value, 6);
	assert_int_equal(f.rights[index_of("SCOPE_SIGNAL")].answer, ANSWER_NO);
	assert_string_equal(f.rights[index_of("SCOPE_SIGNAL")].got, "EINVAL");
	assert_int_equal(f.rights[index_of("SCOPE_ABSTRACT_UNIX")].answer, ANSWER_YES);
	assert_int_equal(f.rights[index_of("TRUNCATE")].answer, ANSWER_UNKNOWN);
	assert_string_equal(f.rights[index_of("TRUNCATE")].got, "EPERM");
	assert_int_equal(f.rights[index_of("REFER")].answer, ANSWER_UNKNOWN);
	assert_int_equal(f.rights[index_of("MAKE_SYM")].answer, ANSWER_YES);
	/* No row: nobody asked that machine. */
	assert_int_equal(f.rights[index_of("EXECUTE")].answer, ANSWER_UNKNOWN);
	assert_int_equal(f.rights[index_of("EXECUTE")].basis, BASIS_NONE);
	assert_int_equal(f.errata.answer, ANSWER_UNKNOWN);
}

static void an_old_kernel_has_no_errata_question(void **state)
{
	struct landlock_facts f;

	(void)state;
	probe_rows("landlock version = 3\nlandlock errata = EINVAL\n", NULL, &f);
	assert_int_equal(f.errata.answer, ANSWER_UNKNOWN);
	assert_string_equal(f.errata.got, "EINVAL");
}

static void absences_are_told_apart(void **state)
{
	static const struct {
		const char *answer;
		enum landlock_state state;
		enum answer right;
		bool config_wanted;
	} rows[] = {
		{ "ENOSYS", LANDLOCK_NOT_BUILT, ANSWER_NO, true },
		{ "EOPNOTSUPP", LANDLOCK_OFF_AT_BOOT, ANSWER_NO, false },
		{ "EPERM", LANDLOCK_FILTERED, ANSWER_UNKNOWN, true },
		{ "EACCES", LANDLOCK_FILTERED, ANSWER_UNKNOWN, true },
		{ "EINVAL", LANDLOCK_UNKNOWN, ANSWER_UNKNOWN, true },
		{ "ENOMEM", LANDLOCK_UNKNOWN, ANSWER_UNKNOWN, true },
		{ "0", LANDLOCK_UNKNOWN, ANSWER_UNKNOWN, true },
	};
	static const struct tree_file files[] = {
		{ "/sys/kernel/security/lsm", "capability,yama,apparmor" },
		{ "/proc/config", "CONFIG_A=y\n# CONFIG_SECURITY_LANDLOCK is not set\n" },
		{ NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		struct text t = TEXT_BUF(text);
		struct landlock_facts f;

		/* The rights would be answered: they must not be believed past the state. */
		text_add(&t, "landlock fs 0 = 0\nlandlock version = ");
		text_add(&t, rows[i].answer);
		text_add(&t, "\n");
		probe_rows(text, files, &f);
		assert_int_equal(f.state, rows[i].state);
		assert_int_equal(f.abi.answer, rows[i].right);
		assert_string_equal(f.abi.got, rows[i].answer);
		for (size_t j = 0; j < LL_RIGHT_COUNT; j++)
			assert_int_equal(f.rights[j].answer, rows[i].right);
		assert_int_equal(f.lsm_list.answer, ANSWER_NO);
		assert_int_equal(f.lsm_list.basis, BASIS_CLAIMED);
		assert_int_equal(f.config.answer,
				 rows[i].config_wanted ? ANSWER_NO : ANSWER_UNKNOWN);
	}
}

/* A filter can say what a kernel without Landlock says, but not to /proc and /sys. */
static void a_filter_that_plays_an_absence_is_found_out(void **state)
{
	static const struct {
		const char *answer, *lsm, *config;
		enum landlock_state state;
		enum answer right;
	} rows[] = {
		{ "ENOSYS", "landlock", "", LANDLOCK_FILTERED, ANSWER_UNKNOWN },
		{ "ENOSYS", "yama", "CONFIG_SECURITY_LANDLOCK=y\n", LANDLOCK_FILTERED,
		  ANSWER_UNKNOWN },
		{ "ENOSYS", "yama", "", LANDLOCK_NOT_BUILT, ANSWER_NO },
		{ "EOPNOTSUPP", "yama,landlock", "", LANDLOCK_FILTERED, ANSWER_UNKNOWN },
		{ "EOPNOTSUPP", "yama", "CONFIG_SECURITY_LANDLOCK=y\n", LANDLOCK_OFF_AT_BOOT,
		  ANSWER_NO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = {
			{ "/sys/kernel/security/lsm", rows[i].lsm },
			{ "/proc/config", rows[i].config },
			{ NULL, NULL },
		};
		char text[64];
		struct text t = TEXT_BUF(text);
		struct landlock_facts f;

		text_add(&t, "landlock version = ");
		text_add(&t, rows[i].answer);
		text_add(&t, "\n");
		probe_rows(text, files, &f);
		assert_int_equal(f.state, rows[i].state);
		assert_int_equal(f.abi.answer, rows[i].right);
		assert_string_equal(f.abi.got, rows[i].answer);
		for (size_t j = 0; j < LL_RIGHT_COUNT; j++)
			assert_int_equal(f.rights[j].answer, rows[i].right);
	}
}

static void the_lsm_list_is_read_by_whole_words(void **state)
{
	static const struct {
		const char *list;
		enum answer answer;
	} rows[] = {
		{ "landlock", ANSWER_YES },
		{ "landlock\n", ANSWER_YES },
		{ "capability,landlock,yama", ANSWER_YES },
		{ "capability,landlock", ANSWER_YES },
		{ "capability,landlocked", ANSWER_NO },
		{ "capability,xlandlock", ANSWER_NO },
		{ ",,landlock", ANSWER_YES },
		{ ",", ANSWER_NO },
		{ "", ANSWER_NO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = {
			{ "/sys/kernel/security/lsm", rows[i].list },
			{ NULL, NULL },
		};
		struct landlock_facts f;

		probe_rows("landlock version = 6\n", files, &f);
		assert_int_equal(f.lsm_list.answer, rows[i].answer);
	}
}

/* ---- the order of requests on flags, which a recording cannot tell ---- */

static struct {
	bool privileged;
	bool may_set; /* PR_SET_NO_NEW_PRIVS works */
	bool no_new_privs;
	unsigned flags_known;
	int rulesets_asked_with;
	int sets;
} machine;

static int fake_create(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
		       uint32_t flags)
{
	(void)k;
	(void)attr;
	(void)size;
	return flags == LL_CREATE_VERSION ? 7 : -EINVAL;
}

/* In the kernel's order. */
static int fake_restrict(const struct kernel *k, int ruleset, uint32_t flags)
{
	(void)k;
	machine.rulesets_asked_with |= ruleset == -1 ? 1 : 2;
	if (!machine.no_new_privs && !machine.privileged)
		return -EPERM;
	if (flags & ~machine.flags_known)
		return -EINVAL;
	return -EBADF;
}

static int fake_prctl(const struct kernel *k, int option, unsigned long a, unsigned long b,
		      unsigned long c, unsigned long d)
{
	(void)k;
	(void)b;
	(void)c;
	(void)d;
	assert_int_equal(option, PR_SET_NO_NEW_PRIVS);
	assert_int_equal(a, 1);
	machine.sets++;
	if (!machine.may_set)
		return -EPERM;
	machine.no_new_privs = true;
	return 0;
}

static void probe_flags(struct landlock_facts *ret)
{
	struct tree tree;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, NULL, "");
	tree.kernel.ll_create = fake_create;
	tree.kernel.ll_restrict = fake_restrict;
	tree.kernel.prctl = fake_prctl;
	probe_landlock(&tree.kernel, ret);
	tree_remove(&tree);
	/* Ruleset -1 with LOG_SUBDOMAINS_OFF would take effect. */
	assert_int_equal(machine.rulesets_asked_with, 2);
}

static void no_new_privs_is_set_only_when_needed(void **state)
{
	struct landlock_facts f;

	(void)state;
	memset(&machine, 0, sizeof(machine));
	machine.privileged = true;
	machine.flags_known = 7;
	probe_flags(&f);
	assert_int_equal(machine.sets, 0);
	assert_int_equal(f.rights[index_of("LOG_SUBDOMAINS_OFF")].answer, ANSWER_YES);
	assert_int_equal(f.rights[index_of("TSYNC")].answer, ANSWER_NO);

	machine.privileged = false;
	machine.may_set = true;
	probe_flags(&f);
	assert_int_equal(machine.sets, 1);
	assert_int_equal(f.rights[index_of("LOG_SUBDOMAINS_OFF")].answer, ANSWER_YES);
	assert_int_equal(f.rights[index_of("TSYNC")].answer, ANSWER_NO);
}

static void flags_that_cannot_be_asked_are_unknown(void **state)
{
	struct landlock_facts f;

	(void)state;
	memset(&machine, 0, sizeof(machine));
	machine.flags_known = 7;
	probe_flags(&f);
	assert_int_equal(f.rights[index_of("LOG_SUBDOMAINS_OFF")].answer, ANSWER_UNKNOWN);
	assert_string_equal(f.rights[index_of("LOG_SUBDOMAINS_OFF")].got, "EPERM");
	assert_int_equal(f.rights[index_of("TSYNC")].answer, ANSWER_UNKNOWN);
}

/* ---- kernel configuration ---- */

static void ask_config(const struct tree_file *files, const char *rows, struct fact *ret)
{
	struct tree tree;

	memset(ret, 0, sizeof(*ret));
	tree_make(&tree, files, rows);
	kconfig_ask(&tree.kernel, "CONFIG_SECURITY_LANDLOCK", ret);
	tree_remove(&tree);
}

static void configuration_lines(void **state)
{
	static const struct {
		const char *text;
		enum answer answer;
		const char *got;
	} rows[] = {
		{ "CONFIG_X=y\n", ANSWER_NO, "not in it" },
		{ "CONFIG_SECURITY_LANDLOCK=y\n", ANSWER_YES, "CONFIG_SECURITY_LANDLOCK=y" },
		{ "CONFIG_SECURITY_LANDLOCK=y", ANSWER_YES, "CONFIG_SECURITY_LANDLOCK=y" },
		{ "#\nCONFIG_SECURITY_LANDLOCK_KUNIT_TEST=y\nCONFIG_SECURITY_LANDLOCK=m\n",
		  ANSWER_YES, "CONFIG_SECURITY_LANDLOCK=m" },
		{ "# CONFIG_SECURITY_LANDLOCK is not set\n", ANSWER_NO,
		  "# CONFIG_SECURITY_LANDLOCK is not set" },
		{ "CONFIG_SECURITY_LANDLOCK=n\n", ANSWER_NO, "CONFIG_SECURITY_LANDLOCK=n" },
		{ "CONFIG_X=y\n# CONFIG_SECURITY_LANDLOCK_X is not set\n", ANSWER_NO, "not in it" },
		{ "CONFIG_X=y\n# CONFIG_SECURITY_LANDLOCK is not set yet\n", ANSWER_NO,
		  "not in it" },
		{ "CONFIG_X=y\n CONFIG_SECURITY_LANDLOCK=y\n", ANSWER_NO, "not in it" },
		/* Emptied, or only begun to be written. */
		{ "#\n# Automatically generated file; DO NOT EDIT.\n", ANSWER_UNKNOWN,
		  "no configuration in it" },
		{ "", ANSWER_UNKNOWN, "no configuration in it" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tree_file files[] = {
			{ "/boot/config-6.1.0-9-amd64", rows[i].text },
			{ NULL, NULL },
		};
		struct fact f;

		ask_config(files, "uname release = 6.1.0-9-amd64\nuname machine = x86_64\n", &f);
		assert_int_equal(f.answer, rows[i].answer);
		assert_int_equal(f.basis, f.answer ? BASIS_CLAIMED : BASIS_NONE);
		assert_string_equal(f.got, rows[i].got);
		assert_string_equal(f.call, "/boot/config-6.1.0-9-amd64");
	}
}

static void configuration_places(void **state)
{
	static const struct tree_file modules[] = {
		{ "/lib/modules/6.1.0/config", "CONFIG_SECURITY_LANDLOCK=y\n" },
		{ "/boot/config-6.1.1", "CONFIG_SECURITY_LANDLOCK=n\n" },
		{ NULL, NULL },
	};
	struct fact f;

	(void)state;
	ask_config(modules, "uname release = 6.1.0\nuname machine = x86_64\n", &f);
	assert_int_equal(f.answer, ANSWER_YES);
	ask_config(modules, "", &f);
	assert_int_equal(f.answer, ANSWER_UNKNOWN);
	ask_config(NULL, "uname release = 6.1.0\nuname machine = x86_64\n", &f);
	assert_int_equal(f.answer, ANSWER_UNKNOWN);
	assert_int_equal(f.basis, BASIS_NONE);
	/* A file that is there and cannot be read ends the search: the next may be another's. */
	ask_config(modules,
		   "open /proc/config.gz r = EACCES\n"
		   "uname release = 6.1.0\nuname machine = x86_64\n",
		   &f);
	assert_int_equal(f.answer, ANSWER_UNKNOWN);
	assert_string_equal(f.got, "EACCES");
}

static void write_bytes(const struct tree *tree, const char *name, const void *bytes, size_t len)
{
	char path[256];
	struct text t = TEXT_BUF(path);
	FILE *f;

	text_add(&t, tree->root);
	text_add(&t, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* A configuration of `lines` lines, with Landlock in the last, as config.gz. */
static size_t make_gzip(char *buf, size_t size, int lines, const char *last)
{
	z_stream z = { 0 };
	int r = Z_OK;

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = (Bytef *)buf;
	z.avail_out = (uInt)size;
	for (int i = 0; i <= lines; i++) {
		char line[96];

		if (i < lines)
			snprintf(line, sizeof(line), "CONFIG_OPTION_%x=%d\n", i * 2654435761U, i);
		else
			text_copy(line, sizeof(line), last);
		z.next_in = (Bytef *)line;
		z.avail_in = (uInt)strlen(line);
		r = deflate(&z, i < lines ? Z_NO_FLUSH : Z_FINISH);
	}
	assert_int_equal(r, Z_STREAM_END);
	deflateEnd(&z);
	return size - z.avail_out;
}

static void a_compressed_configuration(void **state)
{
	static char gz[1 << 20];
	struct tree tree;
	struct fact f = { 0 };
	size_t len;

	(void)state;
	tree_make(&tree, (const struct tree_file[]){ { "/proc/config.gz", "" }, { NULL, NULL } },
		  "");
	len = make_gzip(gz, sizeof(gz), 9000, "CONFIG_SECURITY_LANDLOCK=y\n");
	write_bytes(&tree, "/proc/config.gz", gz, len);
	kconfig_ask(&tree.kernel, "CONFIG_SECURITY_LANDLOCK", &f);
	assert_int_equal(f.answer, ANSWER_YES);
	assert_string_equal(f.call, "/proc/config.gz");
	kconfig_ask(&tree.kernel, "CONFIG_ABSENT", &f);
	assert_int_equal(f.answer, ANSWER_NO);
	assert_string_equal(f.got, "not in it");

	/* Half a file proves nothing absent. */
	write_bytes(&tree, "/proc/config.gz", gz, len / 2);
	kconfig_ask(&tree.kernel, "CONFIG_SECURITY_LANDLOCK", &f);
	assert_int_equal(f.answer, ANSWER_UNKNOWN);
	assert_string_equal(f.got, "EBADMSG");
	gz[len / 3] ^= 0x55;
	write_bytes(&tree, "/proc/config.gz", gz, len);
	kconfig_ask(&tree.kernel, "CONFIG_ABSENT", &f);
	assert_int_equal(f.answer, ANSWER_UNKNOWN);
	write_bytes(&tree, "/proc/config.gz", "", 0);
	kconfig_ask(&tree.kernel, "CONFIG_ABSENT", &f);
	assert_int_equal(f.answer, ANSWER_UNKNOWN);
	tree_remove(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_abi_answers_right_by_right),
		cmocka_unit_test(a_right_that_contradicts_the_number_shows),
		cmocka_unit_test(an_old_kernel_has_no_errata_question),
		cmocka_unit_test(absences_are_told_apart),
		cmocka_unit_test(a_filter_that_plays_an_absence_is_found_out),
		cmocka_unit_test(the_lsm_list_is_read_by_whole_words),
		cmocka_unit_test(no_new_privs_is_set_only_when_needed),
		cmocka_unit_test(flags_that_cannot_be_asked_are_unknown),
		cmocka_unit_test(configuration_lines),
		cmocka_unit_test(configuration_places),
		cmocka_unit_test(a_compressed_configuration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
