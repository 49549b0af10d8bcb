/* launch: descriptors, signals, limits and capabilities that a module inherits; and sandbox-check.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/check.h"
#include "launch/descriptors.h"
#include "launch/inherit.h"
#include "tests/fake/launch_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ALL_CAPABILITIES ((1ULL << 41) - 1)

static struct fake_process p;

/* ---- OARBANK_CONFINED ---- */

static void the_signal_is_taken_and_forgotten(void **state)
{
	static const struct {
		const char *value;
		int fd;
	} rows[] = {
		{ "3", 3 },
		{ "2147483647", 2147483647 },
		{ "2", -1 },
		{ "1", -1 },
		{ "0", -1 },
		{ "-1", -1 },
		{ "", -1 },
		{ "x", -1 },
		{ "3x", -1 },
		{ " 3", -1 },
		{ "+3", -1 },
		{ "0x3", -1 },
		{ "fd:3", -1 },
		{ "2147483648", -1 },
		{ "99999999999999999999", -1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char entry[64];
		struct text t = TEXT_BUF(entry);
		char *envp[] = { "A=1", entry, "OARBANK_CONFINED_NOT=5", NULL };

		text_add(&t, "OARBANK_CONFINED=");
		text_add(&t, rows[i].value);
		assert_int_equal(descriptors_take_signal(envp), rows[i].fd);
		assert_string_equal(envp[0], "A=1");
		assert_string_equal(envp[1], "OARBANK_CONFINED_NOT=5");
		assert_null(envp[2]);
	}
}

static void all_of_several_signals_are_forgotten(void **state)
{
	char *twice[] = { "OARBANK_CONFINED=7", "A=1", "OARBANK_CONFINED=9",
			  "OARBANK_CONFINED=", NULL };
	char *bad_first[] = { "OARBANK_CONFINED=no", "OARBANK_CONFINED=9", NULL };
	char *none[] = { "OARBANK_CONFINED", "OARBANK=1", NULL };
	char *empty[] = { NULL };

	(void)state;
	assert_int_equal(descriptors_take_signal(twice), 7);
	assert_string_equal(twice[0], "A=1");
	assert_null(twice[1]);
	assert_int_equal(descriptors_take_signal(bad_first), -1);
	assert_null(bad_first[0]);
	assert_int_equal(descriptors_take_signal(none), -1);
	assert_string_equal(none[0], "OARBANK_CONFINED");
	assert_string_equal(none[1], "OARBANK=1");
	assert_int_equal(descriptors_take_signal(empty), -1);
}

/* ---- descriptors ---- */

struct descriptor_row {
	const char *env[4];
	int signal_fd; /* 0: none */
	int fd;	       /* one that is open before, besides 5 and 9, which are sockets */
	enum node_type type;
	const char *kept; /* what is open from 3 on afterwards: "5 9 " */
	const char *refusal;
};

static const struct descriptor_row descriptor_rows[] = {
	{ { "A=1" }, 0, 0, 0, "", NULL },
	{ { "OARBANK_ENDPOINT_CHANNEL=fd:5" }, 0, 7, NODE_DIR, "5 ", NULL },
	{ { "OARBANK_SERVICE_DB=fd:9" }, 5, 7, NODE_FILE, "5 9 ", NULL },
	{ { "OARBANK_LISTEN_FD_WEB=fd:9", "OARBANK_SERVICE_A=fd:5", "OARBANK_SERVICE_B=fd:5" },
	  0,
	  7,
	  NODE_SOCKET,
	  "5 9 ",
	  NULL },
	{ { "OARBANK_SERVICE_A=fd:7" }, 0, 7, NODE_FIFO, "7 ", NULL },
	{ { "OARBANK_SERVICE_A=fd:7" }, 9, 7, NODE_FILE, "7 9 ", NULL },
	/* Names that name no descriptor. */
	{ { "OARBANK_SERVICE=fd:5", "OARBANK_SERVICE_=fd:5", "OARBANK_LISTEN_FD=fd:5" },
	  0,
	  0,
	  0,
	  "",
	  NULL },
	{ { "XOARBANK_SERVICE_A=fd:5", "OARBANK_ENDPOINT_CHANNEL_X=fd:5",
	    "oarbank_service_a=fd:5" },
	  0,
	  0,
	  0,
	  "",
	  NULL },
	{ { "OARBANK_SERVICE_A=unix:/x", "OARBANK_SERVICE_B=5", "OARBANK_SERVICE_C=" },
	  0,
	  0,
	  0,
	  "",
	  NULL },
	/* What may not stay. */
	{ { "OARBANK_SERVICE_A=fd:7" }, 0, 7, NODE_DIR, NULL, "OARBANK_SERVICE_A: is a directory" },
	{ { "OARBANK_SERVICE_A=fd:7" }, 0, 7, NODE_CHAR, NULL, "OARBANK_SERVICE_A: is a device" },
	{ { "OARBANK_SERVICE_A=fd:7" }, 0, 7, NODE_BLOCK, NULL, "OARBANK_SERVICE_A: is a device" },
	{ { "A=1" }, 7, 7, NODE_DIR, NULL, "OARBANK_CONFINED: is a directory" },
	/* What is no descriptor. */
	{ { "OARBANK_SERVICE_A=fd:8" },
	  0,
	  0,
	  0,
	  NULL,
	  "OARBANK_SERVICE_A: names a descriptor that is not open" },
	{ { "A=1" }, 8, 0, 0, NULL, "OARBANK_CONFINED: names a descriptor that is not open" },
	{ { "OARBANK_LISTEN_FD_X=fd:" },
	  0,
	  0,
	  0,
	  NULL,
	  "OARBANK_LISTEN_FD_X: names no descriptor above 2" },
	{ { "OARBANK_LISTEN_FD_X=fd:2" }, 0, 0, 0, NULL, "names no descriptor above 2" },
	{ { "OARBANK_LISTEN_FD_X=fd:-5" }, 0, 0, 0, NULL, "names no descriptor above 2" },
	{ { "OARBANK_LISTEN_FD_X=fd:5 " }, 0, 0, 0, NULL, "names no descriptor above 2" },
	{ { "OARBANK_ENDPOINT_CHANNEL=fd:5" },
	  5,
	  0,
	  0,
	  NULL,
	  "OARBANK_ENDPOINT_CHANNEL: names the descriptor of OARBANK_CONFINED" },
};

static void kept_text(char *buf, size_t size)
{
	struct text t = text_start(buf, size);

	for (int fd = 3; fd < FAKE_FDS; fd++) {
		if (!p.fds[fd].open)
			continue;
		text_add_int(&t, fd);
		text_add(&t, " ");
	}
}

static void strays_are_closed_and_named_ones_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(descriptor_rows); i++) {
		const struct descriptor_row *row = &descriptor_rows[i];
		struct fault why = { "" };
		char kept[64];
		int r;

		fake_process(&p, NULL, 7);
		fake_inherit(&p, 5, NODE_SOCKET);
		fake_inherit(&p, 9, NODE_SOCKET);
		fake_inherit(&p, 1999, NODE_DIR);
		if (row->fd)
			fake_inherit(&p, row->fd, row->type);
		r = descriptors_close(&p.kernel, (char *const *)row->env,
				      row->signal_fd ? row->signal_fd : -1, -1, &why);
		kept_text(kept, sizeof(kept));
		if (row->refusal ? r >= 0 || !strstr(why.text, row->refusal)
				 : r != 0 || strcmp(kept, row->kept) != 0)
			fail_msg("row %zu, %s: %d '%s' kept %s", i, row->env[0], r, why.text, kept);
	}
}

static void standard_descriptors_are_no_devices(void **state)
{
	static const struct {
		struct fake_fd fd;
		const char *refusal;
	} rows[] = {
		{ { .open = false }, NULL },
		{ { .open = true, .type = NODE_FILE }, NULL },
		{ { .open = true, .type = NODE_SOCKET }, NULL },
		{ { .open = true, .type = NODE_FIFO }, NULL },
		{ { .open = true, .type = NODE_CHAR, .major = 1, .minor = 3 }, NULL },
		{ { .open = true, .type = NODE_CHAR, .major = 136, .terminal = true }, NULL },
		{ { .open = true, .type = NODE_CHAR, .major = 1, .minor = 5 },
		  "is a device other than /dev/null or a terminal" },
		{ { .open = true, .type = NODE_CHAR, .major = 2, .minor = 3 }, "is a device" },
		{ { .open = true, .type = NODE_BLOCK, .major = 1, .minor = 3 }, "is a device" },
		{ { .open = true, .type = NODE_DIR }, "is a directory" },
	};
	static char *const none[] = { NULL };

	(void)state;
	for (int fd = 0; fd <= 2; fd++)
		for (size_t i = 0; i < COUNT(rows); i++) {
			struct fault why = { "" };
			int r;

			fake_process(&p, NULL, 7);
			p.fds[fd] = rows[i].fd;
			r = descriptors_close(&p.kernel, none, -1, -1, &why);
			if (r != (rows[i].refusal ? -EINVAL : 0) ||
			    (rows[i].refusal && !strstr(why.text, rows[i].refusal)))
				fail_msg("fd %d row %zu: %d '%s'", fd, i, r, why.text);
		}
}

static void too_many_kept_descriptors_are_refused(void **state)
{
	static char entries[DESCRIPTORS_KEPT_MAX + 1][32];
	char *envp[DESCRIPTORS_KEPT_MAX + 2] = { NULL };
	struct fault why;

	(void)state;
	fake_process(&p, NULL, 7);
	for (int i = 0; i < DESCRIPTORS_KEPT_MAX; i++) {
		struct text t = text_start(entries[i], sizeof(entries[i]));

		/* Descending, so that every one is put before the others. */
		text_add(&t, "OARBANK_SERVICE_X=fd:");
		text_add_int(&t, 1000 - 2 * i);
		fake_inherit(&p, 1000 - 2 * i, NODE_SOCKET);
		envp[i] = entries[i];
	}
	assert_int_equal(descriptors_close(&p.kernel, envp, -1, -1, &why), 0);
	assert_int_equal(fake_open_count(&p), DESCRIPTORS_KEPT_MAX);
	assert_int_equal(descriptors_close(&p.kernel, envp, 1000, -1, &why), -EINVAL);
	fake_inherit(&p, 1500, NODE_FIFO);
	assert_int_equal(descriptors_close(&p.kernel, envp, 1500, -1, &why), -EINVAL);
	assert_string_equal(why.text, "OARBANK_CONFINED: too many descriptors");
}

/* ---- signals, limits, capabilities ---- */

static void dispositions_are_reset_but_for_sigusr1(void **state)
{
	struct fault why;

	(void)state;
	fake_process(&p, NULL, 7);
	assert_int_equal(inherit_signals(&p.kernel, &why), 0);
	assert_int_equal(p.ignored, 1ULL << (SIGUSR1 - 1) | 1ULL << (SIGPIPE - 1));
	assert_true(p.mask_empty);
	assert_int_equal(inherit_sigpipe_default(&p.kernel, &why), 0);
	assert_int_equal(p.ignored, 1ULL << (SIGUSR1 - 1));
	assert_int_equal(inherit_sigpipe_ignored(&p.kernel, &why), 0);
	assert_int_equal(p.ignored, 1ULL << (SIGUSR1 - 1) | 1ULL << (SIGPIPE - 1));
}

static void ignored_signals_are_told_by_proc(void **state)
{
	static const struct {
		const char *status;
		unsigned calls; /* of signal_default */
	} rows[] = {
		{ "SigIgn:\t0000000000000000\n", 0 },
		/* SIGHUP, SIGUSR1, SIGPIPE and the last real-time signal */
		{ "SigQ:\t1/2\nSigBlk:\tffffffffffffffff\nSigIgn:\t8000000000001201\nSigCgt:\t0\n",
		  2 },
		/* What cannot be read is taken for all of them. */
		{ NULL, 60 },
		{ "", 60 },
		{ "SigIgn:\t\n", 60 },
		{ "SigIgn:\t00000000000000000\x01\n", 60 },
		{ "SigIgn:\t10000000000000000\n", 60 },
		{ "sigign:\t0\n", 60 },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		unsigned calls = 0;

		fake_process(&p, NULL, 7);
		p.proc_status = rows[i].status;
		assert_int_equal(inherit_signals(&p.kernel, &why), 0);
		for (unsigned n = 0; n < p.call_count; n++)
			calls += text_starts(p.calls[n], "signal_default");
		assert_int_equal(calls, rows[i].calls);
		assert_true(p.mask_empty);
	}
}

static void the_oom_score_is_raised_and_never_lowered(void **state)
{
	static const struct {
		const char *before;
		const char *written;
	} rows[] = {
		{ "0\n", "500" }, { "-1000\n", "500" },	      { "499\n", "500" },
		{ "500\n", "" },  { "1000\n", "" },	      { "", "" },
		{ "x\n", "" },	  { "12345678901234\n", "" }, { NULL, "" },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		fake_process(&p, NULL, 7);
		p.oom_score = rows[i].before;
		assert_int_equal(inherit_limits(&p.kernel, &why), 0);
		assert_string_equal(p.oom_written, rows[i].written);
		assert_int_equal(p.core_limit, 1);
		assert_int_equal(fake_open_count(&p), 0);
	}
}

static void a_hard_core_limit_of_0_is_accepted(void **state)
{
	struct fault why;

	(void)state;
	fake_process(&p, NULL, 7);
	p.hard_core_limit_is_0 = true;
	assert_int_equal(inherit_limits(&p.kernel, &why), 0);
	fake_process(&p, NULL, 7);
	p.fail_call = 1;
	p.fail_error = EINVAL;
	assert_int_equal(inherit_limits(&p.kernel, &why), -EINVAL);
	assert_string_equal(why.text, "set the core limit: EINVAL");
}

static void every_capability_is_dropped(void **state)
{
	struct fault why;

	(void)state;
	fake_process(&p, NULL, 7);
	p.securebits = 0x10;
	assert_int_equal(inherit_capabilities(&p.kernel, &why), 0);
	assert_int_equal(p.effective, 0);
	assert_int_equal(p.bounding, 0);
	assert_int_equal(p.securebits, 0xef);
	assert_true(p.ambient_cleared);

	/* Locks that a parent set are kept. */
	fake_process(&p, NULL, 7);
	p.securebits = 0x300;
	assert_int_equal(inherit_capabilities(&p.kernel, &why), 0);
	assert_int_equal(p.securebits, 0x3ef);
}

static void what_cannot_be_dropped_is_without_effect(void **state)
{
	struct fault why;

	(void)state;
	/* An ordinary user: nothing to do. */
	fake_process(&p, NULL, 7);
	p.effective = 0;
	assert_int_equal(inherit_capabilities(&p.kernel, &why), 0);
	assert_int_equal(p.call_count, 1);
	/* One with a capability, but not the one that changes the bounding set. */
	fake_process(&p, NULL, 7);
	p.effective = 1ULL << 10;
	assert_int_equal(inherit_capabilities(&p.kernel, &why), 0);
	assert_int_equal(p.effective, 0);
	assert_int_equal(p.bounding, ALL_CAPABILITIES);
	assert_true(p.ambient_cleared);
}

/* ---- sandbox-check ---- */

static void confined_means_more_filters_than_ours(void **state)
{
	static const struct {
		const char *own;
		const char *other; /* NULL: no such process */
		enum check check;
	} rows[] = {
		{ "Seccomp_filters:\t0\n", "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		  CHECK_CONFINED },
		{ "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n",
		  "Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t4\nCpus:\t0\n",
		  CHECK_CONFINED },
		{ "Seccomp_filters:\t1\n", "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		  CHECK_INHERITED },
		{ "Seccomp_filters:\t2\n", "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		  CHECK_INHERITED },
		{ "Seccomp_filters:\t0\n", "NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		  CHECK_NO_NEW_PRIVS },
		{ "Seccomp_filters:\t0\n", "NoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n",
		  CHECK_UNFILTERED },
		{ "Seccomp_filters:\t0\n", "NoNewPrivs:\t1\nSeccomp:\t1\nSeccomp_filters:\t0\n",
		  CHECK_UNKNOWN },
		{ "Seccomp_filters:\t0\n", "NoNewPrivs:\t1\nSeccomp:\t2\n", CHECK_UNKNOWN },
		{ "Name:\tx\n", "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		  CHECK_UNKNOWN },
		{ "Seccomp_filters:\t0\n", "Seccomp:\t2\nSeccomp_filters:\t1\n", CHECK_UNKNOWN },
		{ "Seccomp_filters:\t0\n", "NoNewPrivs:\t1\nSeccomp_filters:\t1\n", CHECK_UNKNOWN },
		{ "Seccomp_filters:\t0\n", "NoNewPrivs:\t10\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		  CHECK_UNKNOWN },
		{ "Seccomp_filters:\t0\n", "NoNewPrivs:\t1\nSeccomp:\t2x\nSeccomp_filters:\t1\n",
		  CHECK_UNKNOWN },
		/* A process may call itself what it likes; the kernel escapes a line end in it. */
		{ "Seccomp_filters:\t0\n",
		  "Name:\tNoNewPrivs:\t1\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		  CHECK_NO_NEW_PRIVS },
		{ "Seccomp_filters:\t0\n", "", CHECK_UNKNOWN },
		/* Our own namespace has one id for us; seen from one around it there are more. */
		{ "NSpid:\t8\nSeccomp_filters:\t0\n",
		  "NSpid:\t42\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		  CHECK_CONFINED },
		{ "NSpid:\t90\t8\nSeccomp_filters:\t0\n",
		  "NSpid:\t42\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n", CHECK_UNKNOWN },
		{ "Seccomp_filters:\t0\n", NULL, CHECK_GONE },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct fake_file files[] = {
			{ "/proc/self/status", NODE_FILE, rows[i].own, 0, 0 },
			{ rows[i].other ? "/proc/42/status" : NULL, NODE_FILE, rows[i].other, 0,
			  0 },
			{ NULL, NODE_OTHER, NULL, 0, 0 },
		};

		fake_process(&p, files, 7);
		if (check_process(&p.kernel, 42) != rows[i].check)
			fail_msg("row %zu: %s", i, check_word(check_process(&p.kernel, 42)));
		/* Nor is what is not from the kernel. */
		fake_process(&p, files, 7);
		p.proc_magic = 0x01021994;
		assert_int_equal(check_process(&p.kernel, 42), CHECK_UNKNOWN);
		/* Whatever cannot be read is no proof. */
		for (unsigned call = 1; call <= 10; call++) {
			fake_process(&p, files, 7);
			p.fail_call = call;
			p.fail_error = EACCES;
			if (check_process(&p.kernel, 42) == CHECK_CONFINED)
				assert_true(rows[i].check == CHECK_CONFINED &&
					    text_starts(p.calls[call - 1], "close"));
		}
	}
}

static void check_words_differ(void **state)
{
	(void)state;
	for (int a = CHECK_UNKNOWN; a <= CHECK_CONFINED; a++)
		for (int b = CHECK_UNKNOWN; b < a; b++)
			assert_string_not_equal(check_word((enum check)a),
						check_word((enum check)b));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_signal_is_taken_and_forgotten),
		cmocka_unit_test(all_of_several_signals_are_forgotten),
		cmocka_unit_test(strays_are_closed_and_named_ones_kept),
		cmocka_unit_test(standard_descriptors_are_no_devices),
		cmocka_unit_test(too_many_kept_descriptors_are_refused),
		cmocka_unit_test(dispositions_are_reset_but_for_sigusr1),
		cmocka_unit_test(ignored_signals_are_told_by_proc),
		cmocka_unit_test(the_oom_score_is_raised_and_never_lowered),
		cmocka_unit_test(a_hard_core_limit_of_0_is_accepted),
		cmocka_unit_test(every_capability_is_dropped),
		cmocka_unit_test(what_cannot_be_dropped_is_without_effect),
		cmocka_unit_test(confined_means_more_filters_than_ours),
		cmocka_unit_test(check_words_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
