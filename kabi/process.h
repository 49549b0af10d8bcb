/* The calls of struct kernel by which one process makes, holds and ends others, for kernel_live.
 * Their meaning is in kernel.h.
 */
#ifndef KABI_PROCESS_H
#define KABI_PROCESS_H

#include "kabi/kernel.h"

int process_create(const struct kernel *k, const char *path, int flags, unsigned mode);
int process_rename(const struct kernel *k, const char *from, const char *to);
int process_unlink(const struct kernel *k, const char *path);
int process_mkdir(const struct kernel *k, const char *path, unsigned mode);
int process_rmdir(const struct kernel *k, const char *path);
int process_lock(const struct kernel *k, int fd);
int process_chdir(const struct kernel *k, const char *path);
int process_dup_onto(const struct kernel *k, int from, int to);
int process_pipe(const struct kernel *k, int ret[2]);
int process_channel(const struct kernel *k, int ret[2]);
ssize_t process_send(const struct kernel *k, int fd, const void *buf, size_t size);
int process_clone(const struct kernel *k, int cgroup);
int process_pidfd_open(const struct kernel *k, pid_t pid);
int process_pidfd_signal(const struct kernel *k, int pidfd, int signal);
int process_kill(const struct kernel *k, pid_t pid, int signal);
int process_wait(const struct kernel *k, pid_t pid, int options, struct ended *ret);
int process_children_usage(const struct kernel *k, struct usage *ret);
int process_poll(const struct kernel *k, struct pollfd *fds, unsigned count, int timeout_ms);
int process_signal_fd(const struct kernel *k, uint64_t signals);
int process_signal_mask(const struct kernel *k, uint64_t signals, uint64_t *ret);
pid_t process_setsid(const struct kernel *k);
pid_t process_getpid(const struct kernel *k);
pid_t process_getppid(const struct kernel *k);
int64_t process_now_us(const struct kernel *k);
void process_exit(const struct kernel *k, int code);

#endif
