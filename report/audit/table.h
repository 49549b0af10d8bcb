/* The table an audit fills: nodes, and the profiles they share. Nodes that report the same kernel,
 * statuses and reasons have one profile between them, so that a fleet of a hundred thousand takes a
 * name and a number each, and everything that is decided is decided once a profile.
 */
#ifndef REPORT_AUDIT_TABLE_H
#define REPORT_AUDIT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/audit/read.h"

struct audit_status {
	const char *name;
	const char *why;
	const char *remedy; /* "" when nothing helps */
	const char *kernel; /* from which on it would be better, or "" */
	enum status status;
};

struct audit_remark {
	const char *id;
	const char *remedy;
	bool warning;
};

/* As struct audit_facts, without what is a node's own. Strings point into the table. */
struct audit_profile {
	const char *os;
	const char *arch;
	const char *os_version;
	const char *kernel;
	const char *libc;
	const char *libc_version;
	const char *landlock_state;
	const char *seccomp;
	const char *groups[AUDIT_GROUPS_MAX];
	struct audit_status *capabilities;
	struct audit_remark *findings;
	uint32_t obstacles; /* to a container leaf with limits: 1 << enum leaf_obstacle */
	unsigned abi;
	unsigned capability_count;
	unsigned finding_count;
	unsigned group_count;
	bool backend;
	bool assumed;
	uint32_t nodes; /* that have it */
};

struct audit_node {
	const char *name;
	char time[24]; /* of the report, as it writes it */
	uint32_t profile;
};

struct audit_key {
	size_t len;
	uint64_t hash;
	char *bytes;
};

struct audit_table {
	struct audit_node *nodes;
	struct audit_key *keys;
	struct audit_profile *profiles; /* made by audit_table_finish() */
	uint32_t node_count;
	uint32_t node_room;
	uint32_t key_count;
	uint32_t key_room;
	uint32_t profile_count;
	uint32_t *slots; /* number of a profile + 1, by hash; 0 is free */
	uint32_t slot_count;
	struct block *names; /* of memory that the nodes' names are in */
};

/* Everything of `facts` that makes its profile, as bytes to compare, in buf. Returns 0, or -ENOSPC.
 */
int audit_key_make(const struct audit_facts *facts, char *buf, size_t size, struct audit_key *ret);

/* Add a node. Start with a zeroed table. 0 or -ENOMEM. */
int audit_table_add(struct audit_table *table, const struct audit_facts *facts,
		    const struct audit_key *key);

/* After the last: sort the nodes by name and time, and with `latest` keep the last report of each
 * name alone; make the profiles, and number them by their first node. *ret_dropped: how many
 * reports that cost. 0 or -ENOMEM.
 */
int audit_table_finish(struct audit_table *table, bool latest, uint32_t *ret_dropped);

void audit_table_free(struct audit_table *table);

/* The status a profile has of that name, or NULL: its report did not tell. */
const struct audit_status *audit_profile_find(const struct audit_profile *profile,
					      const char *name);

#endif
