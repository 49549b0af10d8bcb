/* Everything the probes find out about a node, in one flat structure without pointers: it is zeroed
 * (all unknown), filled by probes in a child process, and read by everything above. Each probe owns
 * one member and writes no other.
 *
 * Text members hold what the machine said, bounded; "" is unknown or absent, as the comment says.
 */
#ifndef PROBE_FACTS_H
#define PROBE_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/cgroup.h"
#include "kabi/fact.h"
#include "kabi/kernel.h"
#include "kabi/landlock.h"
#include "kabi/seccomp.h"

/* The sandboxes that trials are run in, each with its policy (probe/trial/confine.c). */
enum trial_group {
	TRIAL_GROUP_PLAIN, /* no grants but directories: one of each kind */
	TRIAL_GROUP_EGRESS,
	TRIAL_GROUP_BROKER,
	TRIAL_GROUP_GRANTS,    /* exec_writable and gpu */
	TRIAL_GROUP_CONTAINER, /* no sandbox, but a container */
};
#define TRIAL_GROUP_COUNT 5

#define FACTS_PATH_MAX CGROUP_PATH_MAX
#define FACTS_WORD_MAX 96
#define FACTS_LINE_MAX 512

/* ---- Landlock: probe/landlock.c ---- */

enum landlock_state {
	LANDLOCK_UNKNOWN,
	LANDLOCK_NOT_BUILT,   /* ENOSYS */
	LANDLOCK_OFF_AT_BOOT, /* EOPNOTSUPP */
	LANDLOCK_FILTERED,    /* EPERM: a filter around us answers instead of the kernel */
	LANDLOCK_PRESENT,
};

struct landlock_facts {
	enum landlock_state state;
	struct fact abi;		    /* value: the ABI version */
	struct fact errata;		    /* value: the mask */
	struct fact rights[LL_RIGHT_COUNT]; /* as kabi's ll_rights: asked one by one */
	struct fact lsm_list;		    /* claim: "landlock" in /sys/kernel/security/lsm */
	struct fact config; /* claim: CONFIG_SECURITY_LANDLOCK in /proc/config.gz or /boot */
};

/* ---- seccomp: probe/seccomp.c ---- */

struct seccomp_facts {
	struct fact mode;    /* is there seccomp at all? value: what we run under, 0 none, 1 strict,
				2 filter */
	struct fact filters; /* do we run under any? value: how many; unknown before Linux 5.9 */
	struct fact no_new_privs;	      /* is it set? */
	struct fact actions[SC_ACTION_COUNT]; /* as kabi's sc_actions */
	struct fact flags[SC_FLAG_COUNT];     /* as kabi's sc_flags */
	struct fact entry_i386; /* is int $0x80 open? no on machines that never had it */
	struct fact entry_x32;
};

/* ---- cgroup: probe/cgroup.c ---- */

enum cgroup_delegation {
	DELEGATION_UNKNOWN,
	DELEGATION_NONE,
	DELEGATION_WRITABLE,  /* uid 0 may write there, nobody gave it to us */
	DELEGATION_DELEGATED, /* ours by ownership or by the delegate attribute */
};

/* What keeps a container leaf with limits from being made. */
enum leaf_obstacle {
	LEAF_UNKNOWN,	     /* it could not be found out */
	LEAF_NO_HIERARCHY,   /* of version 2 */
	LEAF_NOT_VISIBLE,    /* the cgroup of this process */
	LEAF_READ_ONLY,	     /* the mount */
	LEAF_NOT_DELEGATED,  /* by the unit this process is in */
	LEAF_NOT_WRITABLE,   /* for another reason */
	LEAF_THREADED,	     /* or otherwise no domain */
	LEAF_V1_CONTROLLER,  /* a version 1 hierarchy has it */
	LEAF_NO_CONTROLLER,  /* the parent does not pass it down */
	LEAF_CONTROLLER_OFF, /* the kernel has none, or is told not to */
	LEAF_OLD_KERNEL,
	LEAF_OBSTACLE_COUNT
};

struct controller_facts {
	enum leaf_obstacle obstacle; /* of one that is owned by v1 or not available */
	struct fact available;	     /* in cgroup.controllers of our cgroup */
	struct fact enabled;	     /* in cgroup.subtree_control of our cgroup */
	struct fact enableable;	     /* available, and subtree_control is ours to write */
	bool owned_by_v1;	     /* mounted as a v1 hierarchy, so v2 cannot have it */
};

#define CGROUP_MISSING_MAX 8

struct cgroup_facts {
	enum cgroup_layout layout;
	enum cgroup_delegation delegation;
	char mount[FACTS_PATH_MAX]; /* of v2, "" without one */
	char own[FACTS_PATH_MAX];   /* the 0:: line of /proc/self/cgroup */
	char dir[FACTS_PATH_MAX];   /* our cgroup's directory as a path here, "" when it is not
				       visible */
	char type[FACTS_WORD_MAX];  /* cgroup.type: domain, threaded, …; "" at the root */
	bool namespaced;     /* our cgroup is the root of what we can see, but not of the machine */
	struct fact mounted; /* v2 found by mountinfo and confirmed by the filesystem's magic */
	struct fact dir_writable;
	struct fact procs_writable;
	struct fact subtree_writable;
	struct fact delegate_xattr; /* user.delegate or trusted.delegate, set by systemd */
	struct fact owned;	    /* the directory's owner is our uid */
	struct controller_facts controllers[CONTROLLER_COUNT];
	struct fact kill; /* cgroup.kill exists for a cgroup made here */
	struct fact freeze;
	struct fact memory_files; /* memory.max, memory.swap.max, memory.oom.group, memory.events */
	struct fact cpu_files;	  /* cpu.max */
	struct fact pids_files;	  /* pids.max */
	struct fact psi[3];	  /* /proc/pressure/{cpu,memory,io} */
	/* What keeps a container leaf from being made, each with a sentence that names its cause.
	 */
	struct {
		enum leaf_obstacle obstacle;
		char text[FACTS_LINE_MAX];
	} missing[CGROUP_MISSING_MAX];
	uint32_t missing_count;
};

/* "not-delegated" */
const char *leaf_obstacle_name(enum leaf_obstacle obstacle);
/* The one of that name; LEAF_UNKNOWN when there is none. */
enum leaf_obstacle leaf_obstacle_find(const char *name);
/* Of the obstacles, those with which a leaf can still be made, that lacks limits or a file. */
#define LEAF_LESSER                                                                  \
	(1U << LEAF_THREADED | 1U << LEAF_V1_CONTROLLER | 1U << LEAF_NO_CONTROLLER | \
	 1U << LEAF_CONTROLLER_OFF | 1U << LEAF_OLD_KERNEL)
/* What is missing, as a mask of 1 << enum leaf_obstacle. */
uint32_t leaf_obstacles(const struct cgroup_facts *f);
/* Write what takes away all of `obstacles`, a mask of 1 << enum leaf_obstacle; of none, as of what
 * is not known, it says where to look.
 */
void leaf_remedy(uint32_t obstacles, char buf[FACTS_LINE_MAX]);

/* ---- GPU: probe/gpu.c ---- */

enum gpu_node_kind {
	GPU_NODE_OTHER,
	GPU_NODE_DRM_CARD, /* display and mode setting */
	GPU_NODE_DRM_RENDER,
	GPU_NODE_NVIDIA,	 /* /dev/nvidiaN */
	GPU_NODE_NVIDIA_CONTROL, /* nvidiactl, nvidia-uvm, nvidia-modeset, … */
	GPU_NODE_NVIDIA_CAPS,
	GPU_NODE_KFD,
	GPU_NODE_DXG,
};

struct gpu_node {
	char path[FACTS_WORD_MAX];
	enum gpu_node_kind kind;
	bool device; /* a character device; anything else with such a name is not a GPU */
	struct node node;
	struct fact openable;	    /* opened for reading and writing by this user */
	char group[FACTS_WORD_MAX]; /* joining this group would help; "" when it would not */
};

struct gpu {
	char vendor[FACTS_WORD_MAX];  /* "NVIDIA", "AMD", "Intel", …, or the PCI id "0x1002" */
	char model[FACTS_LINE_MAX];   /* "" unknown */
	char driver[FACTS_WORD_MAX];  /* "" unknown */
	char address[FACTS_WORD_MAX]; /* PCI address or platform name; "" unknown */
	char node[FACTS_WORD_MAX];    /* the device node a compute program opens; "" without one */
	uint64_t vram_bytes;	      /* 0 unknown, or shared with the CPU */
	bool unified;
	enum answer usable; /* a compute node of it can be opened by us */
};

#define GPU_NODES_MAX 160
#define GPUS_MAX 32

struct gpu_facts {
	struct gpu_node nodes[GPU_NODES_MAX];
	uint32_t node_count;
	struct gpu gpus[GPUS_MAX];
	uint32_t gpu_count;
	bool truncated;	      /* there are more, that do not fit or could not be looked at */
	struct fact searched; /* the device directory could be listed */
};

/* ---- BPF: probe/bpf.c ---- */

#define BPF_ROWS_MAX 24
struct bpf_row {
	char name[48]; /* libbpf's name: "cgroup_skb", "xdp"; "cgroup_inet4_connect" */
	struct fact usable;
};

struct bpf_facts {
	struct fact may_ask;	  /* the capability to load programs, or unprivileged BPF: else all
				     unknown */
	struct fact unprivileged; /* claim: kernel.unprivileged_bpf_disabled; value 0, 1, 2 */
	struct fact btf;	  /* /sys/kernel/btf/vmlinux */
	struct fact jit;	  /* claim: net.core.bpf_jit_enable */
	struct bpf_row programs[BPF_ROWS_MAX];
	uint32_t program_count;
	struct bpf_row attaches[BPF_ROWS_MAX]; /* cgroup attach types */
	uint32_t attach_count;
};

/* ---- network: probe/netlink.c ---- */

enum address_scope {
	SCOPE_UNKNOWN,
	SCOPE_LOOPBACK,
	SCOPE_LINK_LOCAL,
	SCOPE_GLOBAL, /* everything else, private addresses too */
};

struct net_link {
	uint32_t index;
	char name[24];
	bool up;
	bool loopback;
};

struct net_address {
	uint32_t link;
	char text[64]; /* as inet_ntop, with /prefix */
	bool ipv6;
	enum address_scope scope;
};

#define NET_LINKS_MAX 64
#define NET_ADDRESSES_MAX 128

struct net_facts {
	struct fact asked; /* the dump worked */
	struct fact ipv4;  /* an IPv4 address exists beyond loopback */
	struct fact ipv6;
	struct net_link links[NET_LINKS_MAX];
	uint32_t link_count;
	struct net_address addresses[NET_ADDRESSES_MAX];
	uint32_t address_count;
	bool truncated;
};

/* ---- settings: probe/settings.c ---- */

/* A setting that is a number answers yes when it is not 0; its value is the number. */
struct settings_facts {
	struct fact user_namespace;    /* tried: unshare(CLONE_NEWUSER) in a child */
	struct fact userns_max;	       /* claim: user.max_user_namespaces */
	struct fact userns_clone;      /* claim: kernel.unprivileged_userns_clone, Debian's */
	struct fact userns_apparmor;   /* claim: kernel.apparmor_restrict_unprivileged_userns */
	struct fact io_uring;	       /* tried: io_uring_setup with nothing to set up */
	struct fact io_uring_disabled; /* claim: kernel.io_uring_disabled */
	struct fact yama;	       /* claim: kernel.yama.ptrace_scope */
	struct fact tiocsti;	       /* claim: dev.tty.legacy_tiocsti */
	struct fact dmesg_restrict;
	struct fact kptr_restrict;
	struct fact perf_paranoid;
	struct fact protected_hardlinks;
	struct fact protected_symlinks;
	struct fact protected_fifos;
	struct fact suid_dumpable;
	struct fact core_pattern; /* claim: got is the pattern, answer yes when it is piped to a
				     program */
	struct fact modules_disabled;
	struct fact mmap_min_addr; /* vm.mmap_min_addr */
};

/* ---- container engine: probe/engine.c ---- */

enum engine_state {
	ENGINE_UNKNOWN,
	ENGINE_ABSENT,
	ENGINE_INSTALLED,
};

struct engine_facts {
	enum engine_state state;
	char runtime[16]; /* "podman", "docker"; "" when absent */
	char path[FACTS_PATH_MAX];
	char detail[FACTS_LINE_MAX];   /* one sentence, for the document */
	char cdi_kind[FACTS_WORD_MAX]; /* "nvidia.com/gpu"; "" when no spec has a device named all
					*/
	char cdi_file[FACTS_PATH_MAX];
};

/* ---- host: probe/host.c, probe/osrelease.c, probe/cpu.c ---- */

struct host_facts {
	char hostname[64 + 1];
	char os_id[FACTS_WORD_MAX];	 /* os-release ID; "linux" by its document when absent; ""
					    unreadable */
	char os_version[FACTS_WORD_MAX]; /* VERSION_ID; "" absent */
	char os_pretty[FACTS_LINE_MAX];
	char os_release_path[FACTS_PATH_MAX]; /* the file that was read, "" none */
	struct uts uts;
	char libc[16]; /* "glibc", "musl", "" unknown: of the machine's programs, not of this build
			*/
	char libc_version[32];		/* "" unknown */
	char cpu_model[FACTS_LINE_MAX]; /* "" unknown */
	int32_t perf_cores;		/* -1 unknown, set by the probe; physical, each once */
	int32_t eff_cores;
	int32_t logical;       /* usable by this process: affinity and cgroup quota; -1 unknown */
	uint64_t memory_bytes; /* MemTotal; 0 unknown */
	struct fact disk;      /* value: bytes available to us below the agent's home */
	char disk_path[FACTS_PATH_MAX];
	struct fact battery;
	char virtualisation[FACTS_WORD_MAX];	 /* "kvm", "vmware", …; "none"; "" unknown */
	char virtualisation_why[FACTS_LINE_MAX]; /* what told: "DMI sys_vendor 'QEMU'" */
	char container[FACTS_WORD_MAX]; /* "docker", "podman", "lxc", "container-other"; "none"; ""
					   unknown */
	char container_why[FACTS_LINE_MAX];
	struct ids ids; /* uid and gid UINT32_MAX: unknown */
	struct cap_sets caps;
	struct fact caps_asked;
};

/* ---- trials: probe/trial/run.c; what each of them is, is in probe/trial/trial.h ---- */

enum trial_end {
	TRIAL_NEVER, /* not run, or nothing came back */
	TRIAL_RETURNED,
	TRIAL_KILLED, /* a signal ended the process that tried */
	TRIAL_HUNG,   /* it gave no answer in time and was ended */
};

/* One attempt. */
struct trial_run {
	enum trial_end end;
	int32_t value; /* returned: 0 or -errno; killed: the signal */
	uint32_t micros;
};

/* The same attempt without the sandbox and in it. */
struct trial_fact {
	struct trial_run control;
	struct trial_run confined;
};

enum trials_state {
	TRIALS_NOT_ASKED,
	TRIALS_IMPOSSIBLE, /* `why` tells; nothing was tried */
	TRIALS_DONE,
};

#define TRIALS_MAX 512

struct trial_facts {
	enum trials_state state;
	bool supervised; /* by a parent that makes connections and changes of metadata */
	uint32_t micros;
	char why[FACTS_LINE_MAX];
	/* Why a group's sandbox could not be entered; "" when it was. By enum trial_group. */
	char refused[TRIAL_GROUP_COUNT][FACTS_LINE_MAX];
	struct trial_fact of[TRIALS_MAX]; /* by number, as in trial_at() */
};

/* ---- all of it ---- */

enum probe_id {
	PROBE_SECCOMP, /* first: it reads what we run under, before any probe changes this process
			*/
	PROBE_LANDLOCK,
	PROBE_HOST,
	PROBE_CGROUP,
	PROBE_GPU,
	PROBE_SETTINGS,
	PROBE_ENGINE,
	PROBE_NET,
	PROBE_BPF,
	PROBE_COUNT,
};

enum outcome {
	OUTCOME_NOT_RUN, /* not asked for */
	OUTCOME_DONE,
	OUTCOME_LOST, /* it crashed or hung; its facts are unknown, `why` tells */
};

struct probe_outcome {
	enum outcome outcome;
	uint32_t micros; /* how long it took */
	char why[FACTS_LINE_MAX];
};

struct facts {
	bool assumed; /* the kernel's part is what another kernel would answer, not what one did */
	struct probe_outcome outcomes[PROBE_COUNT];
	struct seccomp_facts seccomp;
	struct landlock_facts landlock;
	struct host_facts host;
	struct cgroup_facts cgroup;
	struct gpu_facts gpu;
	struct settings_facts settings;
	struct engine_facts engine;
	struct net_facts net;
	struct bpf_facts bpf;
	struct trial_facts trials;
};

#endif
