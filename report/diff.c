#include "report/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/text.h"

/* Paths that differ between two reports of a node on which nothing changed; "*" is one part. */
static const struct volatile_path {
	const char *path;
	bool watch_only;
} volatile_paths[] = {
	{ "disk_free_gb", false },
	{ "report.time", false },
	{ "report.duration_ms", false },
	{ "report.generator", false },
	{ "report.probes.*.micros", false },
	{ "report.trials.micros", false },
	{ "kernel.host.disk", false },
	{ "capabilities.*.evidence.*.micros", false },
	/* Facts, which are below "kernel" too; trials have other members. */
	{ "capabilities.*.evidence.*.answer", false },
	{ "capabilities.*.evidence.*.basis", false },
	{ "capabilities.*.evidence.*.got", false },
	/* The same as capabilities, in the words of the wire. */
	{ "sandbox.enforcement", false },
	{ "kernel.net", true },
};

/* A key of ours has no '.', but for the names of capabilities and sysctls: '*' takes those whole,
 * as what follows it in the pattern must follow in the path.
 */
static bool path_matches(const char *pattern, const char *path)
{
	const char *star = strchr(pattern, '*');
	size_t head;

	if (!star)
		return strcmp(pattern, path) == 0;
	head = (size_t)(star - pattern);
	if (strncmp(pattern, path, head) != 0)
		return false;
	for (const char *rest = path + head; *rest; rest++)
		if (path_matches(star + 1, rest))
			return true;
	return !star[1];
}

static bool is_volatile(const char *path, enum diff_scope scope)
{
	for (size_t i = 0; i < sizeof(volatile_paths) / sizeof(volatile_paths[0]); i++)
		if ((scope == DIFF_WATCH || !volatile_paths[i].watch_only) &&
		    path_matches(volatile_paths[i].path, path))
			return true;
	return false;
}

struct walk {
	struct diff *ret;
	enum diff_scope scope;
	char path[DIFF_PATH_MAX];
	uint8_t parts[DIFF_PARTS_MAX];
	unsigned depth;
};
_Static_assert(DIFF_PATH_MAX - 1 <= UINT8_MAX, "where a part begins");

static int add(struct walk *w, const cJSON *from, const cJSON *to)
{
	struct diff *d = w->ret;
	struct diff_change *c;

	if (d->count == d->room) {
		size_t room = d->room ? d->room * 2 : 32;

		c = reallocarray(d->of, room, sizeof(*c));
		if (!c)
			return -ENOMEM;
		d->of = c;
		d->room = room;
	}
	c = &d->of[d->count++];
	text_copy(c->path, sizeof(c->path), w->path);
	memcpy(c->parts, w->parts, sizeof(c->parts));
	c->part_count = w->depth < DIFF_PARTS_MAX ? w->depth : DIFF_PARTS_MAX;
	c->from = from;
	c->to = to;
	return 0;
}

static int compare(struct walk *w, const cJSON *from, const cJSON *to);

/* Compare one member, with `name` behind the path. */
static int compare_member(struct walk *w, const char *name, const cJSON *from, const cJSON *to)
{
	struct text t = { w->path, sizeof(w->path), strlen(w->path), false };
	size_t len = t.len;
	int r = 0;

	if (len > 0)
		text_add(&t, ".");
	if (w->depth < DIFF_PARTS_MAX)
		w->parts[w->depth] = (uint8_t)t.len;
	text_add(&t, name);
	w->depth++;
	if (!is_volatile(w->path, w->scope))
		r = compare(w, from, to);
	w->depth--;
	w->path[len] = '\0';
	return r;
}

static int compare_objects(struct walk *w, const cJSON *from, const cJSON *to)
{
	const cJSON *item;
	int r = 0;

	cJSON_ArrayForEach(item, from) if (r == 0) r = compare_member(
		w, item->string, item, cJSON_GetObjectItemCaseSensitive(to, item->string));
	cJSON_ArrayForEach(item,
			   to) if (r == 0 && !cJSON_GetObjectItemCaseSensitive(from, item->string))
		r = compare_member(w, item->string, NULL, item);
	return r;
}

/* What an item of a list is called: the first of these members that it has. */
static const char *name_of(const cJSON *item)
{
	static const char *const keys[] = { "name", "id", "trial", "call", "path", "file", "text" };

	if (cJSON_IsString(item))
		return item->valuestring;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, keys[i]);

		if (cJSON_IsString(name))
			return name->valuestring;
	}
	return NULL;
}

/* The item of that name, the one before it in `list` not counted as often as it has been seen. */
static const cJSON *find(const cJSON *list, const char *name, unsigned nth)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		const char *other = name_of(item);

		if (other && strcmp(other, name) == 0 && nth-- == 0)
			return item;
	}
	return NULL;
}

/* How many items before `stop` have its name. */
static unsigned seen(const cJSON *list, const cJSON *stop)
{
	unsigned count = 0;
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		if (item == stop)
			break;
		count += strcmp(name_of(item), name_of(stop)) == 0;
	}
	return count;
}

static bool all_named(const cJSON *list)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, list) if (!name_of(item)) return false;
	return true;
}

static int compare_named(struct walk *w, const cJSON *from, const cJSON *to)
{
	const cJSON *item;
	int r = 0;

	cJSON_ArrayForEach(item, from) if (r == 0) r =
		compare_member(w, name_of(item), item, find(to, name_of(item), seen(from, item)));
	cJSON_ArrayForEach(item, to) if (r == 0 && !find(from, name_of(item), seen(to, item)))
		r = compare_member(w, name_of(item), NULL, item);
	return r;
}

static int compare_lists(struct walk *w, const cJSON *from, const cJSON *to)
{
	const cJSON *x = from->child;
	const cJSON *y = to->child;
	int r = 0;

	if (all_named(from) && all_named(to))
		return compare_named(w, from, to);
	for (int i = 0; r == 0 && (x || y); i++) {
		char number[16];
		struct text t = TEXT_BUF(number);

		text_add_int(&t, i);
		r = compare_member(w, number, x, y);
		x = x ? x->next : NULL;
		y = y ? y->next : NULL;
	}
	return r;
}

static int compare(struct walk *w, const cJSON *from, const cJSON *to)
{
	if (!from || !to)
		return add(w, from, to);
	if (cJSON_IsObject(from) && cJSON_IsObject(to))
		return compare_objects(w, from, to);
	if (cJSON_IsArray(from) && cJSON_IsArray(to))
		return compare_lists(w, from, to);
	return cJSON_Compare(from, to, true) ? 0 : add(w, from, to);
}

/* What a reader wants first. */
static int rank(const char *path)
{
	static const char *const first[] = { "capabilities.", "modules.", "findings.", "kernel." };

	for (int i = 0; i < 4; i++)
		if (text_starts(path, first[i]))
			return i == 0 && !text_ends(path, ".status") ? 4 : i == 3 ? 5 : i;
	return 3;
}

static int compare_changes(const void *a, const void *b)
{
	const struct diff_change *x = a;
	const struct diff_change *y = b;
	int r = rank(x->path) - rank(y->path);

	return r ? r : strcmp(x->path, y->path);
}

int diff_make(const cJSON *from, const cJSON *to, enum diff_scope scope, struct diff *ret)
{
	struct walk w = { .ret = ret, .scope = scope };
	int r = compare(&w, from, to);

	if (r == 0 && ret->count > 0)
		qsort(ret->of, ret->count, sizeof(*ret->of), compare_changes);
	return r;
}

void diff_free(struct diff *diff)
{
	free(diff->of);
	*diff = (struct diff){ 0 };
}
