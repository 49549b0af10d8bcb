/* Become another program behind a filter that answers some system calls with an error, and every
 * other as it is. The program itself is started by a call that is not refused.
 *
 * usage: refuse CALL[+CALL]... ERRNO /absolute/program [argument]...
 *        ERRNO is a number. A CALL that this architecture does not have is passed over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#define CALLS_MAX 8
#define EXIT_NOT_REFUSED 99

extern char **environ;

/* The numbers behind the names; returns how many. The text is taken apart. */
static unsigned resolve(char *names, unsigned ret[CALLS_MAX])
{
	unsigned count = 0;

	for (char *name = strtok(names, "+"); name; name = strtok(NULL, "+")) {
		int nr = seccomp_syscall_resolve_name(name);

		if (nr >= 0 && count < CALLS_MAX)
			ret[count++] = (unsigned)nr;
	}
	return count;
}

static int install(const unsigned *calls, unsigned count, unsigned err)
{
	struct sock_filter code[CALLS_MAX + 3] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	const struct sock_fprog program = { (unsigned short)(count + 3), code };

	for (unsigned i = 0; i < count; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i],
							   (unsigned char)(count - i), 0);
	code[count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[count + 2] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (err & SECCOMP_RET_DATA));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	unsigned calls[CALLS_MAX];
	unsigned count;
	int program;

	if (argc < 4) {
		fprintf(stderr,
			"usage: refuse CALL[+CALL]... ERRNO /absolute/program [argument]...\n");
		return 64;
	}
	count = resolve(argv[1], calls);
	program = open(argv[3], O_PATH | O_CLOEXEC);
	if (program < 0 || install(calls, count, (unsigned)strtoul(argv[2], NULL, 10)) < 0) {
		perror("refuse");
		return EXIT_NOT_REFUSED;
	}
	execve(argv[3], argv + 3, environ);
	/* That one is refused. */
	syscall(SYS_execveat, program, "", argv + 3, environ, AT_EMPTY_PATH);
	_exit(EXIT_NOT_REFUSED);
}
