/* File systems that are interfaces to the kernel: what is written there changes a machine, moves a
 * process or reaches a device. No place to grant for writing, wherever they are mounted.
 */
#ifndef KABI_KERNELFS_H
#define KABI_KERNELFS_H

#include <stdbool.h>
#include <stdint.h>

/* The type's name ("cgroup2") when statfs(2) tells by `magic` that it is one, else NULL. devtmpfs
 * cannot be told from tmpfs.
 */
const char *kernelfs_of_magic(uint64_t magic);

/* Is the type with that name, as in /proc/self/mountinfo, one? */
bool kernelfs_is(const char *type);

#endif
