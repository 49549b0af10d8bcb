/* Where an audit's reports come from: files, directories and standard input, one after the other,
 * cut into texts of whole reports.
 *
 * A report begins on a line that starts with neither white space nor a closing bracket, and ends
 * where the next one begins. So one report may be laid out over many indented lines, JSON Lines are
 * many reports, and after a damaged one, or a line of another program, the next is found again. In
 * a directory, files ending in .json, .jsonl and .ndjson are read, and its directories likewise.
 */
#ifndef REPORT_AUDIT_SOURCE_H
#define REPORT_AUDIT_SOURCE_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "kabi/fault.h"

#define AUDIT_REPORT_MAX (16U << 20)
#define AUDIT_DIRECTORIES_MAX 16

struct audit_source {
	char *const *words; /* files, directories, "-" */
	int word_count;
	int word;
	struct {
		DIR *dir;
		size_t name_len; /* of `name` up to it */
	} directories[AUDIT_DIRECTORIES_MAX];
	int depth;
	int fd; /* of the file being read, or -1 */
	char name[PATH_MAX];
	unsigned long line; /* of its next text, from 1 */
	bool skipping;	    /* the rest of a report that is too long */
	char *carry;	    /* what was read beyond the last text */
	size_t carry_len;
	size_t carry_room;
	unsigned long files; /* opened so far */
};

/* Texts of one source, in one piece. Start with a zeroed struct; `buf` is grown and kept. */
struct audit_batch {
	char *buf; /* followed as in scan.h */
	size_t room;
	size_t len;
	char name[PATH_MAX];
	unsigned long line; /* where it begins */
};

/* `words` stay the caller's. */
void audit_source_start(struct audit_source *source, char *const *words, int count);

/* Read on. Returns 1 with texts in *batch; 0 at the end; -errno with `why`, and with `name` and
 * `line` in *batch, when something cannot be read, and the next call goes on behind it; -ENOMEM
 * ends all.
 */
int audit_source_next(struct audit_source *source, struct audit_batch *batch, struct fault *why);

void audit_source_end(struct audit_source *source);
void audit_batch_free(struct audit_batch *batch);

/* The length of the first report in text[0..len): up to where the next one begins. */
size_t audit_report_length(const char *text, size_t len);

#endif
