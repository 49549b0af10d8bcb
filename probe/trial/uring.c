#include "probe/trial/uring.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* IORING_OP_SOCKET, Linux 5.19 */
#define MAKE_SOCKET 45

/* A ring for one request, mapped as the kernel laid it out. */
struct ring {
	int fd;
	char *queues;
	size_t queues_size;
	struct io_uring_sqe *requests;
	size_t requests_size;
	struct io_uring_params params;
};

static void close_ring(struct ring *r)
{
	if (r->queues != MAP_FAILED)
		munmap(r->queues, r->queues_size);
	if (r->requests != MAP_FAILED)
		munmap(r->requests, r->requests_size);
	close(r->fd);
}

static int open_ring(struct ring *r)
{
	const int access = PROT_READ | PROT_WRITE;

	*r = (struct ring){ .queues = MAP_FAILED, .requests = MAP_FAILED };
	r->fd = (int)syscall(SYS_io_uring_setup, 1, &r->params);
	if (r->fd < 0)
		return -errno;
	r->queues_size = r->params.cq_off.cqes + r->params.cq_entries * sizeof(struct io_uring_cqe);
	r->requests_size = r->params.sq_entries * sizeof(struct io_uring_sqe);
	if (r->params.features & IORING_FEAT_SINGLE_MMAP) {
		r->queues = mmap(NULL, r->queues_size, access, MAP_SHARED, r->fd,
				 IORING_OFF_SQ_RING);
		r->requests = mmap(NULL, r->requests_size, access, MAP_SHARED, r->fd,
				   (off_t)IORING_OFF_SQES);
	}
	if (r->queues != MAP_FAILED && r->requests != MAP_FAILED)
		return 0;
	close_ring(r);
	return -EOPNOTSUPP;
}

static uint32_t *word_at(const struct ring *r, uint32_t offset)
{
	return (uint32_t *)(void *)(r->queues + offset);
}

/* Hand in the first request and wait for its answer. */
static int submit(const struct ring *r)
{
	const struct io_uring_cqe *answers =
		(const struct io_uring_cqe *)(void *)(r->queues + r->params.cq_off.cqes);

	*word_at(r, r->params.sq_off.array) = 0;
	__atomic_store_n(word_at(r, r->params.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return -errno;
	return answers[0].res;
}

int uring_socket(int family, int type)
{
	struct ring ring;
	int r = open_ring(&ring);

	if (r < 0)
		return r;
	memset(&ring.requests[0], 0, sizeof(ring.requests[0]));
	ring.requests[0].opcode = MAKE_SOCKET;
	ring.requests[0].fd = family;
	ring.requests[0].off = (uint64_t)type;
	r = submit(&ring);
	close_ring(&ring);
	if (r < 0)
		return r;
	close(r);
	return 0;
}
