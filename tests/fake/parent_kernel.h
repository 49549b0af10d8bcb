/* A kernel for what holds modules: a cgroup tree and /proc as files in memory, children that end
 * when the test says so, and a clock. Any one call can be made to fail.
 */
#ifndef TESTS_FAKE_PARENT_KERNEL_H
#define TESTS_FAKE_PARENT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/kernel.h"

#define WORLD_FILES 96
#define WORLD_FDS 32
#define WORLD_LOG 512
#define WORLD_TEXT 1024
#define WORLD_EVENTS 16

#define WORLD_SELF 50	/* our pid: the keeper's in its tests */
#define WORLD_LEADER 51 /* what clone() makes */
#define WORLD_PARENT 40

struct world_file {
	char path[192]; /* "" free */
	bool dir;
	bool locked; /* by somebody else */
	char text[WORLD_TEXT];
	int error; /* of opening, or of making or removing it; positive */
	int busy;  /* how often removing it answers EBUSY first */
};

struct world_fd {
	bool open;
	struct world_file *file; /* NULL: no file */
	size_t at;
};

/* What the next poll() finds. */
enum world_event {
	WORLD_END,	   /* no more: the test program is ended */
	WORLD_TIME,	   /* nothing, until the timeout */
	WORLD_SAID,	   /* `text` in the confined pipe; NULL: its end */
	WORLD_COMMAND,	   /* `text` in the channel; NULL: its end */
	WORLD_LEADER_ENDS, /* with `code`, or by -`code` */
	WORLD_ORPHAN_ENDS, /* the same of another child */
};

struct world_step {
	enum world_event event;
	const char *text;
	int code;
};

struct world {
	struct kernel kernel;
	struct world_file files[WORLD_FILES];
	struct world_fd fds[WORLD_FDS];
	char log[WORLD_LOG][128]; /* "call operand" */
	const char *type;	  /* of a cgroup that is made; NULL: domain */
	bool first_is_taken;	  /* somebody removes the first directory just before we lock it */
	bool taken;
	bool no_swap;	     /* it has no memory.swap.max */
	bool freezes_never;  /* nor does what is written to cgroup.freeze come about */
	uint64_t proc_magic; /* of the files below /proc; the kernel's own */
	unsigned calls;
	unsigned fail_call; /* the call that fails, from 1; 0: none */
	int fail_error;
	int64_t now;

	const struct world_step *script;
	unsigned step;
	int confined; /* fds of those roles; -1 */
	int channel;
	int children;
	bool news;	     /* what a parent polls is readable */
	uint64_t mask;	     /* of signals */
	const char *pending; /* in the pipe or channel that is read next */
	bool leader_alive;
	bool leader_zombie;
	int leader_code; /* negative: a signal */
	int orphans;	 /* others that live below us */
	int dying;	 /* of them so many end, one in each pause */
	int orphan_zombies;
	int orphan_code;
	int cgroup_clone_error; /* of clone() into a cgroup; positive */
	bool executed;
	char said[1024];	      /* written to the confined pipe */
	unsigned char messages[8192]; /* sent on the channel */
	size_t message_bytes;
	unsigned message_count;
};

/* An empty world: nothing runs, and there is no file but /proc/self/status of an unconfined
 * process. */
void world_start(struct world *w);

/* Put a file or a directory there; the text may be NULL. Returns it. */
struct world_file *world_file(struct world *w, const char *path, const char *text);
struct world_file *world_dir(struct world *w, const char *path);
struct world_file *world_find(struct world *w, const char *path);

/* A cgroup v2 hierarchy at /sys/fs/cgroup with our own cgroup `own` ("/unit") in it, ours to write.
 */
void world_cgroup(struct world *w, const char *own, const char *controllers, const char *enabled);

/* Which call from 1 the first one is that starts with `prefix`; 0: none. */
unsigned world_called(const struct world *w, const char *prefix);
unsigned world_open_fds(const struct world *w);

#endif
