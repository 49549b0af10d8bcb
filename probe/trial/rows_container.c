/* The container of a module: what leaves the process group is still ended, a freeze stops it,
 * limits hold. The control is the same module without a container; what is tried in the leaf is to
 * go on.
 */
#include "probe/trial/tables.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/trial/leaf.h"
#include "probe/trial/limit.h"
#include "probe/trial/stage.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define END_MS 4000 /* in which what is killed must be gone, and what is asked answers */
#define PAUSE_MS 10
#define STILL_MS 2 /* in which what is not frozen answers, beside another that does */
#define MEMORY_LIMIT (8U << 20)
#define MEMORY_TOUCHED (24U << 20)
#define PIDS_LIMIT 3
#define CPU_MILLI 10
#define CPU_BURNT_MS 25 /* longer than a tick, which is when the kernel looks */
#define WATCH_MS (CPU_BURNT_MS * 4)

/* A module: a process, in a leaf or in none, and pipes to it and from it. It ends when we do. */
struct module {
	const struct stage *stage;
	bool contained;
	int in;	 /* its reading end; ours is `to` */
	int out; /* its writing end; ours is `from` */
	int to;
	int from;
	pid_t leader;
	long arg;
};

typedef int module_main(const struct module *m);

static void run_module(const struct module *m, module_main *run)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setpgid(0, 0) < 0)
		_exit(EIO);
	close(m->to);
	close(m->from);
	_exit(run(m));
}

static int start_pipes(struct module *m)
{
	int in[2];
	int out[2];

	if (pipe(in) < 0)
		return -errno;
	if (pipe(out) < 0) {
		close(in[0]);
		close(in[1]);
		return -EMFILE;
	}
	m->in = in[0];
	m->to = in[1];
	m->from = out[0];
	m->out = out[1];
	return 0;
}

/* `limits` of a leaf; NULL: for a node that has none, and for no other. `needs` is the controllers
 * that the limits take, as bits. What a leaf would need is needed for the control as well, so that
 * a node without leaves has nothing to compare.
 */
static int start_module(const struct stage *s, const struct trial_limits *limits, unsigned needs,
			module_main *run, struct module *m)
{
	int controllers = leaf_controllers(s->k);
	int r;

	*m = (struct module){ .stage = s, .contained = s->contained && limits, .leader = -1 };
	if (limits ? controllers < 0 || ((unsigned)controllers & needs) != needs : controllers >= 0)
		return -EOPNOTSUPP;
	r = start_pipes(m);
	if (r < 0)
		return r;
	if (m->contained)
		r = leaf_begin(s->k, limits, s->leaf);
	if (r == 0)
		m->leader = m->contained ? leaf_fork(s->k) : fork();
	if (m->leader == 0)
		run_module(m, run);
	close(m->in);
	close(m->out);
	if (m->leader > 0)
		return 0;
	close(m->to);
	close(m->from);
	if (r < 0)
		return r;
	if (m->contained)
		leaf_finish(s->k);
	return -EAGAIN;
}

/* Why no module was started. That is never what the trial is about, whatever the error. */
static int not_started(const struct trial *t, int r)
{
	for (int i = 0; i < TRIAL_ERRORS_MAX && t->errors[i]; i++)
		if (r == -(int)t->errors[i])
			return -EBUSY;
	return r;
}

/* Returns the wait status of its leader. */
static int end_module(struct module *m)
{
	int status = 0;

	close(m->to);
	close(m->from);
	kill(-m->leader, SIGKILL);
	kill(m->leader, SIGKILL);
	while (waitpid(m->leader, &status, 0) < 0 && errno == EINTR)
		;
	if (m->contained) {
		leaf_finish(m->stage->k);
		m->stage->leaf[0] = '\0';
	}
	return status;
}

static bool is_readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r;

	do
		r = poll(&p, 1, ms);
	while (r < 0 && errno == EINTR);
	return r > 0;
}

/* ---- leaving the group ---- */

/* Two forks and a session of its own; the one that is left says its number, and ends when we do. */
static int leave_group(const struct module *m)
{
	pid_t self;
	char byte;

	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		self = getpid();
		if (write(m->out, &self, sizeof(self)) == (ssize_t)sizeof(self)) {
			close(m->out);
			while (read(m->in, &byte, 1) < 0 && errno == EINTR)
				;
		}
		_exit(0);
	}
	for (;;)
		pause();
}

/* As it is done with a leaf, without one, and by who only knows the group. */
static int end_as(const struct module *m)
{
	if (m->contained)
		return leaf_end_all(m->stage->k);
	if (m->stage->contained)
		return group_end_all(m->stage->k, getpid(), m->leader);
	return kill(-m->leader, SIGKILL) < 0 ? -errno : 0;
}

/* Returns 0 when it lives on. A search for processes may miss one, and is repeated. One that is
 * gone before was ended by somebody else.
 */
static int outlives(const struct module *m, int gone)
{
	int ms = m->stage->contained ? END_MS : 0;

	if (is_readable(gone, 0))
		return -EIO;
	do {
		int r = end_as(m);

		if (r < 0)
			return r == -ESRCH ? -EIO : r;
		if (is_readable(gone, ms ? PAUSE_MS : 0))
			return -ESRCH;
		ms -= PAUSE_MS;
	} while (ms > 0);
	return 0;
}

/* args: 0 ended by its leaf, 1 by the tree of processes, where there is no leaf */
static int try_escape(const struct stage *s, const struct trial *t)
{
	static const struct trial_limits none;
	struct module m;
	pid_t escaped = 0;
	int gone;
	int r;

	/* What loses its parent comes to us, from the first moment on. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	r = start_module(s, t->args[0] ? NULL : &none, 0, leave_group, &m);
	if (r < 0)
		return not_started(t, r);
	r = -EIO;
	if (is_readable(m.from, END_MS) &&
	    read(m.from, &escaped, sizeof(escaped)) == (ssize_t)sizeof(escaped)) {
		gone = (int)syscall(SYS_pidfd_open, escaped, 0);
		r = gone < 0 ? -EIO : outlives(&m, gone);
		if (gone >= 0)
			close(gone);
	}
	end_module(&m);
	/* By now our end of its pipe is closed, and it ends by itself. */
	if (escaped > 0)
		waitpid(escaped, NULL, 0);
	return r;
}

/* ---- going on while frozen ---- */

static int answer(const struct module *m)
{
	char byte;

	while (read(m->in, &byte, 1) == 1)
		if (write(m->out, &byte, 1) != 1)
			return EIO;
	return 0;
}

static bool answers(const struct module *m, int ms)
{
	char byte = 0;

	return is_readable(m->from, ms) && read(m->from, &byte, 1) == 1;
}

static bool ask(const struct module *m)
{
	return write(m->to, "", 1) == 1;
}

/* Another like it, in no leaf. */
static int start_beside(const struct module *m, struct module *ret)
{
	int r;

	*ret = (struct module){ .stage = m->stage, .leader = -1 };
	r = start_pipes(ret);
	if (r < 0)
		return r;
	ret->leader = fork();
	if (ret->leader == 0)
		run_module(ret, answer);
	close(ret->in);
	close(ret->out);
	if (ret->leader > 0)
		return 0;
	close(ret->to);
	close(ret->from);
	return -EAGAIN;
}

/* Does it answer by the time the other one has, who was asked later? Returns 1, 0 or -errno. */
static int answers_in_turn(const struct module *m, const struct module *other)
{
	if (!ask(m) || !ask(other) || !answers(other, END_MS))
		return -EIO;
	return answers(m, STILL_MS);
}

/* Ask a stopped module; when it goes on it must still be there. */
static int ask_frozen(const struct module *m, const struct module *other)
{
	int answered;

	if (leaf_stop(m->stage->k, true) < 0)
		return -EIO;
	answered = answers_in_turn(m, other);
	if (leaf_stop(m->stage->k, false) < 0 || answered < 0)
		return -EIO;
	if (answered)
		return 0;
	return answers(m, END_MS) ? -ETIMEDOUT : -EIO;
}

static int try_stopping(const struct module *m)
{
	struct module other;
	int r = start_beside(m, &other);

	if (r < 0)
		return r;
	r = ask_frozen(m, &other);
	end_module(&other);
	return r;
}

static int try_frozen(const struct stage *s, const struct trial *t)
{
	static const struct trial_limits none;
	struct module m;
	int r = start_module(s, &none, 0, answer, &m);

	if (r < 0)
		return not_started(t, r);
	if (!ask(&m) || !answers(&m, END_MS))
		r = -EIO;
	else if (m.contained)
		r = try_stopping(&m);
	else
		r = ask(&m) && answers(&m, END_MS) ? 0 : -EIO;
	end_module(&m);
	return r;
}

/* ---- taking more than was given ---- */

static int fork_more(const struct module *m)
{
	char byte;

	for (int i = 0; i < PIDS_LIMIT; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return errno;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			close(m->out);
			while (read(m->in, &byte, 1) < 0 && errno == EINTR)
				;
			_exit(0);
		}
	}
	return 0;
}

static int touch_more(const struct module *m)
{
	char *at = mmap(NULL, MEMORY_TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	(void)m;
	if (at == MAP_FAILED)
		return EIO;
	for (size_t i = 0; i < MEMORY_TOUCHED; i += 4096)
		at[i] = 1;
	return 0;
}

static long cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int burn_more(const struct module *m)
{
	(void)m;
	while (cpu_ms() < CPU_BURNT_MS)
		;
	return 0;
}

/* Let it be at it for as long as it takes to tell what stops it. A limit of CPU time has done so
 * once it struck and there was time for all of it without one.
 */
static int outcome(struct module *m, enum controller controller)
{
	int ended = (int)syscall(SYS_pidfd_open, m->leader, 0);
	bool is_ended = false;
	int64_t struck = 0;
	int status;
	int err;

	if (ended < 0) {
		err = errno;
		end_module(m);
		return err == ESRCH ? -EIO : -err;
	}
	for (int ms = 0; ms < END_MS && !is_ended; ms += WATCH_MS) {
		is_ended = is_readable(ended, WATCH_MS);
		if (m->contained)
			struck = limit_struck(m->stage->k, m->stage->leaf, controller);
		if (controller == CONTROLLER_CPU && struck > 0)
			break;
	}
	close(ended);
	status = end_module(m);
	return limit_judge(is_ended, status, struck);
}

static int try_pids(const struct stage *s, const struct trial *t)
{
	static const struct trial_limits limits = { .pids = PIDS_LIMIT };
	struct module m;
	int r = start_module(s, &limits, 1U << CONTROLLER_PIDS, fork_more, &m);

	return r < 0 ? not_started(t, r) : outcome(&m, CONTROLLER_PIDS);
}

static int try_memory(const struct stage *s, const struct trial *t)
{
	static const struct trial_limits limits = { .memory_bytes = MEMORY_LIMIT };
	struct module m;
	int r = start_module(s, &limits, 1U << CONTROLLER_MEMORY, touch_more, &m);

	return r < 0 ? not_started(t, r) : outcome(&m, CONTROLLER_MEMORY);
}

/* With a hundredth of a CPU it takes 2.5 s for what takes 25 ms; it is not waited for. */
static int try_cpu(const struct stage *s, const struct trial *t)
{
	static const struct trial_limits limits = { .cpu_milli = CPU_MILLI };
	struct module m;
	int r = start_module(s, &limits, 1U << CONTROLLER_CPU, burn_more, &m);

	return r < 0 ? not_started(t, r) : outcome(&m, CONTROLLER_CPU);
}

#define GROUP .group = TRIAL_GROUP_CONTAINER, .expect = TRIAL_DENIED

static const struct trial rows[] = {
	{ .id = "container.escape",
	  .what = "outlive the module after two forks and a new session",
	  .capability = CAPABILITY_PROCESS_CONTAINER,
	  GROUP,
	  .errors = { ESRCH },
	  .core = true,
	  .attempt = try_escape,
	  .args = { 0 } },
	{ .id = "container.escape-sweep",
	  .what = "outlive it where its processes are looked for",
	  .capability = CAPABILITY_PROCESS_CONTAINER,
	  GROUP,
	  .errors = { ESRCH },
	  .attempt = try_escape,
	  .args = { 1 } },
	{ .id = "container.frozen",
	  .what = "go on while frozen",
	  .capability = CAPABILITY_FREEZE,
	  GROUP,
	  .errors = { ETIMEDOUT },
	  .core = true,
	  .attempt = try_frozen },
	{ .id = "container.pids",
	  .what = "make more processes than the limit",
	  .capability = CAPABILITY_LIMITS_PIDS,
	  GROUP,
	  .errors = { EAGAIN },
	  .core = true,
	  .attempt = try_pids },
	{ .id = "container.memory",
	  .what = "take more memory than the limit",
	  .capability = CAPABILITY_LIMITS_MEMORY,
	  GROUP,
	  .errors = { ENOMEM },
	  .core = true,
	  .attempt = try_memory },
	{ .id = "container.cpu",
	  .what = "take more CPU time than the limit",
	  .capability = CAPABILITY_LIMITS_CPU,
	  GROUP,
	  .errors = { ETIMEDOUT },
	  .core = true,
	  .attempt = try_cpu },
};

const struct trial_table trials_container = TRIAL_TABLE(rows);
