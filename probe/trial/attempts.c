#include "probe/trial/attempts.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "probe/trial/uring.h"

int attempt_socket(const struct stage *s, const struct trial *t)
{
	int fd;

	if ((t->args[2] == IPPROTO_SCTP && !s->has_sctp) || (t->args[0] == AF_SMC && !s->has_smc))
		return -EPROTONOSUPPORT;
	if ((t->args[0] == AF_ALG && !s->has_alg) || (t->args[0] == AF_VSOCK && !s->has_vsock))
		return -EAFNOSUPPORT;
	fd = socket((int)t->args[0], (int)t->args[1] | SOCK_CLOEXEC, (int)t->args[2]);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int attempt_uring(const struct stage *s, const struct trial *t)
{
	(void)s;
	return uring_socket((int)t->args[0], (int)t->args[1]);
}

int attempt_foreign(const struct stage *s, const struct trial *t)
{
	return s->k->try_foreign(s->k, (enum foreign_entry)t->args[0]);
}
