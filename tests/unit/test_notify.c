/* kabi/notify.c: of the descriptors that come with a byte one is taken, or none is left open. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "kabi/notify.h"
#include "tests/fake/supervised.h"

#define SENT_MAX 8

/* A byte with so many copies of our standard input, in one message. */
static void send_with(int socket, unsigned count)
{
	union {
		char room[CMSG_SPACE(SENT_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec byte = { .iov_base = (char[]){ 'L' }, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1 };
	const int fds[SENT_MAX] = { 0 };
	struct cmsghdr *c;

	memset(&control, 0, sizeof(control));
	if (count > 0) {
		message.msg_control = control.room;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), 1);
}

static void one_descriptor_is_taken_or_none(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	for (unsigned count = 0; count <= SENT_MAX; count++) {
		unsigned before = open_descriptors();
		int r;

		send_with(ends[0], count);
		r = notify_take_listener(ends[1]);
		if (count == 1) {
			assert_true(r >= 0);
			assert_int_equal(fcntl(r, F_GETFD), FD_CLOEXEC);
			close(r);
		} else {
			assert_int_equal(r, -EBADMSG);
		}
		assert_int_equal(open_descriptors(), before);
	}
	close(ends[0]);
	assert_int_equal(notify_take_listener(ends[1]), -EPIPE);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_descriptor_is_taken_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
