/* Running attempts: one in a child, or all of a profile in one confined process. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

struct batch {
	const struct stage *stage;
	enum profile profile;
	struct answer *list; /* shared with the children */
	size_t count;
};

static bool is_together(const struct batch *b, size_t i)
{
	return i < b->count && row_is_together(b->stage, b->list[i].row, b->profile);
}

/* The end of the rows from `first` on that one process may try. */
static size_t end_of(const struct batch *b, size_t first)
{
	size_t end = first + 1;

	while (is_together(b, first) && is_together(b, end))
		end++;
	return end;
}

static void try_rows(const struct batch *b, size_t first, size_t end)
{
	char work[PATH_MAX];

	snprintf(work, sizeof(work), "%s", place_path(b->stage, WORK));
	for (size_t i = first; i < end; i++) {
		b->list[i].answer = attempt_run(b->stage, row_at(b->list[i].row));
		if (end - first > 1 && chdir(work) < 0)
			_exit(answer_code(broken("stand in the work folder")));
	}
	_exit(0);
}

/* The answer of an attempt that ended its process, be it by executing another, is how that ended;
 * the next row has a new one.
 */
static void try_all(const struct batch *b)
{
	size_t i = 0;

	while (i < b->count) {
		size_t end = end_of(b, i);
		pid_t pid = fork();
		int how;

		if (pid == 0)
			try_rows(b, i, end);
		how = pid < 0 ? BROKEN : wait_answer(pid);
		while (i < end && b->list[i].answer != MISSING)
			i++;
		if (i < end)
			b->list[i++].answer = how;
	}
}

int batch_main(const struct stage *s, enum profile profile)
{
	size_t size = ROWS_MAX * sizeof(struct answer);
	struct batch b = { .stage = s, .profile = profile };
	const struct row *row;

	b.list = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b.list == MAP_FAILED)
		return 1;
	/* A mount that a control leaves behind goes with this process. */
	if (profile == PROFILE_COUNT && geteuid() == 0 && unshare(CLONE_NEWNS) == 0)
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	for (size_t i = 0; i < ROWS_MAX && (row = row_at(i)); i++)
		if (!row_is_alone(row) && row_is_for(s, row, profile))
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
