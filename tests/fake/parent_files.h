/* The calls of tests/fake/parent_kernel.h on files. */
#ifndef TESTS_FAKE_PARENT_FILES_H
#define TESTS_FAKE_PARENT_FILES_H

#include "tests/fake/parent_kernel.h"

/* Note a call. Returns the error it is to fail with, negative, or 0. */
int world_note(const struct kernel *k, const char *name, const char *detail);
int world_note_number(const struct kernel *k, const char *name, int64_t number);

/* The lowest free descriptor, of a file or of none. */
int world_new_fd(struct world *w, struct world_file *f);

/* A signal has ended the leader, if it lived. */
void world_end_leader(struct world *w, int number);

/* Put these calls into the table. */
void world_files_start(struct kernel *k);

#endif
