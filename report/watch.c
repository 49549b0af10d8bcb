#include "report/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "kabi/text.h"
#include "report/diff.h"
#include "report/exit.h"
#include "report/make.h"

#define QUIET_MS 250  /* a burst is over when nothing came for so long */
#define BURST_MS 3000 /* and is not waited for longer than this */
#define LOOK_MS 60000 /* from one quick look to the next */

#define WRITTEN (IN_MODIFY | IN_ATTRIB)
#define LISTED (IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVE)

/* Directories below /proc/sys are kept open: the kernel forgets those that nobody uses, and what
 * was to be told of them with them.
 */
static const struct place {
	const char *path;
	uint32_t events;
	bool devices; /* only names of GPU nodes matter */
} places[] = {
	{ "/proc/sys/kernel", WRITTEN, false },	 { "/proc/sys/kernel/yama", WRITTEN, false },
	{ "/proc/sys/user", WRITTEN, false },	 { "/proc/sys/vm", WRITTEN, false },
	{ "/proc/sys/fs", WRITTEN, false },	 { "/proc/sys/net/core", WRITTEN, false },
	{ "/proc/sys/dev/tty", WRITTEN, false }, { "/dev", LISTED, true },
	{ "/dev/dri", LISTED, false },		 { "/dev/nvidia-caps", LISTED, false },
	{ "/etc/cdi", LISTED, false },		 { "/run/cdi", LISTED, false },
};
#define PLACE_COUNT (sizeof(places) / sizeof(places[0]))

struct watcher {
	const struct options *options;
	const struct kernel *k;
	int notify; /* or -1 */
	int uevent;
	int descriptors[PLACE_COUNT]; /* of inotify, by place; -1 */
	int pins[PLACE_COUNT];
	cJSON *last;	   /* the report printed last */
	cJSON *last_quick; /* the quick look before it */
};

/* ---- being told ---- */

/* Once more after every change: directories come and go. */
static void watch_places(struct watcher *w, const char *cgroup)
{
	static const char *const files[] = { "/cgroup.subtree_control",
					     "/../cgroup.subtree_control", "/cgroup.type", "" };

	for (size_t i = 0; i < PLACE_COUNT; i++) {
		if (w->pins[i] < 0 && text_starts(places[i].path, "/proc/"))
			w->pins[i] = open(places[i].path, O_PATH | O_CLOEXEC);
		w->descriptors[i] = inotify_add_watch(w->notify, places[i].path, places[i].events);
	}
	for (size_t i = 0; *cgroup && i < sizeof(files) / sizeof(files[0]); i++) {
		char path[FACTS_PATH_MAX + 64];
		struct text t = TEXT_BUF(path);

		text_add(&t, cgroup);
		text_add(&t, files[i]);
		inotify_add_watch(w->notify, path, WRITTEN | IN_DELETE_SELF);
	}
}

static bool event_matters(const struct watcher *w, const struct inotify_event *event)
{
	static const char *const devices[] = { "dri", "nvidia", "kfd", "dxg" };

	for (size_t i = 0; i < PLACE_COUNT; i++) {
		if (w->descriptors[i] != event->wd || !places[i].devices || event->len == 0)
			continue;
		for (size_t j = 0; j < sizeof(devices) / sizeof(devices[0]); j++)
			if (text_starts(event->name, devices[j]))
				return true;
		return false;
	}
	return true;
}

/* Take what inotify has. Returns whether it may change the report. */
static bool drain_notify(const struct watcher *w)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool matters = false;
	ssize_t n;

	while ((n = read(w->notify, buf, sizeof(buf))) > 0)
		for (char *at = buf; at < buf + n;) {
			const struct inotify_event *event = (const struct inotify_event *)at;

			matters |= event_matters(w, event);
			at += sizeof(*event) + event->len;
		}
	return matters;
}

static bool drain(const struct watcher *w)
{
	bool notified = w->notify >= 0 && drain_notify(w);

	return (w->uevent >= 0 && uevent_drain(w->uevent)) || notified;
}

enum woken {
	WOKEN_TIME,
	WOKEN_NOTHING, /* by something that does not matter */
	WOKEN_EVENT,
	WOKEN_READER_GONE,
	WOKEN_ERROR, /* by errno: it cannot wait */
};

/* Wait for an event, at most `ms`. */
static enum woken wait_event(const struct watcher *w, int ms)
{
	struct pollfd fds[] = { { .fd = STDOUT_FILENO },
				{ .fd = w->notify, .events = POLLIN },
				{ .fd = w->uevent, .events = POLLIN } };
	int r = poll(fds, 3, ms);

	if (r < 0 && errno != EINTR)
		return WOKEN_ERROR;
	if (r <= 0)
		return WOKEN_TIME;
	if (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL))
		return WOKEN_READER_GONE;
	return drain(w) ? WOKEN_EVENT : WOKEN_NOTHING;
}

/* ---- what there is to tell ---- */

/* A report's text and tree. 0 or the exit code. */
static int look(struct watcher *w, bool quick, char **ret_text, cJSON **ret_tree)
{
	struct made made;
	struct fault why;
	int code = 0;
	int r = report_make(w->options, w->k, quick, &made, &why);

	*ret_text = r == 0 ? report_document(&made.report) : NULL;
	*ret_tree = *ret_text ? cJSON_Parse(*ret_text) : NULL;
	if (r < 0)
		code = fail(EXIT_OURS, why.text);
	else if (!*ret_tree)
		code = fail(EXIT_OURS, "make the report: ENOMEM");
	else if (w->notify >= 0)
		watch_places(w, made.facts->cgroup.dir);
	report_unmake(&made);
	if (code) {
		free(*ret_text);
		*ret_text = NULL;
	}
	return code;
}

static int differs(const cJSON *from, const cJSON *to, bool *ret)
{
	struct diff diff = { 0 };
	int r = from ? diff_make(from, to, DIFF_WATCH, &diff) : 0;

	*ret = !from || diff.count > 0;
	diff_free(&diff);
	return r < 0 ? fail(EXIT_OURS, "compare the reports: ENOMEM") : 0;
}

static void keep(cJSON **slot, cJSON *tree)
{
	cJSON_Delete(*slot);
	*slot = tree;
}

static int print_line(const char *text)
{
	struct fault why;
	int r = write_whole(text, strlen(text));

	if (r == 0)
		r = write_whole("\n", 1);
	if (r == 0)
		return 0;
	fault_errno(&why, "write standard output", NULL, -r);
	return fail(EXIT_OURS, why.text);
}

/* A whole report, printed when it differs from the last one. 0 or the exit code. */
static int tell(struct watcher *w)
{
	bool changed = false;
	char *text;
	cJSON *tree;
	int code = look(w, false, &text, &tree);

	if (code == 0)
		code = differs(w->last, tree, &changed);
	if (code == 0 && changed) {
		code = print_line(text);
		keep(&w->last, tree);
		tree = NULL;
	}
	free(text);
	cJSON_Delete(tree);
	return code;
}

/* A quick look, kept. 0 or the exit code. */
static int look_quickly(struct watcher *w, bool *ret_changed)
{
	char *text;
	cJSON *tree;
	int code = look(w, true, &text, &tree);

	if (code == 0)
		code = differs(w->last_quick, tree, ret_changed);
	free(text);
	if (code == 0)
		keep(&w->last_quick, tree);
	else
		cJSON_Delete(tree);
	return code;
}

/* ---- the loop ---- */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void wait_for_quiet(const struct watcher *w)
{
	int64_t end = now_ms() + BURST_MS;

	while (now_ms() < end && wait_event(w, QUIET_MS) == WOKEN_EVENT)
		continue;
}

/* Wait until there is reason for a quick look. 0 or the exit code. */
static int wait_for_reason(const struct watcher *w)
{
	int64_t end = now_ms() + LOOK_MS;
	struct fault why;

	for (;;) {
		int64_t left = end - now_ms();

		switch (left > 0 ? wait_event(w, (int)left) : WOKEN_TIME) {
		case WOKEN_READER_GONE:
			return fail(EXIT_OURS, "write standard output: EPIPE");
		case WOKEN_ERROR:
			fault_errno(&why, "wait for a change", NULL, errno);
			return fail(EXIT_OURS, why.text);
		case WOKEN_EVENT:
			wait_for_quiet(w);
			return 0;
		case WOKEN_TIME:
			return 0;
		case WOKEN_NOTHING:
			break;
		}
	}
}

/* The quick look comes before the report: what happens meanwhile is told of, and differs from it.
 */
static int loop(struct watcher *w)
{
	bool changed = false;
	int code = look_quickly(w, &changed);

	while (code == 0) {
		if (changed)
			code = tell(w);
		if (code == 0)
			code = wait_for_reason(w);
		if (code == 0)
			code = look_quickly(w, &changed);
	}
	return code;
}

int watch(const struct options *options, const struct kernel *k)
{
	struct watcher w = { .options = options, .k = k };
	int code;

	w.notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	w.uevent = uevent_open();
	for (size_t i = 0; i < PLACE_COUNT; i++)
		w.descriptors[i] = w.pins[i] = -1;
	code = loop(&w);
	for (size_t i = 0; i < PLACE_COUNT; i++)
		if (w.pins[i] >= 0)
			close(w.pins[i]);
	if (w.notify >= 0)
		close(w.notify);
	if (w.uevent >= 0)
		close(w.uevent);
	cJSON_Delete(w.last);
	cJSON_Delete(w.last_quick);
	return code;
}
