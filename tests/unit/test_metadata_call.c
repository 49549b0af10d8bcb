/* launch: calls of the chmod, chown and utime families, taken apart, and who may make them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "launch/supervise/metadata_call.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PATH 0x1000
#define TIMES 0x2000
#define HIGH 0xffffffff00000000ULL /* what the kernel does not look at */

static void calls_are_taken_apart(void **state)
{
	static const struct {
		int number;
		uint64_t args[6];
		struct metadata_call call;
	} rows[] = {
#ifdef SYS_chmod
		{ SYS_chmod,
		  { PATH, HIGH | 0604 },
		  { METADATA_MODE, .dir = AT_FDCWD, .by_path = true, .path = PATH, .mode = 0604 } },
		{ SYS_lchown,
		  { PATH, 1, 2 },
		  { METADATA_OWNER, .dir = AT_FDCWD, .by_path = true, .path = PATH,
		    .no_follow = true, .uid = 1, .gid = 2 } },
		{ SYS_utime,
		  { PATH, 0 },
		  { METADATA_TIMES, .dir = AT_FDCWD, .by_path = true, .path = PATH,
		    .form = TIMES_SECONDS } },
		{ SYS_futimesat,
		  { 5, 0, TIMES },
		  { METADATA_TIMES, .dir = 5, .times = TIMES, .form = TIMES_MICRO } },
#endif
		{ SYS_fchmod, { HIGH | 7, 0170644 }, { METADATA_MODE, .dir = 7, .mode = 0644 } },
		{ SYS_fchmodat,
		  { 5, PATH, 0600, AT_SYMLINK_NOFOLLOW /* no argument of this call */ },
		  { METADATA_MODE, .dir = 5, .by_path = true, .path = PATH, .mode = 0600 } },
		{ 452,
		  { (uint64_t)AT_FDCWD, PATH, 0600, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH },
		  { METADATA_MODE, .dir = AT_FDCWD, .by_path = true, .path = PATH,
		    .may_be_empty = true, .no_follow = true, .mode = 0600 } },
		{ SYS_fchown,
		  { 3, UINT64_MAX, 9 },
		  { METADATA_OWNER, .dir = 3, .uid = UINT32_MAX, .gid = 9 } },
		{ SYS_fchownat,
		  { 3, PATH, 1, 2, HIGH | AT_EMPTY_PATH },
		  { METADATA_OWNER, .dir = 3, .by_path = true, .path = PATH, .may_be_empty = true,
		    .uid = 1, .gid = 2 } },
		{ SYS_utimensat,
		  { 3, 0, TIMES, 0 },
		  { METADATA_TIMES, .dir = 3, .times = TIMES, .form = TIMES_NANO } },
		{ SYS_connect, { 3, PATH, 16 }, { .kind = METADATA_NONE } },
		{ -1, { 0 }, { .kind = METADATA_NONE } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct metadata_call *want = &rows[i].call;
		struct metadata_call got;

		assert_int_equal(metadata_read(rows[i].number, rows[i].args, &got), 0);
		if (got.kind != want->kind || got.dir != want->dir ||
		    got.by_path != want->by_path || got.path != want->path ||
		    got.may_be_empty != want->may_be_empty || got.no_follow != want->no_follow ||
		    got.mode != want->mode || got.uid != want->uid || got.gid != want->gid ||
		    got.times != want->times || got.form != want->form)
			fail_msg("row %zu", i);
	}
}

static void unknown_flags_are_invalid(void **state)
{
	static const uint64_t args[6] = { 3, PATH, 0, 0x10000, 0x10000, 0 };
	static const int numbers[] = { 452, SYS_fchownat, SYS_utimensat };

	(void)state;
	for (size_t i = 0; i < COUNT(numbers); i++) {
		struct metadata_call call;

		assert_int_equal(metadata_read(numbers[i], args, &call), -EINVAL);
	}
}

static void a_caller_may_do_what_a_user_may(void **state)
{
	static const struct metadata_caller caller = {
		.uid = 1000, .gid = 1000, .groups = { 44, 45 }, .group_count = 2
	};
	static const struct {
		struct metadata_object object;
		struct metadata_call call;
		int r;
		uint32_t mode; /* that is left */
	} rows[] = {
		{ { 1000, 1000, false }, { METADATA_MODE, .mode = 02755 }, 0, 02755 },
		{ { 1000, 45, false }, { METADATA_MODE, .mode = 02755 }, 0, 02755 },
		{ { 1000, 0, false }, { METADATA_MODE, .mode = 02755 }, 0, 0755 },
		{ { 1000, 0, true }, { METADATA_MODE, .mode = 01777 }, 0, 01777 },
		{ { 0, 1000, false }, { METADATA_MODE, .mode = 0600 }, -EPERM, 0600 },
		{ { 1000, 1000, false },
		  { METADATA_OWNER, .uid = UINT32_MAX, .gid = UINT32_MAX },
		  0,
		  0 },
		{ { 1000, 0, false }, { METADATA_OWNER, .uid = 1000, .gid = 0 }, 0, 0 },
		{ { 1000, 0, false }, { METADATA_OWNER, .uid = 1000, .gid = 44 }, 0, 0 },
		{ { 1000, 0, false }, { METADATA_OWNER, .uid = 1000, .gid = 46 }, -EPERM, 0 },
		{ { 1000, 0, false }, { METADATA_OWNER, .uid = 0, .gid = UINT32_MAX }, -EPERM, 0 },
		{ { 0, 0, false }, { METADATA_OWNER, .uid = 1000, .gid = 1000 }, -EPERM, 0 },
		{ { 1000, 0, false }, { METADATA_TIMES, .times = 0 }, 0, 0 },
		{ { 0, 0, false }, { METADATA_TIMES, .times = 0 }, -EPERM, 0 },
		{ { 1000, 0, false }, { .kind = METADATA_NONE }, -EPERM, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct metadata_call call = rows[i].call;

		if (metadata_judge(&caller, &rows[i].object, &call) != rows[i].r ||
		    call.mode != rows[i].mode)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_taken_apart),
		cmocka_unit_test(unknown_flags_are_invalid),
		cmocka_unit_test(a_caller_may_do_what_a_user_may),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
