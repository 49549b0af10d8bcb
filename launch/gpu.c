#include "launch/gpu.h"

#include <errno.h>
#include <string.h>

#include "kabi/text.h"

#define NAMES_MAX (64 * 1024)

/* A name that ends in '*' stands for all that begin so. */
static const struct {
	const char *dir;
	const char *name;
	bool listed; /* the directory gets a rule to list it */
} patterns[] = {
	{ "/dev", "nvidia*", false },
	{ "/dev", "kfd", false },
	{ "/dev", "dxg", false },
	{ "/dev/dri", "renderD*", true },
	{ "/dev/nvidia-caps", "nvidia-cap*", true },
};
#define PATTERN_COUNT (sizeof(patterns) / sizeof(patterns[0]))

static bool matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return strncmp(pattern, name, len - 1) == 0;
	return strcmp(pattern, name) == 0;
}

/* Keep "dir/name", or `dir` itself without a name. */
static int keep(struct gpu_nodes *g, const char *dir, const char *name, bool is_dir,
		struct fault *why)
{
	struct text t;

	if (g->count == GPU_NODES_MAX)
		return fault_errno(why, "too many GPU nodes in", dir, E2BIG);
	t = text_start(g->text + g->used, sizeof(g->text) - g->used);
	text_add(&t, dir);
	if (name) {
		text_add(&t, "/");
		text_add(&t, name);
	}
	if (t.cut || t.size == 0)
		return fault_errno(why, "too many GPU nodes in", dir, E2BIG);
	g->nodes[g->count++] = (struct gpu_node){ .path = t.buf, .is_dir = is_dir };
	g->used += t.len + 1;
	return 0;
}

/* The last kept node, dropped again if it is not a character device. */
static void drop_unless_device(const struct kernel *k, struct gpu_nodes *g)
{
	const char *path = g->nodes[g->count - 1].path;
	struct node node;

	if (k->stat(k, path, &node) == 0 && node.type == NODE_CHAR)
		return;
	g->count--;
	g->used = (size_t)(path - g->text);
}

static int keep_matching(const struct kernel *k, struct gpu_nodes *g, const char *dir,
			 const char *name, struct fault *why)
{
	for (size_t i = 0; i < PATTERN_COUNT; i++) {
		int r;

		if (strcmp(patterns[i].dir, dir) != 0 || !matches(patterns[i].name, name))
			continue;
		r = keep(g, dir, name, false, why);
		if (r < 0)
			return r;
		drop_unless_device(k, g);
		return 0;
	}
	return 0;
}

static int find_in(const struct kernel *k, struct gpu_nodes *g, const char *dir, bool listed,
		   struct fault *why)
{
	static char names[NAMES_MAX];
	const char *name = names;
	ssize_t count = k->list(k, dir, names, sizeof(names));
	int r = 0;

	if (count == -ENOENT || count == -ENOTDIR)
		return 0;
	if (count < 0)
		return fault_errno(why, "list", dir, (int)-count);
	if (listed)
		r = keep(g, dir, NULL, true, why);
	for (ssize_t i = 0; r == 0 && i < count; i++) {
		r = keep_matching(k, g, dir, name, why);
		name += strlen(name) + 1;
	}
	return r;
}

int gpu_find(const struct kernel *k, struct gpu_nodes *ret, struct fault *why)
{
	const char *dir = NULL;

	ret->count = 0;
	ret->used = 0;
	for (size_t i = 0; i < PATTERN_COUNT; i++) {
		int r;

		/* Patterns of one directory stand together. */
		if (dir && strcmp(dir, patterns[i].dir) == 0)
			continue;
		dir = patterns[i].dir;
		r = find_in(k, ret, dir, patterns[i].listed, why);
		if (r < 0) {
			ret->count = 0;
			return r;
		}
	}
	return 0;
}
