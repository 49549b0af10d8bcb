#include "launch/egress/refusal.h"

#include "kabi/text.h"

const struct egress_refusal_kind egress_refusal_kinds[REFUSAL_COUNT] = {
	[REFUSAL_MALFORMED] = { "malformed", 400, "Bad Request", "the request is malformed" },
	[REFUSAL_METHOD] = { "method", 403, "Forbidden",
			     "only CONNECT and absolute http:// requests are served" },
	[REFUSAL_ADDRESS] = { "address", 403, "Forbidden", "addresses are not served, only names" },
	[REFUSAL_NOT_ALLOWED] = { "not_allowed", 403, "Forbidden",
				  "this host and port are not in the allow list" },
	[REFUSAL_NOT_PUBLIC] = { "not_public", 403, "Forbidden",
				 "the name resolves to a non-public address" },
	[REFUSAL_STRANGER] = { "stranger", 403, "Forbidden",
			       "this proxy serves its own user's processes" },
	[REFUSAL_HEAD_TIME] = { "head_time", 408, "Request Timeout",
				"the request's head took too long" },
	[REFUSAL_HEAD_SIZE] = { "head_size", 431, "Request Header Fields Too Large",
				"the request's head is too large" },
	[REFUSAL_CONNECTIONS] = { "connections", 503, "Service Unavailable",
				  "too many connections at a time" },
	[REFUSAL_LOOKUP] = { "lookup", 502, "Bad Gateway", "the name cannot be resolved" },
	[REFUSAL_LOOKUP_TIME] = { "lookup_time", 504, "Gateway Timeout",
				  "resolving the name took too long" },
	[REFUSAL_CONNECT] = { "connect", 502, "Bad Gateway", "the server cannot be connected to" },
	[REFUSAL_CONNECT_TIME] = { "connect_time", 504, "Gateway Timeout",
				   "connecting to the server took too long" },
};

bool egress_refusal_is_policy(enum egress_refusal refusal)
{
	return refusal < REFUSAL_LOOKUP;
}

static void add_subject(struct text *t, const struct egress_subject *subject)
{
	if (!subject->host[0])
		return;
	text_add(t, subject->host);
	text_add(t, ":");
	text_add_int(t, subject->port);
	text_add(t, ": ");
}

size_t egress_reply(enum egress_refusal refusal, const struct egress_subject *subject,
		    char buf[EGRESS_REPLY_MAX])
{
	const struct egress_refusal_kind *kind = &egress_refusal_kinds[refusal];
	struct text t = text_start(buf, EGRESS_REPLY_MAX);
	char reason[EGRESS_REPLY_MAX / 2];
	struct text body = TEXT_BUF(reason);

	add_subject(&body, subject);
	text_add(&body, kind->reason);
	if (subject->detail[0]) {
		text_add(&body, " (");
		text_add(&body, subject->detail);
		text_add(&body, ")");
	}
	text_add(&body, "\n");
	text_add(&t, "HTTP/1.1 ");
	text_add_int(&t, kind->status);
	text_add(&t, " ");
	text_add(&t, kind->phrase);
	text_add(&t, "\r\nContent-Type: text/plain\r\nContent-Length: ");
	text_add_int(&t, (int64_t)body.len);
	text_add(&t, "\r\nConnection: close\r\n\r\n");
	text_add_bytes(&t, reason, body.len);
	return t.len;
}

size_t egress_line(enum egress_refusal refusal, const struct egress_subject *subject,
		   uint64_t number, int64_t ms, char buf[EGRESS_LINE_MAX])
{
	const struct egress_refusal_kind *kind = &egress_refusal_kinds[refusal];
	struct text t = text_start(buf, EGRESS_LINE_MAX);

	text_add(&t, "{\"event\":");
	text_add_json(&t, egress_refusal_is_policy(refusal) ? "refused" : "failed");
	text_add(&t, ",\"number\":");
	text_add_int(&t, (int64_t)number);
	text_add(&t, ",\"ms\":");
	text_add_int(&t, ms);
	text_add(&t, ",\"reason\":");
	text_add_json(&t, kind->code);
	text_add(&t, ",\"status\":");
	text_add_int(&t, kind->status);
	if (subject->host[0]) {
		text_add(&t, ",\"host\":");
		text_add_json(&t, subject->host);
		text_add(&t, ",\"port\":");
		text_add_int(&t, subject->port);
	}
	if (subject->detail[0]) {
		text_add(&t, ",\"detail\":");
		text_add_json(&t, subject->detail);
	}
	text_add(&t, "}\n");
	return t.len;
}
