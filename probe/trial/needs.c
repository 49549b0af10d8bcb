#include "probe/trial/needs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kabi/kernel.h"
#include "kabi/text.h"

/* Each returns 0 when the call answers as the kernel does, else the errno. A filter may also say
 * that all went well.
 */
static int unless(bool as_the_kernel)
{
	return as_the_kernel ? 0 : errno ? errno : EIO;
}

static int ask_kill(void)
{
	return unless(kill(getpid(), 0) == 0);
}

static int ask_group(void)
{
	return unless(setpgid(0, 0) == 0);
}

/* We are no child of ours. */
static int ask_wait(void)
{
	return unless(waitpid(getpid(), NULL, WNOHANG) < 0 && errno == ECHILD);
}

static int ask_poll(void)
{
	return unless(poll(NULL, 0, 0) == 0);
}

static int ask_close_range(void)
{
	return unless(kernel_live.close_range(&kernel_live, ~0U, ~0U, 0) == 0);
}

/* No name at all is not there. */
static int ask_unlink(void)
{
	return unless(unlink("") < 0 && errno == ENOENT);
}

static int ask_rmdir(void)
{
	return unless(rmdir("") < 0 && errno == ENOENT);
}

static const struct need {
	const char *call;
	const char *without; /* what follows */
	int (*ask)(void);
} needs[] = {
	{ "kill", "what trials start could not be ended", ask_kill },
	{ "setpgid", "what trials start could not be ended", ask_group },
	{ "wait4", "how trials end could not be seen", ask_wait },
	{ "poll", "trials could not be waited for", ask_poll },
	{ "close_range", "trials would have descriptors of ours", ask_close_range },
	{ "unlink", "what trials make could not be removed", ask_unlink },
	{ "rmdir", "what trials make could not be removed", ask_rmdir },
};

int trial_needs(struct fault *why)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		char name[ERRNO_NAME_MAX];
		int err;

		errno = 0;
		err = needs[i].ask();
		if (!err)
			continue;
		fault_join(why, needs[i].call, ": ", errno_name(err, name), ": ", needs[i].without,
			   NULL);
		return -err;
	}
	return 0;
}

bool trial_can_remove_segment(void)
{
	return shmctl(-1, IPC_RMID, NULL) < 0 && (errno == EINVAL || errno == EIDRM);
}

/* The kernel takes the name as a directory entry, which must not be empty. */
bool trial_can_remove_queue(void)
{
	return syscall(SYS_mq_unlink, "") < 0 && (errno == ENOENT || errno == EINVAL);
}
