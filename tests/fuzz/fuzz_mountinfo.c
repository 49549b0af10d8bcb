/* /proc/self/mountinfo, and the same bytes as /proc/self/cgroup and as a place in a mount. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kabi/cgroup.h"
#include "kabi/mountinfo.h"
#include "kabi/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static void check_directory(const struct mount *m, const char *own)
{
	char dir[64];

	if (!cgroup_directory(m->point, m->root, own, dir, sizeof(dir)))
		return;
	/* What is answered fits, is below the mount, and does not climb out of it. */
	if (strlen(dir) >= sizeof(dir) || strncmp(dir, m->point, strlen(m->point)) != 0 ||
	    strstr(dir + strlen(m->point), "/../"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cgroup_place place;
	char *cgroups = text_of(data, size);
	char *mounts = text_of(data, size);
	struct mountinfo it = mountinfo_start(mounts);
	struct mount m;

	memset(&place, 0, sizeof(place));
	cgroup_read_own(cgroups, &place);
	while (mountinfo_next(&it, &m)) {
		if (!m.type[0] || m.point[0] != '/' || strlen(m.super) > size)
			abort();
		text_in_list(m.options, "ro");
		check_directory(&m, place.v2.own);
		check_directory(&m, m.source);
	}
	free(mounts);
	free(cgroups);
	return 0;
}
