#include "launch/inherit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "kabi/file.h"
#include "kabi/text.h"

#define SIGNAL_MAX 64 /* _NSIG of the supported architectures */
#define STATUS_FILE "/proc/self/status"
#define STATUS_MAX 4096
#define OOM_FILE "/proc/self/oom_score_adj"
#define CAP_SETPCAP_BIT 8
#define CAP_LAST_KNOWN 40 /* CAP_CHECKPOINT_RESTORE, older than Landlock */
#define CAP_COUNT_MAX 64

/* linux/securebits.h: NOROOT, NO_SETUID_FIXUP and NO_CAP_AMBIENT_RAISE set, KEEP_CAPS clear, and
 * each of the four locked.
 */
#define BITS_SET 0x45
#define BITS_LOCKED 0xaa
#define BIT_KEEP_CAPS 0x10

/* ---- signals ---- */

static int signal_fault(int r, struct fault *why)
{
	return r < 0 ? fault_errno(why, "set a signal's disposition", NULL, -r) : 0;
}

/* The ignored signals, bit number - 1: no other disposition survives an exec. One file tells them
 * all; where it cannot be read every signal is taken for ignored.
 */
static uint64_t ignored_signals(const struct kernel *k)
{
	static const char key[] = "SigIgn:\t";
	char buf[STATUS_MAX];
	char *cursor = buf;
	const char *line;
	uint64_t mask;

	if (file_read(k, STATUS_FILE, buf, sizeof(buf)) < 0)
		return UINT64_MAX;
	while ((line = text_line(&cursor)))
		if (text_starts(line, key) &&
		    text_uint(line + sizeof(key) - 1, 16, UINT64_MAX, &mask) == 0)
			return mask;
	return UINT64_MAX;
}

static bool is_left_alone(int number)
{
	return number == SIGKILL || number == SIGSTOP || number == SIGUSR1 || number == SIGPIPE;
}

int inherit_signals(const struct kernel *k, struct fault *why)
{
	uint64_t ignored = ignored_signals(k);
	int r;

	for (int number = 1; number <= SIGNAL_MAX; number++) {
		if (is_left_alone(number) || !(ignored & 1ULL << (number - 1)))
			continue;
		r = k->signal_default(k, number);
		if (r < 0)
			return signal_fault(r, why);
	}
	r = k->signal_unblock_all(k);
	return r < 0 ? fault_errno(why, "empty the signal mask", NULL, -r) : 0;
}

int inherit_sigpipe_ignored(const struct kernel *k, struct fault *why)
{
	return signal_fault(k->signal_ignore(k, SIGPIPE), why);
}

int inherit_sigpipe_default(const struct kernel *k, struct fault *why)
{
	return signal_fault(k->signal_default(k, SIGPIPE), why);
}

/* ---- limits ---- */

static void raise_oom_score(const struct kernel *k)
{
	char wanted[16];
	struct text t = TEXT_BUF(wanted);
	char buf[16];
	int64_t score;
	ssize_t n;
	int fd = k->open(k, OOM_FILE, O_RDWR);

	if (fd < 0)
		return;
	n = k->read(k, fd, buf, sizeof(buf) - 1);
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n > 0 ? n : 0] = '\0';
	if (text_int(buf, -1000, 1000, &score) == 0 && score < INHERIT_OOM_SCORE) {
		text_add_int(&t, INHERIT_OOM_SCORE);
		k->write(k, fd, wanted, t.len);
	}
	k->close(k, fd);
}

int inherit_limits(const struct kernel *k, struct fault *why)
{
	int r = k->rlimit(k, RLIMIT_CORE, 1, 1);

	/* Where it is 0 for good, it can still be set to that. */
	if (r == -EPERM)
		r = k->rlimit(k, RLIMIT_CORE, 0, 0);
	if (r < 0)
		return fault_errno(why, "set the core limit", NULL, -r);
	raise_oom_score(k);
	return 0;
}

/* ---- capabilities ---- */

static int empty_bounding_set(const struct kernel *k, struct fault *why)
{
	for (unsigned long cap = 0; cap < CAP_COUNT_MAX; cap++) {
		int r = k->prctl(k, PR_CAPBSET_DROP, cap, 0, 0, 0);

		if (r == -EINVAL && cap > CAP_LAST_KNOWN)
			return 0; /* beyond the last one this kernel has */
		if (r < 0)
			return fault_errno(why, "empty the bounding set", NULL, -r);
	}
	return 0;
}

static int lock_securebits(const struct kernel *k, struct fault *why)
{
	int bits = k->prctl(k, PR_GET_SECUREBITS, 0, 0, 0, 0);
	int r;

	if (bits < 0)
		return fault_errno(why, "read the securebits", NULL, -bits);
	bits = (bits & ~BIT_KEEP_CAPS) | BITS_SET | BITS_LOCKED;
	r = k->prctl(k, PR_SET_SECUREBITS, (unsigned long)bits, 0, 0, 0);
	return r < 0 ? fault_errno(why, "lock the securebits", NULL, -r) : 0;
}

int inherit_capabilities(const struct kernel *k, struct fault *why)
{
	static const struct cap_sets none;
	struct cap_sets sets;
	int r = k->capget(k, &sets);

	if (r < 0)
		return fault_errno(why, "read the capability sets", NULL, -r);
	/* The ambient set is never more than the permitted and the inheritable one. */
	if (!sets.effective && !sets.permitted && !sets.inheritable)
		return 0;
	if (sets.effective & 1ULL << CAP_SETPCAP_BIT) {
		r = empty_bounding_set(k, why);
		if (r == 0)
			r = lock_securebits(k, why);
		if (r < 0)
			return r;
	}
	r = k->prctl(k, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (r < 0)
		return fault_errno(why, "clear the ambient set", NULL, -r);
	r = k->capset(k, &none);
	return r < 0 ? fault_errno(why, "empty the capability sets", NULL, -r) : 0;
}
