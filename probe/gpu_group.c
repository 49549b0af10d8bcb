#include "probe/gpu.h"

#include <string.h>

#include "kabi/lines.h"
#include "kabi/text.h"

static bool is_member(const struct ids *ids, uint32_t gid)
{
	if (ids->gid == gid)
		return true;
	for (uint32_t i = 0; i < ids->group_count; i++)
		if (ids->groups[i] == gid)
			return true;
	return false;
}

struct wanted {
	uint32_t gid;
	char *name; /* FACTS_WORD_MAX bytes */
};

/* "render:x:109:alice" (group(5)) */
static bool match_group(void *arg, char *line)
{
	struct wanted *w = arg;
	char *password = strchr(line, ':');
	char *number = password ? strchr(password + 1, ':') : NULL;
	uint64_t gid;

	if (!number || password == line)
		return true;
	*password = '\0';
	*number++ = '\0';
	number[strcspn(number, ":")] = '\0';
	if (text_uint(number, 10, UINT32_MAX, &gid) < 0 || gid != w->gid)
		return true;
	if (!text_copy(w->name, FACTS_WORD_MAX, line))
		w->name[0] = '\0';
	return false;
}

void gpu_group_for(const struct kernel *k, const struct ids *ids, const struct node *node,
		   char buf[FACTS_WORD_MAX])
{
	struct wanted w = { .gid = node->gid, .name = buf };

	buf[0] = '\0';
	/* The owner is judged by the owner's bits alone, a member by the group's alone. */
	if ((node->mode & 0060) != 0060 || node->gid == 0 || node->uid == ids->uid ||
	    is_member(ids, node->gid))
		return;
	lines_read(k, "/etc/group", '\n', match_group, &w);
	if (!buf[0]) {
		struct text t = text_start(buf, FACTS_WORD_MAX);

		text_add(&t, "gid ");
		text_add_int(&t, node->gid);
	}
}
