/* kabi: text, faults, tables, and the kernel that answers from a recording. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kabi/fault.h"
#include "kabi/file.h"
#include "kabi/landlock.h"
#include "kabi/recorded.h"
#include "kabi/text.h"

static void numbers_are_whole_or_refused(void **state)
{
	static const struct {
		const char *text;
		int64_t min, max;
		int result;
		int64_t value;
	} rows[] = {
		{ "0", 0, 10, 0, 0 },
		{ "10", 0, 10, 0, 10 },
		{ "11", 0, 10, -ERANGE, 0 },
		{ "-1", 0, 10, -ERANGE, 0 },
		{ "-1", -5, 10, 0, -1 },
		{ "9223372036854775807", 0, INT64_MAX, 0, INT64_MAX },
		{ "9223372036854775808", 0, INT64_MAX, -ERANGE, 0 },
		{ "18446744073709551617", 0, INT64_MAX, -ERANGE, 0 },
		{ "", 0, 10, -EINVAL, 0 },
		{ "-", -5, 10, -EINVAL, 0 },
		{ "+1", 0, 10, -EINVAL, 0 },
		{ " 1", 0, 10, -EINVAL, 0 },
		{ "1 ", 0, 10, -EINVAL, 0 },
		{ "0x1", 0, 10, -EINVAL, 0 },
		{ "1e1", 0, 100, -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t value = 0;

		assert_int_equal(text_int(rows[i].text, rows[i].min, rows[i].max, &value),
				 rows[i].result);
		assert_int_equal(value, rows[i].value);
	}
}

static void utf8_is_what_rfc3629_says(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ "a", 1 },
		{ "\xc3\xa9", 2 },
		{ "\xe2\x82\xac", 3 },
		{ "\xf0\x9f\x98\x80", 4 },
		{ "\xc0\x80", 0 }, /* overlong NUL */
		{ "\xc1\xbf", 0 },
		{ "\xe0\x80\x80", 0 },
		{ "\xed\xa0\x80", 0 },	   /* surrogate */
		{ "\xf4\x90\x80\x80", 0 }, /* above U+10FFFF */
		{ "\xf5\x80\x80\x80", 0 },
		{ "\x80", 0 },
		{ "\xc3", 0 },
		{ "\xe2\x82", 0 },
		{ "\xff", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(utf8_sequence(rows[i].bytes, strlen(rows[i].bytes)), rows[i].len);
	assert_int_equal(utf8_sequence("", 0), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct utf8 next = utf8_next(rows[i].bytes);

		assert_int_equal(next.taken, rows[i].len ? rows[i].len : 1);
		assert_memory_equal(next.bytes, rows[i].len ? rows[i].bytes : "\xef\xbf\xbd",
				    next.len);
		assert_int_equal(next.len, rows[i].len ? rows[i].len : 3);
	}
	for (uint32_t c = 0x20; c <= 0x10ffff; c += c < 0x1000 ? 1 : 0x3f) {
		char out[5] = "";
		size_t len;

		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		len = utf8_put(c, out);
		assert_int_equal(len, strlen(out));
		assert_int_equal(utf8_sequence(out, len), len);
	}
	{
		char out[5] = "";

		assert_int_equal(utf8_put(0x20ac, out), 3);
		assert_string_equal(out, "\xe2\x82\xac");
	}
}

static void a_fault_is_one_line(void **state)
{
	struct fault why;
	char big[2 * FAULT_TEXT_MAX];

	(void)state;
	assert_int_equal(fault_errno(&why, "open", "/a\nb\x1b[31m\xc2\x9b", ENOENT), -ENOENT);
	assert_string_equal(why.text, "open '/a\\x0ab\\x1b[31m\\xc2\\x9b': ENOENT");
	fault_prefix(&why, "policy");
	assert_string_equal(why.text, "policy: open '/a\\x0ab\\x1b[31m\\xc2\\x9b': ENOENT");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	fault_join(&why, big, NULL);
	assert_int_equal(strlen(why.text), FAULT_TEXT_MAX - 1);
	assert_string_equal(why.text + FAULT_TEXT_MAX - 4, "...");
	fault_join(NULL, "nobody listens", NULL);
}

static void errno_names_go_both_ways(void **state)
{
	char buf[ERRNO_NAME_MAX];

	(void)state;
	for (int err = 1; err < 200; err++) {
		const char *name = errno_name(err, buf);

		if (name != buf)
			assert_int_equal(errno_from_name(name), err);
	}
	assert_string_equal(errno_name(EOPNOTSUPP, buf), "EOPNOTSUPP");
	assert_string_equal(errno_name(524, buf), "errno 524");
	assert_int_equal(errno_from_name("ENOTHING"), 0);
}

static void masks_follow_the_abi(void **state)
{
	static const struct {
		unsigned abi;
		uint64_t fs, net, scope;
	} rows[] = {
		{ 0, 0, 0, 0 },		{ 1, 0x1fff, 0, 0 },	{ 2, 0x3fff, 0, 0 },
		{ 3, 0x7fff, 0, 0 },	{ 4, 0x7fff, 3, 0 },	{ 5, 0xffff, 3, 0 },
		{ 6, 0xffff, 3, 3 },	{ 8, 0xffff, 3, 3 },	{ 9, 0x1ffff, 3, 3 },
		{ 10, 0x1ffff, 15, 3 }, { 11, 0x1ffff, 15, 3 }, { 99, 0x1ffff, 15, 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(ll_mask(LL_KIND_FS, rows[i].abi, false), rows[i].fs);
		assert_int_equal(ll_mask(LL_KIND_NET, rows[i].abi, false), rows[i].net);
		assert_int_equal(ll_mask(LL_KIND_SCOPE, rows[i].abi, false), rows[i].scope);
	}
	assert_int_equal(ll_mask(LL_KIND_FS, 11, true),
			 LL_FS_EXECUTE | LL_FS_WRITE_FILE | LL_FS_READ_FILE | LL_FS_TRUNCATE |
				 LL_FS_IOCTL_DEV | LL_FS_RESOLVE_UNIX);
}

static void a_ruleset_is_no_longer_than_it_must_be(void **state)
{
	struct ll_ruleset_attr attr = { .handled_fs = 1 };

	(void)state;
	assert_int_equal(ll_attr_size(&attr), 8);
	attr.handled_net = 1;
	assert_int_equal(ll_attr_size(&attr), 16);
	attr.scoped = 1;
	assert_int_equal(ll_attr_size(&attr), 24);
	attr.quiet_net = 1;
	assert_int_equal(ll_attr_size(&attr), 48);
}

static void a_recording_answers_only_what_it_has(void **state)
{
	static const char rows[] = "# a machine\n"
				   "landlock version = 6\n"
				   "landlock fs 15 = 0\n"
				   "landlock fs 16 = EINVAL\n"
				   "stat /dev/dri/renderD128 = char 226:128 0660 0 44\n"
				   "open /dev/dri/renderD128 rw = EACCES\n"
				   "list /dev/dri = card0 renderD128\n"
				   "list /empty =\n"
				   "statfs /sys/fs/cgroup = 0x63677270\n"
				   "getxattr /sys/fs/cgroup user.delegate = 1\n"
				   "ids = 1000 1000 44 109\n";
	struct ll_ruleset_attr attr = { .handled_fs = LL_FS_IOCTL_DEV };
	struct kernel k;
	struct node node;
	struct fs_info fs;
	struct ids ids;
	char buf[64];
	int fd;

	(void)state;
	assert_int_equal(recorded_from_rows(rows, NULL, &k, NULL), 0);
	assert_int_equal(k.ll_create(&k, NULL, 0, LL_CREATE_VERSION), 6);
	assert_int_equal(k.ll_create(&k, NULL, 0, LL_CREATE_ERRATA), -KERNEL_NOT_RECORDED);
	fd = k.ll_create(&k, &attr, 8, 0);
	assert_true(fd >= 0);
	k.close(&k, fd);
	attr.handled_fs = LL_FS_RESOLVE_UNIX;
	assert_int_equal(k.ll_create(&k, &attr, 8, 0), -EINVAL);
	assert_int_equal(k.stat(&k, "/dev/dri/renderD128", &node), 0);
	assert_int_equal(node.type, NODE_CHAR);
	assert_int_equal(node.major, 226);
	assert_int_equal(node.minor, 128);
	assert_int_equal(node.mode, 0660);
	assert_int_equal(node.gid, 44);
	assert_int_equal(k.open(&k, "/dev/dri/renderD128", O_RDWR), -EACCES);
	assert_int_equal(k.open(&k, "/nowhere", O_RDONLY), -ENOENT);
	assert_int_equal(k.list(&k, "/dev/dri", buf, sizeof(buf)), 2);
	assert_memory_equal(buf, "card0\0renderD128", 17);
	assert_int_equal(k.list(&k, "/empty", buf, sizeof(buf)), 0);
	assert_int_equal(k.list(&k, "/dev/dri", buf, 8), -ENOSPC);
	assert_int_equal(k.statfs(&k, "/sys/fs/cgroup", &fs), 0);
	assert_int_equal(fs.magic, 0x63677270);
	assert_int_equal(k.getxattr(&k, "/sys/fs/cgroup", "user.delegate", buf, sizeof(buf)), 1);
	assert_string_equal(buf, "1");
	assert_int_equal(k.ids(&k, &ids), 0);
	assert_int_equal(ids.group_count, 2);
	assert_int_equal(ids.groups[1], 109);
	assert_int_equal(k.cpu_count(&k), -KERNEL_NOT_RECORDED);
	recorded_close(&k);
}

/* None of them may be cut down to a number that looks like one. */
static void a_number_no_call_returns_is_no_answer(void **state)
{
	static const char *const answers[] = {
		"4294967302",		"-4294967290", "2147483648", "9223372036854775807",
		"-9223372036854775807", "-2147483648", "-4096",	     "0x100000006",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		char rows[512];
		struct text t = TEXT_BUF(rows);
		uint32_t allow = SC_RET_ALLOW;
		struct cap_sets caps;
		struct ids ids;
		struct kernel k;

		text_add(&t, "landlock version = ");
		text_add(&t, answers[i]);
		text_add(&t, "\nseccomp action ALLOW = ");
		text_add(&t, answers[i]);
		text_add(&t, "\naccess /a w = ");
		text_add(&t, answers[i]);
		text_add(&t, "\nopen /a rw = ");
		text_add(&t, answers[i]);
		text_add(&t, "\ncpu_count = ");
		text_add(&t, answers[i]);
		text_add(&t, "\nids = 0 0 4294967296\ncapget = 0x0 -1 0x0\n");
		assert_int_equal(recorded_from_rows(rows, NULL, &k, NULL), 0);
		assert_int_equal(k.ll_create(&k, NULL, 0, LL_CREATE_VERSION), -KERNEL_NOT_RECORDED);
		assert_int_equal(k.seccomp(&k, SC_GET_ACTION_AVAIL, 0, &allow),
				 -KERNEL_NOT_RECORDED);
		assert_int_equal(k.access(&k, "/a", W_OK), -KERNEL_NOT_RECORDED);
		assert_true(k.open(&k, "/a", O_RDWR) < 0);
		assert_int_equal(k.cpu_count(&k), -KERNEL_NOT_RECORDED);
		assert_int_equal(k.ids(&k, &ids), -EINVAL);
		assert_int_equal(k.capget(&k, &caps), -EINVAL);
		recorded_close(&k);
	}
}

static void a_bad_recording_is_refused_with_its_line(void **state)
{
	struct kernel k;
	struct fault why;

	(void)state;
	assert_int_equal(recorded_from_rows("a = 1\n\nb: 2\n", NULL, &k, &why), -EINVAL);
	assert_string_equal(why.text, "'rows' line 3: not 'call operands = answer'");
	assert_int_equal(recorded_open("/nonexistent-recording", &k, &why), -ENOENT);
	assert_string_equal(why.text, "open '/nonexistent-recording': ENOENT");
}

/* A link in a recorded tree that points out of it must not show this machine. */
static void a_recorded_tree_is_closed(void **state)
{
	char dir[] = "/tmp/oarbank-test-XXXXXX";
	struct kernel k;
	char buf[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_PATH | O_DIRECTORY);
	assert_int_equal(symlinkat("/etc/passwd", fd, "absolute"), 0);
	assert_int_equal(symlinkat("../../../../../etc/passwd", fd, "relative"), 0);
	assert_int_equal(recorded_from_rows("", dir, &k, NULL), 0);
	assert_int_equal(access("/etc/passwd", R_OK), 0);
	assert_int_equal(file_read(&k, "/absolute", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(file_read(&k, "/relative", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(k.readlink(&k, "/absolute", buf, sizeof(buf)), 11);
	recorded_close(&k);
	unlinkat(fd, "absolute", 0);
	unlinkat(fd, "relative", 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_whole_or_refused),
		cmocka_unit_test(utf8_is_what_rfc3629_says),
		cmocka_unit_test(a_fault_is_one_line),
		cmocka_unit_test(errno_names_go_both_ways),
		cmocka_unit_test(masks_follow_the_abi),
		cmocka_unit_test(a_ruleset_is_no_longer_than_it_must_be),
		cmocka_unit_test(a_recording_answers_only_what_it_has),
		cmocka_unit_test(a_number_no_call_returns_is_no_answer),
		cmocka_unit_test(a_bad_recording_is_refused_with_its_line),
		cmocka_unit_test(a_recorded_tree_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
