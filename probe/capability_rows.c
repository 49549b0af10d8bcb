#include "probe/capability.h"

#include <stddef.h>
#include <string.h>

/* Every filesystem right of the oldest kernel the contract accepts (ABI 3). */
#define FS_ABI_3 0x7fffULL
#define NET_TCP (LL_NET_BIND_TCP | LL_NET_CONNECT_TCP)
#define SCOPES (LL_SCOPE_ABSTRACT_UNIX | LL_SCOPE_SIGNAL)
#define PORT_ONLY                                                                         \
	"Landlock knows ports, not addresses: the proxy's port is open on every address " \
	"(finding egress_port_only)"

const struct capability_row capability_rows[CAPABILITY_COUNT] = {
	[CAPABILITY_FILESYSTEM] = {
		.name = "filesystem",
		.on_wire = true,
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "files outside the granted directories cannot be read, written, created, "
			   "removed, truncated or executed",
		.means = "a Landlock ruleset that handles every filesystem right of the kernel, with one "
			 "rule for each granted path",
		.limit = "that a file exists, its size, owner and times can be seen; metadata of the "
			 "user's own files can be changed (finding metadata_writable)",
	},
	[CAPABILITY_IPC] = {
		.name = "ipc",
		.on_wire = true,
		.needed_abi = 6,
		.fs = FS_ABI_3,
		.scope = SCOPES,
		.promise = "other processes cannot be reached: no signals to them, no sockets, pipes, "
			   "shared memory or queues but the job's broker",
		.means = "Landlock scopes for signals and abstract unix sockets; a seccomp filter for "
			 "every other socket family, System V and POSIX queues, ptrace and its relatives",
		.limit = "once a broker is granted below ABI 9, other unix sockets of the same user "
			 "(finding broker_not_exclusive)",
	},
	[CAPABILITY_NET_NONE] = {
		.name = "net.none",
		.on_wire = true,
		.needed_abi = 3,
		.promise = "no network socket can be made",
		.means = "a seccomp filter that refuses every socket family, io_uring and foreign "
			 "system call entries",
	},
	[CAPABILITY_NET_EGRESS_ALLOWLIST] = {
		.name = "net.egress-allowlist",
		.on_wire = true,
		.needed_abi = 4,
		.net = NET_TCP,
		.promise = "the only network is a TCP connection to the agent's proxy, which enforces the "
			   "module's allow list",
		.means = "Landlock allows TCP connect to the proxy's port alone and no bind; the seccomp "
			 "filter leaves TCP streams only, without listen and fast open",
		.limit = PORT_ONLY,
	},
	[CAPABILITY_NO_LOOPBACK] = {
		.name = "no_loopback",
		.on_wire = true,
		.needed_abi = 4,
		.net = NET_TCP,
		.promise = "services on this node's loopback cannot be reached, but the agent's proxy",
		.means = "as net.egress-allowlist",
		.limit = PORT_ONLY,
	},
	[CAPABILITY_NO_LINK_LOCAL] = {
		.name = "no_link_local",
		.on_wire = true,
		.needed_abi = 4,
		.net = NET_TCP,
		.promise = "link-local addresses, cloud metadata services among them, cannot be reached",
		.means = "as net.egress-allowlist",
		.limit = PORT_ONLY,
	},
	[CAPABILITY_NET_EGRESS_ANY] = {
		.name = "net.egress-any",
		.on_wire = true,
		.needed_abi = 0,
		.promise = "outbound connections to public addresses only",
		.means = "none: Landlock filters ports, not addresses, so loopback and link-local cannot "
			 "be refused",
	},
	[CAPABILITY_GPU_COMPUTE] = {
		.name = "gpu.compute",
		.on_wire = true,
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "GPU compute nodes can be opened with the grant, and no device without it",
		.means = "Landlock rules on render and compute nodes, with the ioctl right from ABI 5 on",
	},
	[CAPABILITY_EXEC_WRITABLE_DENY] = {
		.name = "exec_writable_deny",
		.on_wire = true,
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "a file the module wrote cannot be executed",
		.means = "Landlock grants no execute right on writable directories; the seccomp filter "
			 "refuses memory files without the no-exec seal",
		.limit = "the dynamic loader, interpreters and mmap can still run written code (finding "
			 "exec_deny_partial)",
	},
	[CAPABILITY_FOLDERS_READ] = {
		.name = "folders.read",
		.on_wire = true,
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "a granted input folder can be read, and not written or executed",
		.means = "a Landlock rule with the read rights alone",
	},
	[CAPABILITY_FOLDERS_WRITE] = {
		.name = "folders.write",
		.on_wire = true,
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "a granted output folder can be written into, and not read, listed or emptied",
		.means = "a Landlock rule with the create and write rights alone",
	},
	[CAPABILITY_IPC_BROKER] = {
		.name = "ipc.broker",
		.needed_abi = 3,
		.fs = FS_ABI_3,
		.promise = "a module with a broker grant reaches the broker's socket and no other",
		.means = "the seccomp filter leaves unix stream sockets, Landlock the one path (ABI 9) "
			 "and no abstract name (ABI 6)",
	},
	[CAPABILITY_PROCESS_CONTAINER] = {
		.name = "process_container",
		.needed_abi = 3,
		.promise = "every process of a module is found and ended with it",
		.means = "a cgroup v2 leaf and cgroup.kill; without a leaf the process group, which a "
			 "process may leave",
	},
	[CAPABILITY_FREEZE] = {
		.name = "freeze",
		.needed_abi = 3,
		.promise = "a module can be stopped and continued as a whole",
		.means = "cgroup.freeze of its leaf; without a leaf SIGSTOP for the process group, which a "
			 "process may leave",
	},
	[CAPABILITY_LIMITS_CPU] = {
		.name = "limits.cpu",
		.needed_abi = 3,
		.promise = "a module gets no more CPU time than it was given",
		.means = "cpu.max of its leaf",
	},
	[CAPABILITY_LIMITS_MEMORY] = {
		.name = "limits.memory",
		.needed_abi = 3,
		.promise = "a module gets no more memory than it was given, and is ended when it asks for "
			   "more",
		.means = "memory.max of its leaf",
	},
	[CAPABILITY_LIMITS_PIDS] = {
		.name = "limits.pids",
		.needed_abi = 3,
		.promise = "a module gets no more processes than it was given",
		.means = "pids.max of its leaf",
	},
};

const char *status_name(enum status status)
{
	switch (status) {
	case STATUS_UNAVAILABLE:
		return "unavailable";
	case STATUS_COOPERATIVE:
		return "cooperative";
	case STATUS_ENFORCED:
		return "enforced";
	}
	return "unavailable";
}

int capability_find(const char *name)
{
	for (int i = 0; i < CAPABILITY_COUNT; i++)
		if (strcmp(capability_rows[i].name, name) == 0)
			return i;
	return -1;
}
