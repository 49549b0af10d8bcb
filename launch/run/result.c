#include "launch/run/result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/path.h"
#include "kabi/procstat.h"
#include "kabi/text.h"
#include "launch/json.h"

/* ---- the object ---- */

/* One member; the first one opens the object. */
static void add_key(struct text *t, const char *key)
{
	text_add(t, t->len ? "," : "{");
	text_add_json(t, key);
	text_add(t, ":");
}

static void add_text(struct text *t, const char *key, const char *value)
{
	add_key(t, key);
	text_add_json(t, value);
}

static void add_number(struct text *t, const char *key, int64_t value)
{
	add_key(t, key);
	text_add_int(t, value);
}

/* null when there is none. */
static void add_known(struct text *t, const char *key, bool known, int64_t value)
{
	add_key(t, key);
	if (known)
		text_add_int(t, value);
	else
		text_add(t, "null");
}

static void add_bool(struct text *t, const char *key, bool value)
{
	add_key(t, key);
	text_add(t, value ? "true" : "false");
}

static const char *state_word(enum run_state state)
{
	switch (state) {
	case RUN_STARTING:
		return "starting";
	case RUN_CONFINED:
		return "running";
	case RUN_ENDED:
		return "ended";
	}
	return "starting";
}

static void add_outcome(struct text *t, const struct outcome *o)
{
	add_text(t, "reason", reason_word(o->reason));
	add_known(t, "code", o->code >= 0, o->code);
	add_known(t, "signal", o->signal > 0, o->signal);
	add_bool(t, "verified", o->check == CHECK_CONFINED);
	add_text(t, "verification", check_word(o->check));
	add_bool(t, "stopped", o->stopped);
	add_number(t, "cpu_us", (int64_t)o->cpu_us);
	add_known(t, "memory_peak_bytes", o->memory_peak > 0, (int64_t)o->memory_peak);
	add_text(t, "memory_peak_of", o->peak_of_leaf ? "container" : "largest_process");
	add_number(t, "wall_us", o->wall_us);
	add_number(t, "killed_at_end", o->killed);
	add_bool(t, "left_behind", o->left_behind);
	add_text(t, "detail", o->why.text);
}

static void add_limits(struct text *t, const struct limits *limits, const struct run *run)
{
	add_known(t, "memory_limit_bytes", limits->memory_bytes > 0, (int64_t)limits->memory_bytes);
	if (limits->memory_bytes)
		add_bool(t, "swap_limited", run->container.leaf.swap_limited);
	add_known(t, "cpu_limit_milli", limits->cpu_milli > 0, limits->cpu_milli);
	add_known(t, "pids_limit", limits->pids > 0, limits->pids);
}

static void add_calls(struct text *t, const struct run *run)
{
	struct supervise_counts counts;

	run_counts(run, &counts);
	add_number(t, "calls_connected", (int64_t)counts.connected);
	add_number(t, "calls_changed", (int64_t)counts.changed);
	add_number(t, "calls_refused", (int64_t)counts.refused);
	add_number(t, "calls_failed", (int64_t)counts.failed);
}

static void add_place(const struct kernel *k, struct text *t, const struct run *run)
{
	struct proc_stat keeper;

	add_known(t, "pid", run->container.leader > 0, run->container.leader);
	if (run->state == RUN_ENDED || run->container.keeper == 0)
		return;
	add_number(t, "keeper", run->container.keeper);
	if (proc_stat_read(k, run->container.keeper, &keeper) == 0)
		add_number(t, "keeper_start", (int64_t)keeper.start);
}

ssize_t result_print(const struct kernel *k, const struct run *run, const struct limits *limits,
		     char *buf, size_t size)
{
	struct text t = text_start(buf, size);
	enum container_kind kind = run->container.kind;

	add_text(&t, "state", state_word(run->state));
	if (run->state == RUN_ENDED)
		add_outcome(&t, &run->outcome);
	add_text(&t, "container", container_word(kind));
	add_text(&t, "enforcement", container_status(kind));
	if (kind == CONTAINER_LEAF)
		add_text(&t, "cgroup", run->container.leaf.dir);
	if (run->no_leaf.text[0])
		add_text(&t, "no_leaf", run->no_leaf.text);
	add_place(k, &t, run);
	add_limits(&t, limits, run);
	add_calls(&t, run);
	add_number(&t, "reaped_containers", run->reaped.containers);
	add_number(&t, "reaped_processes", run->reaped.processes);
	text_add(&t, "}\n");
	return t.cut ? -ENOSPC : (ssize_t)t.len;
}

/* ---- the file ---- */

/* Closing may tell of an error that writing did not (quota, network filesystems). */
static int write_and_close(const struct kernel *k, int fd, const char *text, size_t len)
{
	int r = file_write_all(k, fd, text, len);
	int closed = k->close(k, fd);

	return r < 0 ? r : closed == -EINTR ? 0 : closed;
}

static int write_there(const struct kernel *k, const char *path, const char *text, size_t len)
{
	int follow = path_is_systems(path) ? 0 : O_NOFOLLOW;
	int fd = k->create(k, path, O_WRONLY | O_TRUNC | O_NOCTTY | O_NONBLOCK | follow, 0644);

	return fd < 0 ? fd : write_and_close(k, fd, text, len);
}

static int write_anew(const struct kernel *k, const char *path, const char *text, size_t len)
{
	char temporary[PATH_MAX];
	struct text t = TEXT_BUF(temporary);
	int fd;
	int r;

	text_add(&t, path);
	text_add(&t, ".");
	text_add_int(&t, k->getpid(k));
	if (t.cut)
		return -ENAMETOOLONG;
	k->unlink(k, temporary); /* of an ended process that had our pid */
	fd = k->create(k, temporary, O_WRONLY | O_EXCL | O_NOFOLLOW, 0644);
	if (fd < 0)
		return fd;
	r = write_and_close(k, fd, text, len);
	if (r == 0)
		r = k->rename(k, temporary, path);
	if (r < 0)
		k->unlink(k, temporary);
	return r;
}

static int find_way(const struct kernel *k, const char *path, enum result_way *ret)
{
	struct node node;
	int r = k->stat(k, path, &node);

	if (r < 0 && r != -ENOENT)
		return r;
	*ret = RESULT_WAY_ANEW;
	if (r == 0 && node.type != NODE_FILE && (node.type != NODE_LINK || path_is_systems(path)))
		*ret = RESULT_WAY_THERE;
	return 0;
}

int result_write(const struct kernel *k, const char *path, enum result_way *way, const char *text,
		 size_t len, struct fault *why)
{
	int r = *way == RESULT_WAY_OPEN ? find_way(k, path, way) : 0;

	if (r == 0)
		r = *way == RESULT_WAY_THERE ? write_there(k, path, text, len)
					     : write_anew(k, path, text, len);
	return r < 0 ? fault_errno(why, "write the result", path, -r) : 0;
}

/* ---- reading it again ---- */

struct members {
	char *state;
	char *container;
	char *cgroup;
	uint64_t pid;
	uint64_t keeper;
	uint64_t keeper_start;
};

static int read_value(struct json *j, const char *key, struct members *m)
{
	static const struct {
		const char *key;
		size_t offset;
		bool string;
	} wanted[] = {
		{ "state", offsetof(struct members, state), true },
		{ "container", offsetof(struct members, container), true },
		{ "cgroup", offsetof(struct members, cgroup), true },
		{ "pid", offsetof(struct members, pid), false },
		{ "keeper", offsetof(struct members, keeper), false },
		{ "keeper_start", offsetof(struct members, keeper_start), false },
	};
	bool string = json_peek(j) == '"';
	char *text = NULL;
	uint64_t number = 0;
	int r = 0;

	if (string)
		r = json_string(j, &text);
	else if (!json_word(j, "null") && !json_word(j, "true") && !json_word(j, "false"))
		r = json_uint(j, UINT64_MAX, &number) < 0 ? json_syntax(j, "it is no value of ours")
							  : 0;
	for (size_t i = 0; r == 0 && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (strcmp(wanted[i].key, key) != 0 || wanted[i].string != string)
			continue;
		if (string)
			*(char **)((char *)m + wanted[i].offset) = text;
		else
			*(uint64_t *)((char *)m + wanted[i].offset) = number;
	}
	return r;
}

static int read_members(struct json *j, struct members *m)
{
	if (!json_take(j, '{'))
		return json_syntax(j, "an object was expected");
	do {
		char *key;
		int r = json_string(j, &key);

		if (r < 0)
			return r;
		if (!json_take(j, ':'))
			return json_syntax(j, "':' was expected");
		r = read_value(j, key, m);
		if (r < 0)
			return r;
	} while (json_take(j, ','));
	return json_take(j, '}') ? 0 : json_syntax(j, "'}' was expected");
}

static int place_of(const struct members *m, struct container *ret, struct fault *why)
{
	if (m->pid > INT_MAX || m->keeper > INT_MAX) {
		fault_join(why, "it names no process", NULL);
		return -EINVAL;
	}
	*ret = (struct container){
		.kind = CONTAINER_GROUP,
		.leaf.fd = -1,
		.keeper = (pid_t)m->keeper,
		.leader = (pid_t)m->pid,
	};
	if (strcmp(m->container, container_word(CONTAINER_LEAF)) != 0)
		return 0;
	if (!m->cgroup || !text_copy(ret->leaf.dir, sizeof(ret->leaf.dir), m->cgroup)) {
		fault_join(why, "it names no cgroup", NULL);
		return -EINVAL;
	}
	ret->kind = CONTAINER_LEAF;
	return 0;
}

int result_parse(char *text, size_t len, struct result_run *ret, struct fault *why)
{
	struct json j = { .start = text, .at = text, .end = text + len, .why = why };
	struct members m = { 0 };
	struct result_run run = { 0 };
	int r = read_members(&j, &m);

	if (r < 0)
		return r;
	if (!m.state || !m.container) {
		fault_join(why, "it is no result", NULL);
		return -EINVAL;
	}
	r = place_of(&m, &run.container, why);
	if (r < 0)
		return r;
	run.ended = strcmp(m.state, state_word(RUN_ENDED)) == 0;
	run.keeper_start = m.keeper_start;
	*ret = run;
	return 0;
}
