/* A request to the egress proxy: whatever is sent on has one line that ends it, and Host as asked.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch/egress/body.h"
#include "launch/egress/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void forward(const char *head, size_t len, const struct egress_request *request)
{
	size_t room = len + EGRESS_FORWARD_MORE;
	char *out = malloc(room);
	struct egress_scan scan = { 0 };
	long n = out ? egress_forward(head, len, request, out, room) : 0;

	if (out && (n <= 0 || egress_scan(&scan, out, (size_t)n) != n))
		abort();
	free(out);
}

/* Its end is where it is, in however many pieces it comes. */
static void find_end(const char *data, size_t len, const struct egress_request *request)
{
	struct egress_body whole = egress_body_start(request->chunked, request->length);
	struct egress_body parts = whole;
	size_t n = egress_body_take(&whole, data, len);
	size_t half = egress_body_take(&parts, data, len / 2);

	if (half == len / 2)
		half += egress_body_take(&parts, data + half, len - half);
	if (half != n || parts.state != whole.state ||
	    (n < len && whole.state != BODY_DONE && whole.state != BODY_BAD))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *head = malloc(size ? size : 1);
	struct egress_scan whole = { 0 };
	struct egress_scan parts = { 0 };
	struct egress_request request;
	long end;
	long again;

	if (!head)
		return 0;
	memcpy(head, data, size);
	end = egress_scan(&whole, head, size);
	again = egress_scan(&parts, head, size / 2);
	if (again == 0)
		again = egress_scan(&parts, head, size);
	if (again != end)
		abort();
	if (end > 0) {
		egress_request_read(head, (size_t)end, &request);
		if (memchr(request.host, '\0', sizeof(request.host)) == NULL)
			abort();
		if (request.kind == REQUEST_HTTP)
			forward(head, (size_t)end, &request);
		find_end(head + end, size - (size_t)end, &request);
	}
	free(head);
	return 0;
}
