/* What uid 0 and setuid programs could do that a normal user cannot. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define OTHER_UID 61007

/* ---- capabilities ---- */

/* Any bit in any of the five sets of /proc/self/status. */
static int any_capability(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	char name[16];
	unsigned long long bits;
	int r = NOTHING;

	if (!f)
		return broken("open /proc/self/status");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Cap%15[A-Za-z]: %llx", name, &bits) == 2 && bits)
			r = 0;
	fclose(f);
	return r;
}

static int have_capability(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return any_capability();
}

/* uid 0 regains them at exec unless the securebits say otherwise. */
static int regain_by_exec(const struct stage *s, const long *arg)
{
	(void)arg;
	return exec_do(path_at(s, BUNDLE, "attacker"), "capabilities");
}

static int set_securebits(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_zero(prctl(PR_SET_SECUREBITS, arg[0], 0, 0, 0));
}

static int raise_ambient(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_OVERRIDE, 0, 0));
}

static int raise_inheritable(const struct stage *s, const long *arg)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	(void)s;
	(void)arg;
	if (syscall(SYS_capget, &head, data) < 0)
		return broken("capget");
	data[0].inheritable |= 1U << CAP_DAC_OVERRIDE;
	return answer_zero(syscall(SYS_capset, &head, data));
}

static int become_root(const struct stage *s, const long *arg)
{
	(void)arg;
	if (!s->setuid[0])
		return -ENOENT;
	return exec_do(s->setuid, "euid");
}

static int is_restricted_program(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? NOTHING : 0;
}

/* ---- by capability ---- */

static int change_user(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(setresuid(OTHER_UID, OTHER_UID, OTHER_UID));
}

static int change_group(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(setresgid(OTHER_UID, OTHER_UID, OTHER_UID));
}

static int change_groups(const struct stage *s, const long *arg)
{
	gid_t group = OTHER_UID;

	(void)s;
	(void)arg;
	return answer_zero(setgroups(1, &group));
}

static int give_away(const struct stage *s, const long *arg)
{
	return answer_zero(chown(path_at(s, (enum place)arg[0], "attr"), OTHER_UID, OTHER_UID));
}

/* arg: type, major, minor */
static int make_device(const struct stage *s, const long *arg)
{
	char name[32];

	snprintf(name, sizeof(name), "device-%lo-%ld", arg[0], arg[2]);
	return answer_zero(mknod(path_at(s, WORK, name), (mode_t)arg[0] | 0600,
				 makedev((unsigned)arg[1], (unsigned)arg[2])));
}

static int open_path(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_fd(open(TEXT_OF(arg[0]), (int)arg[1] | O_CLOEXEC));
}

/* A file of another user in a folder that is granted. */
static int open_foreign(const struct stage *s, const long *arg)
{
	return answer_fd(open(path_at(s, (enum place)arg[0], "foreign"), O_RDONLY | O_CLOEXEC));
}

static int lower_nice(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(setpriority(PRIO_PROCESS, 0, -5));
}

static int raise_limit(const struct stage *s, const long *arg)
{
	struct rlimit limit;

	(void)s;
	(void)arg;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return broken("getrlimit");
	limit.rlim_max++;
	return answer_zero(setrlimit(RLIMIT_NOFILE, &limit));
}

static int signal_first(const struct stage *s, const long *arg)
{
	(void)s;
	(void)arg;
	return answer_zero(kill(1, 0));
}

/* The address of the first function: data of each CPU, listed before it, is at 0 on some kernels.
 */
static int kernel_addresses(const struct stage *s, const long *arg)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	unsigned long long address = 0;
	char type = '\0';

	(void)s;
	(void)arg;
	while (f && type != 'T' && type != 't')
		if (fscanf(f, "%llx %c%*[^\n]", &address, &type) != 2)
			return broken("read /proc/kallsyms");
	if (!f)
		return broken("open /proc/kallsyms");
	fclose(f);
	return address ? 0 : NOTHING;
}

/* ---- what the executed programs do ---- */

/* The file "read" of the folder "outside" beside that of this program. */
static int read_outside(void)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);

	if (n < 0)
		return broken("find this program");
	path[n] = '\0';
	strcpy(strstr(path, "/bundle/"), "/outside/read");
	return answer_fd(open(path, O_RDONLY | O_CLOEXEC));
}

int do_main(const char *what)
{
	if (strcmp(what, "true") == 0)
		return 0;
	if (strcmp(what, "euid") == 0)
		return geteuid() == 0 ? 0 : answer_code(-EPERM);
	if (strcmp(what, "capabilities") == 0)
		return answer_code(any_capability());
	if (strcmp(what, "read") == 0)
		return answer_code(read_outside());
	return 64;
}

#define ROOT .who = ROOT_ONLY

static const struct row table[] = {
	{ DENY("capabilities", ENODATA, have_capability), ROOT },
	{ DENY("capabilities_by_exec", ENODATA, regain_by_exec), ROOT },
	{ DENY("capabilities_ambient", EPERM, raise_ambient), ROOT, .control = -EPERM },
	{ DENY("capabilities_inheritable", EPERM, raise_inheritable), ROOT },
	{ DENY("securebits", EPERM, set_securebits, 0), ROOT },
	{ DENY("securebits_more", EPERM, set_securebits, SECBIT_KEEP_CAPS), ROOT },
	{ DENY("setuid_program", EPERM, become_root), .who = USER_ONLY, .absent = -ENOENT },
	{ DENY("new_privileges", ENODATA, is_restricted_program) },
	{ DENY("change_user", EPERM, change_user), ROOT },
	{ DENY("change_group", EPERM, change_group), ROOT },
	{ DENY("change_groups", EPERM, change_groups), ROOT },
	{ DENY("give_away_outside", EPERM, give_away, OUTSIDE), ROOT },
	{ DENY("give_away_work", EPERM, give_away, WORK), ROOT },
	{ DENY("mknod_kmsg", EACCES, make_device, S_IFCHR, 1, 11), ROOT },
	{ DENY("mknod_mem", EACCES, make_device, S_IFCHR, 1, 1), ROOT },
	{ DENY("mknod_null", EACCES, make_device, S_IFCHR, 1, 3), ROOT },
	{ DENY("mknod_disk", EACCES, make_device, S_IFBLK, 7, 0), ROOT },
	{ DENY("foreign_file_work", EACCES, open_foreign, WORK), ROOT },
	{ DENY("foreign_file_ro", EACCES, open_foreign, BUNDLE), ROOT },
	{ DENY("environ_of_init", EACCES, open_path, TEXT("/proc/1/environ"), O_RDONLY), ROOT },
	{ DENY("memory_of_init", EACCES, open_path, TEXT("/proc/1/mem"), O_RDONLY), ROOT },
	{ DENY("kernel_memory", EPERM, open_path, TEXT("/proc/kcore"), O_RDONLY), ROOT,
	  .absent = -ENOENT },
	{ DENY("kernel_messages", EPERM, open_path, TEXT("/proc/kmsg"), O_RDONLY | O_NONBLOCK),
	  ROOT },
	{ DENY("kernel_addresses", ENODATA, kernel_addresses), ROOT, .absent = NOTHING },
	{ DENY("page_frames", EACCES, open_path, TEXT("/proc/kpagecount"), O_WRONLY), ROOT },
	{ DENY("nice_lower", EACCES, lower_nice), ROOT },
	{ DENY("limit_raise", EPERM, raise_limit), ROOT },
	{ DENY("signal_init", EPERM, signal_first), ROOT, .since_abi = 6 },
	{ KNOWN("page_flags", open_path, TEXT("/proc/kpageflags"), O_RDONLY), ROOT,
	  .absent = -ENOENT },
	{ KNOWN("kernel_allocations", open_path, TEXT("/proc/vmallocinfo"), O_RDONLY), ROOT,
	  .absent = -ENOENT },
	{ KNOWN("etc_shadow", open_path, TEXT("/etc/shadow"), O_RDONLY), ROOT },
};

ROWS(root_rows, table);
