/* launch/run/result.c, launch/run/command.c: the result of a run, written and read again; the
 * options.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kabi/path.h"
#include "kabi/text.h"
#include "launch/run/command.h"
#include "launch/run/result.h"
#include "tests/fake/parent_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct world w;
static struct fault why;

static const struct limits no_limits;

static struct run running(void)
{
	struct run run = {
		.state = RUN_CONFINED,
		.container = { .kind = CONTAINER_LEAF, .keeper = 50, .leader = 51 },
	};

	world_start(&w);
	world_file(&w, "/proc/50/stat",
		   "50 (oarbank-keeper) S 40 50 50 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0\n");
	text_copy(run.container.leaf.dir, sizeof(run.container.leaf.dir), "/cg/oarbank.50.0");
	return run;
}

static char text[RESULT_MAX];

static size_t print(const struct run *run, const struct limits *limits)
{
	ssize_t n = result_print(&w.kernel, run, limits, text, sizeof(text));

	assert_true(n > 0);
	assert_int_equal(strlen(text), n);
	assert_int_equal(text[n - 1], '\n');
	return (size_t)n;
}

static void a_running_one_can_be_found_again(void **state)
{
	struct run run = running();
	struct result_run back;

	(void)state;
	assert_int_equal(result_parse(text, print(&run, &no_limits), &back, &why), 0);
	assert_false(back.ended);
	assert_int_equal(back.container.kind, CONTAINER_LEAF);
	assert_string_equal(back.container.leaf.dir, "/cg/oarbank.50.0");
	assert_int_equal(back.container.keeper, 50);
	assert_int_equal(back.container.leader, 51);
	assert_int_equal(back.keeper_start, 4242);

	run.container.kind = CONTAINER_GROUP;
	assert_int_equal(result_parse(text, print(&run, &no_limits), &back, &why), 0);
	assert_int_equal(back.container.kind, CONTAINER_GROUP);
}

static void an_ended_one_says_how(void **state)
{
	struct run run = running();
	struct limits limits = { .memory_bytes = 1024, .cpu_milli = 1500, .pids = 3 };
	struct result_run back;

	(void)state;
	run.state = RUN_ENDED;
	run.outcome = (struct outcome){
		.reason = REASON_OOM,
		.check = CHECK_CONFINED,
		.code = -1,
		.signal = 9,
		.cpu_us = 12,
		.memory_peak = 34,
		.peak_of_leaf = true,
		.wall_us = 56,
		.killed = 7,
		.why = { "why" },
	};
	run.counts = (struct supervise_counts){
		.changed = 1, .connected = 2, .refused = 3, .failed = 4
	};
	size_t len = print(&run, &limits);
	static const char *const members[] = {
		"\"state\":\"ended\"",
		"\"reason\":\"oom\"",
		"\"code\":null",
		"\"signal\":9",
		"\"container\":\"leaf\"",
		"\"enforcement\":\"enforced\"",
		"\"verified\":true",
		"\"cpu_us\":12",
		"\"memory_peak_bytes\":34",
		"\"memory_peak_of\":\"container\"",
		"\"wall_us\":56",
		"\"killed_at_end\":7",
		"\"detail\":\"why\"",
		"\"memory_limit_bytes\":1024",
		"\"cpu_limit_milli\":1500",
		"\"pids_limit\":3",
		"\"calls_connected\":2,\"calls_changed\":1,\"calls_refused\":3,\"calls_failed\":4",
	};
	for (size_t i = 0; i < COUNT(members); i++)
		assert_non_null(strstr(text, members[i]));
	assert_null(strstr(text, "keeper"));
	assert_int_equal(result_parse(text, len, &back, &why), 0);
	assert_true(back.ended);

	run.outcome.memory_peak = 0;
	run.container.kind = CONTAINER_GROUP;
	print(&run, &no_limits);
	assert_non_null(strstr(text, "\"memory_peak_bytes\":null"));
	assert_non_null(strstr(text, "\"enforcement\":\"cooperative\""));
}

/* Whatever bytes a path has, the object is UTF-8 and is read back; what is no UTF-8 is replaced. */
static void strings_of_any_bytes(void **state)
{
	static const struct {
		const char *dir;
		const char *back;
	} rows[] = {
		{ "/a\"b\\c\n\t\x7f", "/a\"b\\c\n\t\x7f" },
		{ "/\xc3\xa9\xf0\x9f\x98\x80", "/\xc3\xa9\xf0\x9f\x98\x80" },
		{ "/\xff\xc3", "/\xef\xbf\xbd\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct run run = running();
		struct result_run back;

		text_copy(run.container.leaf.dir, sizeof(run.container.leaf.dir), rows[i].dir);
		assert_int_equal(result_parse(text, print(&run, &no_limits), &back, &why), 0);
		assert_string_equal(back.container.leaf.dir, rows[i].back);
	}
}

static void the_longest_one_fits(void **state)
{
	struct run run = running();

	(void)state;
	run.state = RUN_ENDED;
	memset(run.container.leaf.dir, '\n', sizeof(run.container.leaf.dir) - 1);
	memset(run.no_leaf.text, '"', sizeof(run.no_leaf.text) - 1);
	memset(run.outcome.why.text, '\\', sizeof(run.outcome.why.text) - 1);
	print(&run, &no_limits);
	assert_int_equal(result_print(&w.kernel, &run, &no_limits, text, 100), -ENOSPC);
}

static void what_is_no_result(void **state)
{
	static const char *const rows[] = {
		"",
		"{}",
		"[]",
		"{\"state\":\"running\"}",
		"{\"container\":\"group\"}",
		"{\"state\":\"running\",\"container\":\"leaf\"}",
		"{\"state\":\"running\",\"container\":\"group\",\"keeper\":99999999999}",
		"{\"state\":\"running\",\"container\":\"group\",\"keeper\":-1}",
		"{\"state\":\"running\",\"container\":\"group\",\"keeper\":1.5}",
		"{\"state\":\"running\",\"container\":\"group\",\"other\":[]}",
		"{\"state\":\"running\" \"container\":\"group\"}",
		"{\"state\":\"running\",\"container\":\"group\"",
		"{\"state\":1,\"container\":\"group\"}",
		"{\"state\":\"running\",\"container\":{}}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct result_run back;

		text_copy(text, sizeof(text), rows[i]);
		why.text[0] = '\0';
		assert_int_equal(result_parse(text, strlen(text), &back, &why), -EINVAL);
		if (!why.text[0])
			print_error("no reason for %s\n", rows[i]);
		assert_true(why.text[0]);
	}
}

/* ---- the file ---- */

static void a_file_is_replaced_as_a_whole(void **state)
{
	char dir[] = "/tmp/test-result-XXXXXX";
	char path[64];
	char link[64];
	char buf[16] = "";
	enum result_way way = RESULT_WAY_OPEN;
	struct stat st;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/result", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	for (int i = 0; i < 2; i++)
		assert_int_equal(result_write(&kernel_live, path, &way, i ? "two" : "first",
					      i ? 3 : 5, &why),
				 0);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fread(buf, 1, sizeof(buf), f), 3);
	fclose(f);
	assert_string_equal(buf, "two");

	/* A link is replaced, left by an earlier module or put there between two writes; so is one
	 * in the place of a pipe. What it points to stays.
	 */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(symlink(path, link), 0);
		way = i == 0 ? RESULT_WAY_OPEN : i == 1 ? RESULT_WAY_ANEW : RESULT_WAY_THERE;
		assert_int_equal(result_write(&kernel_live, link, &way, "long", 4, &why),
				 i == 2 ? -ELOOP : 0);
		assert_int_equal(lstat(link, &st), 0);
		assert_true(i == 2 ? S_ISLNK(st.st_mode) : S_ISREG(st.st_mode));
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, 3);
		assert_int_equal(unlink(link), 0);
	}
	/* A pipe that nobody reads is not waited for; replaced if it was not there at first. */
	assert_int_equal(mkfifo(link, 0600), 0);
	way = RESULT_WAY_OPEN;
	assert_int_equal(result_write(&kernel_live, link, &way, "x", 1, &why), -ENXIO);
	way = RESULT_WAY_ANEW;
	assert_int_equal(result_write(&kernel_live, link, &way, "x", 1, &why), 0);

	assert_int_equal(unlink(link), 0);
	assert_int_equal(unlink(path), 0);
	/* Nothing else was left in it. */
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(result_write(&kernel_live, path, &way, "x", 1, &why), -ENOENT);
	way = RESULT_WAY_OPEN;
	assert_int_equal(result_write(&kernel_live, "/dev/full", &way, "x", 1, &why), -ENOSPC);
	assert_non_null(strstr(why.text, "'/dev/full': ENOSPC"));
}

static void links_of_the_system_are_followed(void **state)
{
	static const struct {
		const char *path;
		bool systems;
	} rows[] = {
		{ "/dev/stderr", true },	  { "/dev/fd/7", true },
		{ "/proc/self/fd/1", true },	  { "/dev/shm/result", false },
		{ "/tmp/dev/x", false },	  { "dev/stderr", false },
		{ "/proc/../tmp/x", false },	  { "/device/x", false },
		{ "/dev/fd/../../etc/x", false }, { "/procession", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("# %s\n", rows[i].path);
		assert_int_equal(path_is_systems(rows[i].path), rows[i].systems);
	}
}

/* ---- the options ---- */

static void thousandths(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t value;
	} rows[] = {
		{ "1", 0, 1000 },
		{ "0.5", 0, 500 },
		{ "1.25", 0, 1250 },
		{ "2.125", 0, 2125 },
		{ "0.001", 0, 1 },
		{ "100", 0, 100000 },
		{ "0", -EINVAL, 0 },
		{ "0.000", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ ".5", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ "1.2345", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1.-1", -EINVAL, 0 },
		{ "1..2", -EINVAL, 0 },
		{ "0x1", -EINVAL, 0 },
		{ "101", -ERANGE, 0 },
		{ "100.001", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
		{ "999999999999999999999999999", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t value = 0;
		int r = run_command_milli(rows[i].text, 100, &value);

		if (r != rows[i].r || value != rows[i].value)
			print_error("'%s': %d, %llu\n", rows[i].text, r, (unsigned long long)value);
		assert_int_equal(r, rows[i].r);
		assert_int_equal(value, rows[i].value);
	}
}

static void a_command_line(void **state)
{
	char *argv[] = { "oarbank-run", "--policy", "p",   "--cpu",	  "1.5",  "--mem-gb",
			 "0.5",		"--pids",   "9",   "--timeout",	  "2",	  "--stop-grace",
			 "0",		"--guard",  "0.1", "--container", "leaf", "--result",
			 "r",		"--",	    "/m",  "--policy",	  NULL };
	static struct run_command c;

	(void)state;
	assert_int_equal(run_command_parse(COUNT(argv) - 1, argv, &c, &why), 0);
	assert_string_equal(c.options.policy, "p");
	assert_int_equal(c.options.limits.cpu_milli, 1500);
	assert_int_equal(c.options.limits.memory_bytes, 512 << 20);
	assert_int_equal(c.options.limits.pids, 9);
	assert_int_equal(c.options.timeout_ms, 2000);
	assert_int_equal(c.options.grace_ms, 0);
	assert_int_equal(c.options.guard_ms, 100);
	assert_int_equal(c.options.container, CHOOSE_LEAF);
	assert_string_equal(c.result, "r");
	assert_string_equal(c.options.argv[0], "/m");
	assert_string_equal(c.options.argv[1], "--policy");
	assert_null(c.options.argv[2]);
}

static void a_network_of_its_own(void **state)
{
	char *argv[] = { "oarbank-run", "--policy",
			 "p",		"--egress-allow",
			 "a.example",	"--egress-allow",
			 "*.b:8",	"--egress-allow-file",
			 "f",		"--egress-log",
			 "l",		"--supervise",
			 "none",	"--",
			 "/m",		NULL };
	static const char *const arguments[] = { "--allow", "a.example",    "--allow",
						 "*.b:8",   "--allow-file", "f" };
	char *wrong[][2] = {
		{ "--egress-allow", "1.2.3.4" },
		{ "--egress-allow", "" },
		{ "--egress-log", "" },
		{ "--supervise", "some" },
	};
	static struct run_command c;

	(void)state;
	assert_int_equal(run_command_parse(COUNT(argv) - 1, argv, &c, &why), 0);
	assert_int_equal(c.options.network.count, COUNT(arguments));
	for (size_t i = 0; i < COUNT(arguments); i++)
		assert_string_equal(c.options.network.arguments[i], arguments[i]);
	assert_string_equal(c.options.network.log, "l");
	assert_int_equal(c.options.network.supervise, SUPERVISE_NONE);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		char *line[] = { "oarbank-run", "--policy", "p",  wrong[i][0],
				 wrong[i][1],	"--",	    "/m", NULL };

		assert_int_equal(run_command_parse(COUNT(line) - 1, line, &c, &why), -EINVAL);
	}
}

static void what_is_wrong_is_told(void **state)
{
	struct {
		char *argv[6];
		const char *says;
	} lines[] = {
		{ { "oarbank-run", "--policy", "p", "/m", "x" }, "'--' is needed before" },
		{ { "oarbank-run", "--policy", "p", "--cpus", "1" }, "unknown option '--cpus'" },
		{ { "oarbank-run", "--egress-allow", "http://x/" },
		  "'http://x/' is not a host's name" },
		{ { "oarbank-run", "--container", "cgroup" },
		  "'cgroup' is not auto, leaf or group" },
		{ { "oarbank-run", "--cpu" }, "--cpu needs a value: N" },
	};
	static struct run_command c;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		int argc = 0;

		while (lines[i].argv[argc])
			argc++;
		assert_int_equal(run_command_parse(argc, lines[i].argv, &c, &why), -EINVAL);
		assert_non_null(strstr(why.text, lines[i].says));
	}
}

static void what_is_not_said_is_as_usual(void **state)
{
	char *argv[] = { "oarbank-run", "--policy", "p", "--", "/m", NULL };
	static struct run_command c;

	(void)state;
	assert_int_equal(run_command_parse(COUNT(argv) - 1, argv, &c, &why), 0);
	assert_int_equal(c.options.network.count, 0);
	assert_int_equal(c.options.network.supervise, SUPERVISE_AUTO);
	assert_int_equal(c.options.guard_ms, 60000);
	assert_int_equal(c.options.grace_ms, 20000);
	assert_int_equal(c.options.timeout_ms, 0);
	assert_int_equal(c.options.container, CHOOSE_AUTO);
	assert_null(c.result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_one_can_be_found_again),
		cmocka_unit_test(an_ended_one_says_how),
		cmocka_unit_test(strings_of_any_bytes),
		cmocka_unit_test(the_longest_one_fits),
		cmocka_unit_test(what_is_no_result),
		cmocka_unit_test(a_file_is_replaced_as_a_whole),
		cmocka_unit_test(links_of_the_system_are_followed),
		cmocka_unit_test(thousandths),
		cmocka_unit_test(a_command_line),
		cmocka_unit_test(a_network_of_its_own),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(what_is_not_said_is_as_usual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
