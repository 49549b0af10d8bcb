#include "launch/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "kabi/text.h"

#define EXIT_NOT_STARTED 70 /* the launcher's own code for what could not be applied */
#define NULL_DEVICE "/dev/null"

/* Descriptors 0 to 2 that are to become others of them must be out of the way first. */
static int copy_away(const struct kernel *k, int wanted[3], struct fault *why)
{
	for (int fd = 0; fd < 3; fd++) {
		int r = wanted[fd];

		if (r == fd)
			continue;
		r = r < 0 ? k->open(k, NULL_DEVICE, O_RDWR) : r;
		if (r >= 0)
			r = k->fcntl(k, r, F_DUPFD_CLOEXEC, 3);
		if (r < 0)
			return fault_errno(why, "set up the standard descriptors", NULL, -r);
		wanted[fd] = r;
	}
	return 0;
}

static int set_standard(const struct kernel *k, const struct run_request *request,
			struct fault *why)
{
	int wanted[3] = { request->stdio[0], request->stdio[1], request->stdio[2] };
	int r = copy_away(k, wanted, why);

	for (int fd = 0; r == 0 && fd < 3; fd++) {
		/* What stays where it is may still be close-on-exec. */
		int done = wanted[fd] == fd ? k->fcntl(k, fd, F_SETFD, 0)
					    : k->dup_onto(k, wanted[fd], fd);

		if (done < 0)
			return fault_errno(why, "set up the standard descriptors", NULL, -done);
	}
	return r;
}

static int keep_open(const struct kernel *k, int fd, struct fault *why)
{
	int r = k->fcntl(k, fd, F_SETFD, 0);

	return r < 0 ? fault_errno(why, "hand a descriptor on", NULL, -r) : 0;
}

static int set_descriptors(const struct kernel *k, const struct run_request *request, int confined,
			   struct fault *why)
{
	int r = set_standard(k, request, why);

	for (unsigned i = 0; r == 0 && i < request->keep_count; i++)
		r = keep_open(k, request->keep[i], why);
	return r == 0 ? keep_open(k, confined, why) : r;
}

static int detach(const struct kernel *k, pid_t keeper, struct fault *why)
{
	int r = k->setsid(k);

	if (r < 0)
		return fault_errno(why, "start a session", NULL, -r);
	r = k->prctl(k, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (r < 0)
		return fault_errno(why, "prctl PR_SET_PDEATHSIG", NULL, -r);
	/* It may have ended before we asked. */
	if (k->getppid(k) == keeper)
		return 0;
	fault_join(why, "the keeper has ended", NULL);
	return -ESRCH;
}

static int set_signals(const struct kernel *k, const struct run_request *request, struct fault *why)
{
	int r = request->ignore_usr1 ? k->signal_ignore(k, SIGUSR1) : 0;

	if (r == 0)
		r = k->signal_unblock_all(k);
	return r < 0 ? fault_errno(why, "set the signals", NULL, -r) : 0;
}

static int become(const struct kernel *k, const struct run_request *request, pid_t keeper,
		  const struct leaf *enter, int confined, struct fault *why)
{
	int r = detach(k, keeper, why);

	if (r == 0 && enter)
		r = leaf_enter(k, enter, why);
	if (r == 0 && request->directory) {
		r = k->chdir(k, request->directory);
		if (r < 0)
			fault_errno(why, "chdir", request->directory, -r);
	}
	if (r == 0)
		r = set_descriptors(k, request, confined, why);
	if (r == 0)
		r = set_signals(k, request, why);
	if (r < 0)
		return r;
	r = k->execve(k, request->argv[0], request->argv, request->envp);
	return fault_errno(why, "exec", request->argv[0], -r);
}

int child_run(const struct kernel *k, const struct run_request *request, pid_t keeper,
	      const struct leaf *enter, int confined)
{
	char said[FAULT_TEXT_MAX + 1] = { CHILD_FAILED };
	struct fault why = { "" };

	become(k, request, keeper, enter, confined, &why);
	text_copy(said + 1, sizeof(said) - 1, why.text);
	k->write(k, confined, said, strlen(said));
	return EXIT_NOT_STARTED;
}

/* ---- making it ---- */

static int make_pipe(const struct kernel *k, char *variable, int ret[2], struct fault *why)
{
	struct text t = text_start(variable, RUN_VARIABLE_MAX);
	int r = k->pipe(k, ret);

	if (r < 0)
		return fault_errno(why, "make a pipe for the launcher's signal", NULL, -r);
	/* The launcher takes no number below 3 for the signal's. */
	if (ret[1] < 3) {
		r = k->fcntl(k, ret[1], F_DUPFD_CLOEXEC, 3);
		k->close(k, ret[1]);
		if (r < 0) {
			k->close(k, ret[0]);
			return fault_errno(why, "make a pipe for the launcher's signal", NULL, -r);
		}
		ret[1] = r;
	}
	text_add(&t, "OARBANK_CONFINED=");
	text_add_int(&t, ret[1]);
	return 0;
}

int child_make(const struct kernel *k, const struct run_request *request,
	       struct container *container, int *ret_confined, struct fault *why)
{
	const struct leaf *leaf = container->kind == CONTAINER_LEAF ? &container->leaf : NULL;
	bool outside = false;
	int pipe[2];
	int pid = make_pipe(k, request->variable, pipe, why);

	if (pid < 0)
		return pid;
	pid = leaf ? leaf_clone(k, leaf, &outside) : k->clone(k, -1);
	if (pid == 0)
		k->exit(k,
			child_run(k, request, container->keeper, outside ? leaf : NULL, pipe[1]));
	k->close(k, pipe[1]);
	if (pid < 0) {
		k->close(k, pipe[0]);
		return fault_errno(why, "make a process", NULL, -pid);
	}
	container->leader = pid;
	*ret_confined = pipe[0];
	return 0;
}
