/* What trials are made on: a private temporary directory with one folder of each kind, a process to
 * attack, sockets and shared memory to reach. Inside this folder only.
 */
#ifndef PROBE_TRIAL_STAGE_H
#define PROBE_TRIAL_STAGE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "kabi/fault.h"
#include "kabi/kernel.h"

/* Folders, by what the policy says of them. */
enum place {
	PLACE_OUTSIDE, /* nothing */
	PLACE_BUNDLE,  /* ro */
	PLACE_TOOLS,   /* exe */
	PLACE_WORK,    /* rw */
	PLACE_IN,      /* rd */
	PLACE_OUT,     /* wo */
};
#define PLACE_COUNT 6

/* Names in each of them: a file of STAGE_TEXT, a program, a directory with a file, and what may go.
 */
#define STAGE_DATA "data"
#define STAGE_PROGRAM "run"
#define STAGE_SUB "sub"
#define STAGE_SUB_FILE "sub/data"
#define STAGE_GONE_FILE "gone"
#define STAGE_GONE_DIR "empty"
#define STAGE_NEW "new"
#define STAGE_TEXT "oarbank"

#define STAGE_DIR_MAX 88 /* unix socket paths below it have to fit in 108 */
#define STAGE_PATH_MAX (STAGE_DIR_MAX + 48)
/* The victim has this descriptor open, on the file outside. */
#define STAGE_VICTIM_FD 9

/* Listening sockets, each at its own address. */
enum listener {
	LISTENER_PROXY,	      /* 127.0.0.1, the granted port */
	LISTENER_PROXY_OTHER, /* 127.0.0.2, the same port */
	LISTENER_PROXY_V6,    /* ::1, the same port */
	LISTENER_SERVICE,     /* 127.0.0.1, another port */
	LISTENER_SERVICE_V6,  /* ::1 */
	LISTENER_LINK_LOCAL,  /* the first fe80:: address of this node, the port of the service */
};
#define LISTENER_COUNT 6

struct stage {
	const struct kernel *k;
	char dir[STAGE_DIR_MAX];
	pid_t host; /* the process that set the stage up, parent of the others */
	pid_t victim;
	const char *secret; /* STAGE_TEXT in the victim's memory, at the same address as here */
	int fd;		    /* of a process that makes trials: one end of a unix stream pair */
	bool contained;	    /* of a process that makes trials: modules are in a leaf */
	char *leaf;	    /* where to tell the directory of a leaf for as long as there is one */
	int file;	    /* and a file of the bundle, opened for reading */
	int near[2]; /* and TCP sockets that reach no farther than lo, or -errno; a connect each */
	uint16_t proxy_port;
	uint16_t service_port;
	struct in6_addr link_local;
	uint32_t link_local_scope; /* 0: this node has none */
	bool has_sctp;		   /* loaded: trying must not load a module */
	bool has_smc;
	bool has_alg;
	bool has_vsock;
	int segment;	  /* System V shared memory, removed when the last process lets go of it */
	char gpu[64];	  /* a node that computes; "" none, in both */
	char display[64]; /* and one that shows */
	char queue[32];	  /* a POSIX message queue, as the kernel names it; "" none */
	struct sockaddr_un broker; /* the granted unix stream socket */
	struct sockaddr_un stream; /* others, outside */
	struct sockaddr_un datagram;
	struct sockaddr_un packet;
	struct sockaddr_un abstract; /* a stream */
	struct sockaddr_un abstract_datagram;
	socklen_t abstract_len; /* of both */
};

/* "DIR/PLACE" and "DIR/PLACE/NAME" into buf, which is returned. */
#define STAGE_PATH(stage, place, name) \
	stage_path((stage), (place), (name), (char[STAGE_PATH_MAX]){ 0 })
const char *stage_path(const struct stage *s, enum place place, const char *name,
		       char buf[STAGE_PATH_MAX]);
extern const char *const place_names[PLACE_COUNT];

/* Make the stage, in the first of the usual temporary directories that will have it. `ret_dir` is
 * set as soon as there is a directory, so that another process can remove it. The calling process
 * holds the sockets and the segment. The victim is its child, and dies with it. Returns 0, or
 * -errno with `why`; then nothing is left.
 */
int stage_make(const struct kernel *k, struct stage *s, char ret_dir[STAGE_DIR_MAX],
	       struct fault *why);

/* End the victim and let go of everything but the directory. */
void stage_close(struct stage *s);

/* Remove the directory `dir` with all below it, and the message queue named after it. By any
 * process. Nothing happens when it is gone, or is "".
 */
void stage_remove(const char *dir);

#endif
