/* Settings that widen or narrow what a sandboxed program can reach: claims of /proc/sys, and two
 * doors that are tried instead.
 */
#include "probe/probes.h"

#include <errno.h>
#include <stddef.h>

#include "probe/sysctl.h"

#define CLONE_NEWUSER_FLAG 0x10000000UL

static const struct setting {
	const char *name;
	size_t member;
} settings[] = {
	{ "user/max_user_namespaces", offsetof(struct settings_facts, userns_max) },
	{ "kernel/unprivileged_userns_clone", offsetof(struct settings_facts, userns_clone) },
	{ "kernel/apparmor_restrict_unprivileged_userns",
	  offsetof(struct settings_facts, userns_apparmor) },
	{ "kernel/io_uring_disabled", offsetof(struct settings_facts, io_uring_disabled) },
	{ "kernel/yama/ptrace_scope", offsetof(struct settings_facts, yama) },
	{ "dev/tty/legacy_tiocsti", offsetof(struct settings_facts, tiocsti) },
	{ "kernel/dmesg_restrict", offsetof(struct settings_facts, dmesg_restrict) },
	{ "kernel/kptr_restrict", offsetof(struct settings_facts, kptr_restrict) },
	{ "kernel/perf_event_paranoid", offsetof(struct settings_facts, perf_paranoid) },
	{ "fs/protected_hardlinks", offsetof(struct settings_facts, protected_hardlinks) },
	{ "fs/protected_symlinks", offsetof(struct settings_facts, protected_symlinks) },
	{ "fs/protected_fifos", offsetof(struct settings_facts, protected_fifos) },
	{ "fs/suid_dumpable", offsetof(struct settings_facts, suid_dumpable) },
	{ "kernel/modules_disabled", offsetof(struct settings_facts, modules_disabled) },
	{ "vm/mmap_min_addr", offsetof(struct settings_facts, mmap_min_addr) },
};

/* EPERM, EACCES: a policy; EUSERS: nested too deep; EINVAL, ENOSYS: not built. ENOSPC is
 * user.max_user_namespaces: none are allowed when it is 0, else others have used it up for now.
 */
static void try_user_namespace(const struct kernel *k, const struct fact *max, struct fact *f)
{
	int r = k->try_unshare(k, CLONE_NEWUSER_FLAG);
	enum answer answer = ANSWER_UNKNOWN;

	switch (-r) {
	case 0:
		answer = ANSWER_YES;
		break;
	case EPERM:
	case EACCES:
	case EUSERS:
	case EINVAL:
	case ENOSYS:
		answer = ANSWER_NO;
		break;
	case ENOSPC:
		if (max->answer == ANSWER_NO)
			answer = ANSWER_NO;
		break;
	default:
		break;
	}
	fact_call(f, answer, "unshare(CLONE_NEWUSER)", r);
}

/* No entries and no parameters: a kernel that lets us in stumbles over the parameters, which it
 * copies before it looks at anything. */
static void try_io_uring(const struct kernel *k, struct fact *f)
{
	int r = k->io_uring_setup(k, 0, NULL);
	enum answer answer = ANSWER_UNKNOWN;

	switch (-r) {
	case EFAULT:
		answer = ANSWER_YES;
		break;
	case EPERM:
	case ENOSYS:
		answer = ANSWER_NO;
		break;
	default:
		break;
	}
	fact_call(f, answer, "io_uring_setup(0, NULL)", r);
}

void probe_settings(const struct kernel *k, struct settings_facts *ret)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		sysctl_claim(k, settings[i].name,
			     (struct fact *)((char *)ret + settings[i].member));
	sysctl_claim_text(k, "kernel/core_pattern", "|", &ret->core_pattern);
	try_user_namespace(k, &ret->userns_max, &ret->user_namespace);
	try_io_uring(k, &ret->io_uring);
}
