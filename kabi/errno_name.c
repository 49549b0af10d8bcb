#include "kabi/fault.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kabi/text.h"

/* Each number once: of aliases (EWOULDBLOCK, EDEADLOCK) the other name is here. */
/* clang-format off */
#define ERRNOS(X) \
	X(EPERM) X(ENOENT) X(ESRCH) X(EINTR) X(EIO) X(ENXIO) X(E2BIG) X(ENOEXEC) X(EBADF) \
	X(ECHILD) X(EAGAIN) X(ENOMEM) X(EACCES) X(EFAULT) X(ENOTBLK) X(EBUSY) X(EEXIST) \
	X(EXDEV) X(ENODEV) X(ENOTDIR) X(EISDIR) X(EINVAL) X(ENFILE) X(EMFILE) X(ENOTTY) \
	X(ETXTBSY) X(EFBIG) X(ENOSPC) X(ESPIPE) X(EROFS) X(EMLINK) X(EPIPE) X(EDOM) X(ERANGE) \
	X(EDEADLK) X(ENAMETOOLONG) X(ENOLCK) X(ENOSYS) X(ENOTEMPTY) X(ELOOP) X(ENOMSG) X(EIDRM) \
	X(ECHRNG) X(EL2NSYNC) X(EL3HLT) X(EL3RST) X(ELNRNG) X(EUNATCH) X(ENOCSI) X(EL2HLT) \
	X(EBADE) X(EBADR) X(EXFULL) X(ENOANO) X(EBADRQC) X(EBADSLT) X(EBFONT) X(ENOSTR) \
	X(ENODATA) X(ETIME) X(ENOSR) X(ENONET) X(ENOPKG) X(EREMOTE) X(ENOLINK) X(EADV) \
	X(ESRMNT) X(ECOMM) X(EPROTO) X(EMULTIHOP) X(EDOTDOT) X(EBADMSG) X(EOVERFLOW) \
	X(ENOTUNIQ) X(EBADFD) X(EREMCHG) X(ELIBACC) X(ELIBBAD) X(ELIBSCN) X(ELIBMAX) \
	X(ELIBEXEC) X(EILSEQ) X(ERESTART) X(ESTRPIPE) X(EUSERS) X(ENOTSOCK) X(EDESTADDRREQ) \
	X(EMSGSIZE) X(EPROTOTYPE) X(ENOPROTOOPT) X(EPROTONOSUPPORT) X(ESOCKTNOSUPPORT) \
	X(EOPNOTSUPP) X(EPFNOSUPPORT) X(EAFNOSUPPORT) X(EADDRINUSE) X(EADDRNOTAVAIL) \
	X(ENETDOWN) X(ENETUNREACH) X(ENETRESET) X(ECONNABORTED) X(ECONNRESET) X(ENOBUFS) \
	X(EISCONN) X(ENOTCONN) X(ESHUTDOWN) X(ETOOMANYREFS) X(ETIMEDOUT) X(ECONNREFUSED) \
	X(EHOSTDOWN) X(EHOSTUNREACH) X(EALREADY) X(EINPROGRESS) X(ESTALE) X(EUCLEAN) X(ENOTNAM) \
	X(ENAVAIL) X(EISNAM) X(EREMOTEIO) X(EDQUOT) X(ENOMEDIUM) X(EMEDIUMTYPE) X(ECANCELED) \
	X(ENOKEY) X(EKEYEXPIRED) X(EKEYREVOKED) X(EKEYREJECTED) X(EOWNERDEAD) \
	X(ENOTRECOVERABLE) X(ERFKILL)

/* The names one after the other, and where each starts: half the size of a table of pointers. */
static const struct {
#define AS_MEMBER(e) char e##_name[sizeof(#e)];
	ERRNOS(AS_MEMBER)
} names = {
#define AS_TEXT(e) #e,
	ERRNOS(AS_TEXT)
};

static const struct {
	uint16_t err;
	uint16_t offset;
} rows[] = {
#define AS_ROW(e) { e, offsetof(__typeof__(names), e##_name) },
	ERRNOS(AS_ROW)
};
/* clang-format on */
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static const char *name_at(size_t i)
{
	return (const char *)&names + rows[i].offset;
}

const char *errno_name(int err, char buf[ERRNO_NAME_MAX])
{
	struct text t = text_start(buf, ERRNO_NAME_MAX);

	for (size_t i = 0; i < ROW_COUNT; i++)
		if (rows[i].err == err)
			return name_at(i);
	text_add(&t, "errno ");
	text_add_int(&t, err);
	return buf;
}

int errno_from_name(const char *name)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (strcmp(name_at(i), name) == 0)
			return rows[i].err;
	return 0;
}
