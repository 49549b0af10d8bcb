#include "kabi/landlock.h"

#define FS LL_KIND_FS
#define NET LL_KIND_NET
#define SCOPE LL_KIND_SCOPE
#define RESTRICT LL_KIND_RESTRICT

/* clang-format off */
const struct ll_right ll_rights[LL_RIGHT_COUNT] = {
	{ FS,  0, 1, true,  "EXECUTE", "execute a file" },
	{ FS,  1, 1, true,  "WRITE_FILE", "open a file for writing" },
	{ FS,  2, 1, true,  "READ_FILE", "open a file for reading" },
	{ FS,  3, 1, false, "READ_DIR", "list a directory" },
	{ FS,  4, 1, false, "REMOVE_DIR", "remove or rename a directory" },
	{ FS,  5, 1, false, "REMOVE_FILE", "unlink or rename a file" },
	{ FS,  6, 1, false, "MAKE_CHAR", "create a character device" },
	{ FS,  7, 1, false, "MAKE_DIR", "create a directory" },
	{ FS,  8, 1, false, "MAKE_REG", "create a regular file" },
	{ FS,  9, 1, false, "MAKE_SOCK", "create a unix socket" },
	{ FS, 10, 1, false, "MAKE_FIFO", "create a named pipe" },
	{ FS, 11, 1, false, "MAKE_BLOCK", "create a block device" },
	{ FS, 12, 1, false, "MAKE_SYM", "create a symbolic link" },
	{ FS, 13, 2, false, "REFER", "link or rename from one directory to another" },
	{ FS, 14, 3, true,  "TRUNCATE", "truncate a file" },
	{ FS, 15, 5, true,  "IOCTL_DEV", "send an ioctl to a device" },
	{ FS, 16, 9, true,  "RESOLVE_UNIX", "connect or send to a unix socket by path" },
	{ NET, 0, 4, false, "BIND_TCP", "bind a TCP socket to a port" },
	{ NET, 1, 4, false, "CONNECT_TCP", "connect a TCP socket to a port" },
	{ NET, 2, 10, false, "BIND_UDP", "bind a UDP socket to a port" },
	{ NET, 3, 10, false, "CONNECT_SEND_UDP", "connect a UDP socket or send from it to a port" },
	{ SCOPE, 0, 6, false, "SCOPE_ABSTRACT_UNIX", "abstract unix sockets stay inside the sandbox" },
	{ SCOPE, 1, 6, false, "SCOPE_SIGNAL", "signals stay inside the sandbox" },
	{ RESTRICT, 0, 7, false, "LOG_SAME_EXEC_OFF", "no audit records of the program that restricts itself" },
	{ RESTRICT, 1, 7, false, "LOG_NEW_EXEC_ON", "audit records of the programs it executes" },
	{ RESTRICT, 2, 7, false, "LOG_SUBDOMAINS_OFF", "no audit records of nested sandboxes" },
	{ RESTRICT, 3, 8, false, "TSYNC", "restrict all threads at once" },
	{ RESTRICT, 4, 11, false, "NO_NEW_PRIVS", "set no_new_privs in the same call" },
};

/* A set bit says the fix is in (security/landlock/errata/ in the kernel). It is not a measure of
 * safety: with erratum 1 fixed, MPTCP and SCTP streams are no longer under the TCP rules at all.
 */
const struct ll_erratum ll_errata[LL_ERRATUM_COUNT] = {
	{ 0, "tcp-socket-identification", "TCP rules apply to TCP sockets alone, not to MPTCP, SCTP or SMC streams" },
	{ 1, "scoped-signal-handling", "the signal scope no longer stops signals between threads of one process" },
	{ 2, "disconnected-directory-handling", "rules keep their meaning in a directory moved out of its bind mount" },
};

static const char *const abi_linux[] = {
	[1] = "5.13", [2] = "5.19", [3] = "6.2", [4] = "6.7", [5] = "6.10", [6] = "6.12",
	[7] = "6.15", [8] = "7.0", [9] = "7.1", [10] = "7.2", [11] = "7.3",
};
/* clang-format on */
_Static_assert(sizeof(abi_linux) / sizeof(abi_linux[0]) == LL_ABI_KNOWN + 1, "one release per ABI");

uint64_t ll_mask(enum ll_kind kind, unsigned abi, bool files_only)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < LL_RIGHT_COUNT; i++) {
		const struct ll_right *right = &ll_rights[i];

		if (right->kind == kind && right->since_abi <= abi &&
		    (right->on_file || !files_only))
			mask |= 1ULL << right->bit;
	}
	return mask;
}

size_t ll_attr_size(const struct ll_ruleset_attr *attr)
{
	if (attr->quiet_fs || attr->quiet_net || attr->quiet_scoped)
		return sizeof(*attr);
	if (attr->scoped)
		return offsetof(struct ll_ruleset_attr, quiet_fs);
	if (attr->handled_net)
		return offsetof(struct ll_ruleset_attr, scoped);
	return offsetof(struct ll_ruleset_attr, handled_net);
}

const char *ll_abi_linux(unsigned abi)
{
	return abi <= LL_ABI_KNOWN ? abi_linux[abi] : NULL;
}
