/* The calls of struct kernel that ask about the machine, for kernel_live. Their meaning is in
 * kernel.h. */
#ifndef KABI_MACHINE_H
#define KABI_MACHINE_H

#include "kabi/kernel.h"

int machine_uname(const struct kernel *k, struct uts *ret);
int machine_cpu_count(const struct kernel *k);
int machine_io_uring_setup(const struct kernel *k, unsigned entries, void *params);
int machine_try_unshare(const struct kernel *k, unsigned long flags);
int machine_try_foreign(const struct kernel *k, enum foreign_entry entry);
ssize_t machine_route_dump(const struct kernel *k, unsigned type, const void *request,
			   size_t request_size, void *buf, size_t size);
long machine_library(const struct kernel *k, const char *question, long (*ask)(void *arg),
		     void *arg);

#endif
