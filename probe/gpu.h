/* The parts of the GPU probe. Inside this folder only. */
#ifndef PROBE_GPU_H
#define PROBE_GPU_H

#include <errno.h>
#include <stdbool.h>

#include "kabi/kernel.h"
#include "kabi/recorded.h"
#include "probe/facts.h"

/* Is `name` the prefix and then one to six digits, "renderD128"? */
bool gpu_numbered(const char *name, const char *prefix);

/* The node at `path`, unless it is known to be none of a GPU's; or NULL. */
const struct gpu_node *gpu_node_at(const struct gpu_facts *f, const char *path);

/* Fill f->nodes, f->searched: what there is below /dev, and whether this user can open it. */
void gpu_find_nodes(const struct kernel *k, struct gpu_facts *f);

/* Fill f->gpus from sysfs and the NVIDIA driver, each physical device once. Needs f->nodes. */
void gpu_find_devices(const struct kernel *k, struct gpu_facts *f);

/* The group that opens `node` to a process with `ids`, by name or as "gid 109": "" when no group
 * does, when it is in that group, or when the group is root's, which nobody should join.
 */
void gpu_group_for(const struct kernel *k, const struct ids *ids, const struct node *node,
		   char buf[FACTS_WORD_MAX]);

/* What sysfs says of the device behind /sys/class/drm/NAME: vendor, model, driver, memory.
 * `address` is set already. Returns 0, or -errno when it could not be found out which driver it
 * has, and so whether it is a GPU; without one it has none.
 */
int gpu_describe(const struct kernel *k, const char *card, const char *render, struct gpu *ret);

/* Is it an error of what is not there, or not to be seen from here: of which the nodes below /dev
 * are all there is? Any other may come of anything.
 */
static inline bool gpu_is_hidden(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EINVAL || error == -EACCES ||
	       error == -EPERM || error == -KERNEL_NOT_RECORDED;
}

/* The last part of where the link at `path` leads: "0000:03:00.0". Returns 0; or -errno, with "".
 */
int gpu_link_name(const struct kernel *k, const char *path, char buf[FACTS_WORD_MAX]);

#endif
