/* The tables of trials, each of one subject. Inside this folder only. */
#ifndef PROBE_TRIAL_TABLES_H
#define PROBE_TRIAL_TABLES_H

#include "probe/trial/trial.h"

struct trial_table {
	const struct trial *rows;
	size_t count;
};

#define TRIAL_TABLE(list)                                                 \
	{                                                                 \
		.rows = (list), .count = sizeof(list) / sizeof((list)[0]) \
	}

extern const struct trial_table trials_file;	/* one operation in one place */
extern const struct trial_table trials_road;	/* other roads to files, and from place to place */
extern const struct trial_table trials_exec;	/* running what was written */
extern const struct trial_table trials_ipc;	/* sockets, pipes, queues, shared memory */
extern const struct trial_table trials_process; /* signals, memory and settings of others */
extern const struct trial_table trials_network; /* without a network grant */
extern const struct trial_table trials_egress;	/* with one */
extern const struct trial_table trials_call;	/* kernel interfaces of no use to a module */
extern const struct trial_table trials_container; /* a module as a whole */
extern const struct trial_table trials_device;	  /* devices, GPUs among them */

#endif
