/* probe/cgroup*.c and probe/cpuquota.c on small recorded machines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/cgroup.h"
#include "probe/cpuquota.h"
#include "probe/probes.h"
#include "tests/fake/failing.h"
#include "tests/fake/tree.h"

#define V2_MAGIC "0x63677270"
#define CG "/sys/fs/cgroup"
#define MOUNT_V2 "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
#define FILES_MAX 24

/* A machine: our place, its mounts, files of our cgroup, rows; and what must come of it. */
struct machine {
	const char *name;
	const char *mountinfo; /* NULL: not readable */
	const char *own;
	struct tree_file files[FILES_MAX];
	const char *rows;

	enum cgroup_layout layout;
	enum cgroup_delegation delegation;
	const char *mount;
	const char *dir;
	bool namespaced;
	enum answer mounted;
	enum answer memory_available, memory_enableable;
	enum answer kill, memory_files, cpu_files;
	const char *missing[CGROUP_MISSING_MAX + 1];
	uint32_t obstacles;
};
#define OBSTACLE(name) (1U << LEAF_##name)

#define CORE(dir)                                                               \
	{ dir "/cgroup.procs", "" }, { dir "/cgroup.events", "populated 1\n" }, \
		{ dir "/cgroup.kill", "" }, { dir "/cgroup.freeze", "0\n" },    \
	{                                                                       \
		dir "/cgroup.type", "domain\n"                                  \
	}
#define CONTROLLER_FILES(dir)                                                            \
	{ dir "/memory.max", "max\n" }, { dir "/memory.swap.max", "max\n" },             \
		{ dir "/memory.oom.group", "0\n" }, { dir "/memory.events", "oom 0\n" }, \
		{ dir "/cpu.max", "max 100000\n" },                                      \
	{                                                                                \
		dir "/pids.max", "max\n"                                                 \
	}
#define LISTS(dir, controllers, subtree)                    \
	{ dir "/cgroup.controllers", controllers "\n" },    \
	{                                                   \
		dir "/cgroup.subtree_control", subtree "\n" \
	}
#define MAY_WRITE(dir, r)                                                               \
	"access " dir " wx = " r "\naccess " dir "/cgroup.procs w = " r "\naccess " dir \
	"/cgroup.subtree_control w = " r "\n"
#define NO_XATTR(dir) \
	"getxattr " dir " user.delegate = ENODATA\ngetxattr " dir " trusted.delegate = ENODATA\n"
#define STATFS_V2 "statfs /sys/fs/cgroup = " V2_MAGIC "\n"
#define USER "ids = 1000 1000\ncapget = 0 0 0\n"
#define ROOT "ids = 0 0\ncapget = 0x1ffffffffff 0x1ffffffffff 0\n"

#define AGENT CG "/system.slice/agent.service"
#define APP CG "/user.slice/user-1000.slice/user@1000.service/app.slice/a.service"

static const struct machine machines[] = {
	{
		.name = "a unit that systemd gave to its user",
		.mountinfo = MOUNT_V2,
		.own = "0::/system.slice/agent.service\n",
		.files = { CORE(AGENT), CONTROLLER_FILES(AGENT),
			   LISTS(AGENT, "cpu io memory pids", "") },
		.rows = USER STATFS_V2 MAY_WRITE(AGENT,
						 "0") "getxattr " AGENT " user.delegate = 1\n"
						      "stat " AGENT " = dir 0755 1000 1000\n",
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_DELEGATED,
		.mount = CG,
		.dir = AGENT,
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_YES,
		.cpu_files = ANSWER_YES,
	},
	{
		.name = "the mark is on a cgroup above ours, and systemd is too old for user.delegate",
		.mountinfo = MOUNT_V2,
		.own = "0::/system.slice/agent.service/agent\n",
		.files = { CORE(AGENT "/agent"), CONTROLLER_FILES(AGENT "/agent"),
			   LISTS(AGENT "/agent", "cpu memory pids", "cpu memory pids") },
		.rows = ROOT STATFS_V2 MAY_WRITE(AGENT "/agent", "0")
			NO_XATTR(AGENT "/agent") "getxattr " AGENT " user.delegate = ENODATA\n"
						 "getxattr " AGENT " trusted.delegate = 1\n",
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_DELEGATED,
		.mount = CG,
		.dir = AGENT "/agent",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_YES,
		.cpu_files = ANSWER_YES,
	},
	{
		.name = "root may write a unit's cgroup, but nobody gave it away",
		.mountinfo = MOUNT_V2,
		.own = "0::/system.slice/agent.service\n",
		.files = { CORE(AGENT), CONTROLLER_FILES(AGENT),
			   LISTS(AGENT, "cpu memory pids", "") },
		.rows = ROOT STATFS_V2 MAY_WRITE(AGENT, "0") NO_XATTR(AGENT),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_WRITABLE,
		.mount = CG,
		.dir = AGENT,
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_YES,
		.cpu_files = ANSWER_YES,
	},
	{
		.name = "a unit without Delegate=yes, whose slice does not pass memory on",
		.mountinfo = MOUNT_V2,
		.own = "0::/system.slice/agent.service\n",
		.files = { CORE(AGENT),
			   { AGENT "/cpu.max", "max 100000\n" },
			   LISTS(AGENT, "cpu pids", "") },
		.rows = USER STATFS_V2 MAY_WRITE(AGENT, "EACCES") NO_XATTR(AGENT),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_NONE,
		.mount = CG,
		.dir = AGENT,
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_NO,
		.memory_enableable = ANSWER_NO,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_NO,
		.cpu_files = ANSWER_YES,
		.missing = { "the unit has no Delegate=yes: uid 1000 may not make cgroups in its own",
			     "the memory controller is not available in this cgroup: the parent's "
			     "cgroup.subtree_control does not list it" },
		.obstacles = OBSTACLE(NOT_DELEGATED) | OBSTACLE(NO_CONTROLLER),
	},
	{
		.name = "a cgroup that is no unit of systemd's: Delegate=yes is no remedy",
		.mountinfo = MOUNT_V2,
		.own = "0::/openrc.agent\n",
		.files = { CORE(CG "/openrc.agent"),
			   LISTS(CG "/openrc.agent", "cpu memory pids", "") },
		.rows = USER STATFS_V2 MAY_WRITE(CG "/openrc.agent", "EACCES"),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_NONE,
		.mount = CG,
		.dir = CG "/openrc.agent",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_NO,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_NO,
		.cpu_files = ANSWER_NO,
		.missing = { "the cgroup directory is not writable by uid 1000" },
		.obstacles = OBSTACLE(NOT_WRITABLE),
	},
	{
		.name = "the directory is ours, but not cgroup.procs in it",
		.mountinfo = MOUNT_V2,
		.own = "0::/a\n",
		.files = { CORE(CG "/a"), CONTROLLER_FILES(CG "/a"),
			   LISTS(CG "/a", "cpu memory pids", "") },
		.rows = USER STATFS_V2 "access " CG "/a wx = 0\n"
				       "access " CG "/a/cgroup.procs w = EACCES\n"
				       "access " CG "/a/cgroup.subtree_control w = 0\n"
				       "stat " CG "/a = dir 0755 1000 1000\n",
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_NONE,
		.mount = CG,
		.dir = CG "/a",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_YES,
		.cpu_files = ANSWER_YES,
		.missing = { "cgroup.procs is not writable by uid 1000" },
		.obstacles = OBSTACLE(NOT_WRITABLE),
	},
	{
		.name = "nobody recorded what may be written: unknown, not no",
		.mountinfo = MOUNT_V2,
		.own = "0::/a\n",
		.files = { CORE(CG "/a"), CONTROLLER_FILES(CG "/a") },
		.rows = STATFS_V2,
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_UNKNOWN,
		.mount = CG,
		.dir = CG "/a",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_UNKNOWN,
		.memory_enableable = ANSWER_UNKNOWN,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_YES,
		.cpu_files = ANSWER_YES,
	},
	{
		.name = "hybrid: v1 has the controllers, v2 is beside it and we are at its root",
		.mountinfo = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
			     "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
			     "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
			     "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
			     "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
		.own = "8:pids:/\n4:memory:/\n1:cpu,cpuacct:/\n0::/\n",
		.files = { LISTS(CG "/unified", "", "") },
		.rows = ROOT "statfs " CG "/unified = " V2_MAGIC "\n" MAY_WRITE(CG "/unified", "0")
			NO_XATTR(CG "/unified"),
		.layout = CGROUP_HYBRID,
		.delegation = DELEGATION_WRITABLE,
		.mount = CG "/unified",
		.dir = CG "/unified",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_NO,
		.memory_enableable = ANSWER_NO,
		.kill = ANSWER_UNKNOWN, /* the root has no such file, and no child to look into */
		.memory_files = ANSWER_NO,
		.cpu_files = ANSWER_NO,
		.missing = { "v1 owns the cpu controller", "v1 owns the memory controller",
			     "v1 owns the pids controller" },
		.obstacles = OBSTACLE(V1_CONTROLLER),
	},
	{
		.name = "the root cgroup of a unified machine: its child shows what the kernel has",
		.mountinfo = MOUNT_V2,
		.own = "0::/\n",
		.files = { CORE(CG "/init.scope"),
			   { CG "/init.scope/pids.max", "max\n" },
			   CONTROLLER_FILES(CG "/system.slice"),
			   LISTS(CG, "cpuset cpu io memory pids", "memory pids"),
			   { CG "/init.scope/memory.max", "max\n" },
			   { CG "/init.scope/memory.swap.max", "max\n" },
			   { CG "/init.scope/memory.oom.group", "0\n" },
			   { CG "/init.scope/memory.events", "oom 0\n" } },
		.rows = ROOT STATFS_V2 MAY_WRITE(CG, "0") NO_XATTR(CG),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_WRITABLE,
		.mount = CG,
		.dir = CG,
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_YES,
		.cpu_files = ANSWER_UNKNOWN, /* not enabled at the root, so a child cannot tell */
	},
	{
		.name = "v1 only",
		.mountinfo = "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
			     "33 31 0:30 / /sys/fs/cgroup/systemd rw - cgroup c rw,name=systemd\n",
		.own = "4:memory:/user\n1:name=systemd:/user\n",
		.rows = USER,
		.layout = CGROUP_V1,
		.delegation = DELEGATION_NONE,
		.mount = "",
		.dir = "",
		.mounted = ANSWER_NO,
		.missing = { "no cgroup v2 hierarchy is mounted", "v1 owns the memory controller" },
		.obstacles = OBSTACLE(V1_CONTROLLER) | OBSTACLE(NO_HIERARCHY),
	},
	{
		.name = "a name= hierarchy of v1 takes no controller: still unified",
		.mountinfo = MOUNT_V2
		"33 31 0:30 / /run/elogind rw - cgroup cgroup rw,xattr,name=elogind\n",
		.own = "1:name=elogind:/\n0::/a\n",
		.files = { CORE(CG "/a"), LISTS(CG "/a", "cpu memory pids", "") },
		.rows = USER STATFS_V2 MAY_WRITE(CG "/a", "0") NO_XATTR(CG "/a"),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_WRITABLE,
		.mount = CG,
		.dir = CG "/a",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_NO,
		.cpu_files = ANSWER_NO,
	},
	{
		.name = "no cgroup at all",
		.mountinfo = "27 1 254:0 / / rw - ext4 /dev/vda rw\n",
		.own = "",
		.rows = USER,
		.layout = CGROUP_NONE,
		.delegation = DELEGATION_NONE,
		.mount = "",
		.dir = "",
		.mounted = ANSWER_NO,
		.missing = { "no cgroup v2 hierarchy is mounted" },
		.obstacles = OBSTACLE(NO_HIERARCHY),
	},
	{
		.name = "something else lies on top of the mount",
		.mountinfo = MOUNT_V2 "36 35 0:40 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n",
		.own = "0::/\n",
		.rows = USER "statfs /sys/fs/cgroup = 0x1021994\n",
		.layout = CGROUP_NONE,
		.delegation = DELEGATION_NONE,
		.mount = "",
		.dir = "",
		.mounted = ANSWER_NO,
		.missing = { "no cgroup v2 hierarchy is mounted" },
		.obstacles = OBSTACLE(NO_HIERARCHY),
	},
	{
		.name = "a container: read-only, and our cgroup is the root of the namespace",
		.mountinfo = "35 24 0:30 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
		.own = "0::/\n",
		.files = { CORE(CG), CONTROLLER_FILES(CG), LISTS(CG, "cpu memory pids", "") },
		.rows = "ids = 0 0\ncapget = 0xa80425fb 0xa80425fb 0\n" STATFS_V2 MAY_WRITE(
			CG, "EROFS") NO_XATTR(CG),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_NONE,
		.mount = CG,
		.dir = CG,
		.namespaced = true,
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_NO,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_YES,
		.cpu_files = ANSWER_YES,
		.missing = { "the cgroup2 mount is read-only" },
		.obstacles = OBSTACLE(READ_ONLY),
	},
	{
		.name = "a container with the host's namespace: only our part of the tree is mounted",
		.mountinfo =
			"35 24 0:30 /docker/01ab /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw\n",
		.own = "0::/docker/01ab/work\n",
		.files = { CORE(CG "/work"), CONTROLLER_FILES(CG "/work"),
			   LISTS(CG "/work", "cpu memory pids", "") },
		.rows = USER STATFS_V2 MAY_WRITE(CG "/work", "0") "stat " CG
								  "/work = dir 0755 1000 1000\n",
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_DELEGATED,
		.mount = CG,
		.dir = CG "/work",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_YES,
		.cpu_files = ANSWER_YES,
	},
	{
		.name = "our cgroup is outside the namespace's root",
		.mountinfo = MOUNT_V2,
		.own = "0::/../other\n",
		.files = { CORE(CG "/other") },
		.rows = USER STATFS_V2,
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_NONE,
		.mount = CG,
		.dir = "",
		.mounted = ANSWER_YES,
		.missing = { "the cgroup directory is not visible here (cgroup namespace or container "
			     "mount)" },
		.obstacles = OBSTACLE(NOT_VISIBLE),
	},
	{
		.name = "our cgroup was removed",
		.mountinfo = MOUNT_V2,
		.own = "0::/a (deleted)\n",
		.files = { CORE(CG "/a") },
		.rows = USER STATFS_V2,
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_NONE,
		.mount = CG,
		.dir = "",
		.mounted = ANSWER_YES,
		.missing = { "the cgroup of this process has been removed" },
		.obstacles = OBSTACLE(NOT_VISIBLE),
	},
	{
		.name = "two mounts: the one that shows our cgroup is taken",
		.mountinfo = "34 24 0:30 /lxc /first rw - cgroup2 cgroup2 rw\n"
			     "35 24 0:30 / /sec\\040ond ro - cgroup2 cgroup2 rw\n"
			     "36 24 0:30 / /third rw - cgroup2 cgroup2 rw\n"
			     "37 24 0:30 /x /fourth rw - cgroup2 cgroup2 rw\n",
		.own = "0::/a\n",
		.files = { CORE("/sec ond/a"), CORE("/third/a"),
			   LISTS("/third/a", "cpu memory pids", "") },
		.rows = USER "statfs /first = " V2_MAGIC "\nstatfs /sec ond = " V2_MAGIC
			     "\nstatfs /third = " V2_MAGIC "\nstatfs /fourth = " V2_MAGIC
			     "\n" MAY_WRITE("/third/a", "0"),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_WRITABLE,
		.mount = "/third",
		.dir = "/third/a",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_NO,
		.cpu_files = ANSWER_NO,
	},
	{
		.name = "a threaded cgroup",
		.mountinfo = MOUNT_V2,
		.own = "0::/t\n",
		.files = { { CG "/t/cgroup.events", "populated 1\n" },
			   { CG "/t/cgroup.type", "domain threaded\n" },
			   { CG "/t/cgroup.kill", "" },
			   { CG "/t/cgroup.freeze", "0\n" },
			   LISTS(CG "/t", "cpu memory pids", "") },
		.rows = ROOT STATFS_V2 MAY_WRITE(CG "/t", "0") NO_XATTR(CG "/t"),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_WRITABLE,
		.mount = CG,
		.dir = CG "/t",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_NO,
		.kill = ANSWER_YES,
		.memory_files = ANSWER_NO,
		.cpu_files = ANSWER_NO,
		.missing = { "this cgroup is of type 'domain threaded': a leaf with limits needs a "
			     "domain outside threaded subtrees" },
		.obstacles = OBSTACLE(THREADED),
	},
	{
		.name = "an old kernel without cgroup.kill",
		.mountinfo = MOUNT_V2,
		.own = "0::/a\n",
		.files = { { CG "/a/cgroup.events", "populated 1\n" },
			   { CG "/a/cgroup.freeze", "0\n" },
			   LISTS(CG "/a", "cpu memory pids", "") },
		.rows = ROOT STATFS_V2 MAY_WRITE(CG "/a", "0") NO_XATTR(CG "/a"),
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_WRITABLE,
		.mount = CG,
		.dir = CG "/a",
		.mounted = ANSWER_YES,
		.memory_available = ANSWER_YES,
		.memory_enableable = ANSWER_YES,
		.kill = ANSWER_NO,
		.memory_files = ANSWER_NO,
		.cpu_files = ANSWER_NO,
		.missing = { "this kernel has no cgroup.kill, which comes with Linux 5.14" },
		.obstacles = OBSTACLE(OLD_KERNEL),
	},
	{
		.name = "no /proc: found at its usual place, but not who we are",
		.rows = USER STATFS_V2,
		.layout = CGROUP_UNIFIED,
		.delegation = DELEGATION_UNKNOWN,
		.mount = CG,
		.dir = "",
		.mounted = ANSWER_YES,
		.missing = { "the cgroup of this process is unknown: read '/proc/self/cgroup': ENOENT" },
		.obstacles = OBSTACLE(UNKNOWN),
	},
	{
		.name = "no /proc: found beside v1",
		.rows = USER "statfs " CG " = 0x1021994\nstatfs " CG "/unified = " V2_MAGIC "\n",
		.layout = CGROUP_HYBRID,
		.delegation = DELEGATION_UNKNOWN,
		.mount = CG "/unified",
		.dir = "",
		.mounted = ANSWER_YES,
		.missing = { "the cgroup of this process is unknown: read '/proc/self/cgroup': ENOENT" },
		.obstacles = OBSTACLE(UNKNOWN),
	},
	{
		.name = "no /proc, and not at its usual places: unknown, not no",
		.rows = USER "statfs " CG " = 0x1021994\nstatfs " CG "/unified = ENOENT\n",
		.layout = CGROUP_UNKNOWN,
		.delegation = DELEGATION_UNKNOWN,
		.mount = "",
		.dir = "",
		.mounted = ANSWER_UNKNOWN,
		.missing = { "whether cgroup v2 is mounted is unknown (read /proc/self/mountinfo: "
			     "ENOENT)" },
		.obstacles = OBSTACLE(UNKNOWN),
	},
	{
		.name = "a mount that cannot be asked: unknown, not no",
		.mountinfo = MOUNT_V2,
		.own = "0::/\n",
		.rows = USER "statfs " CG " = EACCES\n",
		.layout = CGROUP_UNKNOWN,
		.delegation = DELEGATION_UNKNOWN,
		.mount = "",
		.dir = "",
		.mounted = ANSWER_UNKNOWN,
		.missing = { "whether cgroup v2 is mounted is unknown (statfs /sys/fs/cgroup: EACCES)" },
		.obstacles = OBSTACLE(UNKNOWN),
	},
};

static void make(const struct machine *m, struct tree *t)
{
	struct tree_file files[FILES_MAX + 3] = { 0 };
	size_t n = 0;

	if (m->mountinfo)
		files[n++] = (struct tree_file){ "/proc/self/mountinfo", m->mountinfo };
	if (m->own)
		files[n++] = (struct tree_file){ "/proc/self/cgroup", m->own };
	for (size_t i = 0; i < FILES_MAX && m->files[i].path; i++)
		files[n++] = m->files[i];
	tree_make(t, files, m->rows);
}

static void a_machine_is_told_from_the_others(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct machine *m = &machines[i];
		struct cgroup_facts f = { 0 };
		const struct controller_facts *memory = &f.controllers[CONTROLLER_MEMORY];
		uint32_t obstacles = 0;
		struct tree t;

		print_message("# %s\n", m->name);
		make(m, &t);
		probe_cgroup(&t.kernel, &f);
		tree_remove(&t);

		assert_int_equal(f.layout, m->layout);
		assert_int_equal(f.delegation, m->delegation);
		assert_string_equal(f.mount, m->mount);
		assert_string_equal(f.dir, m->dir);
		assert_int_equal(f.namespaced, m->namespaced);
		assert_int_equal(f.mounted.answer, m->mounted);
		assert_int_equal(memory->available.answer, m->memory_available);
		assert_int_equal(memory->enableable.answer, m->memory_enableable);
		assert_int_equal(f.kill.answer, m->kill);
		assert_int_equal(f.memory_files.answer, m->memory_files);
		assert_int_equal(f.cpu_files.answer, m->cpu_files);
		for (uint32_t j = 0; j < f.missing_count; j++) {
			assert_string_equal(f.missing[j].text, m->missing[j] ? m->missing[j] : "");
			obstacles |= 1U << f.missing[j].obstacle;
		}
		assert_int_equal(obstacles, m->obstacles);
		assert_null(m->missing[f.missing_count]);
	}
}

static const struct machine *machine_named(const char *start)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (strncmp(machines[i].name, start, strlen(start)) == 0)
			return &machines[i];
	fail();
	return NULL;
}

/* The child of the root cgroup is removed just before the files of the first `removals` samples are
 * asked for, and another is there then.
 */
static struct {
	const struct kernel *inner;
	int removals;
	int asked;
	uint64_t inode;
} vanishing;

static int vanishing_access(const struct kernel *k, const char *path, int mode)
{
	(void)k;
	if (strstr(path, "/cgroup.kill"))
		vanishing.asked++;
	if (!strstr(path, "/init.scope/") || vanishing.asked > vanishing.removals)
		return vanishing.inner->access(vanishing.inner, path, mode);
	vanishing.inode++;
	return -ENOENT;
}

static int vanishing_stat(const struct kernel *k, const char *path, struct node *ret)
{
	int r = vanishing.inner->stat(vanishing.inner, path, ret);

	(void)k;
	ret->inode = vanishing.inode;
	return r;
}

static void a_cgroup_removed_meanwhile_is_no_answer(void **state)
{
	static const struct {
		int removals;
		enum answer kill;
		const char *got;
	} rows[] = { { 0, ANSWER_YES, "0" },
		     { 1, ANSWER_YES, "0" },
		     { 7, ANSWER_YES, "0" },
		     { 8, ANSWER_UNKNOWN, "each was removed meanwhile" } };
	static struct cgroup_facts f;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tree t;

		make(machine_named("the root cgroup of a unified machine"), &t);

		struct kernel kernel = t.kernel;

		kernel.access = vanishing_access;
		kernel.stat = vanishing_stat;
		vanishing.inner = &t.kernel;
		vanishing.removals = rows[i].removals;
		vanishing.asked = 0;
		f = (struct cgroup_facts){ .dir = CG };
		cgroup_ask_files(&kernel, ANSWER_YES, &f);
		assert_int_equal(f.kill.answer, rows[i].kill);
		assert_string_equal(f.kill.got, rows[i].got);
		assert_int_equal(f.freeze.answer, rows[i].kill);
		tree_remove(&t);
	}
}

static void obstacles_have_names_and_remedies(void **state)
{
	char remedy[FACTS_LINE_MAX];
	char unknown[FACTS_LINE_MAX];

	(void)state;
	for (int i = 0; i < LEAF_OBSTACLE_COUNT; i++) {
		assert_int_equal(leaf_obstacle_find(leaf_obstacle_name(i)), i);
		leaf_remedy(1U << i, remedy);
		assert_true(remedy[0]);
	}
	assert_int_equal(leaf_obstacle_find("of a later version"), LEAF_UNKNOWN);
	leaf_remedy(OBSTACLE(UNKNOWN), unknown);
	leaf_remedy(0, remedy);
	assert_string_equal(remedy, unknown);
	leaf_remedy(OBSTACLE(UNKNOWN) | OBSTACLE(NOT_DELEGATED) | OBSTACLE(OLD_KERNEL), remedy);
	assert_string_equal(remedy, "Delegate=yes in the agent's unit, and Linux 5.14 or later");
	leaf_remedy(OBSTACLE(NO_HIERARCHY), unknown);
	leaf_remedy(OBSTACLE(NO_HIERARCHY) | OBSTACLE(V1_CONTROLLER), remedy);
	assert_string_equal(remedy, unknown);
}

/* Of a machine whose kernel refuses everything, nothing is known and nothing is denied. */
static void nothing_recorded_is_unknown(void **state)
{
	struct cgroup_facts f = { 0 };
	struct tree t;

	(void)state;
	tree_make(&t, NULL, "");
	probe_cgroup(&t.kernel, &f);
	tree_remove(&t);
	assert_int_equal(f.layout, CGROUP_UNKNOWN);
	assert_int_equal(f.delegation, DELEGATION_UNKNOWN);
	assert_int_equal(f.mounted.answer, ANSWER_UNKNOWN);
	assert_int_equal(f.kill.answer, ANSWER_UNKNOWN);
	assert_int_equal(f.owned.answer, ANSWER_UNKNOWN);
}

static void pressure_can_be_off_at_boot(void **state)
{
	const struct tree_file files[] = { { "/proc/pressure/cpu", "some avg10=0.00\n" },
					   { "/proc/pressure/memory", "some avg10=0.00\n" },
					   { "/proc/meminfo", "" },
					   { NULL, NULL } };
	struct cgroup_facts f = { 0 };
	struct tree t;

	(void)state;
	tree_make(&t, files, "open /proc/pressure/memory r = EOPNOTSUPP\n");
	probe_cgroup(&t.kernel, &f);
	tree_remove(&t);
	assert_int_equal(f.psi[0].answer, ANSWER_YES);
	assert_int_equal(f.psi[1].answer, ANSWER_NO);
	assert_string_equal(f.psi[1].got, "EOPNOTSUPP");
	assert_int_equal(f.psi[2].answer, ANSWER_NO);
	assert_string_equal(f.psi[2].got, "ENOENT");
}

/* A /proc that is not there, or of processes alone, lacks the files on any kernel. */
static void pressure_is_unknown_without_proc(void **state)
{
	struct cgroup_facts f = { 0 };
	struct tree t;

	(void)state;
	tree_make(&t, NULL, "");
	probe_cgroup(&t.kernel, &f);
	tree_remove(&t);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(f.psi[i].answer, ANSWER_UNKNOWN);
		assert_string_equal(f.psi[i].got, "ENOENT");
	}
}

static void the_directory_is_below_the_mount(void **state)
{
	static const struct {
		const char *point, *root, *own, *dir; /* dir NULL: not visible */
	} rows[] = {
		{ "/cg", "/", "/", "/cg" },
		{ "/cg", "/", "/a/b", "/cg/a/b" },
		{ "/cg", "/a", "/a", "/cg" },
		{ "/cg", "/a", "/a/b", "/cg/b" },
		{ "/cg", "/a", "/ab", NULL },
		{ "/cg", "/a/b", "/a", NULL },
		{ "/cg", "/", "/..", NULL },
		{ "/cg", "/", "/../a", NULL },
		{ "/cg", "/", "/..a", "/cg/..a" },
		{ "/cg", "/", "/a/...", "/cg/a/..." },
		{ "/cg", "/..", "/../a", "/cg/a" },
		{ "/cg", "/..", "/..", "/cg" },
		{ "/cg", "/..", "/../..", NULL },
		{ "/cg", "/..", "/", NULL }, /* what our root is called up there is not known */
		{ "/cg", "/../..", "/../a", NULL },
		{ "/cg", "/", "", NULL },
		{ "/cg", "/", "a", NULL },
		{ "/", "/", "/a", "/a" },
		{ "/", "/", "/", "/" },
		{ "/cg", "/", "/0123456789012345678901234567890123456789", NULL }, /* too long */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char dir[32];
		bool visible = cgroup_directory(rows[i].point, rows[i].root, rows[i].own, dir,
						sizeof(dir));

		print_message("# %s %s %s\n", rows[i].point, rows[i].root, rows[i].own);
		assert_int_equal(visible, rows[i].dir != NULL);
		if (visible)
			assert_string_equal(dir, rows[i].dir);
	}
}

#define MOUNT_V1_CPU "32 31 0:29 / /cpu rw - cgroup cgroup rw,cpu,cpuacct\n"

static void the_least_quota_counts(void **state)
{
	static const struct {
		const char *own;
		struct tree_file files[5];
		int64_t quota;
	} rows[] = {
		{ "0::/a/b\n", { { CG "/a/b/cpu.max", "max 100000\n" } }, -1 },
		{ "0::/a/b\n", { { CG "/a/b/cpu.max", "150000 100000\n" } }, 1500 },
		{ "0::/a/b\n",
		  { { CG "/a/b/cpu.max", "150000 100000\n" },
		    { CG "/a/cpu.max", "50000 100000\n" } },
		  500 },
		{ "0::/a/b\n",
		  { { CG "/a/b/cpu.max", "max 100000\n" }, { CG "/cpu.max", "200000 100000\n" } },
		  2000 },
		{ "0::/a/b\n", { { CG "/a/b/cpu.max", "1 1000000\n" } }, 1 },
		{ "0::/a/b\n", { { CG "/a/b/cpu.max", "9223372036854775807 1\n" } }, -1 },
		{ "0::/a/b\n", { { CG "/a/b/cpu.max", "100 0\n" } }, -1 },
		{ "0::/a/b\n", { { CG "/a/b/cpu.max", "garbage\n" } }, -1 },
		{ "1:cpu,cpuacct:/x\n",
		  { { "/cpu/x/cpu.cfs_quota_us", "-1\n" },
		    { "/cpu/x/cpu.cfs_period_us", "100000\n" },
		    { "/cpu/cpu.cfs_quota_us", "300000\n" },
		    { "/cpu/cpu.cfs_period_us", "100000\n" } },
		  3000 },
		{ "1:cpuset:/x\n",
		  { { "/cpu/x/cpu.cfs_quota_us", "50000\n" },
		    { "/cpu/x/cpu.cfs_period_us", "100000\n" } },
		  -1 },
		{ "", { { CG "/cpu.max", "50000 100000\n" } }, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tree_file files[8] = {
			{ "/proc/self/mountinfo", MOUNT_V2 MOUNT_V1_CPU },
			{ "/proc/self/cgroup", rows[i].own },
		};
		int64_t quota = 0;
		struct tree t;

		memcpy(files + 2, rows[i].files, sizeof(rows[i].files));
		tree_make(&t, files, STATFS_V2);
		print_message("# row %zu\n", i);
		assert_int_equal(cgroup_cpu_quota(&t.kernel, &quota), 0);
		assert_int_equal(quota, rows[i].quota);
		tree_remove(&t);
	}
}

/* Every request fails once: the quota is the same, or unknown, and never another. */
static void a_quota_that_cannot_be_read_is_not_none(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/self/mountinfo", MOUNT_V2 MOUNT_V1_CPU },
		{ "/proc/self/cgroup", "0::/a/b\n1:cpu,cpuacct:/x\n" },
		{ CG "/a/b/cpu.max", "150000 100000\n" },
		{ CG "/a/cpu.max", "60000 100000\n" },
		{ "/cpu/x/cpu.cfs_quota_us", "50000\n" },
		{ "/cpu/x/cpu.cfs_period_us", "100000\n" },
		{ NULL, NULL },
	};
	static const int errors[] = { EMFILE, ENFILE, ENOMEM, EIO, ENODEV };
	struct failing f;
	struct tree t;
	int64_t quota;

	(void)state;
	tree_make(&t, files, STATFS_V2);
	for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++)
		for (unsigned at = 0; at == 0 || f.calls >= at; at++) {
			int r;

			failing_start(&f, &t.kernel, at, errors[e]);
			quota = 0;
			r = cgroup_cpu_quota(&f.kernel, &quota);
			if (at == 0)
				assert_int_equal(r, 0);
			assert_int_equal(quota, r < 0 ? 0 : 500);
		}
	tree_remove(&t);
}

/* This process is moved, and its old cgroup removed, just after the first `moves` times that it
 * asked where it is.
 */
static struct {
	const struct kernel *inner;
	int moves;
	int asked;
} moving;

static int moving_open(const struct kernel *k, const char *path, int flags)
{
	(void)k;
	if (strcmp(path, "/proc/self/cgroup") == 0 && moving.asked++ < moving.moves)
		path = moving.asked % 2 ? "/before/0" : "/before/1";
	return moving.inner->open(moving.inner, path, flags);
}

static void a_process_that_is_moved_finds_its_cgroup(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/self/mountinfo", MOUNT_V2 },  { "/proc/self/cgroup", "0::/here\n" },
		{ "/before/0", "0::/gone/0\n" },       { "/before/1", "0::/gone/1\n" },
		{ CG "/here/cgroup.events", "x 1\n" }, { NULL, NULL },
	};
	static const int moves[] = { 0, 1, 2, 5, 9, 100 };
	static struct cgroup_facts facts;
	struct cgroup_place place;

	(void)state;
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		struct tree t;

		tree_make(&t, files, USER STATFS_V2);

		struct kernel kernel = t.kernel;

		kernel.open = moving_open;
		moving.inner = &t.kernel;
		moving.moves = moves[i];
		moving.asked = 0;
		cgroup_find(&kernel, &place);
		assert_string_equal(place.v2.dir, moves[i] == 100 ? "" : CG "/here");
		assert_int_equal(place.v2.dir_error, moves[i] == 100 ? -EAGAIN : 0);
		moving.asked = 0;
		facts = (struct cgroup_facts){ 0 };
		probe_cgroup(&kernel, &facts);
		assert_int_equal(leaf_obstacles(&facts) & OBSTACLE(NOT_VISIBLE), 0);
		assert_int_equal(facts.delegation, DELEGATION_UNKNOWN);
		tree_remove(&t);
	}
}

/* Our cgroup is gone when its files are asked for: that does not make it the root cgroup. */
static int gone_stat(const struct kernel *k, const char *path, struct node *ret)
{
	int r = moving.inner->stat(moving.inner, path, ret);

	(void)k;
	return strcmp(path, CG "/here") == 0 && moving.asked++ > 0 ? -ENOENT : r;
}

static void a_removed_cgroup_is_not_the_root(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/self/mountinfo", MOUNT_V2 },
		{ "/proc/self/cgroup", "0::/here\n" },
		{ CG "/here/cgroup.controllers", "\n" },
		{ NULL, NULL },
	};
	static struct cgroup_facts facts;
	struct kernel kernel;
	struct tree t;

	(void)state;
	tree_make(&t, files, USER STATFS_V2);
	kernel = t.kernel;
	kernel.stat = gone_stat;
	moving.inner = &t.kernel;
	moving.asked = 0;
	probe_cgroup(&kernel, &facts);
	assert_string_equal(facts.dir, CG "/here");
	assert_int_equal(leaf_obstacles(&facts) & OBSTACLE(CONTROLLER_OFF), 0);
	tree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_is_told_from_the_others),
		cmocka_unit_test(a_cgroup_removed_meanwhile_is_no_answer),
		cmocka_unit_test(obstacles_have_names_and_remedies),
		cmocka_unit_test(nothing_recorded_is_unknown),
		cmocka_unit_test(pressure_can_be_off_at_boot),
		cmocka_unit_test(pressure_is_unknown_without_proc),
		cmocka_unit_test(the_directory_is_below_the_mount),
		cmocka_unit_test(the_least_quota_counts),
		cmocka_unit_test(a_quota_that_cannot_be_read_is_not_none),
		cmocka_unit_test(a_process_that_is_moved_finds_its_cgroup),
		cmocka_unit_test(a_removed_cgroup_is_not_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
