/* probe/gpu*.c on small recorded machines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/gpu.h"
#include "probe/probes.h"
#include "tests/fake/tree.h"

#define USER "ids = 1000 1000 4 44\n" /* in video (44), not in render (109) */
#define GROUPS "root:x:0:\nvideo:x:44:alice\nrender:x:109:\n"
#define AMD_SYS(card, render)                                                           \
	{ "/sys/class/drm/" card "/device/vendor", "0x1002\n" },                        \
		{ "/sys/class/drm/" render "/device/vendor", "0x1002\n" },              \
		{ "/sys/class/drm/" render "/device/device", "0x744c\n" },              \
	{                                                                               \
		"/sys/class/drm/" render "/device/mem_info_vram_total", "25753026560\n" \
	}
#define AMD_ROWS(card, render)                                                \
	"readlink /sys/class/drm/" card "/device = ../../../0000:03:00.0\n"   \
	"readlink /sys/class/drm/" render "/device = ../../../0000:03:00.0\n" \
	"readlink /sys/class/drm/" render                                     \
	"/device/driver = ../../../../../../bus/pci/drivers/amdgpu\n"

static void run(struct tree_file *files, const char *rows, struct gpu_facts *ret)
{
	struct tree t;

	memset(ret, 0, sizeof(*ret));
	tree_make(&t, files, rows);
	probe_gpu(&t.kernel, ret);
	tree_remove(&t);
}

static const struct gpu_node *node(const struct gpu_facts *f, const char *path)
{
	for (uint32_t i = 0; i < f->node_count; i++)
		if (strcmp(f->nodes[i].path, path) == 0)
			return &f->nodes[i];
	fail_msg("no node %s", path);
	return NULL;
}

static void one_card_is_one_gpu(void **state)
{
	struct tree_file files[] = { AMD_SYS("card0", "renderD128"),
				     { "/sys/class/drm/card0-HDMI-A-1/status", "connected\n" },
				     { "/sys/class/drm/version", "drm 1.1.0 20060810\n" },
				     { "/etc/group", GROUPS },
				     { NULL, NULL } };
	static struct gpu_facts f;

	(void)state;
	run(files,
	    "ids = 1000 1000 44 109\n"
	    "list /dev = dri kfd null\nlist /dev/dri = by-path card0 renderD128\n"
	    "stat /dev/dri/card0 = char 226:0 0660 0 44\n"
	    "stat /dev/dri/renderD128 = char 226:128 0660 0 109\n"
	    "stat /dev/kfd = char 511:0 0660 0 109\n"
	    "access /dev/dri/card0 rw = 0\n"
	    "access /dev/dri/renderD128 rw = 0\nopen /dev/dri/renderD128 rw = 0\n"
	    "access /dev/kfd rw = 0\nopen /dev/kfd rw = 0\n" AMD_ROWS("card0", "renderD128"),
	    &f);
	assert_int_equal(f.searched.answer, ANSWER_YES);
	assert_int_equal(f.node_count, 3);
	assert_int_equal(node(&f, "/dev/dri/card0")->kind, GPU_NODE_DRM_CARD);
	assert_int_equal(node(&f, "/dev/dri/renderD128")->kind, GPU_NODE_DRM_RENDER);
	assert_int_equal(node(&f, "/dev/kfd")->kind, GPU_NODE_KFD);
	assert_int_equal(node(&f, "/dev/dri/renderD128")->openable.answer, ANSWER_YES);
	assert_int_equal(node(&f, "/dev/dri/renderD128")->openable.basis, BASIS_OBSERVED);
	/* never opened: that is no observation */
	assert_int_equal(node(&f, "/dev/dri/card0")->openable.answer, ANSWER_YES);
	assert_int_equal(node(&f, "/dev/dri/card0")->openable.basis, BASIS_CLAIMED);

	assert_int_equal(f.gpu_count, 1);
	assert_string_equal(f.gpus[0].vendor, "AMD");
	assert_string_equal(f.gpus[0].model, "PCI 1002:744c");
	assert_string_equal(f.gpus[0].driver, "amdgpu");
	assert_string_equal(f.gpus[0].address, "0000:03:00.0");
	assert_string_equal(f.gpus[0].node, "/dev/dri/renderD128");
	assert_true(f.gpus[0].vram_bytes == 25753026560ULL);
	assert_false(f.gpus[0].unified);
	assert_int_equal(f.gpus[0].usable, ANSWER_YES);
}

/* Who may open a node, and which group would help. */
static void the_group_that_helps_is_named(void **state)
{
	static const struct {
		const char *rows; /* of /dev/dri/renderD128 */
		enum answer openable;
		const char *group;
		const char *got;
	} rows[] = {
		{ USER "stat /dev/dri/renderD128 = char 226:128 0660 0 109\n"
		       "access /dev/dri/renderD128 rw = EACCES\n",
		  ANSWER_NO, "render", "EACCES" },
		{ USER "stat /dev/dri/renderD128 = char 226:128 0660 0 777\n"
		       "access /dev/dri/renderD128 rw = EACCES\n",
		  ANSWER_NO, "gid 777", "EACCES" },
		/* the group may only read */
		{ USER "stat /dev/dri/renderD128 = char 226:128 0640 0 109\n"
		       "access /dev/dri/renderD128 rw = EACCES\n",
		  ANSWER_NO, "", "EACCES" },
		/* already in it: something else refuses */
		{ USER "stat /dev/dri/renderD128 = char 226:128 0660 0 44\n"
		       "access /dev/dri/renderD128 rw = EACCES\n",
		  ANSWER_NO, "", "EACCES" },
		/* root's group is nothing to join */
		{ USER "stat /dev/dri/renderD128 = char 226:128 0660 0 0\n"
		       "access /dev/dri/renderD128 rw = EACCES\n",
		  ANSWER_NO, "", "EACCES" },
		/* the owner is judged by the owner's bits alone */
		{ USER "stat /dev/dri/renderD128 = char 226:128 0060 1000 109\n"
		       "access /dev/dri/renderD128 rw = EACCES\n",
		  ANSWER_NO, "", "EACCES" },
		/* a device cgroup refuses what the permissions allow */
		{ "ids = 0 0\nstat /dev/dri/renderD128 = char 226:128 0660 0 109\n"
		  "access /dev/dri/renderD128 rw = 0\nopen /dev/dri/renderD128 rw = EPERM\n",
		  ANSWER_NO, "", "EPERM" },
		{ USER "stat /dev/dri/renderD128 = char 226:128 0666 0 109\n"
		       "access /dev/dri/renderD128 rw = 0\nopen /dev/dri/renderD128 rw = ENODEV\n",
		  ANSWER_NO, "", "ENODEV" },
		{ USER "stat /dev/dri/renderD128 = char 226:128 0666 0 109\n"
		       "access /dev/dri/renderD128 rw = 0\nopen /dev/dri/renderD128 rw = EBUSY\n",
		  ANSWER_UNKNOWN, "", "EBUSY" },
		{ USER "stat /dev/dri/renderD128 = char 226:128 0666 0 109\n", ANSWER_UNKNOWN, "",
		  "not recorded" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tree_file files[] = { { "/etc/group", GROUPS }, { NULL, NULL } };
		static struct gpu_facts f;
		char text[512] = "list /dev = dri\nlist /dev/dri = renderD128\n";

		strncat(text, rows[i].rows, sizeof(text) - strlen(text) - 1);
		run(files, text, &f);
		print_message("# row %zu\n", i);
		assert_int_equal(f.node_count, 1);
		assert_true(f.nodes[0].device);
		assert_int_equal(f.nodes[0].openable.answer, rows[i].openable);
		assert_string_equal(f.nodes[0].openable.got, rows[i].got);
		assert_string_equal(f.nodes[0].group, rows[i].group);
		/* no sysfs: still a GPU, of which only the node is known */
		assert_int_equal(f.gpu_count, 1);
		assert_string_equal(f.gpus[0].node, "/dev/dri/renderD128");
		assert_string_equal(f.gpus[0].vendor, "");
		assert_int_equal(f.gpus[0].usable, rows[i].openable);
	}
}

static void only_a_character_device_is_a_node(void **state)
{
	static const char *const stats[] = {
		"file 0666 0 0", "dir 0755 0 0",      "link 0777 0 0", "block 226:128 0666 0 0",
		"fifo 0666 0 0", "char 1:3 0666 0 0", /* the null device under a GPU's name */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++) {
		static struct gpu_facts f;
		char text[512] = USER "list /dev = dri\nlist /dev/dri = renderD128\n"
				      "access /dev/dri/renderD128 rw = 0\n"
				      "open /dev/dri/renderD128 rw = 0\n"
				      "stat /dev/dri/renderD128 = ";

		strcat(text, stats[i]);
		strcat(text, "\n");
		run(NULL, text, &f);
		print_message("# %s\n", stats[i]);
		assert_int_equal(f.node_count, 1);
		assert_false(f.nodes[0].device);
		assert_int_equal(f.nodes[0].openable.answer, ANSWER_NO);
		assert_int_equal(f.gpu_count, 0);
	}
}

static void names_match_whole(void **state)
{
	static struct gpu_facts f;

	(void)state;
	run(NULL,
	    USER "list /dev = accel dri dxg kfd2 nvidia nvidia-caps nvidia-modeset nvidia-uvm "
		 "nvidia-uvm-tools nvidia-uvmx nvidia0 nvidia10 nvidia1234567 nvidiactl nvidiax\n"
		 "list /dev/dri = by-path card card0 card0x controlD64 renderD128\n"
		 "list /dev/nvidia-caps = nvidia-cap1 nvidia-cap2\nlist /dev/accel = accel0\n",
	    &f);
	static const struct {
		const char *path;
		enum gpu_node_kind kind;
	} expected[] = {
		{ "/dev/dxg", GPU_NODE_DXG },
		{ "/dev/nvidia-modeset", GPU_NODE_NVIDIA_CONTROL },
		{ "/dev/nvidia-uvm", GPU_NODE_NVIDIA_CONTROL },
		{ "/dev/nvidia-uvm-tools", GPU_NODE_NVIDIA_CONTROL },
		{ "/dev/nvidia0", GPU_NODE_NVIDIA },
		{ "/dev/nvidia10", GPU_NODE_NVIDIA },
		{ "/dev/nvidiactl", GPU_NODE_NVIDIA_CONTROL },
		{ "/dev/dri/card0", GPU_NODE_DRM_CARD },
		{ "/dev/dri/renderD128", GPU_NODE_DRM_RENDER },
		{ "/dev/nvidia-caps/nvidia-cap1", GPU_NODE_NVIDIA_CAPS },
		{ "/dev/nvidia-caps/nvidia-cap2", GPU_NODE_NVIDIA_CAPS },
		{ "/dev/accel/accel0", GPU_NODE_OTHER },
	};

	assert_int_equal(f.node_count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < f.node_count; i++) {
		assert_string_equal(f.nodes[i].path, expected[i].path);
		assert_int_equal(f.nodes[i].kind, expected[i].kind);
		assert_false(f.nodes[i].device); /* listed, but gone */
		assert_int_equal(f.nodes[i].openable.answer, ANSWER_UNKNOWN);
	}
	assert_int_equal(f.gpu_count, 0);
}

#define NVIDIA_NODES                                                                         \
	"list /dev = dri nvidia-uvm nvidia0 nvidia1 nvidiactl\n"                             \
	"stat /dev/nvidia0 = char 195:0 0666 0 0\nstat /dev/nvidia1 = char 195:1 0666 0 0\n" \
	"stat /dev/nvidiactl = char 195:255 0666 0 0\n"                                      \
	"access /dev/nvidia0 rw = 0\nopen /dev/nvidia0 rw = 0\n"                             \
	"access /dev/nvidia1 rw = 0\nopen /dev/nvidia1 rw = EPERM\n"                         \
	"access /dev/nvidiactl rw = 0\n"

#define NVIDIA_VERSION                                                                        \
	"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build\n" \
	"GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"

static void nvidia_is_merged_by_address(void **state)
{
	struct tree_file files[] = {
		{ "/proc/driver/nvidia/version", NVIDIA_VERSION },
		{ "/proc/driver/nvidia/gpus/0000:41:00.0/information",
		  "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 63\n"
		  "Bus Location: \t 0000:41:00.0\nDevice Minor: \t 1\nGPU Excluded:\t No\n" },
		{ "/proc/driver/nvidia/gpus/0000:c1:00.0/information",
		  "Model: \t\t NVIDIA GeForce RTX 3090\nDevice Minor: \t 0\n" },
		{ "/sys/class/drm/renderD128/device/vendor", "0x10de\n" },
		{ "/sys/class/drm/renderD128/device/device", "0x20b0\n" },
		{ NULL, NULL }
	};
	static struct gpu_facts f;

	(void)state;
	run(files,
	    USER NVIDIA_NODES
	    "open /dev/nvidiactl rw = 0\n"
	    "readlink /sys/class/drm/renderD128/device = ../../../0000:41:00.0\n"
	    "readlink /sys/class/drm/renderD128/device/driver = ../../bus/pci/drivers/nvidia\n",
	    &f);
	assert_int_equal(f.gpu_count, 2);
	assert_string_equal(f.gpus[0].address, "0000:41:00.0");
	assert_string_equal(f.gpus[0].vendor, "NVIDIA");
	assert_string_equal(f.gpus[0].model, "NVIDIA A100-SXM4-40GB");
	assert_string_equal(f.gpus[0].driver, "nvidia 550.54.14");
	assert_string_equal(f.gpus[0].node, "/dev/nvidia1");
	assert_int_equal(f.gpus[0].usable, ANSWER_NO);
	assert_true(f.gpus[0].vram_bytes == 0);
	assert_string_equal(f.gpus[1].address, "0000:c1:00.0");
	assert_string_equal(f.gpus[1].node, "/dev/nvidia0");
	assert_int_equal(f.gpus[1].usable, ANSWER_YES);
}

static void nvidia_without_its_control_node_is_no_use(void **state)
{
	struct tree_file files[] = {
		{ "/proc/driver/nvidia/gpus/0000:c1:00.0/information", "Device Minor: \t 0\n" },
		{ "/proc/driver/nvidia/gpus/0000:c2:00.0/information", "Device Minor: \t 7\n" },
		{ NULL, NULL }
	};
	static struct gpu_facts f;

	(void)state;
	run(files, USER NVIDIA_NODES "open /dev/nvidiactl rw = ENXIO\n", &f);
	assert_int_equal(f.gpu_count, 2);
	assert_string_equal(f.gpus[0].node, "/dev/nvidia0");
	assert_int_equal(f.gpus[0].usable, ANSWER_NO);
	/* no node has its number, but there is a node of which nobody said whose it is */
	assert_string_equal(f.gpus[1].node, "");
	assert_int_equal(f.gpus[1].usable, ANSWER_UNKNOWN);
	/* a GPU of the machine that has no node here: a container was not given it */
	run(files, USER "list /dev = nvidiactl\n", &f);
	assert_int_equal(f.gpu_count, 2);
	assert_int_equal(f.gpus[0].usable, ANSWER_NO);
}

static void nvidia_without_its_proc_files_is_not_counted_twice(void **state)
{
	struct tree_file files[] = { { "/sys/class/drm/renderD128/device/vendor", "0x10de\n" },
				     { NULL, NULL } };
	static struct gpu_facts f;

	(void)state;
	run(files,
	    USER NVIDIA_NODES
	    "open /dev/nvidiactl rw = 0\n"
	    "readlink /sys/class/drm/renderD128/device = ../../../0000:41:00.0\n"
	    "readlink /sys/class/drm/renderD128/device/driver = ../../bus/pci/drivers/nvidia\n",
	    &f);
	assert_int_equal(f.gpu_count, 2);
	assert_string_equal(f.gpus[0].address, "0000:41:00.0");
	assert_string_equal(f.gpus[0].node, "/dev/nvidia0");
	assert_string_equal(f.gpus[1].address, "");
	assert_string_equal(f.gpus[1].node, "/dev/nvidia1");
	assert_string_equal(f.gpus[1].driver, "nvidia");
}

/* What sysfs says of a device: identity and memory. */
static void a_device_is_described(void **state)
{
	static const struct {
		const char *address;
		const char *driver;
		struct tree_file files[6];
		const char *vendor, *model;
		uint64_t vram;
		bool unified;
	} rows[] = {
		{ "0000:00:02.0",
		  "i915",
		  { { "/sys/class/drm/renderD128/device/vendor", "0x8086\n" },
		    { "/sys/class/drm/renderD128/device/device", "0x9a49\n" } },
		  "Intel",
		  "PCI 8086:9a49",
		  0,
		  true },
		/* discrete, and i915 does not tell its memory: nothing is claimed */
		{ "0000:03:00.0",
		  "i915",
		  { { "/sys/class/drm/renderD128/device/vendor", "0x8086\n" },
		    { "/sys/class/drm/renderD128/device/device", "0x56a0\n" } },
		  "Intel",
		  "PCI 8086:56a0",
		  0,
		  false },
		{ "0000:03:00.0",
		  "i915",
		  { { "/sys/class/drm/renderD128/device/vendor", "0x8086\n" },
		    { "/sys/class/drm/card0/lmem_total_bytes", "17179869184\n" } },
		  "Intel",
		  "",
		  17179869184ULL,
		  false },
		{ "0000:03:00.0",
		  "xe",
		  { { "/sys/class/drm/renderD128/device/vendor", "0x8086\n" },
		    { "/sys/class/drm/renderD128/device/tile0/physical_vram_size_bytes", "8000\n" },
		    { "/sys/class/drm/renderD128/device/tile1/physical_vram_size_bytes",
		      "700\n" } },
		  "Intel",
		  "",
		  8700,
		  false },
		{ "0000:0b:00.0",
		  "amdgpu",
		  { { "/sys/class/drm/renderD128/device/vendor", "0x1002\n" },
		    { "/sys/class/drm/renderD128/device/product_name", "AMD Instinct MI210\n" },
		    { "/sys/class/drm/renderD128/device/mem_info_vram_total", "68702699520\n" },
		    { "/sys/class/kfd/kfd/topology/nodes/0/properties",
		      "cpu_cores_count 64\nsimd_count 0\ndrm_render_minor 0\n" },
		    { "/sys/class/kfd/kfd/topology/nodes/1/properties",
		      "cpu_cores_count 0\nsimd_count 416\ndrm_render_minor 128\n" } },
		  "AMD",
		  "AMD Instinct MI210",
		  68702699520ULL,
		  false },
		{ "0000:04:00.0",
		  "amdgpu",
		  { { "/sys/class/drm/renderD128/device/vendor", "0x1002\n" },
		    { "/sys/class/drm/renderD128/device/device", "0x15d8\n" },
		    { "/sys/class/drm/renderD128/device/mem_info_vram_total", "268435456\n" },
		    { "/sys/class/kfd/kfd/topology/nodes/0/properties",
		      "cpu_cores_count 8\nsimd_count 44\ndrm_render_minor 128\n" } },
		  "AMD",
		  "PCI 1002:15d8",
		  0,
		  true },
		{ "fb000000.gpu",
		  "panthor",
		  { { "/sys/class/drm/renderD128/device/uevent",
		      "DRIVER=panthor\nOF_COMPATIBLE_0=rockchip,rk3588-mali\nOF_COMPATIBLE_N=2\n" } },
		  "ARM",
		  "rockchip,rk3588-mali",
		  0,
		  true },
		{ "0000:05:00.0",
		  "newgpu",
		  { { "/sys/class/drm/renderD128/device/vendor", "0xabcd\n" },
		    { "/sys/class/drm/renderD128/device/device", "0x0001\n" } },
		  "0xabcd",
		  "PCI abcd:0001",
		  0,
		  false },
		{ "0000:05:00.0",
		  "newgpu",
		  { { "/sys/class/drm/renderD128/device/vendor", "garbage\n" } },
		  "",
		  "",
		  0,
		  false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tree_file files[8] = { { "/sys/class/drm/renderD128/dev", "226:128\n" } };
		char text[512] = "readlink /sys/class/drm/renderD128/device = ../../../";
		static struct gpu_facts f;

		memcpy(files + 1, rows[i].files, sizeof(rows[i].files));
		strcat(text, rows[i].address);
		strcat(text, "\nreadlink /sys/class/drm/card0/device = ../../../");
		strcat(text, rows[i].address);
		strcat(text, "\nreadlink /sys/class/drm/renderD128/device/driver = ../../drivers/");
		strcat(text, rows[i].driver);
		strcat(text, "\n");
		run(files, text, &f);
		print_message("# %s %s\n", rows[i].driver, rows[i].address);
		assert_int_equal(f.gpu_count, 1);
		assert_string_equal(f.gpus[0].driver, rows[i].driver);
		assert_string_equal(f.gpus[0].address, rows[i].address);
		assert_string_equal(f.gpus[0].vendor, rows[i].vendor);
		assert_string_equal(f.gpus[0].model, rows[i].model);
		assert_true(f.gpus[0].vram_bytes == rows[i].vram);
		assert_int_equal(f.gpus[0].unified, rows[i].unified);
		/* no /dev: whether it could be opened is not known */
		assert_int_equal(f.gpus[0].usable, ANSWER_UNKNOWN);
	}
}

/* A server's console chip, a frame buffer and a driver that only imitates a GPU. */
static void what_cannot_compute_is_no_gpu(void **state)
{
	struct tree_file files[] = { { "/sys/class/drm/card0/device/vendor", "0x1a03\n" },
				     { "/sys/class/drm/card1/dev", "226:1\n" },
				     { "/sys/class/drm/renderD128/dev", "226:128\n" },
				     { "/sys/class/drm/card2/dev", "226:2\n" },
				     { "/sys/class/drm/renderD129/device/vendor", "0x1af4\n" },
				     { NULL, NULL } };
	static struct gpu_facts f;

	(void)state;
	run(files,
	    USER "list /dev = dri\nlist /dev/dri = card0 renderD128 renderD129\n"
		 "stat /dev/dri/card0 = char 226:0 0660 0 44\naccess /dev/dri/card0 rw = 0\n"
		 "stat /dev/dri/renderD128 = char 226:128 0666 0 44\n"
		 "stat /dev/dri/renderD129 = char 226:129 0666 0 44\n"
		 "readlink /sys/class/drm/card0/device = ../../../0000:06:00.0\n"
		 "readlink /sys/class/drm/card0/device/driver = ../../drivers/ast\n"
		 "readlink /sys/class/drm/card1/device = ../../../vgem\n"
		 "readlink /sys/class/drm/renderD128/device = ../../../vgem\n"
		 "readlink /sys/class/drm/card2/device = ../../../virtio0\n"
		 "readlink /sys/class/drm/renderD129/device = ../../../virtio0\n"
		 "readlink /sys/class/drm/renderD129/device/driver = ../../drivers/virtio_gpu\n",
	    &f);
	assert_int_equal(f.node_count, 3);
	assert_true(node(&f, "/dev/dri/renderD129")->device);
	assert_int_equal(f.gpu_count, 0);
}

/* The render node is plugged in just after the nodes have been looked for. */
static struct {
	const struct kernel *inner;
	int lists; /* of /dev/dri */
} plugging;

static ssize_t plugging_list(const struct kernel *k, const char *path, char *buf, size_t size)
{
	(void)k;
	if (strcmp(path, "/dev/dri") == 0 && plugging.lists++ == 0)
		return -ENOENT;
	return plugging.inner->list(plugging.inner, path, buf, size);
}

static void a_gpu_that_comes_meanwhile_is_not_without_a_node(void **state)
{
	struct tree_file files[] = { AMD_SYS("card0", "renderD128"), { NULL, NULL } };
	static struct gpu_facts f;
	struct kernel kernel;
	struct tree t;

	(void)state;
	tree_make(&t, files,
		  USER AMD_ROWS("card0",
				"renderD128") "list /dev = dri\nlist /dev/dri = renderD128\n"
					      "stat /dev/dri/renderD128 = char 226:128 0666 0 0\n"
					      "access /dev/dri/renderD128 rw = 0\n"
					      "open /dev/dri/renderD128 rw = 0\n");
	kernel = t.kernel;
	kernel.list = plugging_list;
	plugging.inner = &t.kernel;
	plugging.lists = 0;
	probe_gpu(&kernel, &f);
	assert_int_equal(f.gpu_count, 1);
	assert_string_equal(f.gpus[0].node, "/dev/dri/renderD128");
	assert_int_equal(f.gpus[0].usable, ANSWER_YES);
	tree_remove(&t);
}

static void nothing_recorded_is_unknown(void **state)
{
	static struct gpu_facts f;

	(void)state;
	run(NULL, "list /dev = EACCES\n", &f);
	assert_int_equal(f.searched.answer, ANSWER_NO);
	assert_string_equal(f.searched.got, "EACCES");
	run(NULL, "list /dev = dri\nlist /dev/dri = EACCES\n", &f);
	assert_int_equal(f.searched.answer, ANSWER_NO);
	assert_string_equal(f.searched.call, "list /dev/dri");
	run(NULL, "list /dev = null\n", &f);
	assert_int_equal(f.searched.answer, ANSWER_YES);
	assert_int_equal(f.node_count, 0);
	assert_int_equal(f.gpu_count, 0);
}

static void more_than_fits_is_said(void **state)
{
	static struct gpu_facts f;
	static char text[8192];
	size_t len;

	(void)state;
	strcpy(text, "list /dev =");
	for (int i = 0; i < GPU_NODES_MAX + 1; i++) {
		len = strlen(text);
		snprintf(text + len, sizeof(text) - len, " nvidia%d", i);
	}
	strcat(text, "\n");
	run(NULL, text, &f);
	assert_int_equal(f.node_count, GPU_NODES_MAX);
	assert_true(f.truncated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_card_is_one_gpu),
		cmocka_unit_test(the_group_that_helps_is_named),
		cmocka_unit_test(only_a_character_device_is_a_node),
		cmocka_unit_test(names_match_whole),
		cmocka_unit_test(nvidia_is_merged_by_address),
		cmocka_unit_test(nvidia_without_its_control_node_is_no_use),
		cmocka_unit_test(nvidia_without_its_proc_files_is_not_counted_twice),
		cmocka_unit_test(a_device_is_described),
		cmocka_unit_test(what_cannot_compute_is_no_gpu),
		cmocka_unit_test(a_gpu_that_comes_meanwhile_is_not_without_a_node),
		cmocka_unit_test(nothing_recorded_is_unknown),
		cmocka_unit_test(more_than_fits_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
