#include "probe/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/text.h"
#include "probe/clock.h"
#include "probe/probes.h"

#define TIMEOUT_MS_DEFAULT 2000
/* How long a killed child may take to go; one stuck in the kernel is left behind. */
#define DEATH_MS 500
/* No single wait counts for more: while this process is stopped, the child may be stopped too. */
#define SLICE_MICROS 50000

/* Lives in memory that parent and child share. */
struct board {
	struct facts facts;
	uint32_t current; /* the probe that is running */
};

struct run {
	const struct kernel *k;
	const struct gather_options *options;
	struct board *board;
};

static void run_seccomp(const struct run *r)
{
	probe_seccomp(r->k, &r->board->facts.seccomp);
}

static void run_landlock(const struct run *r)
{
	probe_landlock(r->k, &r->board->facts.landlock);
}

static void run_host(const struct run *r)
{
	probe_host(r->k, r->options->home, &r->board->facts.host);
}

static void run_cgroup(const struct run *r)
{
	probe_cgroup(r->k, &r->board->facts.cgroup);
}

static void run_gpu(const struct run *r)
{
	probe_gpu(r->k, &r->board->facts.gpu);
}

static void run_settings(const struct run *r)
{
	probe_settings(r->k, &r->board->facts.settings);
}

static void run_engine(const struct run *r)
{
	probe_engine(r->k, &r->board->facts.engine);
}

static void run_net(const struct run *r)
{
	probe_net(r->k, &r->board->facts.net);
}

static void run_bpf(const struct run *r)
{
	probe_bpf(r->k, &r->board->facts.bpf);
}

#define MEMBER(m) .offset = offsetof(struct facts, m), .size = sizeof(((struct facts *)0)->m)

static const struct probe_row {
	const char *name;
	void (*run)(const struct run *r);
	size_t offset; /* of its member in struct facts */
	size_t size;
} probe_rows[PROBE_COUNT] = {
	[PROBE_SECCOMP] = { .name = "seccomp", .run = run_seccomp, MEMBER(seccomp) },
	[PROBE_LANDLOCK] = { .name = "landlock", .run = run_landlock, MEMBER(landlock) },
	[PROBE_HOST] = { .name = "host", .run = run_host, MEMBER(host) },
	[PROBE_CGROUP] = { .name = "cgroup", .run = run_cgroup, MEMBER(cgroup) },
	[PROBE_GPU] = { .name = "gpu", .run = run_gpu, MEMBER(gpu) },
	[PROBE_SETTINGS] = { .name = "settings", .run = run_settings, MEMBER(settings) },
	[PROBE_ENGINE] = { .name = "engine", .run = run_engine, MEMBER(engine) },
	[PROBE_NET] = { .name = "net", .run = run_net, MEMBER(net) },
	[PROBE_BPF] = { .name = "bpf", .run = run_bpf, MEMBER(bpf) },
};

const char *probe_name(enum probe_id id)
{
	return probe_rows[id].name;
}

static bool is_undecided(const struct run *r, uint32_t id)
{
	return (r->options->want & PROBE_BIT(id)) &&
	       r->board->facts.outcomes[id].outcome == OUTCOME_NOT_RUN;
}

/* The first probe that is wanted and not decided yet, or PROBE_COUNT. */
static uint32_t next_probe(const struct run *r)
{
	uint32_t id = 0;

	while (id < PROBE_COUNT && !is_undecided(r, id))
		id++;
	return id;
}

/* In the child: run what is wanted and not yet decided, in the table's order. */
static void run_all(const struct run *r)
{
	struct probe_outcome *outcomes = r->board->facts.outcomes;

	for (uint32_t id = 0; id < PROBE_COUNT; id++) {
		uint64_t start = clock_micros();

		if (!is_undecided(r, id))
			continue;
		__atomic_store_n(&r->board->current, id, __ATOMIC_RELEASE);
		probe_rows[id].run(r);
		outcomes[id].micros = (uint32_t)(clock_micros() - start);
		outcomes[id].outcome = OUTCOME_DONE;
	}
}

/* The child's end closes the pipe that the parent waits on. The child dies with its parent, where a
 * filter lets it ask for that. A caller that ignores SIGCHLD would have the probes' own children
 * gone before anybody asks how they ended. A child that a filter kills must not leave a core file.
 */
static pid_t start_child(const struct run *r, int *ret_end)
{
	const struct rlimit no_core = { 0, 0 };
	pid_t parent = getpid();
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0) {
		int err = errno;

		close(ends[0]);
		close(ends[1]);
		return -err;
	}
	if (pid == 0) {
		close(ends[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != parent)
			_exit(1);
		signal(SIGCHLD, SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
		run_all(r);
		_exit(0);
	}
	close(ends[1]);
	*ret_end = ends[0];
	return pid;
}

/* Wait until the pipe closes, or for `ms` without it. Returns whether it closed. */
static bool closes_within(int end, uint32_t ms)
{
	uint64_t left = (uint64_t)ms * 1000;

	while (left > 0) {
		uint64_t slice = left < SLICE_MICROS ? left : SLICE_MICROS;
		struct pollfd p = { .fd = end, .events = POLLIN };
		uint64_t start = clock_micros();
		uint64_t passed;

		if (poll(&p, 1, (int)((slice + 999) / 1000)) > 0)
			return true;
		passed = clock_micros() - start;
		left -= passed < slice ? passed : slice;
	}
	return false;
}

/* What became of a child. */
enum end {
	END_UNSEEN, /* somebody else waits for the children of this process */
	END_KILLED, /* for being late */
	END_SEEN,   /* with a wait status */
};

static enum end child_ends(const struct run *r, pid_t pid, int end, int *ret_status)
{
	uint32_t timeout = r->options->timeout_ms ? r->options->timeout_ms : TIMEOUT_MS_DEFAULT;
	bool hung = false;
	pid_t reaped;

	for (;;) {
		uint32_t before = __atomic_load_n(&r->board->current, __ATOMIC_ACQUIRE);

		if (closes_within(end, timeout))
			break;
		if (before == __atomic_load_n(&r->board->current, __ATOMIC_ACQUIRE)) {
			hung = true;
			kill(pid, SIGKILL);
			if (!closes_within(end, DEATH_MS))
				return END_KILLED;
			break;
		}
	}
	do
		reaped = waitpid(pid, ret_status, 0);
	while (reaped < 0 && errno == EINTR);
	return hung ? END_KILLED : reaped == pid ? END_SEEN : END_UNSEEN;
}

static void say_ended(struct text *why, int status)
{
	if (!WIFSIGNALED(status)) {
		text_add(why, "its process ended early, with ");
		text_add_int(why, WEXITSTATUS(status));
		return;
	}
	text_add(why, "crashed: signal ");
	text_add_int(why, WTERMSIG(status));
	if (WTERMSIG(status) == SIGSYS)
		text_add(why, " (SIGSYS: a filter around this process forbids a call it made)");
}

/* The running probe took its child down: what it wrote so far is not to be believed. */
static void lose(const struct run *r, uint32_t id, enum end end, int status)
{
	struct probe_outcome *outcome = &r->board->facts.outcomes[id];
	struct text why = TEXT_BUF(outcome->why);

	memset((char *)&r->board->facts + probe_rows[id].offset, 0, probe_rows[id].size);
	outcome->outcome = OUTCOME_LOST;
	switch (end) {
	case END_UNSEEN:
		text_add(&why, "its process ended early");
		break;
	case END_KILLED:
		text_add(&why, "did not answer in ");
		text_add_int(&why,
			     r->options->timeout_ms ? r->options->timeout_ms : TIMEOUT_MS_DEFAULT);
		text_add(&why, " ms and was ended");
		break;
	case END_SEEN:
		say_ended(&why, status);
		break;
	}
}

/* Each turn decides at least the probe it starts with, so this ends. */
static int gather(const struct run *r, struct fault *why)
{
	while (next_probe(r) < PROBE_COUNT) {
		enum end how;
		int status = 0;
		pid_t pid;
		int end = -1;

		r->board->current = next_probe(r);
		pid = start_child(r, &end);
		if (pid < 0)
			return fault_errno(why, "start a process for the probes", NULL, -pid);
		how = child_ends(r, pid, end, &status);
		close(end);
		if (is_undecided(r, r->board->current))
			lose(r, r->board->current, how, status);
	}
	return 0;
}

int facts_gather(const struct kernel *k, const struct gather_options *options, struct facts **ret,
		 struct fault *why)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct run r = { .k = k, .options = options, .board = board };
	int err;

	if (board == MAP_FAILED)
		return fault_errno(why, "share memory with the probes", NULL, errno);
	/* A filter around us may refuse it. Then a probe that hangs could not be told. */
	if (poll(NULL, 0, 0) < 0) {
		err = fault_errno(why, "wait for the probes", NULL, errno);
		munmap(board, sizeof(*board));
		return err;
	}
	err = gather(&r, why);
	if (err < 0) {
		munmap(board, sizeof(*board));
		return err;
	}
	*ret = &board->facts;
	return 0;
}

void facts_free(struct facts *facts)
{
	_Static_assert(offsetof(struct board, facts) == 0, "facts start the board");
	if (facts)
		munmap(facts, sizeof(struct board));
}
