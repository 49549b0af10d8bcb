#include "tests/fake/attempt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/fault.h"
#include "launch/filter/filter.h"

int attempt_outcome(long result)
{
	return result < 0 ? errno : 0;
}

static int load(struct filter_choice choice)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_seccomp, SC_SET_MODE_FILTER, 0, filter_program(choice)) < 0 ? -errno : 0;
}

#define NO_FILTER (-1)

/* What the attempt comes to in a child, under the filter of a choice. */
static int outcome_in_child(const struct attempt *attempt, int choice, void (*fresh)(void))
{
	int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, result;
	pid_t pid;

	if (shared == MAP_FAILED)
		abort();
	*shared = ATTEMPT_KILLED; /* by signal 0: it never said */
	if (fresh)
		fresh();
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		if (choice != NO_FILTER && load(filter_choice_at((unsigned)choice)) < 0)
			_exit(1);
		*shared = attempt->run();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	/* A child that the attempt made for us. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	result = WIFSIGNALED(status) ? ATTEMPT_KILLED + WTERMSIG(status) : *shared;
	munmap(shared, sizeof(*shared));
	return result;
}

static const char *say(int result, char buf[48])
{
	char name[ERRNO_NAME_MAX];

	if (result >= ATTEMPT_KILLED)
		snprintf(buf, 48, "signal %d", result - ATTEMPT_KILLED);
	else
		snprintf(buf, 48, "%s", result ? errno_name(result, name) : "success");
	return buf;
}

/* Returns 1 when it failed. */
static int judge(const struct attempt *attempt, void (*fresh)(void))
{
	int control = outcome_in_child(attempt, NO_FILTER, fresh);
	char got[48], want[48];

	if (control != attempt->control) {
		printf("ok - %s # SKIP without the filter: %s\n", attempt->name, say(control, got));
		return 0;
	}
	for (int choice = 0; choice < FILTER_CHOICES; choice++) {
		if (!(attempt->in & 1U << choice))
			continue;
		int result = outcome_in_child(attempt, choice, fresh);
		if (result != attempt->want) {
			printf("not ok - %s, choice %d: %s, not %s\n", attempt->name, choice,
			       say(result, got), say(attempt->want, want));
			return 1;
		}
	}
	printf("ok - %s: %s\n", attempt->name, say(attempt->want, want));
	return 0;
}

int attempts_judge(const struct attempt *attempts, size_t count, void (*fresh)(void))
{
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < count; i++)
		failed += judge(&attempts[i], fresh);
	return failed;
}
