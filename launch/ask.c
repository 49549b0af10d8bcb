#include "launch/ask.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "kabi/text.h"

#define VARIABLE "OARBANK_SUPERVISOR"
#define FIRST_FD 3

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6, the same everywhere */
#endif

/* ---- the variable ---- */

static int refuse(const char *what, struct fault *why)
{
	fault_join(why, VARIABLE " ", what, NULL);
	return -EINVAL;
}

/* fd:<n>[,metadata] */
static int read_value(const char *value, struct ask *ret, struct fault *why)
{
	size_t len = strcspn(value, ",");
	char digits[16];
	struct text t = TEXT_BUF(digits);
	int64_t fd;

	if (!text_starts(value, "fd:"))
		return refuse("does not begin with fd:", why);
	text_add_bytes(&t, value + 3, len - 3);
	if (t.cut || text_int(digits, FIRST_FD, INT_MAX, &fd) < 0)
		return refuse("names no descriptor above 2", why);
	ret->socket = (int)fd;
	ret->what = ASK_CONNECT;
	if (!value[len])
		return 0;
	if (strcmp(value + len, ",metadata") != 0)
		return refuse("asks for something unknown", why);
	ret->what |= ASK_METADATA;
	return 0;
}

int ask_take(char **envp, struct ask *ret, struct fault *why)
{
	char **out = envp;
	const char *value = NULL;
	unsigned seen = 0;

	for (char **in = envp; *in; in++) {
		if (!text_starts(*in, VARIABLE "=")) {
			*out++ = *in;
			continue;
		}
		value = *in + sizeof(VARIABLE);
		seen++;
	}
	*out = NULL;
	*ret = (struct ask){ .socket = -1 };
	if (seen > 1)
		return refuse("is there twice", why);
	return value ? read_value(value, ret, why) : 0;
}

/* ---- the program ---- */

#define LD_WORD 0x20
#define JEQ 0x15
#define RET 0x06

static const struct {
	int number;
	unsigned what;
} asked[] = {
	{ SYS_connect, ASK_CONNECT },
#ifdef SYS_chmod
	{ SYS_chmod, ASK_METADATA },	 { SYS_chown, ASK_METADATA },
	{ SYS_lchown, ASK_METADATA },	 { SYS_utime, ASK_METADATA },
	{ SYS_utimes, ASK_METADATA },	 { SYS_futimesat, ASK_METADATA },
#endif
	{ SYS_fchmod, ASK_METADATA },	 { SYS_fchmodat, ASK_METADATA },
	{ SYS_fchmodat2, ASK_METADATA }, { SYS_fchown, ASK_METADATA },
	{ SYS_fchownat, ASK_METADATA },	 { SYS_utimensat, ASK_METADATA },
};
#define ASKED_COUNT (sizeof(asked) / sizeof(asked[0]))

/* setsockopt with SO_LINGER; of the arguments the kernel takes the low half. Behind it are the two
 * answers, first the one that allows.
 */
static const struct sc_insn linger[] = {
	{ JEQ, 0, 4, SYS_setsockopt }, { LD_WORD, 0, 0, offsetof(struct sc_data, args[1]) },
	{ JEQ, 0, 2, SOL_SOCKET },     { LD_WORD, 0, 0, offsetof(struct sc_data, args[2]) },
	{ JEQ, 1, 0, SO_LINGER },
};
#define LINGER_COUNT (sizeof(linger) / sizeof(linger[0]))
/* Three before the comparisons and two after them, for the architecture and the answers. */
_Static_assert(ASKED_COUNT + LINGER_COUNT + 5 <= ASK_INSNS_MAX, "room for every call");

void ask_program(unsigned what, struct sc_insn insns[ASK_INSNS_MAX], struct sc_program *program)
{
	uint8_t left = what & ASK_CONNECT ? LINGER_COUNT : 0;
	uint16_t at = 0;

	for (size_t i = 0; i < ASKED_COUNT; i++)
		left = (uint8_t)(left + ((asked[i].what & what) != 0));
	insns[at++] = (struct sc_insn){ LD_WORD, 0, 0, offsetof(struct sc_data, arch) };
	/* Another architecture's numbers are killed by the filter below. */
	insns[at++] = (struct sc_insn){ JEQ, 0, (uint8_t)(left + 1), SC_ARCH_NATIVE };
	insns[at++] = (struct sc_insn){ LD_WORD, 0, 0, offsetof(struct sc_data, nr) };
	for (size_t i = 0; i < ASKED_COUNT; i++)
		if (asked[i].what & what)
			insns[at++] = (struct sc_insn){ JEQ, left--, 0, (uint32_t)asked[i].number };
	for (size_t i = 0; what & ASK_CONNECT && i < LINGER_COUNT; i++)
		insns[at++] = linger[i];
	insns[at++] = (struct sc_insn){ RET, 0, 0, SC_RET_ALLOW };
	insns[at++] = (struct sc_insn){ RET, 0, 0, SC_RET_USER_NOTIF };
	*program = (struct sc_program){ .len = at, .insns = insns };
}

/* ---- asking ---- */

static int load(const struct kernel *k, unsigned what)
{
	struct sc_insn insns[ASK_INSNS_MAX];
	struct sc_program program;
	int r;

	ask_program(what, insns, &program);
	/* Then only a signal that kills ends a call that the parent has begun to answer. */
	r = k->seccomp(k, SC_SET_MODE_FILTER, SC_FLAG_NEW_LISTENER | SC_FLAG_WAIT_KILLABLE_RECV,
		       &program);
	if (r == -EINVAL) /* before Linux 5.19 */
		r = k->seccomp(k, SC_SET_MODE_FILTER, SC_FLAG_NEW_LISTENER, &program);
	return r;
}

int ask_parent(const struct kernel *k, const struct ask *ask, struct fault *why)
{
	int listener = load(k, ask->what);
	int r;

	if (listener < 0)
		return fault_errno(why, "load the filter that asks", NULL, -listener);
	do
		r = k->send_descriptor(k, ask->socket, listener);
	while (r == -EINTR);
	if (r < 0)
		return fault_errno(why, "give the listener to the parent", NULL, -r);
	/* EINTR says nothing about whether it is closed; Linux has closed it. */
	r = k->close(k, listener);
	if (r == 0 || r == -EINTR)
		r = k->close(k, ask->socket);
	return r < 0 && r != -EINTR ? fault_errno(why, "close the listener", NULL, -r) : 0;
}
