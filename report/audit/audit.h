/* `oarbank-probe audit`: what a fleet can promise, from the reports of its nodes. */
#ifndef REPORT_AUDIT_AUDIT_H
#define REPORT_AUDIT_AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/audit/table.h"
#include "report/command.h"
#include "report/modules.h"
#include "report/verdict.h"

#define AUDIT_DAMAGED_KEPT 1000
#define AUDIT_COLUMNS_MAX 64

/* How many nodes say so of a capability. */
struct audit_column {
	const char *name;
	uint32_t enforced;
	uint32_t cooperative;
	uint32_t unavailable;
	uint32_t untold; /* their report does not know it */
};

struct audit_kernel {
	const char *release; /* "" unknown */
	unsigned abi;
	uint32_t nodes;
	uint32_t enforced[AUDIT_COLUMNS_MAX];
	uint32_t told[AUDIT_COLUMNS_MAX]; /* by so many of its nodes */
};

/* Why a capability is not enforced on so many nodes. */
struct audit_reason {
	unsigned column;
	const char *why;
	const char *remedy;
	uint32_t nodes;
};

struct audit_finding_count {
	const char *id;
	const char *remedy;
	bool warning;
	uint32_t nodes;
};

struct audit_module {
	uint32_t codes[VERDICT_RUNS + 1]; /* nodes, by enum verdict_code */
};

/* One change, and what it would bring where it is made. */
struct audit_change {
	char text[AUDIT_LINE_MAX];
	char kernel[VERSION_TEXT_MAX]; /* of a kernel upgrade: to this or later; else "" */
	uint32_t nodes;		       /* that gain anything */
	uint32_t leaf;		       /* that would have a container leaf with hard limits */
	uint32_t gpu;		       /* that could open a GPU they have */
	/* A sandbox would be there where none is now: what its kernel then enforces is not known
	 * before, so the numbers are the most it can bring. */
	bool at_most;
	uint32_t capabilities[AUDIT_COLUMNS_MAX];
	uint32_t *modules; /* one for each module */
};

struct audit {
	struct audit_table table;
	struct modules modules;

	uint32_t damaged;
	char *damaged_texts[AUDIT_DAMAGED_KEPT]; /* the first of them, sorted */
	uint32_t superseded;			 /* by a later report of the same node */
	unsigned long files;

	struct audit_column columns[AUDIT_COLUMNS_MAX];
	unsigned column_count;
	struct audit_kernel *kernels; /* oldest first */
	uint32_t kernel_count;
	struct audit_reason *reasons; /* by capability, the most frequent first */
	uint32_t reason_count;
	struct audit_finding_count *findings; /* the most frequent first */
	uint32_t finding_count;
	struct audit_module *module_counts; /* one for each module */
	uint8_t *codes;			    /* enum verdict_code: [profile][module] */
	struct audit_change *changes;	    /* kernels by age, then by what they bring */
	uint32_t change_count;
};

/* Decide everything from table and modules. 0 or -ENOMEM. */
int audit_judge(struct audit *audit);
int audit_find_changes(struct audit *audit);

/* A profile as a verdict looks at it. `capabilities` has room for all of the profile's. */
void audit_view(const struct audit_profile *profile, struct node_capability *capabilities,
		char platform[AUDIT_WORD_MAX * 2], struct node_view *ret);

/* The status of column `column` in a profile, or NULL. */
const struct audit_status *audit_status_of(const struct audit *audit,
					   const struct audit_profile *profile, unsigned column);

void audit_free(struct audit *audit);

/* The forms. -ENOMEM, or 0: whether it could be written, ferror(out) tells. */
void audit_page(const struct audit *audit, bool colour, FILE *out);
int audit_json(const struct audit *audit, FILE *out);
void audit_csv(const struct audit *audit, FILE *out);
int audit_html(const struct audit *audit, FILE *out);

/* The verb: its command line and its exit code. */
extern const struct command audit_command;
int audit_main(int argc, char **argv);

#endif
