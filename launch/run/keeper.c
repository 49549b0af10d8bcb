#include "launch/run/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kabi/procstat.h"
#include "kabi/text.h"
#include "launch/run/child.h"

#define NEVER INT64_MAX
#define SIGNAL_BIT(number) (1ULL << ((number)-1))
#define SIGNAL_INFO_BYTES 128 /* struct signalfd_siginfo */
#define EXIT_NOT_EXECUTED 71  /* the launcher's */

/* A launcher that lets go of the pipe without a word is ending. It has this long to do it. */
#define ENDING_US 200000
/* How long what was killed may take until another of it is gone. Longer only in an uninterruptible
 * wait: what is left then has its SIGKILL, and never again runs an instruction of its own.
 */
#define SWEEP_US 10000000
#define SWEEP_PAUSE_MS 20

struct keeper {
	const struct kernel *k;
	const struct run_request *request;
	struct container *container;
	struct outcome outcome;
	int channel;  /* -1: the parent is gone */
	int confined; /* the read end; -1: the launcher has said what it has to say */
	int children; /* readable when a child may have ended */
	bool is_confined;
	bool ended;   /* the leader */
	bool killing; /* SIGKILL has been sent to all of it */
	int64_t started;
	int64_t guard;	  /* when each of these is due, or NEVER */
	int64_t ending;	  /* the launcher let go */
	int64_t timeout;  /* of the module */
	int64_t deadline; /* SIGKILL after SIGTERM */
};

static void tell(struct keeper *p, enum keeper_event event)
{
	struct keeper_message message = { .event = event, .leader = p->container->leader };

	if (event == KEEPER_ENDED)
		message.outcome = p->outcome;
	/* A parent that is gone shows in the next poll. */
	if (p->channel >= 0)
		p->k->send(p->k, p->channel, &message, sizeof(message));
}

/* ---- ending it ---- */

static void kill_all(struct keeper *p)
{
	struct fault why;

	p->deadline = NEVER;
	p->killing = true;
	if (container_kill(p->k, p->container, &why) < 0 && !p->outcome.why.text[0])
		p->outcome.why = why;
}

static void stop(struct keeper *p)
{
	if (p->deadline != NEVER)
		return;
	container_terminate(p->k, p->container, NULL);
	p->deadline = p->k->now_us(p->k) + p->request->grace_ms * 1000;
}

/* The first reason that is found is the reason. */
static void blame(struct keeper *p, enum reason reason, const char *text, const char *more)
{
	if (p->outcome.reason != REASON_UNKNOWN)
		return;
	p->outcome.reason = reason;
	fault_join(&p->outcome.why, text, more, NULL);
}

static void refuse(struct keeper *p, enum reason reason, const char *text, const char *more)
{
	blame(p, reason, text, more);
	kill_all(p);
}

/* ---- what is waited for ---- */

static void let_go_of_signal(struct keeper *p)
{
	p->k->close(p->k, p->confined);
	p->confined = -1;
	p->guard = NEVER;
}

/* The launcher says that it is confined. Nothing is taken on trust. A leader that has ended by now
 * is not reaped yet, so /proc still shows how it was confined.
 */
static void verify(struct keeper *p)
{
	p->outcome.check = check_process(p->k, p->container->leader);
	switch (p->outcome.check) {
	case CHECK_CONFINED:
		p->is_confined = true;
		tell(p, KEEPER_CONFINED);
		return;
	case CHECK_UNKNOWN:
	case CHECK_GONE:
	case CHECK_NO_NEW_PRIVS:
	case CHECK_UNFILTERED:
	case CHECK_INHERITED:
		break;
	}
	refuse(p, REASON_SANDBOX_MISSING,
	       "the launcher said it was confined, and /proc says: ", check_word(p->outcome.check));
}

static void take_signal(struct keeper *p)
{
	char said[FAULT_TEXT_MAX + 2];
	ssize_t n = p->k->read(p->k, p->confined, said, sizeof(said) - 1);

	if (n == -EINTR)
		return;
	let_go_of_signal(p);
	if (n == 0) {
		p->ending = p->k->now_us(p->k) + ENDING_US;
	} else if (n == 1 && said[0] == '1') {
		verify(p);
	} else if (n > 1 && said[0] == CHILD_FAILED) {
		said[n] = '\0';
		blame(p, REASON_LAUNCH_FAILED, said + 1, "");
	} else {
		refuse(p, REASON_SANDBOX_MISSING, "the launcher's signal is not one: ",
		       n < 0 ? "it cannot be read" : "other bytes");
	}
}

static void take_command(struct keeper *p)
{
	char command = 0;
	ssize_t n = p->k->read(p->k, p->channel, &command, 1);

	if (n == -EINTR || n == -EAGAIN)
		return;
	if (n <= 0) {
		p->k->close(p->k, p->channel);
		p->channel = -1;
		refuse(p, REASON_SIGNAL, "the parent ended", "");
		return;
	}
	p->outcome.stopped = true;
	if (command == KEEPER_STOP)
		stop(p);
	else
		kill_all(p);
}

/* Collect what has ended, but leave the leader: its number, and what /proc says of it, are still
 * needed.
 */
static void take_children(struct keeper *p)
{
	char info[SIGNAL_INFO_BYTES];
	struct ended ended;

	p->k->read(p->k, p->children, info, sizeof(info));
	while (p->k->wait(p->k, 0, WEXITED | WNOHANG | WNOWAIT, &ended) == 1) {
		if (ended.pid == p->container->leader) {
			p->ended = true;
			return;
		}
		p->k->wait(p->k, ended.pid, WEXITED | WNOHANG, &ended);
		p->outcome.killed += p->killing && ended.signal == SIGKILL;
	}
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int wait_ms(const struct keeper *p)
{
	int64_t due = least(least(p->guard, p->ending), least(p->timeout, p->deadline));
	int64_t left;

	if (due == NEVER)
		return -1;
	left = (due - p->k->now_us(p->k) + 999) / 1000;
	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static void see_what_is_due(struct keeper *p)
{
	int64_t now = p->k->now_us(p->k);

	if (now >= p->guard) {
		let_go_of_signal(p);
		refuse(p, REASON_SANDBOX_HUNG, "the launcher did not say that it is confined", "");
	}
	if (now >= p->ending) {
		p->ending = NEVER;
		refuse(p, REASON_SANDBOX_MISSING,
		       "the launcher let go of its signal and went on without it", "");
	}
	if (now >= p->timeout) {
		p->timeout = NEVER;
		blame(p, REASON_TIMEOUT, "", "");
		stop(p);
	}
	if (now >= p->deadline)
		kill_all(p);
}

static void watch(struct keeper *p)
{
	struct pollfd fds[] = {
		{ .fd = p->children, .events = POLLIN },
		{ .fd = p->confined, .events = POLLIN },
		{ .fd = p->channel, .events = POLLIN },
	};
	int r = p->k->poll(p->k, fds, sizeof(fds) / sizeof(fds[0]), wait_ms(p));

	if (r < 0 && r != -EINTR) {
		refuse(p, REASON_LAUNCH_FAILED, "the keeper cannot wait", "");
		/* It cannot tell either when that has worked. */
		p->ended = p->k->wait(p->k, p->container->leader, WEXITED | WNOWAIT,
				      &(struct ended){ 0 }) != 0;
		return;
	}
	if (r > 0 && fds[1].revents)
		take_signal(p);
	if (r > 0 && fds[2].revents)
		take_command(p);
	if (r > 0 && fds[0].revents)
		take_children(p);
	see_what_is_due(p);
}

/* ---- starting it ---- */

/* Close all but what the keeper needs: it must not hold the module's pipes open, nor anything of
 * the parent. Where there is no close_range(2), it does; the parent's end of the channel, which
 * matters, is closed by itself.
 */
static void close_others(const struct keeper *p)
{
	int kept[] = { p->children, p->confined, p->channel,
		       p->container->kind == CONTAINER_LEAF ? p->container->leaf.fd : -1 };
	int next = 0;

	for (;;) {
		int first = INT32_MAX;

		for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
			if (kept[i] >= next && kept[i] < first)
				first = kept[i];
		if (first > next)
			p->k->close_range(p->k, (unsigned)next, (unsigned)first - 1, 0);
		if (first == INT32_MAX)
			return;
		next = first + 1;
	}
}

static int start(struct keeper *p, struct fault *why)
{
	const struct kernel *k = p->k;
	int r;

	/* Best effort: without a session of its own it shares its parent's signals, which it has
	 * blocked; the name is for those who look.
	 */
	k->setsid(k);
	k->prctl(k, PR_SET_NAME, (unsigned long)KEEPER_NAME, 0, 0, 0);
	r = k->signal_default(k, SIGCHLD);
	if (r == 0)
		r = k->prctl(k, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (r < 0)
		return fault_errno(why, "become a subreaper", NULL, -r);
	p->children = k->signal_fd(k, SIGNAL_BIT(SIGCHLD));
	if (p->children < 0)
		return fault_errno(why, "watch for the end of children", NULL, -p->children);
	p->started = k->now_us(k);
	r = child_make(k, p->request, p->container, &p->confined, why);
	if (r < 0)
		return r;
	tell(p, KEEPER_STARTED);
	close_others(p);
	p->guard = p->started + p->request->guard_ms * 1000;
	if (p->request->timeout_ms > 0)
		p->timeout = p->started + p->request->timeout_ms * 1000;
	return 0;
}

/* ---- how it ended ---- */

/* The launcher exits 71 when it is confined and then cannot execute the module. So may a module,
 * but that one has its own name by then.
 */
static bool still_launcher(struct keeper *p)
{
	const char *name = strrchr(p->request->argv[0], '/');
	struct proc_stat s;

	name = name ? name + 1 : p->request->argv[0];
	return proc_stat_read(p->k, p->container->leader, &s) == 0 && s.name[0] &&
	       text_starts(name, s.name);
}

static void judge_leader(struct keeper *p, const struct ended *leader, bool was_launcher)
{
	struct outcome *o = &p->outcome;
	char what[48];
	struct text t = TEXT_BUF(what);

	o->code = leader->code;
	o->signal = leader->signal;
	text_add(&t, leader->signal ? "by signal " : "with exit code ");
	text_add_int(&t, leader->signal ? leader->signal : leader->code);
	if (!p->is_confined && !o->stopped)
		blame(p, REASON_LAUNCH_FAILED, "the launcher ended before it was confined, ", what);
	else if (leader->code == EXIT_NOT_EXECUTED && was_launcher)
		blame(p, REASON_LAUNCH_FAILED, "the launcher could not execute the module", "");
	else if (leader->signal)
		blame(p, REASON_SIGNAL, "", "");
	else
		blame(p, leader->code ? REASON_EXIT_NONZERO : REASON_OK, "", "");
}

/* End all that is left. However long it takes while there is progress: what forks faster than it is
 * killed must not be let go of.
 */
static void sweep(struct keeper *p)
{
	const struct kernel *k = p->k;
	int64_t give_up = k->now_us(k) + SWEEP_US;
	struct pollfd child = { .fd = p->children, .events = POLLIN };
	char info[SIGNAL_INFO_BYTES];
	struct ended ended;
	int r;

	for (;;) {
		while ((r = k->wait(k, 0, WEXITED | WNOHANG, &ended)) == 1) {
			p->outcome.killed += ended.signal == SIGKILL;
			give_up = k->now_us(k) + SWEEP_US;
		}
		if (r == -ECHILD)
			return;
		if (r < 0 || k->now_us(k) >= give_up)
			break;
		kill_all(p);
		if (k->poll(k, &child, 1, SWEEP_PAUSE_MS) > 0)
			k->read(k, p->children, info, sizeof(info));
	}
	p->outcome.left_behind = true;
}

static void account(struct keeper *p)
{
	struct outcome *o = &p->outcome;
	struct leaf_usage usage;
	struct usage children;

	o->wall_us = p->k->now_us(p->k) - p->started;
	if (p->k->children_usage(p->k, &children) == 0) {
		o->cpu_us = children.cpu_us;
		o->memory_peak = children.peak_bytes;
	}
	if (p->container->kind != CONTAINER_LEAF ||
	    leaf_usage(p->k, &p->container->leaf, &usage) < 0)
		return;
	o->cpu_us = usage.cpu_us;
	if (usage.memory_peak) {
		o->memory_peak = usage.memory_peak;
		o->peak_of_leaf = true;
	}
	/* An unconfined module is worse news than one that ran out of memory. */
	if (usage.oom_kills && o->reason != REASON_SANDBOX_MISSING &&
	    o->reason != REASON_SANDBOX_HUNG) {
		o->reason = REASON_OOM;
		fault_join(&o->why, "the container reached its memory limit", NULL);
	}
}

static void finish(struct keeper *p)
{
	const struct kernel *k = p->k;
	struct ended leader = { .code = -1 };
	bool was_launcher;

	/* What it said last may still be in the pipe. */
	if (p->confined >= 0) {
		struct pollfd said = { .fd = p->confined, .events = POLLIN };

		if (k->poll(k, &said, 1, 0) > 0)
			take_signal(p);
	}
	was_launcher = p->is_confined && still_launcher(p);
	k->kill(k, -p->container->leader, SIGKILL);
	k->wait(k, p->container->leader, WEXITED, &leader);
	p->container->leader = 0;
	judge_leader(p, &leader, was_launcher);
	sweep(p);
	account(p);
}

static void remove_leaf(struct keeper *p)
{
	struct fault why;

	if (p->container->kind != CONTAINER_LEAF ||
	    leaf_remove(p->k, &p->container->leaf, &why) == 0)
		return;
	p->outcome.left_behind = true;
	if (!p->outcome.why.text[0])
		p->outcome.why = why;
}

int keeper_run(const struct kernel *k, const struct run_request *request,
	       struct container *container, int channel, int other)
{
	struct keeper p = {
		.k = k,
		.request = request,
		.container = container,
		.outcome = { .code = -1 },
		.channel = channel,
		.confined = -1,
		.children = -1,
		.guard = NEVER,
		.ending = NEVER,
		.timeout = NEVER,
		.deadline = NEVER,
	};
	struct fault why;

	k->close(k, other);
	container->keeper = k->getpid(k);
	if (start(&p, &why) < 0) {
		blame(&p, REASON_LAUNCH_FAILED, why.text, "");
	} else {
		while (!p.ended)
			watch(&p);
		finish(&p);
	}
	remove_leaf(&p);
	tell(&p, KEEPER_ENDED);
	return 0;
}
