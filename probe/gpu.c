#include "probe/gpu.h"

#include <string.h>

#include "kabi/text.h"
#include "probe/probes.h"

static enum answer worse(enum answer a, enum answer b)
{
	if (a == ANSWER_NO || b == ANSWER_NO)
		return ANSWER_NO;
	return a == ANSWER_YES && b == ANSWER_YES ? ANSWER_YES : ANSWER_UNKNOWN;
}

static enum answer can_open(const struct gpu_facts *f, const char *path)
{
	const struct gpu_node *n = gpu_node_at(f, path);

	if (n)
		return n->openable.answer;
	return f->searched.answer == ANSWER_YES ? ANSWER_NO : ANSWER_UNKNOWN;
}

static bool is_taken(const struct gpu_facts *f, const char *path)
{
	for (uint32_t i = 0; i < f->gpu_count; i++)
		if (strcmp(f->gpus[i].node, path) == 0)
			return true;
	return false;
}

/* Is there a /dev/nvidiaN of which nobody said whose it is? */
static bool has_free_node(const struct gpu_facts *f)
{
	for (uint32_t i = 0; i < f->node_count; i++)
		if (f->nodes[i].kind == GPU_NODE_NVIDIA && gpu_node_at(f, f->nodes[i].path) &&
		    !is_taken(f, f->nodes[i].path))
			return true;
	return false;
}

static enum answer without_node(const struct gpu_facts *f, const struct gpu *g)
{
	if (f->searched.answer != ANSWER_YES)
		return ANSWER_UNKNOWN;
	return text_starts(g->driver, "nvidia") && has_free_node(f) ? ANSWER_UNKNOWN : ANSWER_NO;
}

/* CUDA opens the control node before any /dev/nvidiaN. */
static enum answer usable(const struct gpu_facts *f, const struct gpu *g)
{
	if (!g->node[0])
		return without_node(f, g);
	if (gpu_numbered(g->node, "/dev/nvidia"))
		return worse(can_open(f, g->node), can_open(f, "/dev/nvidiactl"));
	return can_open(f, g->node);
}

static bool all_have_nodes(const struct gpu_facts *f)
{
	for (uint32_t i = 0; i < f->gpu_count; i++)
		if (!f->gpus[i].node[0])
			return false;
	return true;
}

/* A GPU that came while it was looked has no node among those found before it: it is looked again.
 */
void probe_gpu(const struct kernel *k, struct gpu_facts *ret)
{
	for (int looks = 0; looks < 2; looks++) {
		*ret = (struct gpu_facts){ 0 };
		gpu_find_nodes(k, ret);
		gpu_find_devices(k, ret);
		if (all_have_nodes(ret))
			break;
	}
	for (uint32_t i = 0; i < ret->gpu_count; i++)
		ret->gpus[i].usable = usable(ret, &ret->gpus[i]);
}
