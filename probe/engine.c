#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kabi/fault.h"
#include "kabi/file.h"
#include "kabi/path.h"
#include "kabi/recorded.h"
#include "kabi/text.h"
#include "probe/cdi.h"
#include "probe/probes.h"

#define NAMES_SIZE (16 << 10)
#define SPEC_SIZE (1 << 20)

/* ---- the engine (wire.md section 3.3) ---- */

static const char *const runtimes[] = { "podman", "docker" };
static const char *const dirs[] = { "/usr/bin", "/usr/local/bin", "/bin" };

/* Add "'PATH': ENAME" to a list of what was in the way. */
static void note(struct text *t, const char *path, int err)
{
	char name[ERRNO_NAME_MAX];

	text_add(t, t->len > 0 ? ", '" : "'");
	text_add(t, path);
	text_add(t, "': ");
	text_add(t, err == KERNEL_NOT_RECORDED ? "not recorded" : errno_name(err, name));
}

/* 1 when it is a program this process may execute, 0 when nothing is there, or -errno. */
static int is_program(const struct kernel *k, const char *path)
{
	struct node node;
	int r = k->stat(k, path, &node);

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0)
		return r;
	if (node.type != NODE_FILE && node.type != NODE_LINK)
		return 0;
	r = k->access(k, path, X_OK);
	return r == 0 ? 1 : r == -ENOENT ? 0 : r;
}

static bool found(const char *runtime, const char *path, struct engine_facts *ret)
{
	struct text detail = TEXT_BUF(ret->detail);

	ret->state = ENGINE_INSTALLED;
	text_copy(ret->runtime, sizeof(ret->runtime), runtime);
	text_copy(ret->path, sizeof(ret->path), path);
	text_add(&detail, runtime);
	text_add(&detail, " is at ");
	text_add(&detail, path);
	return true;
}

/* In all the places where one engine may be. `unsure`: one of them did not answer. */
static bool find_runtime(const struct kernel *k, const char *runtime, struct text *obstacles,
			 bool *unsure, struct engine_facts *ret)
{
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		char path[FACTS_PATH_MAX];
		int r;

		path_join(path, sizeof(path), dirs[i], runtime);
		r = is_program(k, path);
		if (r > 0)
			return found(runtime, path, ret);
		if (r < 0)
			note(obstacles, path, -r);
		if (r < 0 && r != -EACCES && r != -EPERM)
			*unsure = true;
	}
	return false;
}

static void find_engine(const struct kernel *k, struct engine_facts *ret)
{
	struct text detail = TEXT_BUF(ret->detail);
	char seen[FACTS_LINE_MAX];
	struct text obstacles = TEXT_BUF(seen);
	bool unsure = false;

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (find_runtime(k, runtimes[i], &obstacles, &unsure, ret))
			return;
	ret->state = unsure ? ENGINE_UNKNOWN : ENGINE_ABSENT;
	if (obstacles.len > 0) {
		text_add(&detail, "no container engine can be executed: ");
		text_add(&detail, seen);
	} else {
		text_add(&detail,
			 "neither podman nor docker is in /usr/bin, /usr/local/bin or /bin");
	}
}

/* ---- the first CDI spec with a device named "all" ---- */

static bool is_spec_name(const char *name)
{
	return text_ends(name, ".json") || text_ends(name, ".yaml") || text_ends(name, ".yml");
}

static void say_unreadable(const char *path, int err, struct engine_facts *ret)
{
	char detail[FACTS_LINE_MAX];
	char why[FACTS_LINE_MAX];
	struct text t = TEXT_BUF(detail);
	struct text w = TEXT_BUF(why);

	note(&w, path, err);
	text_add(&t, ret->detail);
	text_add(&t, "; CDI: ");
	text_add(&t, why);
	text_copy(ret->detail, sizeof(ret->detail), detail);
}

static bool try_spec(const struct kernel *k, const char *path, struct engine_facts *ret)
{
	static char text[SPEC_SIZE];
	ssize_t n = file_read(k, path, text, sizeof(text));

	if (n < 0) {
		say_unreadable(path, (int)-n, ret);
		return false;
	}
	if (!cdi_scan(text, ret->cdi_kind, sizeof(ret->cdi_kind)))
		return false;
	text_copy(ret->cdi_file, sizeof(ret->cdi_file), path);
	return true;
}

static bool search_specs(const struct kernel *k, const char *dir, struct engine_facts *ret)
{
	static char names[NAMES_SIZE];
	ssize_t n = k->list(k, dir, names, sizeof(names));
	const char *name = names;

	if (n < 0 && n != -ENOENT)
		say_unreadable(dir, (int)-n, ret);
	for (ssize_t i = 0; i < n; i++, name += strlen(name) + 1) {
		char path[FACTS_PATH_MAX];

		if (is_spec_name(name) && path_join(path, sizeof(path), dir, name) &&
		    try_spec(k, path, ret))
			return true;
	}
	return false;
}

void probe_engine(const struct kernel *k, struct engine_facts *ret)
{
	find_engine(k, ret);
	if (!search_specs(k, "/etc/cdi", ret))
		search_specs(k, "/var/run/cdi", ret);
}
