/* A kernel for the launcher, made of rows: a file tree, and a process whose descriptors,
 * capabilities and confinement it keeps account of. Any one call can be made to fail.
 */
#ifndef TESTS_FAKE_LAUNCH_KERNEL_H
#define TESTS_FAKE_LAUNCH_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/kernel.h"

/* Directories above a listed path exist of themselves. */
struct fake_file {
	const char *path; /* NULL ends the list */
	enum node_type type;
	const char *text; /* of a file; the target of a link */
	unsigned major;
	unsigned minor;
};

#define FAKE_MAGIC 0xef53 /* of every file system but those below */
#define FAKE_FDS 2048
#define FAKE_RULES 256
#define FAKE_CALLS 4096
#define FAKE_CALL_TEXT 128

struct fake_fd {
	bool open;
	bool ruleset;
	enum node_type type;
	unsigned major;
	unsigned minor;
	bool terminal;
	const char *text;	   /* what read() returns next */
	char path[FAKE_CALL_TEXT]; /* where it really is */
};

struct fake_rule {
	char path[FAKE_CALL_TEXT];
	uint64_t rights;
};

struct fake_process {
	/* Given by the test. */
	const struct fake_file *files;
	int abi; /* or -errno */
	bool hard_core_limit_is_0;
	bool old_seccomp;	 /* before Linux 5.19 */
	const char *oom_score;	 /* NULL: no /proc */
	const char *proc_status; /* the same */
	uint64_t proc_magic;	 /* what statfs(2) answers */
	const char *mounted;	 /* another file system lies there; NULL: none */
	uint64_t mounted_magic;	 /* what fstatfs(2) answers in it */
	uint64_t effective;	 /* capabilities; the permitted set is the same */
	uint64_t bounding;
	unsigned fail_call; /* the number of the call that fails, from 1; 0: none */
	int fail_error;

	/* Kept by the kernel. */
	struct fake_fd fds[FAKE_FDS];
	unsigned call_count;
	char calls[FAKE_CALLS][FAKE_CALL_TEXT]; /* every call, in order: "open /etc" */
	struct ll_ruleset_attr ruleset;
	struct fake_rule rules[FAKE_RULES];
	unsigned rule_count;
	uint64_t port; /* with a rule */
	uint32_t restrict_flags;
	bool restricted;
	bool no_new_privs;
	const struct sc_program *filter;
	struct sc_program asking; /* the filter with a listener; insns is NULL without one */
	bool killable;		  /* with WAIT_KILLABLE_RECV, which `old_seccomp` lacks */
	int listener;		  /* its descriptor */
	int given_to;		  /* the socket that was sent it, or 0 */
	unsigned securebits;
	bool ambient_cleared;
	uint64_t ignored; /* signals, bit number - 1 */
	bool mask_empty;
	uint64_t core_limit;
	char oom_written[16];
	char told[16]; /* what the parent read from the signal's descriptor */
	bool executed;
	char *const *exec_argv;
	char *const *exec_envp;

	struct kernel kernel;
};

/* An ordinary process: descriptors 0 to 2 are /dev/null and two pipes, all capabilities, every
 * signal but SIGKILL and SIGSTOP ignored. The test may change it before it uses `p->kernel`. execve
 * always fails with ENOEXEC, after noting that it was reached.
 */
void fake_process(struct fake_process *p, const struct fake_file *files, int abi);

/* Give the process a descriptor. */
void fake_inherit(struct fake_process *p, int fd, enum node_type type);

/* How many descriptors from 3 on are open. */
unsigned fake_open_count(const struct fake_process *p);

/* The number of the first call that begins with `prefix`, or 0. */
unsigned fake_call(const struct fake_process *p, const char *prefix);

/* The rights of the rule on `path`; 0 without one. */
uint64_t fake_rights(const struct fake_process *p, const char *path);

#endif
