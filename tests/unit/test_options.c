/* The command line of oarbank-probe. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "report/options.h"

static int parse(const char *const *words, struct options *ret, struct fault *why)
{
	char *argv[8] = { "oarbank-probe" };
	int argc = 1;

	for (; *words; words++)
		argv[argc++] = (char *)*words;
	return options_parse(argc, argv, ret, why);
}

static void good_lines_are_taken(void **state)
{
	struct options o;
	struct fault why;

	(void)state;
	assert_int_equal(parse((const char *const[]){ NULL }, &o, &why), 0);
	assert_int_equal(o.mode, MODE_PAGE);
	assert_false(o.no_trials);
	assert_int_equal(parse((const char *const[]){ "--parent", "run", NULL }, &o, &why), 0);
	assert_true(o.supervised);
	assert_int_equal(parse((const char *const[]){ "--parent", "none", NULL }, &o, &why), 0);
	assert_false(o.supervised);
	assert_int_equal(parse((const char *const[]){ "--parent", "x", NULL }, &o, &why), -EINVAL);
	assert_int_equal(parse((const char *const[]){ "--sandbox", "--no-trials", NULL }, &o, &why),
			 0);
	assert_true(o.no_trials);
	assert_int_equal(parse((const char *const[]){ "--json", "--module", "a.toml",
						      "--modules=b.json", NULL },
			       &o, &why),
			 0);
	assert_int_equal(o.mode, MODE_JSON);
	assert_int_equal(o.files.count, 2);
	assert_string_equal(o.files.of[0].path, "a.toml");
	assert_false(o.files.of[0].release);
	assert_string_equal(o.files.of[1].path, "b.json");
	assert_true(o.files.of[1].release);
	options_free(&o);
	assert_int_equal(parse((const char *const[]){ "--require=ipc,net.none", "--require",
						      "filesystem", NULL },
			       &o, &why),
			 0);
	assert_true(o.require[CAPABILITY_IPC] && o.require[CAPABILITY_NET_NONE] &&
		    o.require[CAPABILITY_FILESYSTEM]);
	assert_false(o.require[CAPABILITY_GPU_COMPUTE]);
	assert_int_equal(parse((const char *const[]){ "--without", "bpf,net", NULL }, &o, &why), 0);
	assert_int_equal(o.without, PROBE_BIT(PROBE_BPF) | PROBE_BIT(PROBE_NET));
}

static void bad_lines_say_why(void **state)
{
	static const struct {
		const char *words[4];
		const char *says;
	} rows[] = {
		{ { "--jsn" }, "unknown option '--jsn'" },
		{ { "x" }, "unexpected argument 'x'" },
		{ { "" }, "unexpected argument ''" },
		{ { "--json=1" }, "--json takes no argument" },
		{ { "--module" }, "--module needs FILE" },
		{ { "--module=" }, "--module needs a file name" },
		{ { "--root=" }, "--root needs a directory" },
		{ { "--json", "--sandbox" }, "--sandbox does not go with --json" },
		{ { "--explain", "ip" },
		  "no capability is named 'ip'; there are filesystem, ipc," },
		{ { "--require", "ipc,,x" }, "is not a list NAME[,NAME]" },
		{ { "--require", "ipc," }, "is not a list NAME[,NAME]" },
		{ { "--require", "" }, "is not a list NAME[,NAME]" },
		{ { "--without", "landlock" }, "without landlock there is nothing to report" },
		{ { "--without", "cgroups" },
		  "no probe is named 'cgroups'; there are host, cgroup, gpu, settings, engine, "
		  "net, bpf" },
		{ { "--format", "xml" },
		  "no format is named 'xml'; there are page, json, sandbox, openmetrics, nfd" },
		{ { "--parent", "x" }, "no parent is named 'x'; there are none, run" },
		{ { "--watch", "--require", "ipc" },
		  "--require is an exit code, and --watch has no end" },
		{ { "--sandbox", "--module", "a" }, "modules are part of the whole report" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct options o;
		struct fault why = { "" };

		assert_int_equal(parse(rows[i].words, &o, &why), -EINVAL);
		if (!strstr(why.text, rows[i].says))
			fail_msg("'%s' does not say '%s'", why.text, rows[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lines_are_taken),
		cmocka_unit_test(bad_lines_say_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
