#include "report/version.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_ranges(void **state)
{
	static const struct {
		const char *range;
		const char *version;
		bool in;
	} rows[] = {
		{ ">=5.13", "5.13", true },
		{ ">=5.13", "5.13.0-1-amd64", true },
		{ ">=5.13", "5.12.19", false },
		{ ">=6.9", "6.18.44-fc-v669", true },
		{ ">=6.18.44", "6.18.44-fc-v669", true },
		{ ">=6.18.45", "6.18.44-fc-v669", false },
		{ "<7", "6.18.44-fc-v669", true },
		{ "<7", "7.0.0", false },
		{ " >= 5.13 , < 7 ", "6.1", true },
		{ ">=5.13,<7", "7.1", false },
		{ ">6.1", "6.1", false },
		{ ">6.1", "6.1.1", true },
		{ "<=6.1", "6.1.0", true },
		{ "<=6.1", "6.1.1", false },
		{ "==6.1", "6.1.0+", true },
		{ "==6.1", "6.1.5", false },
		{ "6.1", "6.1", true },
		{ "6.1", "6.2", false },
		{ "!=6.1.5", "6.1.5-2", false },
		{ "!=6.1.5", "6.1.6", true },
		{ "~=6.1.3", "6.1.9", true },
		{ "~=6.1.3", "6.1.2", false },
		{ "~=6.1.3", "6.2", false },
		{ "^6.1", "6.18", true },
		{ "^6.1", "7.0", false },
		{ ">=2.35", "2.36", true },
		{ ">=2.35", "2.4", false },
		{ ">=2.35", NULL, false },
		{ ">=2.35", "", false },
		{ ">=2.35", "unknown", false },
		{ ">=1", "4294967296.0", false },
		{ ">=6.6.87.2", "6.6.87.1", true }, /* three numbers count */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct version_range range;
		struct fault why;

		if (version_range_parse(rows[i].range, &range, &why) < 0)
			fail_msg("row %zu: %s", i, why.text);
		if (version_in(&range, rows[i].version) != rows[i].in)
			fail_msg("row %zu: '%s' in '%s'", i, rows[i].version, rows[i].range);
	}
}

static void test_no_range_admits_all(void **state)
{
	struct version_range range = { 0 };

	(void)state;
	assert_true(version_in(&range, NULL));
	assert_true(version_in(&range, "anything"));
}

static void test_ranges_refused(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		">=",
		"6.",
		"6..1",
		".6",
		"six",
		">=6.1,",
		",>=6.1",
		">=6.1,,<7",
		">=6.1;<7",
		">=6.1 <7",
		"=>6.1",
		"=6.1",
		"<>6",
		"~>6",
		"6.*",
		">=6.1rc1",
		">=6.1-rc1",
		">=v6",
		">=-1",
		">=4294967296",
		">=1,>=1,>=1,>=1,>=1,>=1,>=1,>=1,>=1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct version_range range = { .count = 77 };
		struct fault why = { "" };

		if (version_range_parse(rows[i], &range, &why) == 0)
			fail_msg("'%s' was accepted", rows[i]);
		assert_int_equal(range.count, 77);
		assert_int_not_equal(why.text[0], '\0');
	}
}

static void test_floor(void **state)
{
	static const struct {
		const char *range;
		const char *floor; /* NULL: none */
	} rows[] = {
		{ ">=2.5,<3", "2.5" }, { "<3", NULL },
		{ "!=2", NULL },       { ">=2,>=2.5.1", "2.5.1" },
		{ ">2.5", "2.5.1" },   { "~=2.6", "2.6" },
		{ "==3", "3.0" },      { "<=3,>=1.2.0", "1.2" },
		{ "^2", "2.0" },       { ">1.2.4294967295", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[VERSION_TEXT_MAX];
		struct version_range range;
		struct version floor;

		assert_int_equal(version_range_parse(rows[i].range, &range, NULL), 0);
		assert_int_equal(version_range_floor(&range, &floor), rows[i].floor != NULL);
		if (!rows[i].floor)
			continue;
		version_text(&floor, text);
		assert_string_equal(text, rows[i].floor);
	}
}

static void test_tool_constraints(void **state)
{
	static const char *const good[] = {
		">=17",	     ">=17, <22",   "~> 17",	"~>17.0.2",   "= 17.0.12",  "== 17",
		"!= 11.0.2", "<=1.8.0_392", "<22-ea.1", ">17.0.12+7", ">=1-rc+b.2",
	};
	static const char *const bad[] = {
		"",	"17",	 ">= ",	 "=> 17", ">=17;<22", ">=17,",
		"~ 17", ">=v17", "<>17", "~=17",  ">=17.",    ">=17-",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!tool_constraint_ok(good[i]))
			fail_msg("'%s' was refused", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (tool_constraint_ok(bad[i]))
			fail_msg("'%s' was accepted", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),		 cmocka_unit_test(test_no_range_admits_all),
		cmocka_unit_test(test_ranges_refused),	 cmocka_unit_test(test_floor),
		cmocka_unit_test(test_tool_constraints),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
