#include "kabi/cgroup.h"

#include <errno.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/mountinfo.h"
#include "kabi/text.h"

#define SELF_CGROUP_SIZE (64 << 10)
#define MOVES_MAX 8 /* of this process while it is looked for */

const char *const controller_names[CONTROLLER_COUNT] = {
	[CONTROLLER_CPU] = "cpu", [CONTROLLER_MEMORY] = "memory", [CONTROLLER_PIDS] = "pids",
	[CONTROLLER_IO] = "io",	  [CONTROLLER_CPUSET] = "cpuset",
};

/* ---- /proc/self/cgroup: "ID:CONTROLLERS:PATH", and "0::PATH" for v2 ---- */

static const char *v1_name(enum controller c)
{
	return c == CONTROLLER_IO ? "blkio" : controller_names[c];
}

static uint32_t controllers_in(const char *list)
{
	uint32_t found = 0;

	for (unsigned c = 0; c < CONTROLLER_COUNT; c++)
		if (text_in_list(list, v1_name((enum controller)c)))
			found |= 1U << c;
	return found;
}

static void read_row(char *line, struct cgroup_place *ret)
{
	char *list = strchr(line, ':');
	char *path = list ? strchr(list + 1, ':') : NULL;

	if (!path || path[1] != '/')
		return;
	*list++ = '\0';
	*path++ = '\0';
	if (strcmp(line, "0") == 0 && !*list) {
		if (!text_copy(ret->v2.own, sizeof(ret->v2.own), path))
			ret->v2.own[0] = '\0';
		return;
	}
	ret->v1_controllers |= controllers_in(list);
	if (text_in_list(list, "cpu") && !text_copy(ret->v1_cpu.own, sizeof(ret->v1_cpu.own), path))
		ret->v1_cpu.own[0] = '\0';
}

void cgroup_read_own(char *text, struct cgroup_place *ret)
{
	char *line;

	while ((line = text_line(&text)))
		read_row(line, ret);
}

static void find_own(const struct kernel *k, struct cgroup_place *ret)
{
	static char text[SELF_CGROUP_SIZE];
	ssize_t n = file_read(k, "/proc/self/cgroup", text, sizeof(text));

	if (n < 0)
		ret->own_error = (int)n;
	else
		cgroup_read_own(text, ret);
}

/* ---- a mount and our place in it ---- */

/* Does `path` have a ".." component? */
static bool climbs(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")); at += 3)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

bool cgroup_directory(const char *point, const char *root, const char *own, char *buf, size_t size)
{
	struct text t = text_start(buf, size);
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (own[0] != '/' || strncmp(own, root, len) != 0 || (own[len] != '/' && own[len] != '\0'))
		return false;
	own += len;
	if (climbs(own))
		return false;
	text_add(&t, point);
	if (strcmp(own, "/") != 0)
		text_add(&t, strcmp(point, "/") == 0 && *own ? own + 1 : own);
	return !t.cut;
}

static void look_for_directory(const struct kernel *k, const char *path, struct hierarchy *h)
{
	struct node node;
	int r = k->stat(k, path, &node);

	if (r == 0 && node.type == NODE_DIR)
		text_copy(h->dir, sizeof(h->dir), path);
	else if (r < 0 && r != -ENOENT && r != -ENOTDIR && r != -EACCES)
		h->dir_error = r;
}

static void take_mount(const struct kernel *k, const struct mount *m, struct hierarchy *h)
{
	char dir[CGROUP_PATH_MAX];

	if (!text_copy(h->mount, sizeof(h->mount), m->point)) {
		h->mount[0] = '\0';
		return;
	}
	h->read_only = text_in_list(m->options, "ro") || text_in_list(m->super, "ro");
	h->dir[0] = '\0';
	h->dir_error = 0;
	if (cgroup_directory(m->point, m->root, h->own, dir, sizeof(dir)))
		look_for_directory(k, dir, h);
}

/* Ask the filesystem itself: another mount may lie on top of what mountinfo names. */
static enum answer ask_magic(const struct kernel *k, const char *path, struct fact *ret)
{
	struct fs_info fs = { 0 };
	char call[sizeof(ret->call)];
	char got[sizeof(ret->got)];
	struct text c = TEXT_BUF(call);
	struct text g = TEXT_BUF(got);
	int r = k->statfs(k, path, &fs);

	text_add(&c, "statfs ");
	text_add(&c, path);
	if (r < 0) {
		fact_call(ret, ANSWER_UNKNOWN, call, r);
		return ANSWER_UNKNOWN;
	}
	text_add_hex(&g, fs.magic);
	fact_text(ret, fs.magic == CGROUP2_MAGIC ? ANSWER_YES : ANSWER_NO, BASIS_OBSERVED, call,
		  got);
	return ret->answer;
}

/* The better of two mounts of a hierarchy shows our own cgroup, and lets it be written. A later
 * mount on the same point lies on top of the earlier one.
 */
static bool better(const struct hierarchy *new, const struct hierarchy *old)
{
	if (!old->mount[0] || strcmp(new->mount, old->mount) == 0)
		return true;
	if (!new->dir[0])
		return false;
	return !old->dir[0] || (old->read_only && !new->read_only);
}

/* Returns whether *h is now that mount. */
static bool take_if_better(const struct kernel *k, const struct mount *m, struct hierarchy *h)
{
	struct hierarchy new = *h;

	take_mount(k, m, &new);
	if (!better(&new, h))
		return false;
	*h = new;
	return true;
}

/* While nothing is confirmed, a mount that could not be asked about outweighs any that are not. */
static void note_unconfirmed(const struct fact *asked, struct fact *mounted)
{
	if (mounted->answer == ANSWER_NO || asked->answer == mounted->answer)
		*mounted = *asked;
}

static void see_v2(const struct kernel *k, const struct mount *m, struct cgroup_place *ret)
{
	struct fact asked = { 0 };

	if (ask_magic(k, m->point, &asked) != ANSWER_YES)
		note_unconfirmed(&asked, &ret->mounted);
	else if (take_if_better(k, m, &ret->v2))
		ret->mounted = asked;
}

static void see_v1(const struct kernel *k, const struct mount *m, struct cgroup_place *ret)
{
	ret->v1_mounted = true;
	ret->v1_controllers |= controllers_in(m->super);
	if (text_in_list(m->super, "cpu"))
		take_if_better(k, m, &ret->v1_cpu);
}

static enum cgroup_layout layout_of(const struct cgroup_place *place)
{
	switch (place->mounted.answer) {
	case ANSWER_YES:
		return place->v1_controllers ? CGROUP_HYBRID : CGROUP_UNIFIED;
	case ANSWER_NO:
		return place->v1_mounted ? CGROUP_V1 : CGROUP_NONE;
	case ANSWER_UNKNOWN:
		break;
	}
	return CGROUP_UNKNOWN;
}

/* Without mountinfo: v2 may be at one of its two usual places, but not being there says nothing.
 * The second is its place beside v1.
 */
static void look_at_usual_places(const struct kernel *k, int err, struct cgroup_place *ret)
{
	static const struct {
		const char *path;
		enum cgroup_layout layout;
	} places[] = {
		{ "/sys/fs/cgroup", CGROUP_UNIFIED },
		{ "/sys/fs/cgroup/unified", CGROUP_HYBRID },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct mount m = {
			.root = "/", .point = places[i].path, .options = "", .super = ""
		};

		if (ask_magic(k, m.point, &ret->mounted) == ANSWER_YES) {
			take_mount(k, &m, &ret->v2);
			ret->layout = ret->v1_controllers ? CGROUP_HYBRID : places[i].layout;
			return;
		}
	}
	ret->mounted = (struct fact){ 0 };
	fact_call(&ret->mounted, ANSWER_UNKNOWN, "read /proc/self/mountinfo", err);
}

static void read_mounts(const struct kernel *k, struct mountinfo *mounts, struct cgroup_place *ret)
{
	uint32_t seen = 0;
	struct mount m;

	fact_text(&ret->mounted, ANSWER_NO, BASIS_OBSERVED, "read /proc/self/mountinfo",
		  "no cgroup2 mount");
	while (mountinfo_next(mounts, &m)) {
		seen++;
		if (strcmp(m.type, "cgroup2") == 0)
			see_v2(k, &m, ret);
		else if (strcmp(m.type, "cgroup") == 0)
			see_v1(k, &m, ret);
	}
	if (seen == 0)
		fact_text(&ret->mounted, ANSWER_UNKNOWN, BASIS_NONE, "read /proc/self/mountinfo",
			  "no mounts");
	ret->layout = layout_of(ret);
}

static void find_once(const struct kernel *k, struct cgroup_place *ret)
{
	struct mountinfo mounts;
	int r;

	*ret = (struct cgroup_place){ 0 };
	find_own(k, ret);
	r = mountinfo_open(k, &mounts);
	ret->mounts_error = r < 0 ? r : 0;
	if (r < 0)
		look_at_usual_places(k, r, ret);
	else
		read_mounts(k, &mounts, ret);
	ret->deleted = !ret->v2.dir[0] && text_ends(ret->v2.own, " (deleted)");
}

/* Known by name, and not there. */
static bool is_lost(const struct hierarchy *h)
{
	return h->mount[0] && h->own[0] && !h->dir[0] && h->dir_error == 0;
}

/* Is this process in other cgroups by now? */
static bool has_moved(const struct kernel *k, const struct cgroup_place *place)
{
	static struct cgroup_place now;

	now = (struct cgroup_place){ 0 };
	find_own(k, &now);
	return now.own_error < 0 || strcmp(now.v2.own, place->v2.own) != 0 ||
	       strcmp(now.v1_cpu.own, place->v1_cpu.own) != 0;
}

/* A manager may move a process at any time, and remove the cgroup it was in. */
void cgroup_find(const struct kernel *k, struct cgroup_place *ret)
{
	for (int i = 0; i < MOVES_MAX; i++) {
		find_once(k, ret);
		if (!(is_lost(&ret->v2) || is_lost(&ret->v1_cpu)) || !has_moved(k, ret))
			return;
	}
	ret->v2.dir_error = is_lost(&ret->v2) ? -EAGAIN : ret->v2.dir_error;
	ret->v1_cpu.dir_error = is_lost(&ret->v1_cpu) ? -EAGAIN : ret->v1_cpu.dir_error;
}
