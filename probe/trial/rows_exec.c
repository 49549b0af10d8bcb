/* Running what the module wrote. */
#include "probe/trial/tables.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/trial/program.h"
#include "probe/trial/stage.h"
#include "probe/trial/tiny_program.h"

#define P(place, name) STAGE_PATH(s, (place), (name))
#define NOEXEC_SEAL 0x8 /* MFD_NOEXEC_SEAL, Linux 6.3 */

/* A new file in the work directory, with a program in it. */
static int write_program(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, bytes, len);
	if (n >= 0 && (size_t)n != len)
		errno = EIO;
	if (close(fd) < 0 || n < 0 || (size_t)n != len)
		return -errno;
	return 0;
}

static int run_and_remove(const char *path)
{
	int r = run_program(path);

	unlink(path);
	return r;
}

static int try_written(const struct stage *s, const struct trial *t)
{
	const char *path = P(PLACE_WORK, "written");
	int r = write_program(path, tiny_program, tiny_program_size);

	(void)t;
	return r < 0 ? r : run_and_remove(path);
}

static int try_symlink(const struct stage *s, const struct trial *t)
{
	const char *path = P(PLACE_WORK, "runlink");

	(void)t;
	if (symlink(STAGE_PROGRAM, path) < 0)
		return -errno;
	return run_and_remove(path);
}

/* Its interpreter may be run; the script may not. */
static int try_script(const struct stage *s, const struct trial *t)
{
	char text[STAGE_PATH_MAX + 8];
	struct text line = TEXT_BUF(text);
	const char *path = P(PLACE_WORK, "script");
	int r;

	(void)t;
	text_add(&line, "#!");
	text_add(&line, P(PLACE_TOOLS, STAGE_PROGRAM));
	text_add(&line, "\n");
	r = write_program(path, text, line.len);
	return r < 0 ? r : run_and_remove(path);
}

static int try_descriptor(const struct stage *s, const struct trial *t)
{
	int fd = open(P(PLACE_WORK, STAGE_PROGRAM), O_RDONLY | O_CLOEXEC);
	int r;

	(void)t;
	if (fd < 0)
		return -errno;
	r = run_descriptor(fd);
	close(fd);
	return r;
}

static int run_proc_fd(int fd)
{
	char path[32];
	struct text t = TEXT_BUF(path);

	text_add(&t, "/proc/self/fd/");
	text_add_int(&t, fd);
	return run_program(path);
}

static int try_proc_fd(const struct stage *s, const struct trial *t)
{
	int fd = open(P(PLACE_WORK, STAGE_PROGRAM), O_PATH | O_CLOEXEC);
	int r;

	(void)t;
	if (fd < 0)
		return -errno;
	r = run_proc_fd(fd);
	close(fd);
	return r;
}

/* Write the program to an open file without a name, and run it from a descriptor for reading. */
static int run_nameless(int fd)
{
	char path[32];
	struct text t = TEXT_BUF(path);
	int again;
	int r;

	text_add(&t, "/proc/self/fd/");
	text_add_int(&t, fd);
	if (write(fd, tiny_program, tiny_program_size) != (ssize_t)tiny_program_size ||
	    fchmod(fd, 0700) < 0)
		return -errno;
	again = open(path, O_RDONLY | O_CLOEXEC);
	r = again < 0 ? -errno : 0;
	close(fd);
	if (r < 0)
		return r;
	r = run_descriptor(again);
	close(again);
	return r;
}

static int try_nameless(const struct stage *s, const struct trial *t)
{
	int fd = open(P(PLACE_WORK, ""), O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);

	(void)t;
	return fd < 0 ? -errno : run_nameless(fd);
}

static int try_memory_file(const struct stage *s, const struct trial *t)
{
	int fd = (int)syscall(SYS_memfd_create, "trial", MFD_CLOEXEC);

	(void)s;
	(void)t;
	return fd < 0 ? -errno : run_nameless(fd);
}

static int try_sealed_memory(const struct stage *s, const struct trial *t)
{
	int fd = (int)syscall(SYS_memfd_create, "trial", MFD_CLOEXEC | NOEXEC_SEAL);

	(void)s;
	(void)t;
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* ---- what cannot be stopped by a ruleset and a filter ---- */

static int call_mapped(int fd)
{
	void *at = mmap(NULL, tiny_function_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	int (*function)(void);
	int answer;

	if (at == MAP_FAILED)
		return -errno;
	__builtin___clear_cache((char *)at, (char *)at + tiny_function_size);
	memcpy(&function, &at, sizeof(function));
	answer = function();
	munmap(at, tiny_function_size);
	return answer == TINY_ANSWER ? 0 : -EIO;
}

static int try_map(const struct stage *s, const struct trial *t)
{
	const char *path = P(PLACE_WORK, "mapped");
	int r = write_program(path, tiny_function, tiny_function_size);
	int fd;

	(void)t;
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	if (fd < 0)
		return -errno;
	r = call_mapped(fd);
	close(fd);
	return r;
}

/* The loader named in an ELF program: PT_INTERP. */
static int find_loader(int fd, char *buf, size_t size)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	for (int i = 0; i < header.e_phnum && i < 64; i++) {
		off_t at = (off_t)header.e_phoff + i * (off_t)sizeof(segment);

		if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
			return -ENOEXEC;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz == 0 || segment.p_filesz >= size ||
		    pread(fd, buf, segment.p_filesz, (off_t)segment.p_offset) < 0)
			return -ENOEXEC;
		buf[segment.p_filesz] = '\0';
		return 0;
	}
	return -ENOEXEC;
}

static int copy_file(int from, const char *path)
{
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t n;

	if (to < 0)
		return -errno;
	/* More than enough for this program; what does not fit will not run. */
	n = sendfile(to, from, NULL, 1 << 20);
	close(to);
	return n < 0 ? -errno : 0;
}

/* Hand a copy of /bin/true, which is not even marked executable, to the loader. */
static int try_loader(const struct stage *s, const struct trial *t)
{
	int from = open("/bin/true", O_RDONLY | O_CLOEXEC);
	const char *copy = P(PLACE_WORK, "copy");
	char loader[256];
	int r;

	(void)t;
	if (from < 0)
		return -errno;
	r = find_loader(from, loader, sizeof(loader));
	if (r == 0)
		r = copy_file(from, copy);
	close(from);
	if (r == 0) {
		char *const argv[] = { loader, (char *)copy, NULL };

		r = run_arguments(argv);
	}
	unlink(copy);
	return r;
}

static int try_interpreter(const struct stage *s, const struct trial *t)
{
	const char *path = P(PLACE_WORK, "interpreted");
	char *const argv[] = { (char *)"/bin/sh", (char *)path, NULL };
	int r = write_program(path, "exit 0\n", 7);

	(void)t;
	if (r < 0)
		return r;
	r = run_arguments(argv);
	unlink(path);
	return r;
}

static int try_program(const struct stage *s, const struct trial *t)
{
	return run_program(P((enum place)t->args[0], STAGE_PROGRAM));
}

#define EXEC .capability = CAPABILITY_EXEC_WRITABLE_DENY
#define PLAIN EXEC, .group = TRIAL_GROUP_PLAIN
#define GRANTED EXEC, .group = TRIAL_GROUP_GRANTS
#define DENIED .expect = TRIAL_DENIED, .errors = { EACCES }
#define TOLD .expect = TRIAL_TOLD, .errors = { EACCES, EPERM, EIO }

static const struct trial rows[] = {
	{ .id = "exec.written",
	  .what = "write a program and run it",
	  PLAIN,
	  DENIED,
	  .core = true,
	  .attempt = try_written },
	{ .id = "exec.symlink",
	  .what = "run a written program by a symbolic link",
	  PLAIN,
	  DENIED,
	  .attempt = try_symlink },
	{ .id = "exec.script",
	  .what = "run a written script",
	  PLAIN,
	  DENIED,
	  .attempt = try_script },
	{ .id = "exec.descriptor",
	  .what = "run a written program by its descriptor",
	  PLAIN,
	  DENIED,
	  .attempt = try_descriptor },
	{ .id = "exec.proc-fd",
	  .what = "run a written program by /proc/self/fd",
	  PLAIN,
	  DENIED,
	  .attempt = try_proc_fd },
	{ .id = "exec.nameless",
	  .what = "run a written file without a name",
	  PLAIN,
	  DENIED,
	  .attempt = try_nameless },
	{ .id = "exec.memory-file",
	  .what = "run a memory file",
	  PLAIN,
	  DENIED,
	  .core = true,
	  .attempt = try_memory_file },
	{ .id = "exec.sealed-memory",
	  .what = "make a memory file with the no-exec seal",
	  PLAIN,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_sealed_memory },
	{ .id = "exec.map",
	  .what = "map a written file and call into it",
	  PLAIN,
	  TOLD,
	  .attempt = try_map },
	{ .id = "exec.loader",
	  .what = "run a written program by the dynamic loader",
	  PLAIN,
	  TOLD,
	  .attempt = try_loader },
	{ .id = "exec.interpreter",
	  .what = "have the shell run a written script",
	  PLAIN,
	  TOLD,
	  .attempt = try_interpreter },
	{ .id = "exec-granted.work",
	  .what = "run a program in the work directory, with the grant",
	  GRANTED,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_program,
	  .args = { PLACE_WORK } },
	{ .id = "exec-granted.memory-file",
	  .what = "run a memory file, with the grant",
	  GRANTED,
	  .expect = TRIAL_ALLOWED,
	  .attempt = try_memory_file },
	{ .id = "exec-granted.outside",
	  .what = "run a program outside, with the grant",
	  GRANTED,
	  DENIED,
	  .attempt = try_program,
	  .args = { PLACE_OUTSIDE } },
	{ .id = "exec-granted.output",
	  .what = "run a program in an output folder, with the grant",
	  GRANTED,
	  DENIED,
	  .attempt = try_program,
	  .args = { PLACE_OUT } },
};

const struct trial_table trials_exec = TRIAL_TABLE(rows);
