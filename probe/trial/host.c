#include "probe/trial/host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/procstat.h"
#include "kabi/text.h"
#include "probe/clock.h"
#include "probe/trial/confine.h"
#include "probe/trial/needs.h"
#include "probe/trial/parent.h"
#include "probe/trial/trial.h"

/* How long a killed child may take to go; one stuck in the kernel is left behind. */
#define DEATH_MS 500
#define WAITING_TIMES 5 /* as much time for who waits for other processes */
#define LATE_TIMES 4	/* and for who waits for the processor */
#define EXIT_REFUSED 3
/* In a child that makes trials. */
#define END_FD 3
#define PARENT_FD 4

static const struct trial_grants grants_of[TRIAL_GROUP_COUNT] = {
	[TRIAL_GROUP_PLAIN] = { 0 },
	[TRIAL_GROUP_EGRESS] = { .egress = true },
	[TRIAL_GROUP_BROKER] = { .broker = true },
	[TRIAL_GROUP_GRANTS] = { .exec_rw = true, .gpu = true },
};

/* The attempts of one child: those of one group in its sandbox, or all of them without one. */
struct side {
	struct trial_board *board;
	struct stage *stage;
	bool confined;
	bool last; /* the confined ones have been made */
	enum trial_group group;
	int alive;
	struct trial_parent *parent; /* of the child that is running */
};

static struct trial_run *run_of(const struct side *side, size_t number)
{
	struct trial_fact *fact = &side->board->trials.of[number];

	return side->confined ? &fact->confined : &fact->control;
}

/* Denials have their controls first, before anything that is broken can change the stage; what was
 * to succeed has one at last, if it did not.
 */
static bool wants_control(const struct side *side, size_t number)
{
	const struct trial *trial = trial_at(number);

	if (trial->expect == TRIAL_DENIED)
		return true;
	return side->last && trial_needs_control(trial, &side->board->trials.of[number].confined);
}

static bool wants(const struct side *side, size_t number)
{
	if (run_of(side, number)->end != TRIAL_NEVER ||
	    (side->board->wire_only && !capability_rows[trial_at(number)->capability].on_wire))
		return false;
	return side->confined ? trial_at(number)->group == side->group
			      : wants_control(side, number);
}

static bool wants_any(const struct side *side)
{
	for (size_t i = 0; i < trial_count(); i++)
		if (wants(side, i))
			return true;
	return false;
}

/* ---- in the child ---- */

static void attempt(const struct side *side, size_t number)
{
	const struct trial *trial = trial_at(number);
	struct trial_run *run = run_of(side, number);
	uint64_t start = clock_micros();

	__atomic_store_n(&side->board->current, (uint32_t)number, __ATOMIC_RELEASE);
	run->value = trial->attempt(side->stage, trial);
	run->micros = (uint32_t)(clock_micros() - start);
	__atomic_store_n(&run->end, TRIAL_RETURNED, __ATOMIC_RELEASE);
}

/* A TCP socket whose connections do not leave the node. No module can make one itself. */
static int near_socket(void)
{
	const struct linger reset = { 1, 0 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2) == 0)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

/* What a module has: no descriptors but those given. `end` is kept, it tells the parent that we are
 * gone.
 */
static int prepare(const struct side *side, int end)
{
	struct stage *s = side->stage;
	int parent = side->parent->theirs;
	int first = END_FD + 1;
	int pair[2];

	/* The higher one first, so that neither is overwritten. */
	if (parent >= 0) {
		parent = fcntl(parent, F_DUPFD, PARENT_FD);
		first = PARENT_FD + 1;
	}
	if (dup2(end, END_FD) < 0 || (first > PARENT_FD && dup2(parent, PARENT_FD) < 0) ||
	    s->k->close_range(s->k, (unsigned)first, ~0U, 0) < 0)
		return -errno;
	fcntl(END_FD, F_SETFD, FD_CLOEXEC);
	if (first > PARENT_FD)
		fcntl(PARENT_FD, F_SETFD, FD_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	s->fd = pair[0];
	s->near[0] = near_socket();
	s->near[1] = near_socket();
	s->file = open(STAGE_PATH(s, PLACE_BUNDLE, STAGE_DATA), O_RDONLY | O_CLOEXEC);
	return s->file < 0 ? -errno : 0;
}

static int enter(const struct side *side)
{
	char *refused = side->board->trials.refused[side->group];
	struct fault why;

	side->stage->contained = side->group == TRIAL_GROUP_CONTAINER;
	if (side->stage->contained)
		return 0;
	if (trial_confine(side->stage, &grants_of[side->group],
			  side->parent->theirs < 0 ? -1 : PARENT_FD, &why) == 0)
		return 0;
	text_copy(refused, FACTS_LINE_MAX, why.text);
	return EXIT_REFUSED;
}

static int try_all(const struct side *side, int end, pid_t host)
{
	sigset_t none;
	int code;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != host)
		return 1;
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prepare(side, end) < 0)
		return 1;
	code = side->confined ? enter(side) : 0;
	for (size_t i = 0; code == 0 && i < trial_count(); i++)
		if (wants(side, i))
			attempt(side, i);
	return code;
}

/* ---- in the host ---- */

enum wait_end {
	WAIT_ENDED,
	WAIT_HUNG,
	WAIT_ABANDONED, /* the report is gone: nobody waits for the answers */
};

/* Wait until `end` closes, for `ms`. */
static enum wait_end wait_for(int end, const struct side *side, uint32_t ms)
{
	uint64_t deadline = clock_micros() + (uint64_t)ms * 1000;

	for (;;) {
		uint64_t now = clock_micros();
		struct pollfd p[3] = { { .fd = end, .events = POLLIN },
				       { .fd = side->alive, .events = POLLIN },
				       { .fd = trial_parent_fd(side->parent), .events = POLLIN } };

		if (now >= deadline)
			return WAIT_HUNG;
		if (poll(p, 3, (int)((deadline - now + 999) / 1000)) <= 0)
			continue;
		if (p[2].revents)
			trial_parent_serve(side->parent);
		if (p[0].revents)
			return WAIT_ENDED;
		if (p[1].revents)
			return WAIT_ABANDONED;
	}
}

/* A trial of containers waits for other processes in its turn, and so does the way to the first
 * one.
 */
static uint32_t time_of(const struct side *side, uint32_t number)
{
	bool alone = number < trial_count() && trial_at(number)->group != TRIAL_GROUP_CONTAINER;

	return side->board->timeout_ms * (alone ? 1 : WAITING_TIMES);
}

/* Who wants the processor, and does not get it, is not hung. */
static bool wants_processor(const struct side *side, pid_t pid)
{
	struct proc_stat s;

	return proc_stat_read(side->board->k, pid, &s) == 0 && s.state == 'R';
}

/* Each trial has its time, from about when it began. */
static enum wait_end wait_for_child(const struct side *side, pid_t pid, int end)
{
	uint32_t number = UINT32_MAX;
	uint64_t since = clock_micros();
	unsigned late = 0;

	for (;;) {
		enum wait_end how = wait_for(end, side, (side->board->timeout_ms + 3) / 4);
		uint32_t now = __atomic_load_n(&side->board->current, __ATOMIC_ACQUIRE);

		if (how != WAIT_HUNG)
			return how;
		if (now != number)
			late = 0;
		else if (clock_micros() - since < (uint64_t)time_of(side, now) * 1000)
			continue;
		else if (++late == LATE_TIMES || !wants_processor(side, pid))
			return how;
		number = now;
		since = clock_micros();
	}
}

/* The child, and what it may have started. */
static void end_child(pid_t pid, int end, const struct side *side, int *ret_status)
{
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	wait_for(end, side, DEATH_MS);
	while (waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		;
	/* Orphans come to us, the subreaper. The victim stays. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* The trial that was running when the child ended is lost. */
static void lose_current(const struct side *side, enum wait_end how, int status)
{
	uint32_t number = side->board->current;
	struct trial_run *run;

	if (number >= trial_count() || !wants(side, number))
		return;
	run = run_of(side, number);
	run->end = how == WAIT_HUNG ? TRIAL_HUNG : TRIAL_KILLED;
	run->value = how == WAIT_HUNG ? 0 : WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static pid_t start_child(const struct side *side, int *ret_end)
{
	pid_t host = getpid();
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (side->confined && side->board->trials.supervised &&
	    side->group != TRIAL_GROUP_CONTAINER &&
	    trial_parent_begin(side->parent, side->stage, &grants_of[side->group]) < 0) {
		close(ends[0]);
		close(ends[1]);
		return -EAGAIN;
	}
	/* No trial: a child that ends before its first must not cost one. */
	__atomic_store_n(&side->board->current, UINT32_MAX, __ATOMIC_RELEASE);
	pid = fork();
	if (pid == 0)
		_exit(try_all(side, ends[1], host));
	close(ends[1]);
	trial_parent_started(side->parent);
	if (pid < 0) {
		close(ends[0]);
		return -EAGAIN;
	}
	*ret_end = ends[0];
	return pid;
}

/* Returns false when there is no point in going on. Each turn decides at least one trial. */
static bool run_side(const struct side *side)
{
	while (wants_any(side)) {
		enum wait_end how;
		int status = 0;
		int end = -1;
		pid_t pid = start_child(side, &end);

		if (pid < 0)
			return false;
		how = wait_for_child(side, pid, end);
		end_child(pid, end, side, &status);
		trial_parent_end(side->parent);
		close(end);
		trial_remove_leaf(side->board);
		if (how == WAIT_ABANDONED)
			return false;
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_REFUSED)
			return true;
		if (side->board->current == UINT32_MAX)
			return false;
		lose_current(side, how, status);
	}
	return true;
}

static bool run_groups(struct side *side)
{
	side->confined = true;
	for (int g = 0; g < TRIAL_GROUP_COUNT; g++) {
		side->group = (enum trial_group)g;
		if (!run_side(side))
			return false;
	}
	side->confined = false;
	return true;
}

/* An error that proves nothing may have come of a moment's want of memory or descriptors: it is not
 * held against the sandbox until it comes again. What succeeded stays, and so does what hung.
 */
static void forget_odd_errors(struct trial_board *board)
{
	for (size_t i = 0; i < trial_count(); i++) {
		struct trial_fact *fact = &board->trials.of[i];

		if (fact->confined.end == TRIAL_RETURNED && fact->confined.value < 0 &&
		    trial_judge(trial_at(i), fact, board->abi) == TRIAL_BROKEN)
			fact->confined = (struct trial_run){ 0 };
	}
}

static bool run_sides(struct trial_board *board, struct stage *stage, int alive)
{
	struct trial_parent parent;
	struct side side = { .board = board, .stage = stage, .alive = alive, .parent = &parent };

	trial_parent_init(&parent);
	if (!run_side(&side) || !run_groups(&side))
		return false;
	side.last = true;
	if (!run_side(&side))
		return false;
	forget_odd_errors(board);
	return run_groups(&side);
}

void trial_remove_leaf(struct trial_board *board)
{
	if (board->leaf[0])
		rmdir(board->leaf);
	board->leaf[0] = '\0';
}

void trial_host(struct trial_board *board, int alive, int done)
{
	struct trial_facts *f = &board->trials;
	struct stage stage;
	struct fault why;
	sigset_t all;

	/* What ends the report, such as a key at its terminal, must not end the one that cleans up:
	 * its group is one of the needs.
	 */
	if (trial_needs(&why) < 0) {
		text_copy(f->why, sizeof(f->why), why.text);
		f->state = TRIALS_IMPOSSIBLE;
		return;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	/* What a filter kills leaves no core file, and no handler hears of it: 1, not 0 (core(5)).
	 */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 });
	fcntl(done, F_SETFD, FD_CLOEXEC);
	if (!board->wire_only)
		leaf_step_aside(board->k, board->report, &board->aside);
	if (stage_make(board->k, &stage, board->dir, &why) < 0) {
		leaf_step_back(board->k, &board->aside);
		text_copy(f->why, sizeof(f->why), why.text);
		f->state = TRIALS_IMPOSSIBLE;
		return;
	}
	stage.leaf = board->leaf;
	if (run_sides(board, &stage, alive)) {
		f->state = TRIALS_DONE;
	} else {
		text_copy(f->why, sizeof(f->why), "start a process for the trials: it failed");
		f->state = TRIALS_IMPOSSIBLE;
	}
	stage_close(&stage);
	trial_remove_leaf(board);
	leaf_step_back(board->k, &board->aside);
	stage_remove(stage.dir);
	board->dir[0] = '\0';
}
