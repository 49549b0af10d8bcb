/* Which BPF program types, and which places in a cgroup to attach them to, can be used from here.
 *
 * A program that every kernel has is loaded first, and a type is asked for only with the capability
 * it wants; whatever could not be asked is unknown.
 *
 * A recording answers with the rows "library bpf load = N", "library bpf prog_type NAME = N" and
 * "library bpf attach_type NAME = N"; capget must be there too.
 */
#include "probe/probes.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "kabi/text.h"
#include "probe/sysctl.h"

/* Capability numbers, linux/capability.h; the last two came with Linux 5.8. */
#define CAP_NET_ADMIN_BIT 12
#define CAP_SYS_ADMIN_BIT 21
#define CAP_PERFMON_BIT 38
#define CAP_BPF_BIT 39

/* Linux 6.7; the headers may be older. */
#define ATTACH_CGROUP_UNIX_CONNECT 49
#define ATTACH_CGROUP_UNIX_SENDMSG 50

/* What a load of the type wants (bpf_prog_load() in the kernel's kernel/bpf/syscall.c): all but
 * NEED_NOTHING want CAP_BPF, and CAP_SYS_ADMIN stands for each. */
enum need {
	NEED_NOTHING, /* where unprivileged BPF is on */
	NEED_BPF,
	NEED_NET,
	NEED_PERF,
};

/* BPF_PROG_TYPE_SYSCALL of Linux 5.14; headers may be older. */
#define TYPE_SYSCALL ((enum bpf_prog_type)31)

static const struct program_row {
	const char *name;
	enum bpf_prog_type type;
	enum need need;
	unsigned attach; /* for the second look; 0 where the type does not insist */
} program_rows[] = {
	{ "socket_filter", BPF_PROG_TYPE_SOCKET_FILTER, NEED_NOTHING, 0 },
	{ "cgroup_skb", BPF_PROG_TYPE_CGROUP_SKB, NEED_NOTHING, 0 },
	{ "cgroup_sock", BPF_PROG_TYPE_CGROUP_SOCK, NEED_NET, BPF_CGROUP_INET_SOCK_CREATE },
	{ "cgroup_sock_addr", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, NEED_NET, BPF_CGROUP_INET4_CONNECT },
	{ "cgroup_device", BPF_PROG_TYPE_CGROUP_DEVICE, NEED_NET, 0 },
	{ "cgroup_sysctl", BPF_PROG_TYPE_CGROUP_SYSCTL, NEED_NET, 0 },
	{ "cgroup_sockopt", BPF_PROG_TYPE_CGROUP_SOCKOPT, NEED_NET, BPF_CGROUP_GETSOCKOPT },
	{ "sock_ops", BPF_PROG_TYPE_SOCK_OPS, NEED_NET, 0 },
	{ "sched_cls", BPF_PROG_TYPE_SCHED_CLS, NEED_NET, 0 },
	{ "xdp", BPF_PROG_TYPE_XDP, NEED_NET, 0 },
	{ "sk_lookup", BPF_PROG_TYPE_SK_LOOKUP, NEED_NET, BPF_SK_LOOKUP },
	{ "lsm", BPF_PROG_TYPE_LSM, NEED_PERF, BPF_LSM_MAC },
	{ "tracing", BPF_PROG_TYPE_TRACING, NEED_PERF, BPF_TRACE_FENTRY },
	{ "kprobe", BPF_PROG_TYPE_KPROBE, NEED_PERF, 0 },
	{ "tracepoint", BPF_PROG_TYPE_TRACEPOINT, NEED_PERF, 0 },
	{ "syscall", TYPE_SYSCALL, NEED_BPF, 0 },
};
_Static_assert(sizeof(program_rows) / sizeof(program_rows[0]) <= BPF_ROWS_MAX, "they fit");

/* The kernel does not check the attach type of sock_ops, device and sysctl programs at load; each
 * of those types has one, as old as itself. */
static const struct attach_row {
	const char *name;
	enum bpf_prog_type type;
	unsigned attach;
	enum need need;
} attach_rows[] = {
	{ "cgroup_inet_ingress", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS, NEED_NOTHING },
	{ "cgroup_inet_egress", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS, NEED_NOTHING },
	{ "cgroup_inet_sock_create", BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE,
	  NEED_NET },
	{ "cgroup_inet_sock_release", BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_RELEASE,
	  NEED_NET },
	{ "cgroup_inet4_bind", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND, NEED_NET },
	{ "cgroup_inet6_bind", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_BIND, NEED_NET },
	{ "cgroup_inet4_connect", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT,
	  NEED_NET },
	{ "cgroup_inet6_connect", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_CONNECT,
	  NEED_NET },
	{ "cgroup_udp4_sendmsg", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_SENDMSG,
	  NEED_NET },
	{ "cgroup_udp6_sendmsg", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_SENDMSG,
	  NEED_NET },
	{ "cgroup_unix_connect", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, ATTACH_CGROUP_UNIX_CONNECT,
	  NEED_NET },
	{ "cgroup_unix_sendmsg", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, ATTACH_CGROUP_UNIX_SENDMSG,
	  NEED_NET },
	{ "cgroup_getsockopt", BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_GETSOCKOPT, NEED_NET },
	{ "cgroup_setsockopt", BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_SETSOCKOPT, NEED_NET },
	{ "cgroup_sock_ops", BPF_PROG_TYPE_SOCK_OPS, BPF_CGROUP_SOCK_OPS, NEED_NET },
	{ "cgroup_device", BPF_PROG_TYPE_CGROUP_DEVICE, BPF_CGROUP_DEVICE, NEED_NET },
	{ "cgroup_sysctl", BPF_PROG_TYPE_CGROUP_SYSCTL, BPF_CGROUP_SYSCTL, NEED_NET },
};
_Static_assert(sizeof(attach_rows) / sizeof(attach_rows[0]) <= BPF_ROWS_MAX, "they fit");

/* ---- what is put to the kernel: 1 usable, 0 not, or -errno ---- */

/* Load "return 1", which every attach type accepts. */
static long load(enum bpf_prog_type type, unsigned attach)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	/* Not const: libbpf 1.5 takes a pointer to what it could change. */
	struct bpf_prog_load_opts opts = {
		.sz = sizeof(opts),
		.expected_attach_type = (enum bpf_attach_type)attach,
	};
	int fd = bpf_prog_load(type, NULL, "GPL", insns, sizeof(insns) / sizeof(insns[0]), &opts);

	if (fd < 0)
		return fd;
	close(fd);
	return 1;
}

/* libbpf knows what each type wants, but says 0 for every failure: look at a failure again. A type
 * that the kernel lacks is EINVAL; a policy that refuses it to us despite our capabilities is not.
 */
static long ask_program(void *arg)
{
	const struct program_row *row = arg;
	long r = libbpf_probe_bpf_prog_type(row->type, NULL);

	if (r != 0)
		return r;
	r = load(row->type, row->attach);
	return r == -EINVAL ? 0 : r;
}

static long ask_attach(void *arg)
{
	const struct attach_row *row = arg;

	return load(row->type, row->attach);
}

/* ---- who may ask ---- */

static bool has_cap(uint64_t effective, unsigned bit)
{
	return effective >> bit & 1 || effective >> CAP_SYS_ADMIN_BIT & 1;
}

/* The capability that is missing for `need`, or NULL. */
static const char *missing_cap(uint64_t effective, enum need need)
{
	if (need != NEED_NOTHING && !has_cap(effective, CAP_BPF_BIT))
		return "CAP_BPF";
	switch (need) {
	case NEED_NOTHING:
	case NEED_BPF:
		return NULL;
	case NEED_NET:
		return has_cap(effective, CAP_NET_ADMIN_BIT) ? NULL : "CAP_NET_ADMIN";
	case NEED_PERF:
		return has_cap(effective, CAP_PERFMON_BIT) ? NULL : "CAP_PERFMON";
	}
	return NULL;
}

struct asker {
	const struct kernel *k;
	bool may_load;
	uint64_t effective; /* capabilities */
};

/* The oldest program there is: no kernel with bpf(2) lacks it, so that a refusal is about us. */
static void ask_control(const struct kernel *k, struct fact *f)
{
	struct attach_row row = { "", BPF_PROG_TYPE_SOCKET_FILTER, 0, NEED_NOTHING };
	long r = k->library(k, "bpf load", ask_attach, &row);

	fact_call(f,
		  r > 0				? ANSWER_YES
		  : r == -EPERM || r == -ENOSYS ? ANSWER_NO
						: ANSWER_UNKNOWN,
		  "bpf(PROG_LOAD, socket_filter)", r);
}

/* ---- the rows ---- */

static enum answer row_answer(long r)
{
	if (r > 0)
		return ANSWER_YES;
	/* E2BIG: a kernel before 4.17 has no field for the attach type. */
	return r == 0 || r == -EINVAL || r == -E2BIG ? ANSWER_NO : ANSWER_UNKNOWN;
}

static void not_asked(struct fact *f, const char *question, const char *missing)
{
	char why[sizeof(f->got)];
	struct text t = TEXT_BUF(why);

	text_add(&t, "not asked: ");
	text_add(&t, missing ? "it takes " : "no program can be loaded");
	text_add(&t, missing ? missing : "");
	fact_text(f, ANSWER_UNKNOWN, BASIS_NONE, question, why);
}

static void ask_row(const struct asker *a, const char *question, enum need need,
		    long (*ask)(void *arg), const void *arg, struct fact *f)
{
	long r;

	if (!a->may_load || missing_cap(a->effective, need)) {
		not_asked(f, question, a->may_load ? missing_cap(a->effective, need) : NULL);
		return;
	}
	r = a->k->library(a->k, question, ask, (void *)arg);
	fact_call(f, row_answer(r), question, r);
}

static void name_row(struct bpf_row *row, const char *name, const char *kind,
		     char question[FACTS_WORD_MAX])
{
	struct text t = text_start(question, FACTS_WORD_MAX);

	text_copy(row->name, sizeof(row->name), name);
	text_add(&t, kind);
	text_add(&t, name);
}

static void ask_rows(const struct asker *a, struct bpf_facts *ret)
{
	char question[FACTS_WORD_MAX];

	for (size_t i = 0; i < sizeof(program_rows) / sizeof(program_rows[0]); i++) {
		const struct program_row *row = &program_rows[i];
		struct bpf_row *to = &ret->programs[ret->program_count++];

		name_row(to, row->name, "bpf prog_type ", question);
		ask_row(a, question, row->need, ask_program, row, &to->usable);
	}
	for (size_t i = 0; i < sizeof(attach_rows) / sizeof(attach_rows[0]); i++) {
		const struct attach_row *row = &attach_rows[i];
		struct bpf_row *to = &ret->attaches[ret->attach_count++];

		name_row(to, row->name, "bpf attach_type ", question);
		ask_row(a, question, row->need, ask_attach, row, &to->usable);
	}
}

static void ask_btf(const struct kernel *k, struct fact *f)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	enum answer answer = ANSWER_UNKNOWN;
	struct node node;
	int r = k->stat(k, path, &node);

	if (r == 0)
		answer = ANSWER_YES;
	else if (r == -ENOENT && k->stat(k, "/sys/class", &node) == 0)
		answer = ANSWER_NO; /* and not for want of /sys */
	fact_call(f, answer, path, r);
}

void probe_bpf(const struct kernel *k, struct bpf_facts *ret)
{
	struct asker asker = { .k = k };
	struct cap_sets caps;

	libbpf_set_print(NULL); /* it writes to stderr what it could not do */
	sysctl_claim(k, "kernel/unprivileged_bpf_disabled", &ret->unprivileged);
	sysctl_claim(k, "net/core/bpf_jit_enable", &ret->jit);
	ask_btf(k, &ret->btf);
	ask_control(k, &ret->may_ask);
	asker.may_load = ret->may_ask.answer == ANSWER_YES;
	asker.effective = k->capget(k, &caps) == 0 ? caps.effective : 0;
	ask_rows(&asker, ret);
}
