/* What the two halves of the launcher's fake kernel share. */
#ifndef TESTS_FAKE_LAUNCH_CALLS_H
#define TESTS_FAKE_LAUNCH_CALLS_H

#include "tests/fake/launch_kernel.h"

struct fake_process *fake_self(const struct kernel *k);

/* Note a call. Returns the error it is to fail with, negative, or 0. */
int fake_called(const struct kernel *k, const char *name, const char *detail);
int fake_called_with(const struct kernel *k, const char *name, int64_t number);

/* Open `f`, which really is at `path`, as the lowest free descriptor. */
int fake_open_at(struct fake_process *p, const char *path, const struct fake_file *f);

/* The descriptor, or NULL when it is not open. */
struct fake_fd *fake_fd_of(struct fake_process *p, int fd);

/* Fill in the calls about files. */
void fake_files(struct kernel *k);

#endif
