/* What a filter around this process answers is not taken for what the kernel would say. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "kabi/kernel.h"
#include "kabi/machine.h"

#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

#define SKIPPED 250
#define NO_ACTION SECCOMP_RET_ALLOW

/* No right that a normal user lacks is asked for. */
static int ask_unshare(void)
{
	return machine_try_unshare(&kernel_live, 0);
}

static int ask_entry(void)
{
	return machine_try_foreign(&kernel_live, FOREIGN_X32);
}

/* Have system call `nr` answer by `action`. */
static int install(unsigned nr, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Ask behind a filter, in a process of its own. Returns the answer's errno. */
static int asked_behind(int (*ask)(void), unsigned nr, unsigned action)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(action != NO_ACTION && install(nr, action) < 0 ? SKIPPED : -ask());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	return WEXITSTATUS(status);
}

/* How a C library makes a child of this kind. */
#ifdef SYS_vfork
#define CHILD_CALL SYS_vfork
#else
#define CHILD_CALL SYS_clone
#endif

static int ask_access(void)
{
	return kernel_live.access(&kernel_live, "/", R_OK);
}

static int ask_access_without_the_old_call(void)
{
	return install(SYS_faccessat, SECCOMP_RET_ERRNO | EPERM) < 0 ? -SKIPPED : ask_access();
}

/* Filters older than faccessat2 refuse it, and everything else may still be asked. */
static void a_call_too_new_for_a_filter_has_an_older_one(void **state)
{
	(void)state;
	assert_int_equal(asked_behind(ask_access, 0, NO_ACTION), 0);
	assert_int_equal(asked_behind(ask_access, SYS_faccessat2, SECCOMP_RET_ERRNO | EPERM), 0);
	assert_int_equal(asked_behind(ask_access, SYS_faccessat2, SECCOMP_RET_ERRNO | ENOSYS), 0);
	/* "Not permitted" would be a statement about the file. */
	assert_int_equal(asked_behind(ask_access_without_the_old_call, SYS_faccessat2,
				      SECCOMP_RET_ERRNO | EPERM),
			 ENOSYS);
}

static void without_a_child_nothing_was_asked(void **state)
{
	static const unsigned refusals[] = { EPERM, ENOSYS, EAGAIN };

	(void)state;
	assert_int_equal(asked_behind(ask_unshare, 0, NO_ACTION), 0);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		unsigned action = SECCOMP_RET_ERRNO | refusals[i];

		assert_int_equal(asked_behind(ask_unshare, CHILD_CALL, action), ECHILD);
		assert_int_equal(asked_behind(ask_entry, CHILD_CALL, action), ECHILD);
	}
}

static void a_filter_that_answers_is_an_answer(void **state)
{
	(void)state;
	assert_int_equal(asked_behind(ask_unshare, SYS_unshare, SECCOMP_RET_ERRNO | EPERM), EPERM);
	assert_int_equal(asked_behind(ask_unshare, SYS_unshare, SECCOMP_RET_KILL_PROCESS), ENOSYS);
}

static void an_end_that_is_not_seen_is_no_answer(void **state)
{
	(void)state;
	assert_int_equal(asked_behind(ask_unshare, SYS_wait4, SECCOMP_RET_ERRNO | EPERM), ECHILD);
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(machine_try_unshare(&kernel_live, 0), -ECHILD);
	signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_too_new_for_a_filter_has_an_older_one),
		cmocka_unit_test(without_a_child_nothing_was_asked),
		cmocka_unit_test(a_filter_that_answers_is_an_answer),
		cmocka_unit_test(an_end_that_is_not_seen_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
