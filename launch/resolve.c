#include "launch/resolve.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "kabi/text.h"

#define LINKS_MAX 40 /* as the kernel's MAXSYMLINKS */

struct walk {
	struct text done;	 /* the real path so far: "" is the root directory */
	char rest[2 * PATH_MAX]; /* what is still to go */
	unsigned links;
};

static void go_up(struct walk *w)
{
	while (w->done.len > 0 && w->done.buf[--w->done.len] != '/')
		;
	w->done.buf[w->done.len] = '\0';
}

/* Cut the next component off `rest`; false at the end. */
static bool next(struct walk *w, char name[NAME_MAX + 1], bool *ret_last, int *ret_error)
{
	char *start = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(start, "/");

	*ret_error = 0;
	if (len == 0)
		return false;
	if (len > NAME_MAX) {
		*ret_error = -ENAMETOOLONG;
		return false;
	}
	memcpy(name, start, len);
	name[len] = '\0';
	start += len;
	start += strspn(start, "/");
	*ret_last = *start == '\0';
	memmove(w->rest, start, strlen(start) + 1);
	return true;
}

/* The component just added to `done` is a link to `target`: go there instead. */
static int follow(struct walk *w, const char *target)
{
	char rest[sizeof(w->rest)];
	struct text t = TEXT_BUF(rest);

	if (++w->links >= LINKS_MAX)
		return -ELOOP;
	text_add(&t, target);
	text_add(&t, "/");
	text_add(&t, w->rest);
	if (t.cut)
		return -ENAMETOOLONG;
	memcpy(w->rest, rest, t.len + 1);
	if (target[0] == '/') {
		w->done.len = 0;
		w->done.buf[0] = '\0';
	} else {
		go_up(w);
	}
	return 0;
}

static int step(const struct kernel *k, struct walk *w, const char *name, bool follow_link)
{
	char target[PATH_MAX];
	ssize_t n;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		go_up(w);
		return 0;
	}
	text_add(&w->done, "/");
	text_add(&w->done, name);
	if (w->done.cut)
		return -ENAMETOOLONG;
	n = k->readlink(k, w->done.buf, target, sizeof(target));
	if (n == -EINVAL)
		return 0; /* not a link */
	if (n < 0)
		return (int)n;
	return follow_link ? follow(w, target) : -ELOOP;
}

int resolve_path(const struct kernel *k, const char *path, bool last_may_be_link, char *ret,
		 size_t size)
{
	struct walk w = { .done = text_start(ret, size) };
	char name[NAME_MAX + 1];
	bool last;
	int r;

	if (size < 2 || !text_copy(w.rest, sizeof(w.rest), path))
		return -ENAMETOOLONG;
	while (next(&w, name, &last, &r)) {
		r = step(k, &w, name, last_may_be_link || !last);
		if (r < 0)
			return r;
	}
	if (r == 0 && w.done.len == 0)
		text_add(&w.done, "/");
	return r == 0 && w.done.cut ? -ENAMETOOLONG : r;
}
