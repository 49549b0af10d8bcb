#include "kabi/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kabi/file.h"
#include "kabi/recording.h"
#include "kabi/text.h"

#define CALLS_SIZE_MAX (1 << 20)
/* No errno is above it (include/linux/err.h in the kernel). */
#define ERRNO_MAX 4095

const char *recording_find(const struct kernel *k, const char *call, const char *a, const char *b)
{
	const struct recording *r = k->state;

	return rows_find(&r->rows, call, a, b);
}

int64_t recording_number(const char *answer)
{
	int64_t value;

	return rows_number(answer, &value) < 0 || value < -ERRNO_MAX ? NOT_RECORDED : value;
}

int recording_result(const char *answer)
{
	int64_t value = recording_number(answer);

	return value > INT_MAX ? NOT_RECORDED : (int)value;
}

int recording_numbers(const char *answer, int64_t *ret, int max)
{
	char copy[4096];
	char *cursor = copy;
	const char *word;
	int count = 0;

	if (!answer)
		return NOT_RECORDED;
	if (errno_from_name(answer))
		return -errno_from_name(answer);
	if (!text_copy(copy, sizeof(copy), answer))
		return -EINVAL;
	while ((word = text_word(&cursor))) {
		if (count == max || recording_number(word) < 0)
			return -EINVAL;
		ret[count++] = recording_number(word);
	}
	return count;
}

static int ask(const struct kernel *k, const char *call, const char *a, const char *b)
{
	const char *answer = recording_find(k, call, a, b);

	return answer ? recording_result(answer) : NOT_RECORDED;
}

static void decimal(char buf[24], int64_t value)
{
	struct text t = text_start(buf, 24);

	text_add_int(&t, value);
}

/* ---- Landlock and seccomp ---- */

static int bit_number(uint64_t mask)
{
	return __builtin_popcountll(mask) == 1 ? __builtin_ctzll(mask) : -1;
}

/* A descriptor stands for the ruleset that the machine would have made. */
static int rec_ll_create(const struct kernel *k, const struct ll_ruleset_attr *attr, size_t size,
			 uint32_t flags)
{
	const char *kind;
	char bit[24];
	int r;

	(void)size;
	if (flags == LL_CREATE_VERSION)
		return ask(k, "landlock", "version", NULL);
	if (flags == LL_CREATE_ERRATA)
		return ask(k, "landlock", "errata", NULL);
	if (!attr || flags)
		return NOT_RECORDED;

	kind = attr->handled_fs ? "fs" : attr->handled_net ? "net" : "scope";
	decimal(bit, bit_number(attr->handled_fs | attr->handled_net | attr->scoped));
	r = ask(k, "landlock", kind, bit);
	return r < 0 ? r : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int rec_ll_restrict(const struct kernel *k, int ruleset, uint32_t flags)
{
	char bit[24];

	(void)ruleset;
	decimal(bit, bit_number(flags));
	return ask(k, "landlock", "restrict", bit);
}

static const char *word_name(const struct sc_word *words, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++)
		if (words[i].value == value)
			return words[i].name;
	return "?";
}

static int rec_seccomp(const struct kernel *k, unsigned operation, unsigned flags, const void *arg)
{
	if (operation == SC_GET_ACTION_AVAIL)
		return ask(k, "seccomp", "action",
			   word_name(sc_actions, SC_ACTION_COUNT, *(const uint32_t *)arg));
	/* A flag may come together with the one it needs: the higher is the one that is asked for.
	 */
	while (flags & (flags - 1))
		flags &= flags - 1;
	if (operation == SC_SET_MODE_FILTER && !arg)
		return ask(k, "seccomp", "flag", word_name(sc_flags, SC_FLAG_COUNT, flags));
	return NOT_RECORDED;
}

/* ---- this process and the machine ---- */

static int rec_prctl(const struct kernel *k, int option, unsigned long a, unsigned long b,
		     unsigned long c, unsigned long d)
{
	char number_text[24];
	char a_text[24];

	(void)b;
	(void)c;
	(void)d;
	decimal(number_text, option);
	decimal(a_text, (int64_t)a);
	return ask(k, "prctl", number_text, a_text);
}

static int rec_capget(const struct kernel *k, struct cap_sets *ret)
{
	int64_t value[3];
	int n = recording_numbers(recording_find(k, "capget", NULL, NULL), value, 3);

	if (n < 0)
		return n;
	if (n != 3)
		return -EINVAL;
	*ret = (struct cap_sets){ (uint64_t)value[0], (uint64_t)value[1], (uint64_t)value[2] };
	return 0;
}

static int rec_ids(const struct kernel *k, struct ids *ret)
{
	int64_t value[2 + IDS_GROUPS_MAX];
	int n = recording_numbers(recording_find(k, "ids", NULL, NULL), value, 2 + IDS_GROUPS_MAX);

	if (n < 0)
		return n;
	if (n < 2)
		return -EINVAL;
	for (int i = 0; i < n; i++)
		if (value[i] > UINT32_MAX)
			return -EINVAL;
	*ret = (struct ids){
		.uid = (uint32_t)value[0],
		.gid = (uint32_t)value[1],
		.group_count = (uint32_t)n - 2,
	};
	for (int i = 2; i < n; i++)
		ret->groups[i - 2] = (uint32_t)value[i];
	return 0;
}

static int uts_field(const struct kernel *k, const char *name, char buf[UTS_TEXT_MAX])
{
	const char *answer = recording_find(k, "uname", name, NULL);

	return answer && text_copy(buf, UTS_TEXT_MAX, answer) ? 0 : NOT_RECORDED;
}

static int rec_uname(const struct kernel *k, struct uts *ret)
{
	struct uts uts = { 0 };

	if (uts_field(k, "release", uts.release) < 0 || uts_field(k, "machine", uts.machine) < 0)
		return NOT_RECORDED;
	uts_field(k, "nodename", uts.nodename);
	uts_field(k, "version", uts.version);
	*ret = uts;
	return 0;
}

static int rec_cpu_count(const struct kernel *k)
{
	return ask(k, "cpu_count", NULL, NULL);
}

static int rec_io_uring_setup(const struct kernel *k, unsigned entries, void *params)
{
	(void)entries;
	(void)params;
	return ask(k, "io_uring_setup", NULL, NULL);
}

static int rec_try_unshare(const struct kernel *k, unsigned long flags)
{
	char hex[24];
	struct text t = TEXT_BUF(hex);

	text_add_hex(&t, flags);
	return ask(k, "unshare", hex, NULL);
}

static int rec_try_foreign(const struct kernel *k, enum foreign_entry entry)
{
	switch (entry) {
	case FOREIGN_I386:
		return ask(k, "foreign", "i386", NULL);
	case FOREIGN_X32:
		return ask(k, "foreign", "x32", NULL);
	}
	return NOT_RECORDED;
}

static ssize_t rec_route_dump(const struct kernel *k, unsigned type, const void *request,
			      size_t request_size, void *buf, size_t size)
{
	char number_text[24];
	const char *answer;
	ssize_t n;
	int fd;

	(void)request;
	(void)request_size;
	decimal(number_text, (int64_t)type);
	answer = recording_find(k, "route_dump", number_text, NULL);
	if (!answer)
		return NOT_RECORDED;
	if (errno_from_name(answer))
		return -errno_from_name(answer);
	fd = recording_open(k, answer, O_RDONLY);
	if (fd < 0)
		return fd;
	n = kernel_live.read(k, fd, buf, size);
	close(fd);
	return (size_t)n == size ? -ENOSPC : n;
}

static long rec_library(const struct kernel *k, const char *question, long (*live)(void *arg),
			void *arg)
{
	const char *answer;

	(void)live;
	(void)arg;
	answer = recording_find(k, "library", question, NULL);
	return answer ? (long)recording_number(answer) : NOT_RECORDED;
}

static int none_fcntl(const struct kernel *k, int fd, int command, long arg)
{
	(void)k;
	(void)fd;
	(void)command;
	(void)arg;
	return NOT_RECORDED;
}

/* ---- reading a recording ---- */

static void recording_free(struct recording *r)
{
	if (r->root >= 0)
		close(r->root);
	rows_free(&r->rows);
	free(r);
}

static struct kernel kernel_of(struct recording *r)
{
	struct kernel k = {
		.ll_create = rec_ll_create,
		.ll_restrict = rec_ll_restrict,
		.seccomp = rec_seccomp,
		.prctl = rec_prctl,
		.capget = rec_capget,
		.ids = rec_ids,
		.fcntl = none_fcntl,
		.uname = rec_uname,
		.cpu_count = rec_cpu_count,
		.io_uring_setup = rec_io_uring_setup,
		.try_unshare = rec_try_unshare,
		.try_foreign = rec_try_foreign,
		.route_dump = rec_route_dump,
		.library = rec_library,
		.state = r,
	};

	recording_files(&k);
	return k;
}

/* Takes `text`, which came from malloc. */
static int recording_make(char *text, int root, const char *name, struct kernel *ret,
			  struct fault *why)
{
	struct recording *r = calloc(1, sizeof(*r));
	int err;

	if (!r) {
		free(text);
		if (root >= 0)
			close(root);
		return fault_errno(why, "read", name, ENOMEM);
	}
	r->root = root;
	err = rows_parse(&r->rows, text, name, why);
	if (err < 0) {
		recording_free(r);
		return err;
	}
	*ret = kernel_of(r);
	return 0;
}

static int open_root(const char *root, struct fault *why)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? fault_errno(why, "open", root, errno) : fd;
}

int recorded_from_rows(const char *rows, const char *root, struct kernel *ret, struct fault *why)
{
	int fd = root ? open_root(root, why) : -1;
	char *text;

	if (root && fd < 0)
		return fd;
	text = strdup(rows);
	if (!text) {
		if (fd >= 0)
			close(fd);
		return fault_errno(why, "read", "rows", ENOMEM);
	}
	return recording_make(text, fd, "rows", ret, why);
}

int recorded_open(const char *root, struct kernel *ret, struct fault *why)
{
	int fd = open_root(root, why);
	struct recording files = { .root = fd };
	struct kernel k;
	char *text;
	ssize_t n;

	if (fd < 0)
		return fd;
	text = calloc(1, CALLS_SIZE_MAX);
	if (!text) {
		close(fd);
		return fault_errno(why, "read", root, ENOMEM);
	}
	k = kernel_of(&files);
	n = file_read(&k, "/kernel.calls", text, CALLS_SIZE_MAX);
	if (n < 0 && n != -ENOENT) {
		free(text);
		close(fd);
		fault_errno(why, "read kernel.calls in", root, (int)-n);
		return (int)n;
	}
	if (n < 0 && faccessat(fd, "proc", F_OK, 0) < 0) {
		free(text);
		close(fd);
		fault_join(why, "'", root, "' is no recorded machine: there is neither '",
			   "kernel.calls' nor 'proc'", NULL);
		return -EINVAL;
	}
	return recording_make(text, fd, "kernel.calls", ret, why);
}

void recorded_close(struct kernel *k)
{
	recording_free(k->state);
	k->state = NULL;
}
