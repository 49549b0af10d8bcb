/* launch: asking the parent. The variable, the filter, and that a launch that cannot ask ends. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/ask.h"
#include "launch/steps.h"
#include "tests/fake/bpf_sim.h"
#include "tests/fake/launch_kernel.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void the_variable_is_taken(void **state)
{
	static const struct {
		const char *value;
		int socket; /* 0: refused */
		unsigned what;
	} rows[] = {
		{ "fd:3", 3, ASK_CONNECT },
		{ "fd:17,metadata", 17, ASK_CONNECT | ASK_METADATA },
		{ "fd:2", 0, 0 },
		{ "fd:-1", 0, 0 },
		{ "fd:", 0, 0 },
		{ "fd:x", 0, 0 },
		{ "fd:3x", 0, 0 },
		{ "fd: 3", 0, 0 },
		{ "fd:99999999999999999999", 0, 0 },
		{ "3", 0, 0 },
		{ "", 0, 0 },
		{ "fd:3,", 0, 0 },
		{ "fd:3,meta", 0, 0 },
		{ "fd:3,metadata,metadata", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		char variable[64];
		struct text t = TEXT_BUF(variable);
		char *envp[] = { "A=1", variable, "OARBANK_SUPERVISORS=x", NULL };
		struct ask ask;
		struct fault why;
		int r;

		text_add(&t, "OARBANK_SUPERVISOR=");
		text_add(&t, rows[i].value);
		r = ask_take(envp, &ask, &why);
		if (r != (rows[i].socket ? 0 : -EINVAL))
			fail_msg("'%s': %d", rows[i].value, r);
		assert_string_equal(envp[0], "A=1");
		assert_string_equal(envp[1], "OARBANK_SUPERVISORS=x");
		assert_null(envp[2]);
		if (r < 0)
			continue;
		assert_int_equal(ask.socket, rows[i].socket);
		assert_int_equal(ask.what, rows[i].what);
	}
}

static void it_is_there_once_or_not_at_all(void **state)
{
	char *twice[] = { "OARBANK_SUPERVISOR=fd:3", "OARBANK_SUPERVISOR=fd:3", NULL };
	char *none[] = { "A=1", NULL };
	struct ask ask;
	struct fault why;

	(void)state;
	assert_int_equal(ask_take(twice, &ask, &why), -EINVAL);
	assert_string_equal(why.text, "OARBANK_SUPERVISOR is there twice");
	assert_null(twice[0]);
	assert_int_equal(ask_take(none, &ask, &why), 0);
	assert_int_equal(ask.socket, -1);
	assert_int_equal(ask.what, 0);
}

/* ---- the program ---- */

static bool is_metadata(uint32_t nr)
{
	static const uint32_t numbers[] = {
#ifdef SYS_chmod
		SYS_chmod,  SYS_chown,	  SYS_lchown, SYS_utime,  SYS_utimes,	SYS_futimesat,
#endif
		SYS_fchmod, SYS_fchmodat, 452,	      SYS_fchown, SYS_fchownat, SYS_utimensat,
	};

	for (size_t i = 0; i < COUNT(numbers); i++)
		if (numbers[i] == nr)
			return true;
	return false;
}

static void only_what_is_to_be_asked_is_asked(void **state)
{
	static const uint32_t arches[] = { SC_ARCH_NATIVE, SC_ARCH_I386, SC_ARCH_ARM, 0 };

	(void)state;
	for (unsigned what = 1; what <= (ASK_CONNECT | ASK_METADATA); what++) {
		struct sc_insn insns[ASK_INSNS_MAX];
		struct sc_program program;

		ask_program(what, insns, &program);
		assert_null(bpf_sim_check(program.insns, program.len));
		for (size_t a = 0; a < COUNT(arches); a++)
			for (uint32_t nr = 0; nr < 600; nr++) {
				const struct sc_data data = { .nr = (int32_t)nr,
							      .arch = arches[a] };
				bool asked = (nr == SYS_connect && what & ASK_CONNECT) ||
					     (is_metadata(nr) && what & ASK_METADATA);
				uint32_t want = asked && a == 0 ? SC_RET_USER_NOTIF : SC_RET_ALLOW;

				if (bpf_sim_run(program.insns, program.len, &data).action != want)
					fail_msg("what %u, arch %zu, call %u", what, a, nr);
			}
	}
}

/* What a socket's close waits for is the parent's business too, since its own may be the last. */
static void a_lingering_close_is_asked_about(void **state)
{
	static const struct {
		uint64_t level;
		uint64_t name;
		bool asked;
	} rows[] = {
		{ SOL_SOCKET, SO_LINGER, true },
		{ SOL_SOCKET | 1ULL << 32, SO_LINGER | 5ULL << 32, true },
		{ SOL_SOCKET, SO_KEEPALIVE, false },
		{ IPPROTO_TCP, SO_LINGER, false },
		{ 0, SO_LINGER, false },
		{ SO_LINGER, SOL_SOCKET, false },
	};

	(void)state;
	for (unsigned what = 1; what <= (ASK_CONNECT | ASK_METADATA); what++) {
		struct sc_insn insns[ASK_INSNS_MAX];
		struct sc_program program;

		ask_program(what, insns, &program);
		for (size_t i = 0; i < COUNT(rows); i++) {
			const struct sc_data data = { .nr = SYS_setsockopt,
						      .arch = SC_ARCH_NATIVE,
						      .args = { 3, rows[i].level, rows[i].name } };
			bool asked = rows[i].asked && what & ASK_CONNECT;

			assert_int_equal(bpf_sim_run(program.insns, program.len, &data).action,
					 asked ? SC_RET_USER_NOTIF : SC_RET_ALLOW);
		}
	}
}

/* ---- the launch ---- */

#define POLICY(net, port)                                           \
	"{\"ro\":[\"/b\"],\"net\":\"" net "\",\"proxy_port\":" port \
	",\"broker_socket\":\"/s\",\"exe\":\"/usr/py\"}"

static const struct fake_file files[] = {
	{ "/b/main", NODE_FILE, "", 0, 0 },
	{ "/dev/null", NODE_CHAR, NULL, 1, 3 },
	{ "/policy.json", NODE_FILE, POLICY("egress-allowlist", "3128"), 0, 0 },
	{ "/s", NODE_SOCKET, NULL, 0, 0 },
	{ "/usr/py", NODE_FILE, "", 0, 0 },
	{ NULL, NODE_OTHER, NULL, 0, 0 },
};

static struct fake_process p;
static struct launch l;

static int launch(const char *supervisor, int abi, unsigned fail_call, int error, struct fault *why)
{
	static char *argv[] = { "/usr/py", NULL };
	static char *env[4];

	fake_process(&p, files, abi);
	fake_inherit(&p, 4, NODE_FIFO);
	fake_inherit(&p, 5, NODE_SOCKET);
	p.fail_call = fail_call;
	p.fail_error = error;
	env[0] = "OARBANK_CONFINED=4";
	env[1] = (char *)supervisor;
	env[2] = NULL;
	memset(&l, 0, offsetof(struct launch, text));
	l.policy_path = "/policy.json";
	l.argv = argv;
	l.envp = env;
	return launch_run(&p.kernel, &l, why);
}

static void the_listener_is_given_before_the_byte(void **state)
{
	struct fault why;

	(void)state;
	launch("OARBANK_SUPERVISOR=fd:5", 11, 0, 0, &why);
	assert_true(p.executed);
	assert_int_equal(p.given_to, 5);
	assert_true(p.killable);
	assert_ptr_equal(p.filter, filter_program(l.plan.filter));
	assert_int_equal(p.asking.len, 11);
	assert_true(fake_call(&p, "seccomp") < fake_call(&p, "send_descriptor"));
	assert_true(fake_call(&p, "ll_restrict") < fake_call(&p, "send_descriptor"));
	assert_true(text_starts(p.calls[fake_call(&p, "send_descriptor") + 2], "write "));
	assert_string_equal(p.told, "1");
	assert_int_equal(fake_open_count(&p), 0);
	assert_null(p.exec_envp[0]);
}

static void then_the_ruleset_lets_nothing_be_connected(void **state)
{
	struct fault why;

	(void)state;
	launch("OARBANK_SUPERVISOR=fd:5", 11, 0, 0, &why);
	assert_int_equal(p.port, 0);
	assert_true(p.ruleset.handled_net & LL_NET_CONNECT_TCP);
	assert_int_equal(fake_rights(&p, "/s"), 0);
	/* So no ABI with rules for ports is needed. */
	launch("OARBANK_SUPERVISOR=fd:5", 3, 0, 0, &why);
	assert_true(p.executed);
	launch("OARBANK_SUPERVISOR=fd:5", 2, 0, 0, &why);
	assert_false(p.executed);
}

static void nobody_is_asked_without_the_variable(void **state)
{
	struct fault why;

	(void)state;
	launch(NULL, 11, 0, 0, &why);
	assert_true(p.executed);
	assert_null(p.asking.insns);
	assert_int_equal(p.port, 3128);
}

static void an_older_kernel_has_a_listener_too(void **state)
{
	struct fault why = { "" };
	struct ask ask = { 5, ASK_CONNECT };

	(void)state;
	fake_process(&p, files, 11);
	fake_inherit(&p, 5, NODE_SOCKET);
	p.old_seccomp = true;
	p.no_new_privs = true;
	assert_int_equal(ask_parent(&p.kernel, &ask, &why), 0);
	assert_false(p.killable);
	assert_int_equal(p.given_to, 5);
}

static void a_launch_that_cannot_ask_ends(void **state)
{
	static const char *const values[] = { "OARBANK_SUPERVISOR=fd:6", "OARBANK_SUPERVISOR=fd:4",
					      "OARBANK_SUPERVISOR=x" };
	static const int errors[] = { EPERM, EINVAL, EMFILE, ENOMEM, EBUSY, EPIPE };
	struct fault why;
	unsigned first;
	unsigned last;

	(void)state;
	for (size_t i = 0; i < COUNT(values); i++) {
		launch(values[i], 11, 0, 0, &why);
		if (p.executed)
			fail_msg("%s", values[i]);
	}
	launch("OARBANK_SUPERVISOR=fd:5", 11, 0, 0, &why);
	last = fake_call(&p, "send_descriptor") + 2;
	first = last - 3;
	assert_true(text_starts(p.calls[first - 1], "seccomp"));
	for (size_t e = 0; e < COUNT(errors); e++)
		for (unsigned n = first; n <= last; n++) {
			launch("OARBANK_SUPERVISOR=fd:5", 11, n, errors[e], &why);
			/* The first attempt may be one flag too many. */
			if (p.executed != (n == first && errors[e] == EINVAL))
				fail_msg("%s: %d", p.calls[n - 1], errors[e]);
			if (p.executed)
				assert_int_equal(p.given_to, 5);
			else
				assert_true(text_starts(why.text, "ask: "));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_variable_is_taken),
		cmocka_unit_test(it_is_there_once_or_not_at_all),
		cmocka_unit_test(only_what_is_to_be_asked_is_asked),
		cmocka_unit_test(a_lingering_close_is_asked_about),
		cmocka_unit_test(the_listener_is_given_before_the_byte),
		cmocka_unit_test(then_the_ruleset_lets_nothing_be_connected),
		cmocka_unit_test(nobody_is_asked_without_the_variable),
		cmocka_unit_test(an_older_kernel_has_a_listener_too),
		cmocka_unit_test(a_launch_that_cannot_ask_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
