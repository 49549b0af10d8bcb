#include "probe/trial/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/text.h"
#include "probe/clock.h"
#include "probe/trial/host.h"

#define TIMEOUT_MS_DEFAULT 1000
/* For all of it: wire.md §2.1 gives a report 20 s. */
#define TOTAL_MS 12000
#define DEATH_MS 1000

static void impossible(struct trial_facts *f, const char *a, const char *b)
{
	struct text t = TEXT_BUF(f->why);

	text_add(&t, a);
	text_add(&t, b);
	f->state = TRIALS_IMPOSSIBLE;
}

/* Each side of a pipe in the process that needs it. */
struct line {
	int theirs;
	int ours;
};

/* The host sees by the end of `alive` that we are gone; we see by the end of `done` that it is. */
static pid_t start_host(struct trial_board *board, struct line *alive, struct line *done)
{
	int a[2];
	int d[2];
	pid_t pid;

	if (pipe2(a, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(d, O_CLOEXEC) < 0) {
		int err = errno;

		close(a[0]);
		close(a[1]);
		return -err;
	}
	pid = fork();
	if (pid == 0) {
		close(a[1]);
		close(d[0]);
		trial_host(board, a[0], d[1]);
		_exit(0);
	}
	*alive = (struct line){ a[0], a[1] };
	*done = (struct line){ d[1], d[0] };
	close(alive->theirs);
	close(done->theirs);
	if (pid < 0) {
		int err = errno;

		close(alive->ours);
		close(done->ours);
		return -err;
	}
	return pid;
}

static bool closes_within(int fd, uint32_t ms)
{
	uint64_t deadline = clock_micros() + (uint64_t)ms * 1000;

	for (;;) {
		uint64_t now = clock_micros();
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int r;

		if (now >= deadline)
			return false;
		r = poll(&p, 1, (int)((deadline - now + 999) / 1000));
		if (r > 0)
			return true;
		if (r < 0 && errno != EINTR)
			return false;
	}
}

static void run_host(struct trial_board *board)
{
	struct trial_facts *f = &board->trials;
	struct line alive = { -1, -1 };
	struct line done = { -1, -1 };
	int status = 0;
	pid_t pid = start_host(board, &alive, &done);
	bool ended;

	if (pid < 0) {
		char name[ERRNO_NAME_MAX];

		impossible(f, "start a process for the trials: ", errno_name(-pid, name));
		return;
	}
	ended = closes_within(done.ours, TOTAL_MS);
	/* It cleans up when we let go of the line, and is ended only if it does not. */
	close(alive.ours);
	if (!ended && !closes_within(done.ours, DEATH_MS))
		kill(pid, SIGKILL);
	close(done.ours);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	trial_remove_leaf(board);
	leaf_step_back(board->k, &board->aside);
	stage_remove(board->dir);
	if (!ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		impossible(f,
			   ended ? "the trials' process ended early"
				 : "the trials took too long and were ended",
			   "");
}

static const char *no_sandbox(const struct facts *facts)
{
	if (facts->landlock.state != LANDLOCK_PRESENT)
		return "there is no Landlock to try";
	if (facts->seccomp.mode.answer != ANSWER_YES)
		return "there is no seccomp to try";
	return NULL;
}

void trials_run(const struct kernel *k, const struct trials_options *options, struct facts *facts)
{
	const char *reason = no_sandbox(facts);
	uint64_t start = clock_micros();
	struct trial_board *board;

	facts->trials = (struct trial_facts){ .supervised = options->supervised };
	if (reason) {
		impossible(&facts->trials, reason, "");
		return;
	}
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (board == MAP_FAILED) {
		char name[ERRNO_NAME_MAX];

		impossible(&facts->trials,
			   "share memory with the trials: ", errno_name(errno, name));
		return;
	}
	board->k = k;
	board->trials.supervised = options->supervised;
	board->report = getpid();
	board->wire_only = options->wire_only;
	board->abi = (uint32_t)facts->landlock.abi.value;
	board->timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS_DEFAULT;
	run_host(board);
	facts->trials = board->trials;
	facts->trials.micros = (uint32_t)(clock_micros() - start);
	munmap(board, sizeof(*board));
}
