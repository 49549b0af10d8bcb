#include "probe/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "kabi/fault.h"
#include "kabi/path.h"
#include "kabi/recorded.h"
#include "kabi/text.h"
#include "probe/ask.h"

#define NAMES_SIZE (64 << 10)
#define DRM_MAJOR 226 /* the kernel's admin-guide/devices.txt */

struct pattern {
	const char *dir;
	const char *name;
	bool numbered; /* the name is followed by a number */
	enum gpu_node_kind kind;
};

/* The nodes a GPU grant is about (wire.md section 14, item 17). Names are as the drivers make them.
 */
static const struct pattern patterns[] = {
	{ "/dev/dri", "card", true, GPU_NODE_DRM_CARD },
	{ "/dev/dri", "renderD", true, GPU_NODE_DRM_RENDER },
	{ "/dev", "nvidia", true, GPU_NODE_NVIDIA },
	{ "/dev", "nvidiactl", false, GPU_NODE_NVIDIA_CONTROL },
	{ "/dev", "nvidia-uvm", false, GPU_NODE_NVIDIA_CONTROL },
	{ "/dev", "nvidia-uvm-tools", false, GPU_NODE_NVIDIA_CONTROL },
	{ "/dev", "nvidia-modeset", false, GPU_NODE_NVIDIA_CONTROL },
	{ "/dev", "nvidia-nvswitchctl", false, GPU_NODE_NVIDIA_CONTROL },
	{ "/dev", "nvidia-nvswitch", true, GPU_NODE_NVIDIA_CONTROL },
	{ "/dev", "kfd", false, GPU_NODE_KFD },
	{ "/dev", "dxg", false, GPU_NODE_DXG },
	{ "/dev/nvidia-caps", "nvidia-cap", true, GPU_NODE_NVIDIA_CAPS },
	{ "/dev/nvidia-caps-imex-channels", "channel", true, GPU_NODE_NVIDIA_CAPS },
	{ "/dev/accel", "accel", true, GPU_NODE_OTHER },
};

static const char *const dirs[] = { "/dev", "/dev/dri", "/dev/nvidia-caps",
				    "/dev/nvidia-caps-imex-channels", "/dev/accel" };

bool gpu_numbered(const char *name, const char *prefix)
{
	size_t digits;

	if (!text_starts(name, prefix))
		return false;
	name += strlen(prefix);
	digits = strspn(name, "0123456789");
	return digits >= 1 && digits <= 6 && name[digits] == '\0';
}

const struct gpu_node *gpu_node_at(const struct gpu_facts *f, const char *path)
{
	for (uint32_t i = 0; i < f->node_count; i++) {
		const struct gpu_node *n = &f->nodes[i];

		if ((n->device || n->openable.answer == ANSWER_UNKNOWN) &&
		    strcmp(n->path, path) == 0)
			return n;
	}
	return NULL;
}

/* ---- one node ---- */

static bool is_drm(enum gpu_node_kind kind)
{
	return kind == GPU_NODE_DRM_CARD || kind == GPU_NODE_DRM_RENDER;
}

/* The permissions may allow what a device cgroup refuses with EPERM, and a node may be left over
 * from a driver that is gone (ENXIO, ENODEV): only opening tells. Returns 0, or -errno.
 */
static int try_open(const struct kernel *k, const struct gpu_node *n, struct fact *ret)
{
	char call[sizeof(ret->call)];
	enum answer answer = ANSWER_UNKNOWN;
	bool reads = n->kind == GPU_NODE_NVIDIA_CAPS;
	int fd = k->open(k, n->path, (reads ? O_RDONLY : O_RDWR) | O_NONBLOCK | O_NOCTTY);

	ask_name(call, sizeof(call), reads ? "open r" : "open rw", n->path);
	if (fd >= 0)
		answer = ANSWER_YES;
	else if (fd == -EACCES || fd == -EPERM || fd == -ENXIO || fd == -ENODEV)
		answer = ANSWER_NO;
	fact_call(ret, answer, call, fd < 0 ? fd : 0);
	if (fd < 0)
		return fd;
	k->close(k, fd);
	return 0;
}

/* A capability of NVIDIA's driver is held by whoever opens it for reading; its permissions allow no
 * more. A display node is not opened: who opens an idle one becomes DRM master, and closing it sets
 * the console's mode again. Its permissions are what is claimed of it. Returns 0, or -errno of the
 * refusal.
 */
static int ask_openable(const struct kernel *k, struct gpu_node *n)
{
	char call[sizeof(n->openable.call)];
	bool reads = n->kind == GPU_NODE_NVIDIA_CAPS;
	int r = k->access(k, n->path, reads ? R_OK : R_OK | W_OK);

	if (r == 0 && n->kind != GPU_NODE_DRM_CARD)
		return try_open(k, n, &n->openable);
	ask_name(call, sizeof(call), reads ? "access r" : "access rw", n->path);
	if (r == 0)
		fact_text(&n->openable, ANSWER_YES, BASIS_CLAIMED, call, "0");
	else
		fact_call(&n->openable, r == -EACCES || r == -EPERM ? ANSWER_NO : ANSWER_UNKNOWN,
			  call, r);
	return r;
}

static void look_at(const struct kernel *k, const struct ids *ids, struct gpu_node *n)
{
	char call[sizeof(n->openable.call)];
	int r = k->stat(k, n->path, &n->node);

	n->device = r == 0 && n->node.type == NODE_CHAR &&
		    (!is_drm(n->kind) || n->node.major == DRM_MAJOR);
	if (n->device) {
		if (ask_openable(k, n) == -EACCES && ids)
			gpu_group_for(k, ids, &n->node, n->group);
		return;
	}
	ask_name(call, sizeof(call), "stat", n->path);
	if (r < 0)
		fact_call(&n->openable, ANSWER_UNKNOWN, call, r);
	else
		fact_text(&n->openable, ANSWER_NO, BASIS_OBSERVED, call, "not such a device");
}

/* ---- finding them ---- */

static const struct pattern *match(const char *dir, const char *name)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const struct pattern *p = &patterns[i];

		if (strcmp(p->dir, dir) == 0 &&
		    (p->numbered ? gpu_numbered(name, p->name) : strcmp(name, p->name) == 0))
			return p;
	}
	return NULL;
}

static void add_node(const struct kernel *k, const struct ids *ids, const struct pattern *p,
		     const char *name, struct gpu_facts *f)
{
	struct gpu_node *n = &f->nodes[f->node_count];

	if (f->node_count == GPU_NODES_MAX || !path_join(n->path, sizeof(n->path), p->dir, name)) {
		f->truncated = true;
		return;
	}
	n->kind = p->kind;
	look_at(k, ids, n);
	f->node_count++;
}

/* What was not listed stays in the evidence; a directory that is not there has no nodes. */
static void note_listed(const char *dir, ssize_t n, struct gpu_facts *f)
{
	char call[sizeof(f->searched.call)];
	bool is_dev = dir == dirs[0];

	if (!is_dev && (n >= 0 || n == -ENOENT || n == -ENOTDIR))
		return;
	ask_name(call, sizeof(call), "list", dir);
	fact_call(&f->searched, n >= 0 ? ANSWER_YES : ANSWER_NO, call, n);
}

static void search(const struct kernel *k, const struct ids *ids, const char *dir,
		   struct gpu_facts *f)
{
	static char names[NAMES_SIZE];
	ssize_t n = k->list(k, dir, names, sizeof(names));
	const char *name = names;

	note_listed(dir, n, f);
	if (n == -ENOSPC)
		f->truncated = true;
	for (ssize_t i = 0; i < n; i++, name += strlen(name) + 1) {
		const struct pattern *p = match(dir, name);

		if (p)
			add_node(k, ids, p, name, f);
	}
}

void gpu_find_nodes(const struct kernel *k, struct gpu_facts *f)
{
	struct ids ids;
	const struct ids *known = k->ids(k, &ids) == 0 ? &ids : NULL;

	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		search(k, known, dirs[i], f);
}
