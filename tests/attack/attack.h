/* The attack matrix: attempts as rows, tried without the sandbox (the control) and in it.
 * The kinds come from ../shared/attacks.md. A row counts only when its control gave the answer it
 * should, so that "refused" cannot mean "never possible here".
 */
#ifndef TESTS_ATTACK_H
#define TESTS_ATTACK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>

/* Calls that headers of older kernels lack; the same numbers everywhere. */
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* ---- the world around the confined process (stage.c, victim.c) ---- */

/* The folders below the stage's root: four that a policy grants, and one it does not. */
enum place {
	OUTSIDE,
	BUNDLE, /* ro */
	INPUT,	/* rd */
	OUTBOX, /* wo */
	WORK,	/* rw; where every attempt starts */
	PLACE_COUNT,
};

/* Plain data: the confined process reads it from the bundle. */
struct stage {
	char root[96];	      /* absolute, without links; owned by this user */
	char tag[32];	      /* nobody else's: for names that are no files */
	char sandbox[128];    /* oarbank-sandbox */
	char setuid[128];     /* a copy of this program that is setuid root, or "" */
	char outer[48];	      /* an IPv4 address of this machine that is not loopback's, or "" */
	int abi;	      /* Landlock's, as this kernel says it; 0: none */
	bool quick;	      /* each row in one profile only */
	pid_t agent;	      /* the fixture, which launches */
	pid_t victim;	      /* a process of this user that accepts and discards */
	int victim_fd;	      /* it has OUTSIDE/read open as this */
	uint64_t victim_word; /* the address of a word in its memory */
	uint16_t proxy_port;  /* TCP on 127.0.0.1, 127.0.0.2, ::1 and `outer` */
	uint16_t other_port;  /* TCP on 127.0.0.1 and ::1 */
	uint16_t udp_port;    /* UDP on 127.0.0.1 and ::1 */
	int shm;	      /* System V objects of ours; -errno where there are none */
	int sem;
	int msg;
};

/* These return one of a few static buffers. */
const char *path_at(const struct stage *s, enum place place, const char *name);
const char *place_path(const struct stage *s, enum place place);
const char *path_in_root(const struct stage *s, const char *name);
const char *policy_path(const struct stage *s, const char *name);
/* The victim's listeners: stream, seqpacket, dgram, broker; also abstract ones. */
const char *socket_path(const struct stage *s, const char *name);

/* Ask the kernel for its Landlock ABI; 0 where there is none. */
int landlock_abi(void);
int stage_make(struct stage *s, const char *sandbox);
/* Make the folders anew, as every launch expects to find them: each has the files "read", "write"
 * and so on of stage.c, for attempts that change them.
 */
int stage_reset(const struct stage *s);
/* The same of one folder, which may have been moved or replaced. */
int stage_reset_place(const struct stage *s, enum place place);
void stage_remove(struct stage *s);
/* Start the victim with its listeners; it ends with its parent. */
int victim_start(struct stage *s);
void victim_end(struct stage *s);

/* An address; `size` is 0 when the text is none. */
struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	};
	socklen_t size;
};
struct address inet_address(const char *host, uint16_t port);
struct address unix_address(const char *path);
struct address abstract_address(const struct stage *s, const char *name);

/* ---- profiles: policies as the published agent writes them (profiles.c) ---- */

enum profile {
	PLAIN,
	EGRESS,
	BROKER,
	GPU,
	EXEC_RW,
	GRANTED, /* all of the above */
	PROFILE_COUNT,
};
#define IN(profile) (1U << (profile))
#define IN_ALL (IN(PROFILE_COUNT) - 1)
#define WITH_NET (IN(EGRESS) | IN(GRANTED))
#define WITH_BROKER (IN(BROKER) | IN(GRANTED))
#define WITH_EXEC (IN(EXEC_RW) | IN(GRANTED))
#define NO_NET (IN_ALL & ~WITH_NET)
#define NO_BROKER (IN_ALL & ~WITH_BROKER)
#define NO_EXEC (IN_ALL & ~WITH_EXEC)
#define NO_SOCKETS (NO_NET & NO_BROKER)
#define SOCKETS (WITH_NET | WITH_BROKER)

extern const char *const profile_names[PROFILE_COUNT];
/* Is there a launch with it at this kernel's Landlock ABI? Below, the launcher must refuse. */
bool profile_launches(const struct stage *s, enum profile profile);
/* Write the policy of every profile to policy_path(). */
int profiles_write(const struct stage *s);

/* ---- rows ---- */

/* What an attempt answers beyond 0 and -errno. */
#define KILLED(signal) (-1000 - (signal))
#define BROKEN (-2000)	   /* it did not get to its point */
#define MISSING INT32_MIN  /* nobody said one */
#define NOTHING (-ENODATA) /* it looked for something that was not there */

enum who {
	ANYONE,
	ROOT_ONLY,
	USER_ONLY,
};

typedef int attempt(const struct stage *s, const long *arg);

struct row {
	const char *name;
	attempt *run;
	long arg[7];
	int control;  /* its answer without the sandbox */
	int absent;   /* the same on a machine that does not have what it is about */
	int confined; /* and in it */
	bool known;   /* stays open: attacks.md says why */
	/* Landlock sees it from this ABI on. Below, it answers the error `below`; where that is 0,
	 * it is open: the answer is the control's, and the row is a known one.
	 */
	int since_abi;
	int below;
	enum who who;
	unsigned in; /* profiles; 0: all, or PLAIN for a row that is launched apart */
	/* It changes more of its process than descriptors and where it stands, though the set says
	 * that none does.
	 */
	bool own;
	/* A row with one of these is launched apart. `before` runs ahead of exec, without the
	 * sandbox too; it returns 0 or -errno. `terminal` makes a new one the controlling terminal
	 * and descriptor 0: one for all rows that must leave it alone, one each for the controls.
	 */
	int (*before)(const struct stage *s, const long *arg);
	bool terminal;
};

/* The name is shown with deny_ before it when an error is expected, allow_ or known_ if not. */
#define DENY(what, error, fn, ...) \
	.name = (what), .confined = -(error), .run = (fn), .arg = { __VA_ARGS__ }
#define ALLOW(what, fn, ...) .name = (what), .run = (fn), .arg = { __VA_ARGS__ }
#define KNOWN(what, fn, ...) ALLOW(what, fn, __VA_ARGS__), .known = true
#define TEXT(string) ((long)(string))
#define TEXT_OF(value) ((const char *)(value))

#define ROWS_MAX 1024

struct rows {
	const struct row *rows;
	size_t count;
	/* No attempt that succeeds changes more of its process than descriptors and where it
	 * stands, but those that are `own`.
	 */
	bool together;
};

#define ROWS(set, table) const struct rows set = { table, sizeof(table) / sizeof(table[0]), false }
#define ROWS_TOGETHER(set, table) \
	const struct rows set = { table, sizeof(table) / sizeof(table[0]), true }

extern const struct rows socket_rows, connect_rows, signal_rows, process_rows, ipc_rows,
	terminal_rows, inherit_rows, kernel_rows, kernel_file_rows, exec_rows, file_rows, road_rows,
	metadata_rows, root_rows, allow_rows;

/* Row number `i` of all sets in turn, NULL behind the last. */
const struct row *row_at(size_t i);
/* "deny_x" and so on, in a static buffer. */
const char *row_name(const struct stage *s, const struct row *row);
/* What it answers in the sandbox at this kernel's ABI. */
int row_confined(const struct stage *s, const struct row *row);
bool row_is_apart(const struct row *row);
/* May the process that tried row number `i` try others? An attempt that failed has changed nothing.
 */
bool row_leaves_process(size_t i, int answer);
/* Is it an attempt of this user? */
bool row_is_mine(const struct row *row);
/* The profiles it is tried in: of those that launch. When quick, one: the one that grants most for
 * a row that is denied, the one that grants least for one that is not.
 */
unsigned row_profiles(const struct stage *s, const struct row *row);
/* Is the row tried by this user in that profile? PROFILE_COUNT is the control. */
bool row_is_for(const struct stage *s, const struct row *row, enum profile profile);
/* Is it one of those that a launch with that profile tries together, with a terminal or without? */
bool row_is_in_batch(const struct stage *s, const struct row *row, enum profile profile,
		     bool terminal);

/* ---- running them ---- */

/* Run one attempt in this process, which a signal ends after a few seconds. */
int attempt_run(const struct stage *s, const struct row *row);

/* Run every row of that batch. An array of struct answer goes to descriptor 1. */
struct answer {
	uint32_t row;
	int32_t answer;
};
int batch_main(const struct stage *s, enum profile profile, bool terminal);

/* What the programs do that an attempt executes. */
int do_main(const char *what);

/* The launcher's exit code when it refuses. */
#define NOT_APPLIED 70

/* Every row, then every refusal, as TAP lines. They return the number of failures. */
int matrix_main(struct stage *s);
int refusals_main(const struct stage *s);
const char *user_word(void); /* "root" or "user": the matrix is for both */

int answer_code(int answer);
int code_answer(int code);
int status_answer(int status);
const char *answer_text(int answer, char buf[32]);
int wait_answer(pid_t pid);

/* ---- for the attempts ---- */

/* Say on standard error what failed with errno. Returns BROKEN. */
int broken(const char *what);
/* A call's result, or -errno. */
int answer(long result);
/* 0 or -errno. */
int answer_zero(long result);
/* The same of a call that made a descriptor, which is closed. */
int answer_fd(int fd);
/* syscall(arg[0], arg[1], ...) */
int try_syscall(const struct stage *s, const long *arg);
/* Execute `path do WHAT`. Returns only on failure. */
int exec_do(const char *path, const char *what);

int write_file(const char *path, const void *data, size_t size, mode_t mode);
int write_text(const char *path, const char *text);
int copy_file(const char *from, const char *to, mode_t mode);

#endif
