/* Landlock's user interface as data: our own structs and one table of everything that can be
 * restricted, so that a build with old headers asks a new kernel the right questions.
 * Source: the kernel's include/uapi/linux/landlock.h up to ABI 11 and its Landlock document.
 */
#ifndef KABI_LANDLOCK_H
#define KABI_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* landlock_create_ruleset(2) flags */
#define LL_CREATE_VERSION (1U << 0)
#define LL_CREATE_ERRATA (1U << 1)

/* landlock_add_rule(2) rule types */
#define LL_RULE_PATH_BENEATH 1
#define LL_RULE_NET_PORT 2

/* landlock_restrict_self(2) flags */
#define LL_RESTRICT_LOG_SAME_EXEC_OFF (1U << 0)
#define LL_RESTRICT_LOG_NEW_EXEC_ON (1U << 1)
#define LL_RESTRICT_LOG_SUBDOMAINS_OFF (1U << 2)
#define LL_RESTRICT_TSYNC (1U << 3)
#define LL_RESTRICT_NO_NEW_PRIVS (1U << 4)

/* All fields the newest known kernel has. A kernel accepts a longer struct whose tail is zero, and
 * answers E2BIG to one whose tail is not: pass ll_attr_size(), never sizeof.
 */
struct ll_ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
	uint64_t quiet_fs;
	uint64_t quiet_net;
	uint64_t quiet_scoped;
};
_Static_assert(sizeof(struct ll_ruleset_attr) == 48, "landlock_ruleset_attr of ABI 10");

struct ll_path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));
_Static_assert(sizeof(struct ll_path_beneath_attr) == 12, "landlock_path_beneath_attr");

struct ll_net_port_attr {
	uint64_t allowed_access;
	uint64_t port;
};
_Static_assert(sizeof(struct ll_net_port_attr) == 16, "landlock_net_port_attr");

/* Bits of handled_fs */
#define LL_FS_EXECUTE (1ULL << 0)
#define LL_FS_WRITE_FILE (1ULL << 1)
#define LL_FS_READ_FILE (1ULL << 2)
#define LL_FS_READ_DIR (1ULL << 3)
#define LL_FS_REMOVE_DIR (1ULL << 4)
#define LL_FS_REMOVE_FILE (1ULL << 5)
#define LL_FS_MAKE_CHAR (1ULL << 6)
#define LL_FS_MAKE_DIR (1ULL << 7)
#define LL_FS_MAKE_REG (1ULL << 8)
#define LL_FS_MAKE_SOCK (1ULL << 9)
#define LL_FS_MAKE_FIFO (1ULL << 10)
#define LL_FS_MAKE_BLOCK (1ULL << 11)
#define LL_FS_MAKE_SYM (1ULL << 12)
#define LL_FS_REFER (1ULL << 13)
#define LL_FS_TRUNCATE (1ULL << 14)
#define LL_FS_IOCTL_DEV (1ULL << 15)
#define LL_FS_RESOLVE_UNIX (1ULL << 16)

/* Bits of handled_net */
#define LL_NET_BIND_TCP (1ULL << 0)
#define LL_NET_CONNECT_TCP (1ULL << 1)
#define LL_NET_BIND_UDP (1ULL << 2)
#define LL_NET_CONNECT_SEND_UDP (1ULL << 3)

/* Bits of scoped */
#define LL_SCOPE_ABSTRACT_UNIX (1ULL << 0)
#define LL_SCOPE_SIGNAL (1ULL << 1)

enum ll_kind {
	LL_KIND_FS,
	LL_KIND_NET,
	LL_KIND_SCOPE,
	LL_KIND_RESTRICT, /* a flag of landlock_restrict_self, not of a ruleset */
};

/* One row per thing a kernel can be asked for; `bit` is the bit's number in its field. */
struct ll_right {
	enum ll_kind kind;
	unsigned bit;
	unsigned since_abi;
	bool on_file; /* a filesystem right that a rule on a non-directory may carry */
	const char *name;
	const char *help;
};

#define LL_RIGHT_COUNT 28
extern const struct ll_right ll_rights[LL_RIGHT_COUNT];

/* The newest ABI the table knows. A kernel may be newer; nothing is assumed of it. */
#define LL_ABI_KNOWN 11
/* The oldest ABI the sandbox contract accepts (contract-linux.md "Enforcement report"). */
#define LL_ABI_NEEDED 3

/* All bits of one kind that `abi` brings. For LL_KIND_FS with `files_only`, those valid on files.
 */
uint64_t ll_mask(enum ll_kind kind, unsigned abi, bool files_only);

/* How many bytes of struct ll_ruleset_attr a kernel must know for the fields that are not zero. */
size_t ll_attr_size(const struct ll_ruleset_attr *attr);

/* The first Linux release with that ABI, "6.12", for people; NULL beyond the table. Not for
 * decisions. */
const char *ll_abi_linux(unsigned abi);

/* What a bit of the errata mask stands for. A kernel may set bits this table does not know. */
struct ll_erratum {
	unsigned bit;
	const char *name;
	const char *help;
};
#define LL_ERRATUM_COUNT 3
extern const struct ll_erratum ll_errata[LL_ERRATUM_COUNT];

#endif
