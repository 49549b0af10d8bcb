#include "probe/gpu.h"

#include <string.h>

#include "kabi/file.h"
#include "kabi/lines.h"
#include "kabi/text.h"

#define CLASS_DRM "/sys/class/drm/"
#define KFD_NODES "/sys/class/kfd/kfd/topology/nodes"
#define TILES_MAX 4

/* PCI vendor ids of devices that compute. Another is shown as the number it is. */
static const struct {
	uint64_t id;
	const char *name;
} vendors[] = {
	{ 0x10de, "NVIDIA" },	{ 0x1002, "AMD" },	 { 0x1022, "AMD" },
	{ 0x8086, "Intel" },	{ 0x106b, "Apple" },	 { 0x5143, "Qualcomm" },
	{ 0x14e4, "Broadcom" }, { 0x1414, "Microsoft" }, { 0x1ed5, "Moore Threads" },
};

/* GPUs that are a part of a system on a chip: no PCI id, and no memory of their own. */
static const struct {
	const char *driver;
	const char *vendor;
} chips[] = {
	{ "panfrost", "ARM" },	   { "panthor", "ARM" },	 { "lima", "ARM" },
	{ "v3d", "Broadcom" },	   { "vc4-drm", "Broadcom" },	 { "msm", "Qualcomm" },
	{ "msm_dpu", "Qualcomm" }, { "adreno", "Qualcomm" },	 { "asahi", "Apple" },
	{ "etnaviv", "Vivante" },  { "etnaviv-gpu", "Vivante" }, { "powervr", "Imagination" },
	{ "tegra-drm", "NVIDIA" }, { "gk20a", "NVIDIA" },	 { "nvgpu", "NVIDIA" },
};

/* A path below the device's directory, or "" when it does not fit. */
static const char *below(char buf[FACTS_PATH_MAX], const char *drm, const char *rest)
{
	struct text t = text_start(buf, FACTS_PATH_MAX);

	text_add(&t, CLASS_DRM);
	text_add(&t, drm);
	text_add(&t, rest);
	if (t.cut)
		buf[0] = '\0';
	return buf;
}

static bool read_word(const struct kernel *k, const char *drm, const char *rest, char *buf,
		      size_t size)
{
	char path[FACTS_PATH_MAX];

	if (file_read_line(k, below(path, drm, rest), buf, size) > 0)
		return true;
	buf[0] = '\0';
	return false;
}

static uint64_t read_bytes(const struct kernel *k, const char *drm, const char *rest)
{
	char path[FACTS_PATH_MAX];
	int64_t value;

	if (file_read_int(k, below(path, drm, rest), &value) < 0 || value < 0)
		return 0;
	return (uint64_t)value;
}

/* ---- who made it ---- */

/* "0x1002" */
static bool read_id(const struct kernel *k, const char *drm, const char *rest, char text[16],
		    uint64_t *ret)
{
	return read_word(k, drm, rest, text, 16) && text_starts(text, "0x") &&
	       text_uint(text + 2, 16, UINT32_MAX, ret) == 0;
}

static void name_pci(struct gpu *g, const char *vendor, const char *device, uint64_t id)
{
	struct text model = TEXT_BUF(g->model);

	text_copy(g->vendor, sizeof(g->vendor), vendor);
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (vendors[i].id == id)
			text_copy(g->vendor, sizeof(g->vendor), vendors[i].name);
	if (!*device)
		return;
	text_add(&model, "PCI ");
	text_add(&model, vendor + 2);
	text_add(&model, ":");
	text_add(&model, device + 2);
}

/* "OF_COMPATIBLE_0=arm,mali-valhall-csf" in a device's uevent */
static bool read_compatible(void *arg, char *line)
{
	struct gpu *g = arg;

	if (!text_starts(line, "OF_COMPATIBLE_0="))
		return true;
	text_copy(g->model, sizeof(g->model), line + strlen("OF_COMPATIBLE_0="));
	return false;
}

static void name_chip(const struct kernel *k, const char *drm, struct gpu *g)
{
	char path[FACTS_PATH_MAX];

	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (strcmp(chips[i].driver, g->driver) == 0) {
			text_copy(g->vendor, sizeof(g->vendor), chips[i].vendor);
			g->unified = true;
		}
	lines_read(k, below(path, drm, "/device/uevent"), '\n', read_compatible, g);
}

static void name_it(const struct kernel *k, const char *drm, struct gpu *g)
{
	char vendor[16];
	char device[16];
	char product[FACTS_LINE_MAX];
	uint64_t vendor_id;
	uint64_t device_id;

	if (!read_id(k, drm, "/device/vendor", vendor, &vendor_id)) {
		name_chip(k, drm, g);
		return;
	}
	if (!read_id(k, drm, "/device/device", device, &device_id))
		device[0] = '\0';
	name_pci(g, vendor, device, vendor_id);
	/* amdgpu knows the product name of boards that carry one. */
	if (read_word(k, drm, "/device/product_name", product, sizeof(product)))
		text_copy(g->model, sizeof(g->model), product);
}

/* ---- its memory ---- */

struct kfd_node {
	uint64_t cpu_cores;
	uint64_t simds;
	uint64_t render_minor;
};

static bool read_property(void *arg, char *line)
{
	struct kfd_node *n = arg;
	const char *name = text_word(&line);
	const char *text = text_word(&line);
	uint64_t value;

	if (!name || !text || text_uint(text, 10, UINT64_MAX, &value) < 0)
		return true;
	if (strcmp(name, "cpu_cores_count") == 0)
		n->cpu_cores = value;
	else if (strcmp(name, "simd_count") == 0)
		n->simds = value;
	else if (strcmp(name, "drm_render_minor") == 0)
		n->render_minor = value;
	return true;
}

/* In the topology of AMD's compute driver, processor and GPU of one chip are one node. */
static bool shares_kfd_node(const struct kernel *k, const char *render)
{
	char names[1024];
	ssize_t n = k->list(k, KFD_NODES, names, sizeof(names));
	const char *name = names;
	uint64_t minor;

	if (text_uint(render + strlen("renderD"), 10, UINT32_MAX, &minor) < 0)
		return false;
	for (ssize_t i = 0; i < n; i++, name += strlen(name) + 1) {
		struct kfd_node node = { 0 };
		char path[FACTS_PATH_MAX];
		struct text t = TEXT_BUF(path);

		text_add(&t, KFD_NODES "/");
		text_add(&t, name);
		text_add(&t, "/properties");
		if (!t.cut)
			lines_read(k, path, '\n', read_property, &node);
		if (node.render_minor == minor && node.simds > 0)
			return node.cpu_cores > 0;
	}
	return false;
}

/* xe tells each tile's memory, i915 the card's (where it tells it at all). */
static uint64_t intel_memory(const struct kernel *k, const char *card, const char *render)
{
	uint64_t sum = 0;

	for (int tile = 0; tile < TILES_MAX; tile++) {
		char rest[64];
		struct text t = TEXT_BUF(rest);
		uint64_t bytes;

		text_add(&t, "/device/tile");
		text_add_int(&t, tile);
		text_add(&t, "/physical_vram_size_bytes");
		bytes = read_bytes(k, render, rest);
		if (bytes == 0 || __builtin_add_overflow(sum, bytes, &sum))
			break;
	}
	if (sum == 0 && *card)
		sum = read_bytes(k, card, "/lmem_total_bytes");
	return sum;
}

/* Only what is known is claimed: of an AMD chip that its compute driver does not show as one with
 * the processor, the memory set aside for it counts as its own. NVIDIA's drivers tell no size.
 */
static void measure(const struct kernel *k, const char *card, const char *render, struct gpu *g)
{
	if (strcmp(g->vendor, "AMD") == 0) {
		g->unified = shares_kfd_node(k, render);
		if (!g->unified)
			g->vram_bytes = read_bytes(k, render, "/device/mem_info_vram_total");
	} else if (strcmp(g->vendor, "Intel") == 0) {
		g->vram_bytes = intel_memory(k, card, render);
		/* Intel's processor graphics is this function on every chip that has it. */
		g->unified = g->vram_bytes == 0 && strcmp(g->address, "0000:00:02.0") == 0;
	}
}

int gpu_describe(const struct kernel *k, const char *card, const char *render, struct gpu *ret)
{
	char path[FACTS_PATH_MAX];
	int r = gpu_link_name(k, below(path, render, "/device/driver"), ret->driver);

	if (r < 0 && !gpu_is_hidden(r))
		return r;
	name_it(k, render, ret);
	measure(k, card, render, ret);
	return 0;
}
