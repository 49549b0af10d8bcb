/* What the seccomp programs count on in this kernel: that the socket pairs they let through reach
 * nobody else, and that calls without rules about arguments are in its allow bitmap. Prints TAP.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/filter/filter.h"
#include "tests/fake/filter_model.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Why the filter lets SOCK_SEQPACKET pairs through: an end cannot be turned to another socket, by
 * connect or by the address of a message, as an end of a datagram pair can.
 */
static bool pair_reaches(const char *dir, int type, int socket_type)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int victim = socket(AF_UNIX, socket_type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ends[2];
	char byte;
	bool reached;

	snprintf(name.sun_path, sizeof(name.sun_path), "%s/victim", dir);
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0 ||
	    bind(victim, (struct sockaddr *)&name, sizeof(name)) < 0)
		abort();
	if (socket_type != SOCK_DGRAM)
		listen(victim, 1);
	sendto(ends[0], "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&name, sizeof(name));
	reached = recv(victim, &byte, 1, 0) == 1;
	reached |= connect(ends[0], (struct sockaddr *)&name, sizeof(name)) == 0;
	close(ends[1]);
	reached |= connect(ends[0], (struct sockaddr *)&name, sizeof(name)) == 0;
	close(ends[0]);
	close(victim);
	unlink(name.sun_path);
	return reached;
}

static int judge_pairs(const char *dir)
{
	static const int allowed[] = { SOCK_STREAM, SOCK_SEQPACKET };
	static const int victims[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };

	if (!pair_reaches(dir, SOCK_DGRAM, SOCK_DGRAM)) {
		printf("not ok - the control: a datagram pair reaches another socket\n");
		return 1;
	}
	for (size_t i = 0; i < COUNT(allowed); i++) {
		for (size_t v = 0; v < COUNT(victims); v++) {
			if (pair_reaches(dir, allowed[i], victims[v])) {
				printf("not ok - a pair of type %d reaches a socket of type %d\n",
				       allowed[i], victims[v]);
				return 1;
			}
		}
	}
	printf("ok - stream and seqpacket pairs reach no other socket\n");
	return 0;
}

/* ---- the kernel's allow bitmap ------------------------------------------------------- */

static int judge_cache_line(const char *line, struct filter_choice choice)
{
	const struct filter_arch *arch = filter_arches;
	char name[24], state[24];
	int nr;

	while (arch->token != SC_ARCH_NATIVE)
		arch++;
	if (sscanf(line, "%23s %d %23s", name, &nr, state) != 3 || strcmp(name, arch->name) != 0)
		return 0;

	struct sc_data data = { .nr = nr, .arch = arch->token };
	struct model_result want = model_filter(arch, choice, &data);
	bool cached = want.constant && want.action == SC_RET_ALLOW;

	if (strcmp(state, cached ? "ALLOW" : "FILTER") == 0)
		return 0;
	printf("not ok - allow bitmap: %s", line);
	return 1;
}

static int judge_cache(void)
{
	struct filter_choice choice = { 0 };
	char path[64], line[128];
	int gate[2], bad = 0, lines = 0;
	FILE *f;
	pid_t pid;

	if (pipe(gate) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    syscall(SYS_seccomp, SC_SET_MODE_FILTER, 0, filter_program(choice)) < 0 ||
		    write(gate[1], "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	if (read(gate[0], line, 1) != 1)
		abort();
	snprintf(path, sizeof(path), "/proc/%d/seccomp_cache", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		bad += judge_cache_line(line, choice);
		lines++;
	}
	if (!f || lines == 0)
		printf("ok - allow bitmap # SKIP the kernel does not show it (CONFIG_SECCOMP_CACHE_DEBUG, and root)\n");
	else if (!bad)
		printf("ok - the allow bitmap has every call without rules about arguments\n");
	if (f)
		fclose(f);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(gate[0]);
	close(gate[1]);
	return bad;
}

int main(void)
{
	char dir[] = "/tmp/filter-XXXXXX";
	int failed;

	if (!mkdtemp(dir))
		abort();
	failed = judge_pairs(dir);
	rmdir(dir);
	failed += judge_cache();
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
