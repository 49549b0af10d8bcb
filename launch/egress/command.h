/* The command line of oarbank-egress. */
#ifndef LAUNCH_EGRESS_COMMAND_H
#define LAUNCH_EGRESS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kabi/fault.h"
#include "kabi/host.h"
#include "kabi/kernel.h"
#include "kabi/text.h"

#define EGRESS_ENTRIES_MAX 1024
#define EGRESS_FILE_MAX (512 * 1024)

/* An allow list. */
struct egress_allow {
	size_t count;
	struct host_entry entries[EGRESS_ENTRIES_MAX];
};

struct egress_options {
	uint16_t port;	 /* 0: one that is free */
	const char *log; /* a file, "-" for standard output, or NULL */
	int control;	 /* -1: none */
	bool any_user;
	uint32_t connections;
	uint32_t head_bytes;
	uint32_t head_s;
	uint32_t connect_s;
	uint32_t idle_s;
	uint32_t grace_s;
	struct egress_allow *allow; /* the caller's; filled */
};

/* Read the arguments; options->allow is given. Files are read through `k`. Returns 0; or -EINVAL,
 * or what reading a file returned, with `why`.
 */
int egress_command_parse(const struct kernel *k, int argc, char **argv,
			 struct egress_options *options, struct fault *why);

/* Add what a file lists, an entry a line; empty lines, and what follows '#', are passed over.
 * Returns 0, or -errno with `why` naming the line.
 */
int egress_allow_file(const struct kernel *k, const char *path, struct egress_allow *allow,
		      struct fault *why);
int egress_allow_add(const char *entry, struct egress_allow *allow, struct fault *why);

bool egress_allowed(const struct egress_allow *allow, const char *name, uint16_t port);

/* The list of options with a line about each. */
void egress_command_help(struct text *t);

#endif
