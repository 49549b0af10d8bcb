#include "kabi/path.h"

#include <string.h>

#include "kabi/text.h"

bool path_join(char *buf, size_t size, const char *dir, const char *name)
{
	struct text t = text_start(buf, size);

	text_add(&t, dir);
	text_add(&t, "/");
	text_add(&t, name);
	if (t.cut)
		buf[0] = '\0';
	return !t.cut;
}

bool path_parent(char *dir, const char *top)
{
	size_t len = strlen(top);
	char *slash = strrchr(dir, '/');

	if (!slash || (size_t)(slash - dir) < len || strncmp(dir, top, len) != 0)
		return false;
	*slash = '\0';
	return true;
}

bool path_is_within(const char *inner, const char *outer)
{
	size_t len = strlen(outer);

	if (strncmp(inner, outer, len) != 0)
		return false;
	return inner[len] == '\0' || inner[len] == '/' || outer[len - 1] == '/';
}

bool path_is_systems(const char *path)
{
	static const char device[] = "/dev/";

	if (strstr(path, "/../"))
		return false;
	if (path_is_within(path, "/proc") || path_is_within(path, "/dev/fd"))
		return true;
	return strncmp(path, device, strlen(device)) == 0 && !strchr(path + strlen(device), '/');
}
