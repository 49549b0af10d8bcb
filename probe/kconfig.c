#include "probe/kconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <zlib.h>

#include "kabi/lines.h"
#include "kabi/text.h"

struct search {
	const char *option;
	bool any; /* there are options in it */
	enum answer answer;
	char line[96]; /* as found */
};

static bool look(void *arg, char *line)
{
	struct search *s = arg;
	size_t len = strlen(s->option);

	s->any = s->any || text_starts(line, "CONFIG_");
	if (strncmp(line, s->option, len) == 0 && line[len] == '=')
		s->answer = strcmp(line + len, "=y") == 0 || strcmp(line + len, "=m") == 0
				    ? ANSWER_YES
				    : ANSWER_NO;
	else if (text_starts(line, "# ") && strncmp(line + 2, s->option, len) == 0 &&
		 strcmp(line + 2 + len, " is not set") == 0)
		s->answer = ANSWER_NO;
	else
		return true;
	text_copy(s->line, sizeof(s->line), line);
	return false;
}

/* zlib asks for two blocks, of about 7 and 32 KiB; they come from here. */
struct arena {
	size_t used;
	_Alignas(16) char bytes[64 * 1024];
};

static voidpf arena_take(voidpf opaque, uInt items, uInt size)
{
	struct arena *a = opaque;
	size_t want;
	char *taken;

	if (__builtin_mul_overflow((size_t)items, (size_t)size, &want))
		return Z_NULL;
	want = (want + 15) & ~(size_t)15;
	if (want > sizeof(a->bytes) - a->used)
		return Z_NULL;
	taken = a->bytes + a->used;
	a->used += want;
	return taken;
}

static void arena_give_back(voidpf opaque, voidpf address)
{
	(void)opaque;
	(void)address;
}

/* Inflate one piece of input into lines. Returns Z_OK to go on, Z_STREAM_END at the end, or an
 * error of zlib's. */
static int inflate_piece(z_stream *z, struct lines *l)
{
	char out[4096];
	int r;

	do {
		z->next_out = (Bytef *)out;
		z->avail_out = sizeof(out);
		r = inflate(z, Z_NO_FLUSH);
		if (r != Z_OK && r != Z_STREAM_END)
			return r == Z_BUF_ERROR ? Z_OK : r;
		if (!lines_feed(l, out, sizeof(out) - z->avail_out))
			return Z_STREAM_END;
		if (z->total_out > LINES_FILE_MAX)
			return Z_DATA_ERROR;
	} while (r == Z_OK && z->avail_out == 0);
	return r;
}

static int inflate_file(const struct kernel *k, int fd, z_stream *z, struct lines *l)
{
	char in[4096];
	int r = Z_OK;

	while (r == Z_OK) {
		ssize_t n = k->read(k, fd, in, sizeof(in));

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		if (n == 0)
			return -EBADMSG; /* it ends before the compressed stream does */
		z->next_in = (Bytef *)in;
		z->avail_in = (uInt)n;
		r = inflate_piece(z, l);
	}
	lines_end(l);
	return r == Z_STREAM_END ? 0 : -EBADMSG;
}

static int look_gzip(const struct kernel *k, const char *path, struct search *s)
{
	struct arena arena = { .used = 0 };
	z_stream z = { .zalloc = arena_take, .zfree = arena_give_back, .opaque = &arena };
	struct lines l;
	int fd;
	int r;

	fd = k->open(k, path, O_RDONLY);
	if (fd < 0)
		return fd;
	lines_start(&l, '\n', look, s);
	/* 15 bits of window; 16 more: with a gzip header. */
	r = inflateInit2(&z, 15 + 16) == Z_OK ? inflate_file(k, fd, &z, &l) : -ENOMEM;
	inflateEnd(&z);
	k->close(k, fd);
	return r;
}

/* Where a configuration may be; the release goes between `before` and `after`. */
static const struct place {
	const char *before;
	const char *after; /* NULL: the path has no release in it */
} places[] = {
	{ "/proc/config.gz", NULL },
	{ "/proc/config", NULL },
	{ "/boot/config-", "" },
	{ "/lib/modules/", "/config" },
};

static int look_in(const struct kernel *k, const char *path, struct search *s)
{
	if (text_ends(path, ".gz"))
		return look_gzip(k, path, s);
	return lines_read(k, path, '\n', look, s);
}

/* Returns false when there is no file at that place. */
static bool ask_place(const struct kernel *k, const struct place *place, const char *release,
		      const char *option, struct fact *ret)
{
	struct search s = { .option = option };
	char path[sizeof(ret->call)];
	struct text t = TEXT_BUF(path);
	int r;

	text_add(&t, place->before);
	if (place->after) {
		text_add(&t, release);
		text_add(&t, place->after);
	}
	r = look_in(k, path, &s);
	if (r == -ENOENT)
		return false;
	if (r < 0)
		fact_call(ret, ANSWER_UNKNOWN, path, r);
	else if (!s.any && s.answer == ANSWER_UNKNOWN)
		fact_text(ret, ANSWER_UNKNOWN, BASIS_NONE, path, "no configuration in it");
	else if (s.answer == ANSWER_UNKNOWN)
		fact_text(ret, ANSWER_NO, BASIS_CLAIMED, path, "not in it");
	else
		fact_text(ret, s.answer, BASIS_CLAIMED, path, s.line);
	return true;
}

void kconfig_ask(const struct kernel *k, const char *option, struct fact *ret)
{
	struct uts uts = { 0 };
	bool named = k->uname(k, &uts) == 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if ((named || !places[i].after) &&
		    ask_place(k, &places[i], uts.release, option, ret))
			return;
	fact_text(ret, ANSWER_UNKNOWN, BASIS_NONE, "/proc/config.gz, /boot/config-RELEASE",
		  "no such file");
}
