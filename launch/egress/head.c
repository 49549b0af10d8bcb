#include "launch/egress/head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "kabi/text.h"

#define DIGIT "0123456789"
#define LETTER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TOKEN DIGIT LETTER "!#$%&'*+-.^_`|~"
#define PORT_CONNECT HOST_PORT
#define PORT_HTTP 80
#define VERSION_LEN 8 /* HTTP/1.1 */

/* A part of the head. */
struct slice {
	const char *at;
	size_t len;
};

/* ---- where it ends ---- */

static bool is_control(char c)
{
	return ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
}

long egress_scan(struct egress_scan *scan, const char *head, size_t len)
{
	for (; scan->seen < len; scan->seen++) {
		size_t i = scan->seen;
		bool after_cr = i > scan->line && head[i - 1] == '\r';

		if (after_cr != (head[i] == '\n'))
			return -EINVAL;
		if (head[i] != '\n') {
			if (is_control(head[i]) && head[i] != '\r')
				return -EINVAL;
			continue;
		}
		if (i - 1 == scan->line)
			return scan->line == 0 ? -EINVAL : (long)(i + 1);
		scan->line = i + 1;
	}
	return 0;
}

/* ---- what it asks for ---- */

static size_t span(const char *at, const char *end, const char *set)
{
	const char *p = at;

	while (p < end && *p && strchr(set, *p))
		p++;
	return (size_t)(p - at);
}

static bool is_printable(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.at[i] <= 0x20 || s.at[i] >= 0x7f)
			return false;
	return s.len > 0;
}

static bool same_word(struct slice s, const char *word)
{
	return strlen(word) == s.len && strncasecmp(s.at, word, s.len) == 0;
}

static bool is_version(struct slice s)
{
	return s.len == VERSION_LEN && memcmp(s.at, "HTTP/1.", VERSION_LEN - 1) == 0 &&
	       (s.at[VERSION_LEN - 1] == '0' || s.at[VERSION_LEN - 1] == '1');
}

/* Cut the line at *at off, without its CR LF; the head is known to be made of such. */
static struct slice next_line(const char **at, const char *end)
{
	const char *lf = memchr(*at, '\n', (size_t)(end - *at));
	struct slice line = { *at, (size_t)(lf - *at) - 1 };

	*at = lf + 1;
	return line;
}

/* Without the spaces around it. */
static struct slice trimmed(struct slice s)
{
	size_t n = span(s.at, s.at + s.len, " \t");

	s = (struct slice){ s.at + n, s.len - n };
	while (s.len > 0 && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
		s.len--;
	return s;
}

/* Digits alone. */
static bool read_length(struct slice s, uint64_t *ret)
{
	char digits[24];

	if (s.len == 0 || s.len >= sizeof(digits))
		return false;
	memcpy(digits, s.at, s.len);
	digits[s.len] = '\0';
	return text_uint(digits, 10, UINT64_MAX, ret) == 0;
}

/* Of the lines that say how long the body is there is one at most: of two, two readers may believe
 * one each (RFC 9112, 6.3). Any coding but "chunked" leaves the end to be guessed.
 */
static bool read_header(struct slice name, struct slice value, bool *said,
			struct egress_request *ret)
{
	bool length = same_word(name, "Content-Length");

	ret->chunked |= same_word(name, "Transfer-Encoding");
	if (!length && !same_word(name, "Transfer-Encoding"))
		return true;
	if (*said)
		return false;
	*said = true;
	return length ? read_length(trimmed(value), &ret->length)
		      : same_word(trimmed(value), "chunked");
}

/* Every line but the last is NAME ":" and anything. */
static bool read_headers(const char *at, const char *end, struct egress_request *ret)
{
	bool said = false;

	for (;;) {
		struct slice line = next_line(&at, end);
		struct slice name = { line.at, span(line.at, line.at + line.len, TOKEN) };
		struct slice value = { name.at + name.len + 1, line.len - name.len - 1 };

		if (line.len == 0)
			return true;
		if (name.len == 0 || name.len == line.len || name.at[name.len] != ':' ||
		    !read_header(name, value, &said, ret))
			return false;
	}
}

/* "METHOD TARGET VERSION", one space between two. */
static bool split_line(struct slice line, struct slice parts[3])
{
	const char *end = line.at + line.len;
	const char *first = memchr(line.at, ' ', line.len);
	const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;

	if (!second)
		return false;
	parts[0] = (struct slice){ line.at, (size_t)(first - line.at) };
	parts[1] = (struct slice){ first + 1, (size_t)(second - first - 1) };
	parts[2] = (struct slice){ second + 1, (size_t)(end - second - 1) };
	return parts[0].len > 0 && span(parts[0].at, first, TOKEN) == parts[0].len &&
	       is_printable(parts[1]) && is_version(parts[2]);
}

/* ":" and a port from 1 to 65535, or nothing. */
static bool read_port(struct slice s, uint16_t *ret)
{
	char digits[8];
	uint64_t port;

	if (s.len == 0)
		return true;
	if (s.at[0] != ':' || s.len > 6)
		return false;
	memcpy(digits, s.at + 1, s.len - 1);
	digits[s.len - 1] = '\0';
	if (text_uint(digits, 10, UINT16_MAX, &port) < 0 || port == 0)
		return false;
	*ret = (uint16_t)port;
	return true;
}

/* Brackets or a colon alone make no address: a path may follow, with a secret in it. */
static bool may_be_address(struct slice s)
{
	const char *end = s.at + s.len;
	const char *at = s.at + span(s.at, end, DIGIT "abcdefABCDEF:.[]");

	if (s.at[0] != '[' && !memchr(s.at, ':', s.len))
		return true;	    /* a name whose last label is a number */
	if (at < end && *at == '%') /* a zone */
		at += span(at, end, DIGIT LETTER "%-_.]");
	return at == end;
}

/* HOST[:PORT]; the port stays as it is when there is none. */
static bool read_authority(struct slice s, struct egress_request *r)
{
	const char *end = s.at + s.len;
	const char *after = s.len > 0 && s.at[0] == '[' ? memchr(s.at, ']', s.len) : NULL;
	const char *colon;
	struct slice host;
	struct text shown = TEXT_BUF(r->host);

	/* A name and password before the host would end up in the log. */
	if (memchr(s.at, '@', s.len) || (s.len > 0 && s.at[0] == '[' && !after))
		return false;
	after = after ? after + 1 : s.at;
	colon = memchr(after, ':', (size_t)(end - after));
	/* More than one colon without brackets: an IPv6 address, with a port or not. */
	if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1)))
		colon = NULL;
	host = (struct slice){ s.at, (size_t)((colon ? colon : end) - s.at) };
	if (host.at[0] == '[' && host.at + host.len != after)
		return false;
	if (colon && !read_port((struct slice){ colon, (size_t)(end - colon) }, &r->port))
		return false;
	r->host_kind = host_read(host.at, host.len, r->host);
	if (r->host_kind == HOST_ADDRESS && !may_be_address(host))
		r->host_kind = HOST_MALFORMED;
	if (r->host_kind == HOST_ADDRESS)
		text_add_bytes(&shown, host.at, host.len < HOST_MAX ? host.len : HOST_MAX);
	else if (r->host_kind == HOST_MALFORMED)
		r->host[0] = '\0';
	return r->host_kind != HOST_MALFORMED;
}

static bool read_target(const char *head, struct slice target, struct egress_request *r)
{
	static const char scheme[] = "http://";
	const char *end = target.at + target.len;
	const char *at = target.at + strlen(scheme);
	size_t n = 0;

	while (at + n < end && !strchr("/?#", at[n]))
		n++;
	r->port = PORT_HTTP;
	r->authority = (size_t)(at - head);
	r->authority_len = n;
	r->path = (size_t)(at + n - head);
	r->path_len = (size_t)(end - at - n);
	return n > 0 && !memchr(target.at, '#', target.len) &&
	       read_authority((struct slice){ at, n }, r);
}

void egress_request_read(const char *head, size_t len, struct egress_request *ret)
{
	const char *at = head;
	const char *end = head + len;
	struct slice line = next_line(&at, end);
	struct slice parts[3];
	bool good;

	*ret = (struct egress_request){ .kind = REQUEST_MALFORMED };
	if (!split_line(line, parts) || !read_headers(at, end, ret))
		return;
	ret->method_len = parts[0].len;
	ret->headers = (size_t)(at - head);
	if (parts[0].len == 7 && memcmp(parts[0].at, "CONNECT", 7) == 0) {
		ret->port = PORT_CONNECT;
		good = read_authority(parts[1], ret);
		ret->kind = good ? REQUEST_CONNECT : REQUEST_MALFORMED;
	} else if (parts[1].len >= 7 && strncasecmp(parts[1].at, "http://", 7) == 0) {
		/* No client of HTTP/1.0 knows of chunks. */
		good = read_target(head, parts[1], ret) &&
		       !(ret->chunked && parts[2].at[VERSION_LEN - 1] == '0');
		ret->kind = good ? REQUEST_HTTP : REQUEST_MALFORMED;
	} else {
		ret->kind = REQUEST_OTHER;
	}
}

/* ---- what is sent on ---- */

/* Lines between a client and its proxy, and Host, which is written anew. */
static bool stays_here(struct slice line)
{
	static const char *const names[] = {
		"Host", "Connection", "Proxy-Connection",    "Keep-Alive",
		"TE",	"Upgrade",    "Proxy-Authorization", "Proxy-Authenticate",
	};
	struct slice name = { line.at, span(line.at, line.at + line.len, TOKEN) };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (same_word(name, names[i]))
			return true;
	return false;
}

/* The path alone. Without one it is "/", and "*" when OPTIONS asks about the server itself. */
static void add_path(struct text *t, const char *head, const struct egress_request *r)
{
	bool options = r->method_len == 7 && memcmp(head, "OPTIONS", 7) == 0;

	if (r->path_len == 0)
		text_add(t, options ? "*" : "/");
	else if (head[r->path] == '?')
		text_add(t, "/");
	text_add_bytes(t, head + r->path, r->path_len);
}

long egress_forward(const char *head, size_t len, const struct egress_request *r, char *buf,
		    size_t size)
{
	struct text t = text_start(buf, size);
	const char *at = head + r->headers;
	const char *end = head + len;
	struct slice line;

	text_add_bytes(&t, head, r->method_len);
	text_add(&t, " ");
	add_path(&t, head, r);
	text_add(&t, " ");
	text_add_bytes(&t, at - VERSION_LEN - 2, VERSION_LEN);
	text_add(&t, "\r\nHost: ");
	text_add_bytes(&t, head + r->authority, r->authority_len);
	text_add(&t, "\r\nConnection: close\r\n");
	for (;;) {
		line = next_line(&at, end);
		if (line.len == 0)
			break;
		if (!stays_here(line))
			text_add_bytes(&t, line.at, line.len + 2);
	}
	text_add(&t, "\r\n");
	return t.cut ? -ENOSPC : (long)t.len;
}
