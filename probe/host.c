/* The machine, its operating system, and who we are on it. */
#include "probe/probes.h"

#include <errno.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/lines.h"
#include "kabi/path.h"
#include "kabi/text.h"
#include "probe/ask.h"
#include "probe/cpu.h"
#include "probe/libc.h"
#include "probe/osrelease.h"
#include "probe/virt.h"

#define NODE_NAME_MAX 63

/* No process has this id, (uid_t)-1: never taken for root's. */
#define ID_UNKNOWN UINT32_MAX

static char *trim(char *s)
{
	size_t len;

	s += strspn(s, " \t\r\n");
	len = strlen(s);
	while (len > 0 && strchr(" \t\r\n", s[len - 1]))
		len--;
	s[len] = '\0';
	return s;
}

static bool node_name(void *arg, char *variable)
{
	static const char before[] = "OARBANK_NODE_NAME=";
	struct host_facts *ret = arg;
	char *name;

	if (!text_starts(variable, before))
		return true;
	name = trim(variable + sizeof(before) - 1);
	if (*name && strlen(name) <= NODE_NAME_MAX)
		text_copy(ret->hostname, sizeof(ret->hostname), name);
	return false;
}

/* The name an operator chose (spec/wire.md §3.1), else the kernel's. The environment is read as the
 * kernel shows it, so that a recorded machine does not get this one's. When it could not be read
 * for a reason of this moment, the name is unknown: the kernel's may be another node's.
 */
static void ask_names(const struct kernel *k, struct host_facts *ret)
{
	struct uts uts;
	int r;

	if (k->uname(k, &uts) == 0)
		ret->uts = uts;
	r = lines_read(k, "/proc/self/environ", '\0', node_name, ret);
	if (ask_is_passing(r))
		return;
	if (!ret->hostname[0])
		text_copy(ret->hostname, sizeof(ret->hostname), ret->uts.nodename);
}

static void ask_os(const struct kernel *k, struct host_facts *ret)
{
	struct osrelease os;
	const char *path;

	if (osrelease_read(k, &os, &path) < 0)
		return;
	text_copy(ret->os_id, sizeof(ret->os_id), os.id);
	text_copy(ret->os_version, sizeof(ret->os_version), os.version_id);
	text_copy(ret->os_pretty, sizeof(ret->os_pretty), os.pretty_name);
	text_copy(ret->os_release_path, sizeof(ret->os_release_path), path);
}

static void ask_cpu_and_virt(const struct kernel *k, struct host_facts *ret)
{
	struct cpuinfo cpuinfo;
	bool known = cpuinfo_read(k, &cpuinfo) == 0;

	if (known)
		text_copy(ret->cpu_model, sizeof(ret->cpu_model), cpuinfo.model);
	cpu_count_cores(k, ret);
	virt_ask(k, known ? &cpuinfo : NULL, ret);
	container_ask(k, ret);
}

static bool memory_line(void *arg, char *line)
{
	static const char before[] = "MemTotal:";
	uint64_t *bytes = arg;
	const char *word;
	uint64_t kib;

	if (!text_starts(line, before))
		return true;
	line += sizeof(before) - 1;
	word = text_word(&line);
	if (!word || text_uint(word, 10, UINT64_MAX / 1024, &kib) < 0)
		return false;
	word = text_word(&line);
	if (word && strcmp(word, "kB") == 0)
		*bytes = kib * 1024;
	return false;
}

/* What is not there yet will be made on the filesystem of what is above it. */
static int statfs_at_or_above(const struct kernel *k, char path[FACTS_PATH_MAX],
			      struct fs_info *ret)
{
	int r = k->statfs(k, path, ret);

	while (r == -ENOENT && strcmp(path, "/") != 0 && path_parent(path, "")) {
		if (!*path)
			text_copy(path, FACTS_PATH_MAX, "/");
		r = k->statfs(k, path, ret);
	}
	return r;
}

static void ask_disk(const struct kernel *k, const char *home, struct host_facts *ret)
{
	char call[sizeof(ret->disk.call)];
	struct fs_info fs;
	uint64_t bytes;
	int r;

	text_copy(ret->disk_path, sizeof(ret->disk_path), home ? home : "/");
	r = statfs_at_or_above(k, ret->disk_path, &fs);
	ask_name(call, sizeof(call), "statfs", ret->disk_path);
	if (r < 0)
		fact_call(&ret->disk, ANSWER_UNKNOWN, call, r);
	else if (__builtin_mul_overflow(fs.blocks_available, fs.block_size, &bytes) ||
		 bytes > INT64_MAX || fs.block_size == 0)
		fact_text(&ret->disk, ANSWER_UNKNOWN, BASIS_OBSERVED, call,
			  "a size beyond measure");
	else
		fact_call(&ret->disk, ANSWER_YES, call, (int64_t)bytes);
}

static ssize_t read_supply(const struct kernel *k, const char *name, const char *file,
			   char said[FACTS_WORD_MAX])
{
	char path[FACTS_PATH_MAX];
	struct text t = TEXT_BUF(path);

	text_add(&t, "/sys/class/power_supply/");
	text_add(&t, name);
	text_add(&t, file);
	return file_read_line(k, path, said, FACTS_WORD_MAX);
}

/* Is this power supply a battery of the machine? A mouse's has the scope Device, and a laptop's
 * need not have any. */
static enum answer is_battery(const struct kernel *k, const char *name)
{
	char said[FACTS_WORD_MAX];
	ssize_t n = read_supply(k, name, "/type", said);

	if (n < 0)
		return n == -ENOENT ? ANSWER_NO : ANSWER_UNKNOWN;
	if (strcmp(said, "Battery") != 0)
		return ANSWER_NO;
	n = read_supply(k, name, "/scope", said);
	if (n >= 0)
		return strcmp(said, "Device") == 0 ? ANSWER_NO : ANSWER_YES;
	/* A mouse that was switched off meanwhile has no scope either. */
	if (n == -ENOENT && read_supply(k, name, "/type", said) >= 0)
		return ANSWER_YES;
	return ANSWER_UNKNOWN;
}

static void ask_battery(const struct kernel *k, struct fact *f)
{
	static const char dir[] = "/sys/class/power_supply";
	char names[4096];
	const char *name = names;
	struct node node;
	ssize_t n;

	n = k->list(k, dir, names, sizeof(names));
	/* A kernel without the class has no such directory, where it has the others. */
	if (n == -ENOENT && k->stat(k, "/sys/class", &node) == 0)
		fact_call(f, ANSWER_NO, dir, n);
	else if (n < 0)
		fact_call(f, ANSWER_UNKNOWN, dir, n);
	else
		fact_text(f, ANSWER_NO, BASIS_CLAIMED, dir, "no battery");
	for (ssize_t i = 0; i < n; i++, name += strlen(name) + 1) {
		enum answer answer = is_battery(k, name);

		if (answer != ANSWER_NO)
			fact_text(f, answer, BASIS_CLAIMED, dir, name);
		if (answer == ANSWER_YES)
			return;
	}
}

static void ask_identity(const struct kernel *k, struct host_facts *ret)
{
	int r;

	if (k->ids(k, &ret->ids) < 0) {
		ret->ids.uid = ID_UNKNOWN;
		ret->ids.gid = ID_UNKNOWN;
	}
	r = k->capget(k, &ret->caps);
	fact_call(&ret->caps_asked, r == 0 ? ANSWER_YES : ANSWER_UNKNOWN, "capget", r);
}

void probe_host(const struct kernel *k, const char *home, struct host_facts *ret)
{
	ask_names(k, ret);
	ask_os(k, ret);
	libc_ask(k, ret);
	ask_cpu_and_virt(k, ret);
	lines_read(k, "/proc/meminfo", '\n', memory_line, &ret->memory_bytes);
	ask_disk(k, home, ret);
	ask_battery(k, &ret->battery);
	ask_identity(k, ret);
}
