/* liboarbank-launch: start a module process confined and in a container, follow it, end all of it,
 * and learn how it ended. What oarbank-run(1) does, for a program that is itself the parent.
 *
 * Functions that can fail return 0 or a value >= 0, else a negative errno. `why`, where there is
 * one, is a buffer for one line that says what failed, or NULL with size 0. The library starts no
 * thread and changes no signal handler. Different modules may be followed by different threads;
 * oarbank_launch_setup(), _start(), _freeze(), _thaw() and _kill() are for one thread at a time.
 *
 * Each module has a keeper, a copy of this process (fork, without exec) that is the module's
 * parent. It ends with the module; and when this process ends, however that happens, it ends the
 * module.
 */
#ifndef OARBANK_LAUNCH_H
#define OARBANK_LAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OARBANK_LAUNCH_API __attribute__((visibility("default")))

enum oarbank_launch_container {
	OARBANK_CONTAINER_AUTO,	 /* a leaf where one can be made, else a group */
	OARBANK_CONTAINER_LEAF,	 /* a cgroup of its own: enforced */
	OARBANK_CONTAINER_GROUP, /* process group and subreaper: cooperative */
};

/* Whether this process, the module's ancestor, makes the module's connections in its place: to the
 * policy's proxy at 127.0.0.1 and its broker's socket, and to nothing else. They are made by
 * oarbank_launch_wait(), and while nobody calls it the module's connect(2) waits. A call
 * can take seconds to answer, or as long as it likes, if a module keeps its memory busy or the
 * processor from its thread that calls (seen on Linux 6.18): who follows several modules and does
 * not trust them needs a thread for each.
 */
enum oarbank_launch_supervise {
	OARBANK_SUPERVISE_AUTO,	    /* when the policy grants a network or a broker */
	OARBANK_SUPERVISE_NONE,	    /* the module connects; Landlock knows ports, not addresses */
	OARBANK_SUPERVISE_METADATA, /* always; and it changes modes, owners and times beneath the
				       policy's `rw` and `wo` folders, and nowhere else */
};

/* Members are only ever added, at the end. Those that a caller did not know yet are as
 * oarbank_launch_options_init() sets them.
 */
struct oarbank_launch_options {
	size_t size;	      /* set by oarbank_launch_options_init() */
	const char *launcher; /* NULL: OARBANK_SANDBOX_EXEC in `envp`, or oarbank-sandbox beside the
				 program that runs */
	const char *policy;   /* its file */
	char *const *argv;    /* the module's; argv[0] is an absolute path */
	char *const *envp;    /* NULL: environ */
	const char *directory; /* to start in; NULL: this one */
	int stdio[3];	       /* its descriptors 0, 1 and 2: 0, 1 and 2; -1, and
				  one of these that is not open: /dev/null */
	const int *keep;       /* more that it gets under the same numbers (OARBANK_SERVICE_…) */
	unsigned keep_count;
	int ignore_usr1;       /* not 0: SIGUSR1 is ignored from its first instruction on */
	int container;	       /* enum oarbank_launch_container */
	uint32_t cpu_milli;    /* at most so many thousandths of a CPU; 0: no limit */
	uint64_t memory_bytes; /* at most so much memory, and no swap; 0: no limit */
	uint32_t pids;	       /* at most so many processes and threads; 0: no limit */
	uint32_t reserved;     /* 0 */
	int64_t guard_ms;      /* for the launcher to be confined: 60000 */
	int64_t grace_ms;      /* between SIGTERM and SIGKILL: 20000 */
	int64_t timeout_ms;    /* until it is stopped; 0: never */
	int supervise;	       /* enum oarbank_launch_supervise */
	/* A proxy of the module's own, a child of this process that ends with the module. */
	const char *const
		*egress_allow;	/* HOST[:PORT]…, NULL: it may connect to these; NULL: there
				   is no such proxy, and `proxy_port` of the policy counts */
	const char *egress_log; /* what it refuses, as lines of JSON; NULL: nowhere */
	const char *egress;	/* its program; NULL: OARBANK_EGRESS_EXEC in `envp`, or
				   oarbank-egress beside the program that runs */
};

OARBANK_LAUNCH_API void oarbank_launch_options_init(struct oarbank_launch_options *options);

/* Once, before the first module: find the delegated cgroup, move this process into its leaf
 * `agent`, hand the cpu, memory and pids controllers down, and end what killed runs left behind.
 * `launcher_pid` is moved along when it stands in the same cgroup (OARBANK_LAUNCHER_PID), 0: none.
 * On failure containers are groups, or leaves without limits.
 */
OARBANK_LAUNCH_API int oarbank_launch_setup(pid_t launcher_pid, char *why, size_t why_size);

struct oarbank_module;

/* Start it. On success *ret must be given to oarbank_launch_free(); the options, and all that they
 * point to, are not needed any more. A limit that cannot be enforced is a failure, and so is a
 * supervisor or a proxy that cannot be had: -EINVAL when the policy grants no network for it. An
 * option that is none is -EINVAL too, and `why` names it. Waits for the proxy to listen, 10 seconds
 * at most. The module is not known to be confined yet: see oarbank_launch_wait().
 */
OARBANK_LAUNCH_API int oarbank_launch_start(const struct oarbank_launch_options *options,
					    struct oarbank_module **ret, char *why,
					    size_t why_size);

enum oarbank_launch_state {
	OARBANK_STATE_STARTING,
	OARBANK_STATE_CONFINED, /* the launcher said so, and /proc agrees */
	OARBANK_STATE_ENDED,
};

/* Readable when oarbank_launch_wait() has something to do; -1 once it has ended. The number stays
 * the same until then.
 */
OARBANK_LAUNCH_API int oarbank_launch_fd(const struct oarbank_module *module);

/* Wait for news, `timeout_ms` at most (-1: for ever; 0: look only), and answer what a supervised
 * module asks meanwhile. Returns the state, enum oarbank_launch_state, which may be the one before;
 * -ETIMEDOUT when there was no news; -EINTR; or why nothing can be waited for, which waiting again
 * does not change: let go of it.
 */
OARBANK_LAUNCH_API int oarbank_launch_wait(struct oarbank_module *module, int timeout_ms);

/* The module's process and the number of its group; 0: not known yet. */
OARBANK_LAUNCH_API pid_t oarbank_launch_pid(const struct oarbank_module *module);

/* Its cgroup's directory, or NULL when it has none. */
OARBANK_LAUNCH_API const char *oarbank_launch_cgroup(const struct oarbank_module *module);

/* SIGTERM to the group, after the grace time SIGKILL to all of it. */
OARBANK_LAUNCH_API int oarbank_launch_stop(struct oarbank_module *module);

/* SIGKILL to all of it. */
OARBANK_LAUNCH_API int oarbank_launch_kill(struct oarbank_module *module);

/* Stop all of it where it is; let it go on. */
OARBANK_LAUNCH_API int oarbank_launch_freeze(struct oarbank_module *module);
OARBANK_LAUNCH_API int oarbank_launch_thaw(struct oarbank_module *module);

/* How many processes are in it now. */
OARBANK_LAUNCH_API int oarbank_launch_count(struct oarbank_module *module);

struct oarbank_launch_outcome {
	size_t size;		  /* set by the caller: sizeof(struct oarbank_launch_outcome) */
	const char *reason;	  /* ok exit_nonzero signal oom timeout sandbox_missing sandbox_hung
				     launch_failed */
	const char *container;	  /* leaf group */
	const char *enforcement;  /* enforced cooperative */
	const char *verification; /* confined, or what /proc said instead */
	const char *detail;	  /* "" or one sentence; the module's until it is freed */
	int code;		  /* exit code, or -1 */
	int signal;		  /* that ended it, or 0 */
	int verified;		  /* not 0: it was seen confined */
	int stopped;		  /* not 0: on request */
	int left_behind; /* not 0: a process that does not end, or a cgroup, is still there */
	unsigned killed; /* processes of it that were ended after its own end */
	uint64_t cpu_us;
	uint64_t memory_peak; /* bytes; 0: unknown */
	int64_t wall_us;
	int peak_of_container; /* not 0: of all of it together; else of its largest process */
};

/* How it ended. -EBUSY while it has not; -EINVAL for a size that is not known. */
OARBANK_LAUNCH_API int oarbank_launch_outcome(const struct oarbank_module *module,
					      struct oarbank_launch_outcome *ret);

/* What became of the calls that were put to the supervisor, until now. */
struct oarbank_launch_calls {
	size_t size;	    /* set by the caller: sizeof(struct oarbank_launch_calls) */
	uint64_t connected; /* or in progress, of a socket that does not block */
	uint64_t changed;   /* metadata */
	uint64_t refused;   /* EACCES: not where it may go, not beneath its folders */
	uint64_t failed;    /* allowed, and an error; or given up by the module */
};

/* All 0 when it is not supervised. -EINVAL for a size that is not known. */
OARBANK_LAUNCH_API int oarbank_launch_calls(const struct oarbank_module *module,
					    struct oarbank_launch_calls *ret);

/* How it is going or how it ended, as the JSON object that oarbank-run --result writes. Returns its
 * length, or -ENOSPC. */
OARBANK_LAUNCH_API ssize_t oarbank_launch_result(const struct oarbank_module *module, char *buf,
						 size_t size);

/* Let go of it. What has not ended is killed first. NULL: nothing. */
OARBANK_LAUNCH_API void oarbank_launch_free(struct oarbank_module *module);

#ifdef __cplusplus
}
#endif

#endif
