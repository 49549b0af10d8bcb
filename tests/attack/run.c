/* Running attempts: one in a child, or all of a profile in one confined process. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/fault.h"

#define SECONDS_MAX 3

/* ---- an answer as an exit code: 0, an errno, 200 and a signal, or 255 ---- */

int answer_code(int answer)
{
	if (answer == BROKEN)
		return 255;
	return answer <= KILLED(0) ? 200 - (answer - KILLED(0)) : -answer;
}

int code_answer(int code)
{
	if (code == 255)
		return BROKEN;
	return code > 200 ? KILLED(code - 200) : -code;
}

const char *answer_text(int answer, char buf[32])
{
	char name[ERRNO_NAME_MAX];

	if (answer == 0)
		return "success";
	if (answer == BROKEN)
		return "broken";
	if (answer <= KILLED(0))
		snprintf(buf, 32, "signal %d", KILLED(0) - answer);
	else
		snprintf(buf, 32, "%s", errno_name(-answer, name));
	return buf;
}

int status_answer(int status)
{
	if (WIFSIGNALED(status))
		return KILLED(WTERMSIG(status));
	return WIFEXITED(status) ? code_answer(WEXITSTATUS(status)) : BROKEN;
}

/* ---- one ---- */

int wait_answer(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return BROKEN;
	return status_answer(status);
}

int attempt_run(const struct stage *s, const struct row *row)
{
	alarm(SECONDS_MAX);
	return row->run(s, row->arg);
}

/* ---- many ---- */

#define NR_CLOSE_RANGE 436	/* newer than some C libraries' list */
#define UNDER_WAY (MISSING + 1) /* for an answer: the attempt has begun */

struct batch {
	const struct stage *stage;
	struct answer *list; /* shared with the children */
	size_t count;
};

/* Nothing of an attempt reaches the next: not its descriptors, not where it stands. */
static bool tidy(const struct stage *s)
{
	return syscall(NR_CLOSE_RANGE, STDERR_FILENO + 1, ~0U, 0) == 0 &&
	       chdir(place_path(s, WORK)) == 0;
}

/* Try rows from `first` on, as many as one process may. */
static void try_rows(const struct batch *b, size_t first)
{
	for (size_t i = first; i < b->count; i++) {
		struct answer *a = &b->list[i];

		a->answer = UNDER_WAY;
		a->answer = attempt_run(b->stage, row_at(a->row));
		if (!row_leaves_process(a->row, a->answer) || !tidy(b->stage))
			break;
	}
	_exit(0);
}

/* Where an attempt ended its process, be it by executing another, how that ended is the answer. */
static void try_all(const struct batch *b)
{
	size_t i = 0;

	while (i < b->count) {
		size_t first = i;
		pid_t pid = fork();
		int how;

		if (pid == 0)
			try_rows(b, first);
		how = pid < 0 ? BROKEN : wait_answer(pid);
		while (i < b->count && b->list[i].answer > UNDER_WAY)
			i++;
		if (i < b->count && (i == first || b->list[i].answer == UNDER_WAY))
			b->list[i++].answer = how;
	}
}

int batch_main(const struct stage *s, enum profile profile, bool terminal)
{
	size_t size = ROWS_MAX * sizeof(struct answer);
	struct batch b = { .stage = s };
	const struct row *row;

	b.list = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b.list == MAP_FAILED)
		return 1;
	/* A mount that a control leaves behind goes with this process. */
	if (profile == PROFILE_COUNT && geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	for (size_t i = 0; i < ROWS_MAX && (row = row_at(i)); i++)
		if (row_is_in_batch(s, row, profile, terminal))
			b.list[b.count++] = (struct answer){ (uint32_t)i, MISSING };
	try_all(&b);
	size = b.count * sizeof(struct answer);
	return write(STDOUT_FILENO, b.list, size) == (ssize_t)size ? 0 : 1;
}

/* ---- for the attempts ---- */

int broken(const char *what)
{
	char name[ERRNO_NAME_MAX];

	dprintf(STDERR_FILENO, "# broken: %s: %s\n", what, errno_name(errno, name));
	return BROKEN;
}

int answer(long result)
{
	return result < 0 ? -errno : (int)result;
}

int answer_zero(long result)
{
	return result < 0 ? -errno : 0;
}

int answer_fd(int fd)
{
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int try_syscall(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_zero(syscall(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5], arg[6]));
}

int exec_do(const char *path, const char *what)
{
	char *const argv[] = { (char *)path, (char *)"do", (char *)what, NULL };

	execv(path, argv);
	return -errno;
}
