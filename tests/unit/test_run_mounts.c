/* launch/run/mounts.c: what is mounted in a writable root, or around it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/run/mounts.h"
#include "tests/fake/launch_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROOT_FS "20 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n"

static struct fake_process p;

static int check_behind(const char *mounts, const char *json, unsigned fail_call, struct fault *why)
{
	const struct fake_file files[] = {
		{ "/data/in", NODE_DIR, NULL, 0, 0 },
		{ "/home", NODE_LINK, "/data", 0, 0 },
		{ "/proc/self/mountinfo", NODE_FILE, mounts, 0, 0 },
		{ NULL, NODE_OTHER, NULL, 0, 0 },
	};
	static struct policy policy;
	static char text[1024];

	fake_process(&p, files, 7);
	p.fail_call = fail_call;
	p.fail_error = EMFILE;
	assert_true(text_copy(text, sizeof(text), json));
	assert_int_equal(policy_parse(text, strlen(text), &policy, why), 0);
	why->text[0] = '\0';
	return mounts_check(&p.kernel, &policy, why);
}

static void a_writable_root_holds_no_interface_of_the_kernel(void **state)
{
	static const struct {
		const char *mounts;
		const char *json;
		const char *refusal; /* NULL: none */
	} rows[] = {
		{ ROOT_FS "30 20 0:26 / /data/in/cg rw - cgroup2 none rw\n",
		  "{\"rw\":[\"/data/in\"]}",
		  "rw '/data/in': it holds cgroup2 at '/data/in/cg', which is no folder to grant" },
		{ ROOT_FS "30 20 0:26 / /data/in/a\\040b/c rw - cgroup cgroup rw,cpu\n",
		  "{\"wo\":[\"/data/in\"]}", "wo '/data/in': it holds cgroup at '/data/in/a b/c'" },
		{ ROOT_FS "30 20 0:5 / /data/in rw - devtmpfs udev rw\n", "{\"rw\":[\"/data/in\"]}",
		  "it holds devtmpfs at '/data/in'" },
		/* By way of a link. */
		{ ROOT_FS "30 20 0:26 / /data/in/p rw - proc proc rw\n", "{\"rw\":[\"/home/in\"]}",
		  "rw '/home/in': it holds proc at '/data/in/p'" },
		/* It lies in one; what is mounted over that one hides it, or does not. */
		{ ROOT_FS "30 20 0:5 / /data rw - devtmpfs udev rw\n", "{\"rw\":[\"/data/in\"]}",
		  "rw '/data/in': it lies in devtmpfs, which is no folder to grant" },
		{ ROOT_FS "30 20 0:5 / /data rw - devtmpfs udev rw\n"
			  "31 30 0:9 / /data/in rw - tmpfs none rw\n",
		  "{\"rw\":[\"/data/in\"]}", NULL },
		{ ROOT_FS "30 20 0:5 / /data rw - devtmpfs udev rw\n"
			  "31 30 0:9 / /data rw - tmpfs none rw\n",
		  "{\"rw\":[\"/data/in\"]}", NULL },
		{ ROOT_FS "30 20 0:9 / /data rw - tmpfs none rw\n"
			  "31 30 0:5 / /data rw - devtmpfs udev rw\n",
		  "{\"rw\":[\"/data/in\"]}", "it lies in devtmpfs" },
		/* Elsewhere, under a name that only begins alike, of ordinary files, or only read.
		 */
		{ ROOT_FS "30 20 0:26 / /data/inside rw - cgroup2 none rw\n",
		  "{\"rw\":[\"/data/in\"]}", NULL },
		{ ROOT_FS "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n",
		  "{\"rw\":[\"/data/in\"]}", NULL },
		{ ROOT_FS "30 20 0:9 / /data/in/t rw - tmpfs none rw\n", "{\"rw\":[\"/data/in\"]}",
		  NULL },
		{ ROOT_FS "30 20 0:26 / /data/in/cg rw - cgroup2 none rw\n",
		  "{\"ro\":[\"/data/in\"],\"rd\":[\"/home\"]}", NULL },
		/* What is not there is the launcher's to refuse. */
		{ ROOT_FS, "{\"rw\":[\"/absent\"]}", NULL },
		/* A table that cannot be understood says nothing. */
		{ ROOT_FS "30 20 0:26 /\n", "{\"rw\":[\"/data/in\"]}", "is no mount" },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int r = check_behind(rows[i].mounts, rows[i].json, 0, &why);

		if (r != (rows[i].refusal ? -EINVAL : 0) ||
		    (rows[i].refusal && !strstr(why.text, rows[i].refusal)))
			fail_msg("row %zu: %d '%s'", i, r, why.text);
		assert_int_equal(fake_open_count(&p), 0);
	}
}

static void a_table_that_cannot_be_read_says_nothing(void **state)
{
	struct fault why;
	unsigned opened;

	(void)state;
	assert_int_equal(check_behind(ROOT_FS, "{\"rw\":[\"/data/in\"]}", 0, &why), 0);
	opened = fake_call(&p, "open /proc/self/mountinfo");
	assert_true(opened > 0);
	assert_int_equal(check_behind(ROOT_FS, "{\"rw\":[\"/data/in\"]}", opened, &why), -EMFILE);
	assert_string_equal(why.text, "read '/proc/self/mountinfo': EMFILE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_writable_root_holds_no_interface_of_the_kernel),
		cmocka_unit_test(a_table_that_cannot_be_read_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
