#include "tests/fake/parent_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "kabi/text.h"
#include "tests/fake/parent_files.h"

#define ORPHAN 60

static struct world *of(const struct kernel *k)
{
	return k->state;
}

/* Note a call. Returns the error it is to fail with, negative, or 0. */
int world_note(const struct kernel *k, const char *name, const char *detail)
{
	struct world *w = of(k);
	struct text t;

	if (w->calls++ >= WORLD_LOG)
		return 0; /* what goes on for so long is not failed */
	t = text_start(w->log[w->calls - 1], sizeof(w->log[0]));
	text_add(&t, name);
	text_add(&t, " ");
	text_add(&t, detail);
	return w->calls == w->fail_call ? -w->fail_error : 0;
}

int world_note_number(const struct kernel *k, const char *name, int64_t number)
{
	char buf[24];
	struct text t = TEXT_BUF(buf);

	text_add_int(&t, number);
	return world_note(k, name, buf);
}

/* ---- processes ---- */

static int world_pipe(const struct kernel *k, int ret[2])
{
	struct world *w = of(k);
	int r = world_note(k, "pipe", "");

	if (r < 0)
		return r;
	ret[0] = w->confined = world_new_fd(w, NULL);
	ret[1] = world_new_fd(w, NULL);
	return 0;
}

static int world_channel(const struct kernel *k, int ret[2])
{
	struct world *w = of(k);
	int r = world_note(k, "channel", "");

	if (r < 0)
		return r;
	ret[0] = w->channel = world_new_fd(w, NULL);
	ret[1] = world_new_fd(w, NULL);
	return 0;
}

static int world_signal_mask(const struct kernel *k, uint64_t signals, uint64_t *ret)
{
	struct world *w = of(k);
	int r = world_note(k, "signal_mask", signals == UINT64_MAX ? "all" : "some");

	if (r < 0)
		return r;
	*ret = w->mask;
	w->mask = signals;
	return 0;
}

static ssize_t world_readlink(const struct kernel *k, const char *path, char *buf, size_t size)
{
	const struct world_file *f = world_find(of(k), path);
	int r = world_note(k, "readlink", path);

	if (r < 0)
		return r;
	if (!f)
		return -ENOENT;
	return text_copy(buf, size, f->text) ? (ssize_t)strlen(buf) : -ENAMETOOLONG;
}

static ssize_t world_send(const struct kernel *k, int fd, const void *buf, size_t size)
{
	struct world *w = of(k);
	int r = world_note_number(k, "send", fd);

	if (r < 0)
		return r;
	if (w->message_bytes + size > sizeof(w->messages))
		abort();
	memcpy(w->messages + w->message_bytes, buf, size);
	w->message_bytes += size;
	w->message_count++;
	return (ssize_t)size;
}

static int world_clone(const struct kernel *k, int cgroup)
{
	struct world *w = of(k);
	int r = world_note_number(k, "clone", cgroup);

	if (r < 0)
		return r;
	if (cgroup >= 0 && w->cgroup_clone_error)
		return -w->cgroup_clone_error;
	w->leader_alive = true;
	return WORLD_LEADER;
}

/* At once. */
void world_end_leader(struct world *w, int number)
{
	if (!w->leader_alive)
		return;
	w->leader_alive = false;
	w->leader_zombie = true;
	w->leader_code = -number;
}

static int world_kill(const struct kernel *k, pid_t pid, int number)
{
	struct world *w = of(k);
	char detail[48];
	int r;

	snprintf(detail, sizeof(detail), "%d %d", pid, number);
	r = world_note(k, "kill", detail);
	if (r < 0)
		return r;
	if (number == SIGKILL && pid == -WORLD_LEADER)
		world_end_leader(w, number);
	return 0;
}

static int world_wait(const struct kernel *k, pid_t pid, int options, struct ended *ret)
{
	struct world *w = of(k);
	bool leader = w->leader_zombie && (pid == 0 || pid == WORLD_LEADER);
	bool orphan = !leader && w->orphan_zombies > 0 && pid != WORLD_LEADER;
	int code = leader ? w->leader_code : w->orphan_code;
	int r = world_note_number(k, "wait", pid);

	if (r < 0)
		return r;
	if (!leader && !orphan)
		return w->leader_alive || w->orphans ? 0 : -ECHILD;
	*ret = (struct ended){
		.pid = leader ? WORLD_LEADER : ORPHAN,
		.code = code < 0 ? -1 : code,
		.signal = code < 0 ? -code : 0,
	};
	if (!(options & WNOWAIT)) {
		if (leader)
			w->leader_zombie = false;
		else
			w->orphan_zombies--;
	}
	return 1;
}

static int world_children_usage(const struct kernel *k, struct usage *ret)
{
	int r = world_note(k, "children_usage", "");

	if (r == 0)
		*ret = (struct usage){ .cpu_us = 777, .peak_bytes = 8192 };
	return r;
}

static void next_event(struct world *w, int timeout_ms)
{
	const struct world_step *s = &w->script[w->step];

	if (w->leader_zombie && s->event == WORLD_END)
		return;
	switch (s->event) {
	case WORLD_END:
		fprintf(stderr, "world: waits for what does not come\n");
		abort();
	case WORLD_TIME:
		w->now += (int64_t)timeout_ms * 1000;
		break;
	case WORLD_SAID:
	case WORLD_COMMAND:
		w->pending = s->text;
		break;
	case WORLD_LEADER_ENDS:
		w->leader_alive = false;
		w->leader_zombie = true;
		w->leader_code = s->code;
		break;
	case WORLD_ORPHAN_ENDS:
		w->orphan_zombies++;
		w->orphan_code = s->code;
		break;
	}
	w->step++;
}

static int world_poll(const struct kernel *k, struct pollfd *fds, unsigned count, int timeout_ms)
{
	struct world *w = of(k);
	bool keeper = w->script && count == 3;
	enum world_event event;
	int r = world_note_number(k, "poll", count);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < count; i++)
		fds[i].revents = 0;
	if (count > 0 && !keeper && w->news) {
		fds[0].revents = POLLIN;
		return 1;
	}
	if (!keeper) {
		/* A pause, or the last look at what was said. */
		w->now += (int64_t)timeout_ms * 1000;
		if (w->dying > 0 && timeout_ms > 0) {
			w->dying--;
			w->orphans--;
			w->orphan_zombies++;
		}
		return 0;
	}
	event = w->script[w->step].event;
	next_event(w, timeout_ms);
	if (event == WORLD_TIME)
		return 0;
	for (unsigned i = 0; i < count; i++)
		if ((event == WORLD_SAID && fds[i].fd == w->confined) ||
		    (event == WORLD_COMMAND && fds[i].fd == w->channel) ||
		    (event != WORLD_SAID && event != WORLD_COMMAND && fds[i].fd == w->children))
			fds[i].revents = POLLIN;
	return 1;
}

static int world_signal_fd(const struct kernel *k, uint64_t signals)
{
	int r = world_note_number(k, "signal_fd", (int64_t)signals);

	if (r == 0)
		r = of(k)->children = world_new_fd(of(k), NULL);
	return r;
}

static int world_execve(const struct kernel *k, const char *path, char *const argv[],
			char *const envp[])
{
	int r = world_note(k, "execve", path);

	(void)argv;
	(void)envp;
	if (r == 0)
		of(k)->executed = true;
	return r < 0 ? r : -ENOEXEC;
}

static int world_prctl(const struct kernel *k, int option, unsigned long a, unsigned long b,
		       unsigned long c, unsigned long d)
{
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return world_note_number(k, "prctl", option);
}

static int world_fcntl(const struct kernel *k, int fd, int cmd, long arg)
{
	int r = world_note_number(k, "fcntl", fd);

	(void)arg;
	return r == 0 && cmd == F_DUPFD_CLOEXEC ? world_new_fd(of(k), NULL) : r;
}

static int world_dup_onto(const struct kernel *k, int from, int to)
{
	int r = world_note_number(k, "dup_onto", from);

	return r < 0 ? r : to;
}

static int world_chdir(const struct kernel *k, const char *path)
{
	return world_note(k, "chdir", path);
}

static int world_signal_default(const struct kernel *k, int number)
{
	return world_note_number(k, "signal_default", number);
}

static int world_signal_ignore(const struct kernel *k, int number)
{
	return world_note_number(k, "signal_ignore", number);
}

static int world_signal_unblock_all(const struct kernel *k)
{
	return world_note(k, "signal_unblock_all", "");
}

static int world_pidfd_open(const struct kernel *k, pid_t pid)
{
	int r = world_note_number(k, "pidfd_open", pid);

	return r < 0 ? r : world_new_fd(of(k), NULL);
}

static int world_pidfd_signal(const struct kernel *k, int pidfd, int number)
{
	(void)pidfd;
	return world_note_number(k, "pidfd_signal", number);
}

static pid_t world_setsid(const struct kernel *k)
{
	int r = world_note(k, "setsid", "");

	return r < 0 ? r : WORLD_SELF;
}

static pid_t world_getpid(const struct kernel *k)
{
	(void)k;
	return WORLD_SELF;
}

static pid_t world_getppid(const struct kernel *k)
{
	(void)k;
	return WORLD_PARENT;
}

/* Time goes on by itself, so that what gives up after a while does. */
static int64_t world_now_us(const struct kernel *k)
{
	return of(k)->now += 10;
}

static void world_exit(const struct kernel *k, int code)
{
	(void)k;
	(void)code;
	abort();
}

/* ---- public ---- */

void world_start(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->confined = w->channel = w->children = -1;
	w->kernel = (struct kernel){
		.prctl = world_prctl,
		.fcntl = world_fcntl,
		.dup_onto = world_dup_onto,
		.chdir = world_chdir,
		.signal_default = world_signal_default,
		.signal_ignore = world_signal_ignore,
		.signal_unblock_all = world_signal_unblock_all,
		.execve = world_execve,
		.pipe = world_pipe,
		.channel = world_channel,
		.signal_mask = world_signal_mask,
		.readlink = world_readlink,
		.send = world_send,
		.clone = world_clone,
		.pidfd_open = world_pidfd_open,
		.pidfd_signal = world_pidfd_signal,
		.kill = world_kill,
		.wait = world_wait,
		.children_usage = world_children_usage,
		.poll = world_poll,
		.signal_fd = world_signal_fd,
		.setsid = world_setsid,
		.getpid = world_getpid,
		.getppid = world_getppid,
		.now_us = world_now_us,
		.exit = world_exit,
		.state = w,
	};
	world_files_start(&w->kernel);
	w->proc_magic = 0x9fa0;
	world_file(w, "/proc/self/status", "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n");
}

unsigned world_called(const struct world *w, const char *prefix)
{
	for (unsigned i = 0; i < w->calls && i < WORLD_LOG; i++)
		if (text_starts(w->log[i], prefix))
			return i + 1;
	return 0;
}

unsigned world_open_fds(const struct world *w)
{
	unsigned count = 0;

	for (int fd = 3; fd < WORLD_FDS; fd++)
		count += w->fds[fd].open;
	return count;
}
