#include "probe/gpu.h"

#include <string.h>

#include "kabi/lines.h"
#include "kabi/path.h"
#include "kabi/text.h"

#define NAMES_SIZE (32 << 10)
#define DRM_DEVICES_MAX 64
#define NVIDIA_DIR "/proc/driver/nvidia"

/* One device of the DRM subsystem: a display node, a render node, or both. */
struct drm_device {
	char address[FACTS_WORD_MAX]; /* "" unknown: no other node is known to be the same device */
	char card[16];
	char render[16];
};

struct drm_devices {
	struct drm_device device[DRM_DEVICES_MAX];
	uint32_t count;
};

/* ---- DRM: /sys/class/drm/{cardN,renderDN} ---- */

int gpu_link_name(const struct kernel *k, const char *path, char buf[FACTS_WORD_MAX])
{
	char target[FACTS_PATH_MAX];
	const char *slash;
	ssize_t n = k->readlink(k, path, target, sizeof(target));

	buf[0] = '\0';
	if (n <= 0)
		return n < 0 ? (int)n : -ENOENT;
	slash = strrchr(target, '/');
	if (text_copy(buf, FACTS_WORD_MAX, slash ? slash + 1 : target))
		return 0;
	buf[0] = '\0';
	return -ENAMETOOLONG;
}

static struct drm_device *drm_at(struct drm_devices *all, const char *address)
{
	struct drm_device *d;

	for (uint32_t i = 0; *address && i < all->count; i++)
		if (strcmp(all->device[i].address, address) == 0)
			return &all->device[i];
	if (all->count == DRM_DEVICES_MAX)
		return NULL;
	d = &all->device[all->count++];
	text_copy(d->address, sizeof(d->address), address);
	return d;
}

/* Of what device it is a node must be known, or that would count twice. */
static void add_drm(const struct kernel *k, const char *name, struct gpu_facts *f,
		    struct drm_devices *all)
{
	bool card = gpu_numbered(name, "card");
	char path[FACTS_PATH_MAX];
	char address[FACTS_WORD_MAX];
	struct text t = TEXT_BUF(path);
	struct drm_device *d;
	int r;

	if (!card && !gpu_numbered(name, "renderD"))
		return; /* a connector, "card0-HDMI-A-1" */
	text_add(&t, "/sys/class/drm/");
	text_add(&t, name);
	text_add(&t, "/device");
	r = gpu_link_name(k, path, address);
	if (r < 0 && !gpu_is_hidden(r)) {
		f->truncated = true;
		return;
	}
	d = drm_at(all, address);
	if (d)
		text_copy(card ? d->card : d->render, sizeof(d->card), name);
}

/* Without sysfs, the nodes are all there is. */
static void find_drm(const struct kernel *k, struct gpu_facts *f, struct drm_devices *all)
{
	static char names[NAMES_SIZE];
	ssize_t n = k->list(k, "/sys/class/drm", names, sizeof(names));
	const char *name = names;

	for (ssize_t i = 0; i < n; i++, name += strlen(name) + 1)
		add_drm(k, name, f, all);
	if (n < 0 && !gpu_is_hidden((int)n)) {
		f->truncated = true;
		return;
	}
	for (uint32_t i = 0; n < 0 && i < f->node_count; i++)
		if (f->nodes[i].device && text_starts(f->nodes[i].path, "/dev/dri/"))
			add_drm(k, f->nodes[i].path + strlen("/dev/dri/"), f, all);
}

/* These drivers imitate a GPU in software, or pass on what another machine may or may not have:
 * their nodes are reported, but they are not GPUs (wire.md section 3.4).
 */
static bool is_imitation(const char *driver)
{
	static const char *const names[] = { "vgem", "vkms", "virtio_gpu", "vmwgfx" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(driver, names[i]) == 0)
			return true;
	return false;
}

static struct gpu *new_gpu(struct gpu_facts *f)
{
	if (f->gpu_count == GPUS_MAX) {
		f->truncated = true;
		return NULL;
	}
	return &f->gpus[f->gpu_count++];
}

/* A device that can only show pictures (a server's console chip, a frame buffer) has no render node
 * and is not a GPU here.
 */
static void add_drm_gpu(const struct kernel *k, const struct drm_device *d, struct gpu_facts *f)
{
	struct gpu found = { 0 };
	struct gpu *g;

	if (!d->render[0])
		return;
	text_copy(found.address, sizeof(found.address), d->address);
	if (gpu_describe(k, d->card, d->render, &found) < 0) {
		f->truncated = true;
		return;
	}
	if (is_imitation(found.driver) || strcmp(found.address, "vgem") == 0)
		return;
	if (path_join(found.node, sizeof(found.node), "/dev/dri", d->render) &&
	    !gpu_node_at(f, found.node))
		found.node[0] = '\0';
	g = new_gpu(f);
	if (g)
		*g = found;
}

/* ---- NVIDIA's own driver ---- */

static struct gpu *gpu_at(struct gpu_facts *f, const char *address)
{
	for (uint32_t i = 0; i < f->gpu_count; i++)
		if (strcmp(f->gpus[i].address, address) == 0)
			return &f->gpus[i];
	return NULL;
}

/* "Model: \t\t NVIDIA A100-SXM4-40GB", "Device Minor: \t 0" */
static bool read_information(void *arg, char *line)
{
	struct gpu *g = arg;
	char *value = strchr(line, ':');
	uint64_t minor;

	if (!value)
		return true;
	*value++ = '\0';
	value += strspn(value, " \t");
	if (strcmp(line, "Model") == 0 && *value && strcmp(value, "Unknown") != 0) {
		text_copy(g->model, sizeof(g->model), value);
	} else if (strcmp(line, "Device Minor") == 0 && text_uint(value, 10, 999999, &minor) == 0) {
		struct text t = TEXT_BUF(g->node);

		text_add(&t, "/dev/nvidia");
		text_add_int(&t, (int64_t)minor);
	}
	return true;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb …": the first word that is a
 * number with dots.
 */
static bool read_version(void *arg, char *line)
{
	char *version = arg;
	const char *word;

	while ((word = text_word(&line)))
		if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
			text_copy(version, FACTS_WORD_MAX, word);
			break;
		}
	return false;
}

static void name_driver(struct gpu *g, const char *version)
{
	struct text t = TEXT_BUF(g->driver);

	text_add(&t, "nvidia");
	if (*version) {
		text_add(&t, " ");
		text_add(&t, version);
	}
}

static struct gpu *nvidia_gpu(struct gpu_facts *f, const char *address)
{
	struct gpu *g = *address ? gpu_at(f, address) : NULL;

	if (!g)
		g = new_gpu(f);
	if (!g)
		return NULL;
	text_copy(g->address, sizeof(g->address), address);
	text_copy(g->vendor, sizeof(g->vendor), "NVIDIA");
	return g;
}

static void add_nvidia(const struct kernel *k, const char *address, const char *version,
		       struct gpu_facts *f)
{
	struct gpu *g = nvidia_gpu(f, address);
	char path[FACTS_PATH_MAX];
	struct text t = TEXT_BUF(path);

	if (!g)
		return;
	name_driver(g, version);
	text_add(&t, NVIDIA_DIR "/gpus/");
	text_add(&t, address);
	text_add(&t, "/information");
	g->node[0] = '\0'; /* CUDA does not go through the render node */
	if (!t.cut)
		lines_read(k, path, '\n', read_information, g);
	if (!gpu_node_at(f, g->node))
		g->node[0] = '\0';
}

/* A node nobody tells the address of belongs to a GPU that sysfs showed under this driver, if one
 * is left, and else to one that is known by its node alone.
 */
static void add_nvidia_node(const struct gpu_node *n, const char *version, struct gpu_facts *f)
{
	struct gpu *g = NULL;

	for (uint32_t i = 0; i < f->gpu_count && !g; i++)
		if (text_starts(f->gpus[i].driver, "nvidia") &&
		    !gpu_numbered(f->gpus[i].node, "/dev/nvidia"))
			g = &f->gpus[i];
	if (!g)
		g = nvidia_gpu(f, "");
	if (!g)
		return;
	name_driver(g, version);
	text_copy(g->node, sizeof(g->node), n->path);
}

static void find_nvidia(const struct kernel *k, struct gpu_facts *f)
{
	char names[4096];
	char version[FACTS_WORD_MAX] = "";
	ssize_t n = k->list(k, NVIDIA_DIR "/gpus", names, sizeof(names));
	const char *name = names;

	lines_read(k, NVIDIA_DIR "/version", '\n', read_version, version);
	for (ssize_t i = 0; i < n; i++, name += strlen(name) + 1)
		add_nvidia(k, name, version, f);
	for (uint32_t i = 0; n <= 0 && i < f->node_count; i++)
		if (f->nodes[i].device && f->nodes[i].kind == GPU_NODE_NVIDIA)
			add_nvidia_node(&f->nodes[i], version, f);
}

void gpu_find_devices(const struct kernel *k, struct gpu_facts *f)
{
	struct drm_devices drm = { 0 };

	find_drm(k, f, &drm);
	for (uint32_t i = 0; i < drm.count; i++)
		add_drm_gpu(k, &drm.device[i], f);
	find_nvidia(k, f);
}
