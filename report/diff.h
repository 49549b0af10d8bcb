/* What changed between two reports. */
#ifndef REPORT_DIFF_H
#define REPORT_DIFF_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/command.h"

#define DIFF_PATH_MAX 256
#define DIFF_PARTS_MAX 12

/* One place that differs. Items of a list are named by what they are: "capabilities.ipc.status". */
struct diff_change {
	char path[DIFF_PATH_MAX];
	/* Where in it each name begins, which may have dots of its own. */
	uint8_t parts[DIFF_PARTS_MAX];
	unsigned part_count;
	const cJSON *from; /* in the caller's trees; NULL: not there */
	const cJSON *to;
};

struct diff {
	struct diff_change *of;
	size_t count;
	size_t room;
};

/* What of a report is compared. */
enum diff_scope {
	DIFF_REPORTS, /* all but times, durations and free space */
	DIFF_WATCH,   /* as well without addresses and links, which come and go by themselves */
};

/* Compare. Start with a zeroed struct; free with diff_free(). 0 or -ENOMEM. */
int diff_make(const cJSON *from, const cJSON *to, enum diff_scope scope, struct diff *ret);
void diff_free(struct diff *diff);

/* In words, and as one JSON object. `from` and `to` are the whole reports. -ENOMEM, or 0. */
void diff_page(const struct diff *diff, const cJSON *from, const cJSON *to, bool colour, FILE *out);
int diff_json(const struct diff *diff, const cJSON *from, const cJSON *to, FILE *out);

/* The verb: its command line and its exit code. */
extern const struct command diff_command;
int diff_main(int argc, char **argv);

#endif
