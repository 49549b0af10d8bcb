#include "report/audit/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kabi/text.h"
#include "report/scan.h"

#define READ_SIZE (1U << 20)

/* ---- names ---- */

static bool is_report_name(const char *name)
{
	return name[0] != '.' && (text_ends(name, ".json") || text_ends(name, ".jsonl") ||
				  text_ends(name, ".ndjson"));
}

/* Put "/name" behind the first `len` bytes of source->name. */
static int join(struct audit_source *source, size_t len, const char *name)
{
	struct text t = { source->name, sizeof(source->name), len, false };

	if (len > 0 && source->name[len - 1] != '/')
		text_add(&t, "/");
	text_add(&t, name);
	return t.cut ? -ENAMETOOLONG : 0;
}

static int enter_directory(struct audit_source *source, int fd)
{
	DIR *dir;

	if (source->depth == AUDIT_DIRECTORIES_MAX) {
		close(fd);
		return -ELOOP;
	}
	dir = fdopendir(fd);
	if (!dir) {
		int err = errno;

		close(fd);
		return -err;
	}
	source->directories[source->depth].dir = dir;
	source->directories[source->depth].name_len = strlen(source->name);
	source->depth++;
	return 0;
}

/* Make `fd`, just opened as source->name, what is read next. */
static int begin(struct audit_source *source, int fd, bool listed)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		int err = errno;

		close(fd);
		return -err;
	}
	if (S_ISDIR(st.st_mode))
		return enter_directory(source, fd);
	if (listed && !S_ISREG(st.st_mode)) {
		close(fd);
		return 0;
	}
	source->fd = fd;
	source->line = 1;
	source->skipping = false;
	source->files++;
	return 0;
}

/* The next name of the innermost directory. Names in it are not followed where they are links to
 * directories: those might lead back.
 */
static int next_listed(struct audit_source *source)
{
	DIR *dir = source->directories[source->depth - 1].dir;
	size_t len = source->directories[source->depth - 1].name_len;
	const struct dirent *entry;
	bool directory;
	int fd;
	int r;

	errno = 0;
	entry = readdir(dir);
	if (!entry) {
		int err = errno;

		closedir(dir);
		source->depth--;
		source->name[len] = '\0';
		return -err;
	}
	directory = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
	if (!is_report_name(entry->d_name) && (!directory || entry->d_name[0] == '.'))
		return 0;
	r = join(source, len, entry->d_name);
	if (r < 0)
		return r;
	fd = openat(dirfd(dir), entry->d_name,
		    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK |
			    (is_report_name(entry->d_name) ? 0 : O_DIRECTORY | O_NOFOLLOW));
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	return begin(source, fd, true);
}

static int next_word(struct audit_source *source)
{
	const char *word = source->words[source->word++];
	int fd;

	if (!text_copy(source->name, sizeof(source->name), word))
		return -ENAMETOOLONG;
	if (strcmp(word, "-") == 0) {
		text_copy(source->name, sizeof(source->name), "standard input");
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		fd = open(word, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	return fd < 0 ? -errno : begin(source, fd, false);
}

/* Open the next file there is. 1, 0 at the end, -errno. */
static int next_file(struct audit_source *source)
{
	while (source->fd < 0) {
		int r;

		if (source->depth == 0 && source->word == source->word_count)
			return 0;
		r = source->depth > 0 ? next_listed(source) : next_word(source);
		if (r < 0)
			return r;
	}
	return 1;
}

/* ---- texts ---- */

static bool begins_report(char c)
{
	return c != ' ' && c != '\t' && c != '\r' && c != '\n' && c != '}' && c != ']';
}

size_t audit_report_length(const char *text, size_t len)
{
	const char *end = text + len;
	const char *at = text;

	while ((at = memchr(at, '\n', (size_t)(end - at))) && ++at < end)
		if (begins_report(*at))
			return (size_t)(at - text);
	return len;
}

/* Where the last report in text[0..len) begins, or 0 when it has one alone. */
static size_t last_report(const char *text, size_t len)
{
	const char *at;

	for (size_t left = len; (at = memrchr(text, '\n', left)); left = (size_t)(at - text))
		if (at + 1 < text + len && begins_report(at[1]))
			return (size_t)(at + 1 - text);
	return 0;
}

/* Make room for `wanted` bytes and the padding. */
static int make_room(char **buf, size_t *room, size_t wanted)
{
	char *grown;

	if (wanted + SCAN_PADDING <= *room)
		return 0;
	grown = realloc(*buf, wanted + SCAN_PADDING);
	if (!grown)
		return -ENOMEM;
	*buf = grown;
	*room = wanted + SCAN_PADDING;
	return 0;
}

/* Read until the batch is full. 1, 0 at the end of the file, -errno. */
static int fill(struct audit_source *source, struct audit_batch *batch)
{
	while (batch->len < batch->room - SCAN_PADDING) {
		ssize_t n = read(source->fd, batch->buf + batch->len,
				 batch->room - SCAN_PADDING - batch->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		batch->len += (size_t)n;
	}
	return 1;
}

static unsigned long count_lines(const char *text, size_t len)
{
	const char *end = text + len;
	unsigned long lines = 0;

	while ((text = memchr(text, '\n', (size_t)(end - text)))) {
		lines++;
		text++;
	}
	return lines;
}

/* Leave the first `len` bytes in the batch, and keep the others for the next one. */
static int carry_rest(struct audit_source *source, struct audit_batch *batch, size_t len)
{
	if (make_room(&source->carry, &source->carry_room, batch->len - len) < 0)
		return -ENOMEM;
	source->carry_len = batch->len - len;
	memcpy(source->carry, batch->buf + len, source->carry_len);
	batch->len = len;
	return 0;
}

static void close_file(struct audit_source *source)
{
	close(source->fd);
	source->fd = -1;
	source->carry_len = 0;
}

/* Start the batch with what was carried, and room for as much again and `more`. */
static int start_batch(struct audit_source *source, struct audit_batch *batch, size_t more)
{
	if (make_room(&batch->buf, &batch->room, source->carry_len + more) < 0)
		return -ENOMEM;
	if (source->carry_len > 0)
		memcpy(batch->buf, source->carry, source->carry_len);
	batch->len = source->carry_len;
	source->carry_len = 0;
	return 0;
}

/* Drop the rest of a report that is too long. 0 or -errno. */
static int skip_report(struct audit_source *source, struct audit_batch *batch)
{
	while (source->skipping) {
		size_t len;
		int r;

		if (start_batch(source, batch, READ_SIZE) < 0)
			return -ENOMEM;
		r = fill(source, batch);
		if (r < 0)
			return r;
		len = audit_report_length(batch->buf, batch->len);
		source->skipping = r > 0 && len == batch->len;
		/* The last byte may be the newline before the next one. */
		len -= source->skipping;
		source->line += count_lines(batch->buf, len);
		if (carry_rest(source, batch, len) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Fill the batch with whole reports of the open file. 1, 0 at its end, -errno; -EFBIG when the next
 * report is too long.
 */
static int read_texts(struct audit_source *source, struct audit_batch *batch)
{
	size_t last = 0;
	int r = skip_report(source, batch);

	if (r < 0 || start_batch(source, batch, READ_SIZE) < 0)
		return r < 0 ? r : -ENOMEM;
	batch->line = source->line;
	for (;;) {
		r = fill(source, batch);
		if (r < 0)
			return r;
		last = r > 0 ? last_report(batch->buf, batch->len) : batch->len;
		if (last > 0 || r == 0)
			break;
		if (batch->len > AUDIT_REPORT_MAX) {
			source->skipping = true;
			return -EFBIG;
		}
		if (make_room(&batch->buf, &batch->room, batch->room * 2) < 0)
			return -ENOMEM;
	}
	if (carry_rest(source, batch, last) < 0)
		return -ENOMEM;
	source->line += count_lines(batch->buf, batch->len);
	memset(batch->buf + batch->len, 0, SCAN_PADDING);
	return batch->len > 0;
}

void audit_source_start(struct audit_source *source, char *const *words, int count)
{
	*source = (struct audit_source){ .words = words, .word_count = count, .fd = -1 };
}

static int failed(struct audit_batch *batch, int err, struct fault *why)
{
	if (err == -EFBIG)
		fault_join(why, "more than 16 MiB", NULL);
	else
		fault_errno(why, "read", NULL, -err);
	batch->len = 0;
	return err;
}

int audit_source_next(struct audit_source *source, struct audit_batch *batch, struct fault *why)
{
	for (;;) {
		int r = next_file(source);

		text_copy(batch->name, sizeof(batch->name), source->name);
		batch->line = 0;
		if (r == 0)
			return 0;
		if (r < 0)
			return failed(batch, r, why);
		r = read_texts(source, batch);
		if (r > 0)
			return 1;
		if (r != -EFBIG)
			close_file(source);
		if (r < 0)
			return failed(batch, r, why);
	}
}

void audit_source_end(struct audit_source *source)
{
	while (source->depth > 0)
		closedir(source->directories[--source->depth].dir);
	if (source->fd >= 0)
		close_file(source);
	free(source->carry);
	source->carry = NULL;
}

void audit_batch_free(struct audit_batch *batch)
{
	free(batch->buf);
	*batch = (struct audit_batch){ 0 };
}
