#include "launch/egress/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "kabi/path.h"
#include "kabi/text.h"

int egress_log_open(const char *path, struct egress_log *log, struct fault *why)
{
	int follow = path && path_is_systems(path) ? 0 : O_NOFOLLOW;

	*log = (struct egress_log){ .fd = -1 };
	if (!path)
		return 0;
	if (strcmp(path, "-") == 0)
		log->fd = STDOUT_FILENO;
	else
		log->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | follow, 0600);
	if (log->fd < 0 && errno == ELOOP && follow) {
		fault_join(why, "open '", path, "': it is a symbolic link, which is not followed",
			   NULL);
		return -ELOOP;
	}
	return log->fd < 0 ? fault_errno(why, "open", path, errno) : 0;
}

static void write_line(struct egress_log *log, const char *line, size_t len)
{
	struct pollfd fd = { .fd = log->fd, .events = POLLOUT };

	if (log->fd < 0)
		return;
	/* A pipe that is writable takes PIPE_BUF bytes without waiting. */
	if (poll(&fd, 1, 0) != 1 || !(fd.revents & POLLOUT) ||
	    write(log->fd, line, len) != (ssize_t)len)
		log->unlogged++;
}

void egress_log_refusal(struct egress_log *log, enum egress_refusal refusal,
			const struct egress_subject *subject, int64_t ms)
{
	char line[EGRESS_LINE_MAX];
	uint64_t number;

	if (egress_refusal_is_policy(refusal))
		log->refused++;
	else
		log->failed++;
	number = log->refused + log->failed;
	if (number <= EGRESS_LINES_MAX)
		write_line(log, line, egress_line(refusal, subject, number, ms, line));
	else
		log->unlogged++;
}

void egress_log_end(struct egress_log *log)
{
	const struct {
		const char *key;
		uint64_t value;
	} counts[] = {
		{ "connections", log->connections }, { "served", log->served },
		{ "refused", log->refused },	     { "failed", log->failed },
		{ "unlogged", log->unlogged },
	};
	char line[EGRESS_LINE_MAX];
	struct text t = TEXT_BUF(line);

	text_add(&t, "{\"event\":\"end\"");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		text_add(&t, ",\"");
		text_add(&t, counts[i].key);
		text_add(&t, "\":");
		text_add_int(&t, (int64_t)counts[i].value);
	}
	text_add(&t, "}\n");
	write_line(log, line, t.len);
}
