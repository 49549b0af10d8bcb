/* The policy: what one module process may do, read from the JSON its parent wrote.
 *
 * The reader is strict, because a policy it misreads is a wrong sandbox: valid UTF-8, one object,
 * no key twice (in any spelling), nothing behind it, every value of the type and range of
 * spec/wire.md §1.1. Beyond that page:
 * - A key that is not in the table is ignored when its value asks for nothing (null, false, "", [],
 * {}) and refused by name otherwise: a restriction we do not know must not be left out silently.
 * Any number counts as asking, 0 too, since 0 is a limit in many vocabularies.
 * - Paths are absolute, without ".." components and control characters. Repeated slashes, "."
 *   components and a slash at the end are taken out, so that two spellings of one path compare
 * equal and a last component that is a symbolic link cannot hide behind a slash.
 * - `net` "egress-any" is refused: Landlock knows ports, not addresses, so loopback and link-local
 *   stay reachable (contract-linux.md). "egress-allowlist" needs a `proxy_port` that is not 0.
 * - `proxy_port` without "egress-allowlist" is checked and then not used, as the wire says: it can
 *   only grant less than was asked.
 * - `broker_socket`, if not null, must be a path like any other: an empty one names no broker.
 * - `module` and `kind` are labels and any string will do.
 */
#ifndef LAUNCH_POLICY_H
#define LAUNCH_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"

#define POLICY_BYTES_MAX (1024 * 1024)
#define POLICY_ROOTS_MAX 512 /* of all lists together, with `exe` */
#define POLICY_KEYS_MAX 64   /* in the object, known or not */

enum net_mode {
	NET_NONE,
	NET_EGRESS_ALLOWLIST,
};

/* The lists of the policy, from the one that grants least. */
enum root_kind {
	ROOT_RD,
	ROOT_WO,
	ROOT_RO,
	ROOT_EXE,
	ROOT_RW,
};
#define ROOT_KIND_COUNT 5

struct root {
	enum root_kind kind;
	const char *path;
};

/* The strings lie in the text it was read from, which must outlive it. */
struct policy {
	const char *module;
	const char *kind;
	enum net_mode net;
	uint16_t proxy_port;	   /* 0: none given */
	const char *broker_socket; /* NULL: no broker */
	bool gpu;
	bool exec_rw;
	size_t root_count;
	struct root roots[POLICY_ROOTS_MAX]; /* in the order of the text */
};

/* The policy's key of a list: "ro", "exe", ... */
const char *root_kind_name(enum root_kind kind);

/* Read the policy in text[0..size), which is decoded in place and so changed. Returns 0, or -EINVAL
 * with `why` naming the key and path, or the byte, that is wrong. On failure *ret grants nothing.
 * Takes no memory of its own.
 */
int policy_parse(char *text, size_t size, struct policy *ret, struct fault *why);

/* Read the file `path` into text[text_size] and parse it. Returns 0, -EINVAL as above, or -errno
 * when the file cannot be read; -EFBIG when it does not fit.
 */
int policy_read(const struct kernel *k, const char *path, char *text, size_t text_size,
		struct policy *ret, struct fault *why);

/* The same, for a parent whose own proxy listens on `port`, not 0: whatever the policy says of one,
 * or does not say, ret->proxy_port is that.
 */
int policy_read_for_proxy(const struct kernel *k, const char *path, uint16_t port, char *text,
			  size_t text_size, struct policy *ret, struct fault *why);

#endif
