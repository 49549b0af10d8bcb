/* The device nodes a GPU grant covers on this machine. Inside this folder only. */
#ifndef LAUNCH_GPU_H
#define LAUNCH_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"

#define GPU_NODES_MAX 128
#define GPU_TEXT_MAX 4096

struct gpu_node {
	const char *path;
	bool is_dir; /* to be listed; nothing else */
};

/* Zero: none looked for. Not to be copied: the paths point into `text`. */
struct gpu_nodes {
	size_t count;
	struct gpu_node nodes[GPU_NODES_MAX];
	size_t used;
	char text[GPU_TEXT_MAX];
};

/* Look for nodes by name: /dev/nvidia*, /dev/kfd, /dev/dxg, and in /dev/dri and /dev/nvidia-caps
 * the render nodes and the capabilities; with the two directories themselves. The display nodes
 * /dev/dri/card* are left out: they set modes and read other programs' buffers (attacks.md).
 * Whatever is not a character device is left out too. A directory that is not there has no nodes;
 * one that cannot be listed fails, with -errno and `why`. *ret is set only on success.
 */
int gpu_find(const struct kernel *k, struct gpu_nodes *ret, struct fault *why);

#endif
