// SPDX-License-Identifier: MIT OR GPL-2.0
/* Answer Landlock's calls as a kernel of an older ABI would: insmod oarbank_abi_limit.ko abi=N.
 *
 * For a kernel of ABI 6 (Linux 6.12) and N from 1 to 5. What differs between those kernels as far as a
 * process can tell is the version, the errata (older kernels know no such flag), the size of the ruleset's
 * structure (what lies behind it must be zero, else E2BIG), the rights that can be handled, and the
 * rule for a port (EINVAL before ABI 4). All the rest follows from rights that are not handled: a
 * ruleset without REFER refuses to link across directories, one without TRUNCATE lets truncate.
 *
 * Each call is probed at its entry and goes on in a function of ours, which calls the real one where
 * an older kernel would have gone on. The processes under test can see nothing of it.
 */
#include <linux/kprobes.h>
#include <linux/landlock.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/uaccess.h>

#ifndef CONFIG_X86_64
#error "the entries of system calls are found as x86-64 has them"
#endif

static unsigned int abi;
module_param(abi, uint, 0444);
MODULE_PARM_DESC(abi, "the Landlock ABI to answer as, 1 to 5");

static const struct {
	u64 fs;
	u64 net;
	size_t attr_size;
} limits[] = {
	[1] = { .fs = (1ULL << 13) - 1, .attr_size = 8 },
	[2] = { .fs = (1ULL << 14) - 1, .attr_size = 8 },
	[3] = { .fs = (1ULL << 15) - 1, .attr_size = 8 },
	[4] = { .fs = (1ULL << 15) - 1, .net = 3, .attr_size = 16 },
	[5] = { .fs = (1ULL << 16) - 1, .net = 3, .attr_size = 16 },
};

typedef long (*syscall_fn)(const struct pt_regs *regs);

struct hook {
	struct kprobe probe;
	syscall_fn ours;
};

static struct hook create_ruleset, add_rule;

/* Never inlined and never a jump: redirect() knows our calls by where they return to. */
static noinline long go_on(const struct hook *hook, const struct pt_regs *regs)
{
	long result = ((syscall_fn)hook->probe.addr)(regs);

	barrier();
	return result;
}

/* landlock_create_ruleset(attr, size, flags) */
static long older_create_ruleset(const struct pt_regs *regs)
{
	const char __user *attr = (const char __user *)regs->di;
	const size_t known = limits[abi].attr_size;
	struct {
		u64 fs;
		u64 net;
	} asked = {};
	size_t size = regs->si;
	u32 flags = regs->dx;
	long result;

	if (flags && flags != LANDLOCK_CREATE_RULESET_VERSION)
		return -EINVAL;
	if (flags) {
		result = go_on(&create_ruleset, regs);
		return result < 0 ? result : abi;
	}
	if (!attr || size < sizeof(asked.fs) || size > PAGE_SIZE)
		return go_on(&create_ruleset, regs);
	if (size > known) {
		result = check_zeroed_user(attr + known, size - known);
		if (result <= 0)
			return result ?: -E2BIG;
	}
	if (copy_from_user(&asked, attr, min(size, known)))
		return -EFAULT;
	if (asked.fs & ~limits[abi].fs || asked.net & ~limits[abi].net)
		return -EINVAL;
	return go_on(&create_ruleset, regs);
}

/* landlock_add_rule(ruleset, type, attr, flags): a type that is not known yet is refused where the
 * real call refuses such types, after flags and ruleset were looked at.
 */
static long older_add_rule(const struct pt_regs *regs)
{
	struct pt_regs changed = *regs;

	if ((int)regs->si == LANDLOCK_RULE_NET_PORT && !limits[abi].net)
		changed.si = INT_MAX;
	return go_on(&add_rule, &changed);
}

static int redirect(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long caller = *(unsigned long *)regs->sp;

	if (within_module(caller, THIS_MODULE))
		return 0;
	instruction_pointer_set(regs, (unsigned long)container_of(probe, struct hook, probe)->ours);
	return 1;
}

/* A probe without one may not change where the function goes on. */
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct hook create_ruleset = {
	.probe = {
		.symbol_name = "__x64_sys_landlock_create_ruleset",
		.pre_handler = redirect,
		.post_handler = after,
	},
	.ours = older_create_ruleset,
};

static struct hook add_rule = {
	.probe = {
		.symbol_name = "__x64_sys_landlock_add_rule",
		.pre_handler = redirect,
		.post_handler = after,
	},
	.ours = older_add_rule,
};

/* There is no way to unload it: a call may be inside at any time. */
static int __init abi_limit_init(void)
{
	int result;

	if (abi < 1 || abi >= ARRAY_SIZE(limits))
		return -EINVAL;
	result = register_kprobe(&create_ruleset.probe);
	if (result)
		return result;
	result = register_kprobe(&add_rule.probe);
	if (result)
		unregister_kprobe(&create_ruleset.probe);
	return result;
}
module_init(abi_limit_init);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Landlock's calls answer as an older ABI would");
