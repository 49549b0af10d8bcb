/* Running what was written, or what is not granted to run. */
#include "tests/attack/attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#define MFD_EXEC 16U
#endif

#if defined(__x86_64__)
#define LOADER "/lib64/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define LOADER "/lib/ld-linux-aarch64.so.1"
#else
#define LOADER "/lib/ld-linux-riscv64-lp64d.so.1"
#endif

extern char **environ;

static int exec_fd(int fd, const char *path, int flags)
{
	char *const argv[] = { (char *)"attacker", (char *)"do", (char *)"true", NULL };

	syscall(SYS_execveat, fd, path, argv, environ, flags);
	return -errno;
}

/* ---- by name ---- */

/* arg: place */
static int exec_in(const struct stage *s, const long *arg)
{
	return exec_do(path_at(s, (enum place)arg[0], "attacker"), "true");
}

static int exec_script(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, (enum place)arg[0], "read");
	char *const argv[] = { (char *)path, NULL };

	execv(path, argv);
	return -errno;
}

/* The script is only read by a program that may run. */
static int interpret_script(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, (enum place)arg[0], "read");
	char *const argv[] = { (char *)"sh", (char *)path, NULL };

	execv("/bin/sh", argv);
	return -errno;
}

static int exec_link(const struct stage *s, const long *arg)
{
	const char *link_path = path_at(s, WORK, arg[0] == BUNDLE ? "to-bundle" : "to-program");

	if (symlink(path_at(s, (enum place)arg[0], "attacker"), link_path) < 0)
		return broken("make a link");
	return exec_do(link_path, "true");
}

static int exec_with_loader(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, WORK, "program");
	char *const argv[] = { (char *)LOADER, (char *)path, NULL };

	(void)arg;
	if (copy_file("/bin/true", path, 0644) < 0)
		return broken("copy a program");
	execv(LOADER, argv);
	return -errno;
}

/* ---- by descriptor ---- */

/* arg: place, flags of open */
static int exec_opened(const struct stage *s, const long *arg)
{
	int fd = open(path_at(s, (enum place)arg[0], "attacker"), (int)arg[1]);

	return fd < 0 ? broken("open the program") : exec_fd(fd, "", AT_EMPTY_PATH);
}

static int exec_proc_fd(const struct stage *s, const long *arg)
{
	int fd = open(path_at(s, (enum place)arg[0], "attacker"), (int)arg[1]);
	char path[32];

	if (fd < 0)
		return broken("open the program");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return exec_do(path, "true");
}

static int fill(int fd)
{
	char buf[65536];
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	while (in >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			return -1;
	close(in);
	return n == 0 ? 0 : -1;
}

/* A file with `fd` open for writing cannot be executed: go on with a read-only one. */
static int exec_filled(int fd)
{
	char path[32];

	if (fill(fd) < 0)
		return broken("copy a program");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (dup2(open(path, O_RDONLY | O_CLOEXEC), fd) < 0)
		return broken("open it again");
	return exec_fd(fd, "", AT_EMPTY_PATH);
}

static int exec_unnamed(const struct stage *s, const long *arg)
{
	int fd = open(place_path(s, WORK), O_TMPFILE | O_RDWR, 0755);

	(void)arg;
	return fd < 0 ? broken("make an unnamed file") : exec_filled(fd);
}

static int exec_removed(const struct stage *s, const long *arg)
{
	const char *path = path_at(s, WORK, "removed");
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0755);

	(void)arg;
	if (fd < 0 || unlink(path) < 0)
		return broken("make a file and remove it");
	return exec_filled(fd);
}

/* A file in a folder that is gone. */
static int exec_in_removed(const struct stage *s, const long *arg)
{
	const char *folder = path_at(s, WORK, "gone");
	const char *path = path_at(s, WORK, "gone/program");
	int fd;

	(void)arg;
	if (mkdir(folder, 0755) < 0 || (fd = open(path, O_RDWR | O_CREAT, 0755)) < 0)
		return broken("make a file in a folder");
	if (chdir(folder) < 0 || unlink(path) < 0 || rmdir(folder) < 0)
		return broken("remove the folder");
	return exec_filled(fd);
}

/* ---- memory files ---- */

static int make_memory(const struct stage *s, const long *arg)
{
	(void)s;
	return answer_fd((int)syscall(SYS_memfd_create, "m", arg[0]));
}

/* arg: flags, by /proc */
static int exec_memory(const struct stage *s, const long *arg)
{
	int fd = (int)syscall(SYS_memfd_create, "m", arg[0]);
	char path[32];

	(void)s;
	if (fd < 0)
		return -errno;
	if (!arg[1])
		return exec_filled(fd);
	if (fill(fd) < 0)
		return broken("copy a program");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	dup2(open(path, O_RDONLY | O_CLOEXEC), fd);
	return exec_do(path, "true");
}

static int unseal_memory(const struct stage *s, const long *arg)
{
	int fd = (int)syscall(SYS_memfd_create, "m", arg[0]);

	(void)s;
	return fd < 0 ? broken("make a sealed memfd") : answer_zero(fchmod(fd, 0755));
}

/* ---- without exec ---- */

static int map_code(const struct stage *s, const long *arg)
{
	int fd = open(path_at(s, (enum place)arg[0], "attacker"), O_RDONLY | O_CLOEXEC);
	void *at;

	if (fd < 0)
		return broken("open the program");
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return at == MAP_FAILED ? -errno : 0;
}

static int compile_code(const struct stage *s, const long *arg)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)s;
	(void)arg;
	return answer_zero(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}

#define SEALED MFD_NOEXEC_SEAL
#define HUGE_PAGES MFD_HUGETLB
#define HIGH (1L << 32)

static const struct row table[] = {
	{ ALLOW("exec_bundle", exec_in, BUNDLE) },
	{ DENY("exec_outside", EACCES, exec_in, OUTSIDE) },
	{ DENY("exec_input", EACCES, exec_in, INPUT) },
	{ DENY("exec_outbox", EACCES, exec_in, OUTBOX) },
	{ DENY("exec_work", EACCES, exec_in, WORK), .in = NO_EXEC },
	{ ALLOW("exec_work", exec_in, WORK), .in = WITH_EXEC },
	{ DENY("exec_script_work", EACCES, exec_script, WORK), .in = NO_EXEC },
	{ ALLOW("exec_script_work", exec_script, WORK), .in = WITH_EXEC },
	{ DENY("exec_script_input", EACCES, exec_script, INPUT) },
	{ DENY("exec_script_outside", EACCES, exec_script, OUTSIDE) },
	{ DENY("exec_link_to_outside", EACCES, exec_link, OUTSIDE) },
	{ ALLOW("exec_link_to_bundle", exec_link, BUNDLE) },

	{ DENY("exec_fd_work", EACCES, exec_opened, WORK, O_RDONLY), .in = NO_EXEC },
	{ DENY("exec_fd_input", EACCES, exec_opened, INPUT, O_RDONLY) },
	{ DENY("exec_handle_outside", EACCES, exec_opened, OUTSIDE, O_PATH) },
	{ DENY("exec_handle_work", EACCES, exec_opened, WORK, O_PATH), .in = NO_EXEC },
	{ DENY("exec_proc_fd_work", EACCES, exec_proc_fd, WORK, O_RDONLY), .in = NO_EXEC },
	{ DENY("exec_proc_fd_outside", EACCES, exec_proc_fd, OUTSIDE, O_PATH) },
	{ ALLOW("exec_fd_bundle", exec_opened, BUNDLE, O_RDONLY) },
	{ ALLOW("exec_proc_fd_bundle", exec_proc_fd, BUNDLE, O_PATH) },
	{ DENY("exec_unnamed", EACCES, exec_unnamed), .in = NO_EXEC },
	{ DENY("exec_removed", EACCES, exec_removed), .in = NO_EXEC },
	{ DENY("exec_in_removed_folder", EACCES, exec_in_removed), .in = NO_EXEC },

	{ DENY("memfd_plain", EACCES, make_memory, MFD_CLOEXEC), .in = NO_EXEC },
	{ DENY("memfd_sealing", EACCES, make_memory, MFD_ALLOW_SEALING), .in = NO_EXEC },
	{ DENY("memfd_exec", EACCES, make_memory, MFD_EXEC), .in = NO_EXEC },
	{ DENY("memfd_huge", EACCES, make_memory, HUGE_PAGES), .in = NO_EXEC },
	{ DENY("memfd_high_half", EACCES, make_memory, (long)SEALED << 32), .in = NO_EXEC },
	{ DENY("memfd_run", EACCES, exec_memory, 0), .in = NO_EXEC },
	{ DENY("memfd_run_by_proc", EACCES, exec_memory, 0, true), .in = NO_EXEC },
	{ DENY("memfd_sealed_run", EACCES, exec_memory, SEALED), .control = -EACCES },
	{ DENY("memfd_sealed_run_by_proc", EACCES, exec_memory, SEALED, true), .control = -EACCES },
	{ DENY("memfd_unseal", EPERM, unseal_memory, SEALED), .control = -EPERM },
	{ ALLOW("memfd_sealed", make_memory, MFD_CLOEXEC | SEALED) },
	{ ALLOW("memfd_sealed_high_half", make_memory, HIGH | SEALED) },
	{ ALLOW("memfd_plain", make_memory, MFD_CLOEXEC), .in = WITH_EXEC },
	{ ALLOW("memfd_run", exec_memory, 0), .in = WITH_EXEC },

	{ KNOWN("exec_by_loader", exec_with_loader) },
	{ KNOWN("exec_by_interpreter", interpret_script, WORK) },
	{ KNOWN("map_code_work", map_code, WORK) },
	{ KNOWN("map_code_input", map_code, INPUT) },
	{ KNOWN("compile_code", compile_code) },
};

ROWS(exec_rows, table);
