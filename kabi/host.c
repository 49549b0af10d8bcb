#include "kabi/host.h"

#include <errno.h>
#include <string.h>

#include "kabi/text.h"

#define DIGIT "0123456789"
#define LETTER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define LABEL_MAX 63

static bool among(char c, const char *set)
{
	return c && strchr(set, c);
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* ---- names ---- */

/* A label, in lower case, that inet_aton(3) reads as a number. */
static bool is_number(const char *label)
{
	if (text_starts(label, "0x"))
		return label[2 + strspn(label + 2, DIGIT "abcdef")] == '\0';
	return label[strspn(label, DIGIT)] == '\0';
}

static bool has_good_labels(const char *name)
{
	size_t len;

	for (;; name += len + 1) {
		len = strcspn(name, ".");
		if (len == 0 || len > LABEL_MAX)
			return false;
		if (!name[len])
			return true;
	}
}

enum host_kind host_read(const char *text, size_t len, char ret[HOST_MAX + 1])
{
	const char *last;

	if (len > 0 && (text[0] == '[' || memchr(text, ':', len)))
		return HOST_ADDRESS;
	while (len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0 || len > HOST_MAX)
		return HOST_MALFORMED;
	for (size_t i = 0; i < len; i++) {
		if (!among(text[i], LETTER DIGIT "-_."))
			return HOST_MALFORMED;
		ret[i] = lower(text[i]);
	}
	ret[len] = '\0';
	if (!has_good_labels(ret))
		return HOST_MALFORMED;
	last = strrchr(ret, '.');
	return is_number(last ? last + 1 : ret) ? HOST_ADDRESS : HOST_NAME;
}

/* ---- entries ---- */

bool host_port_fits(const char *text)
{
	size_t n;

	if (!*text)
		return true;
	if (*text++ != ':')
		return false;
	n = strspn(text, DIGIT);
	return n >= 1 && n <= 5 && !text[n];
}

bool host_entry_fits(const char *text)
{
	if (text_starts(text, "*."))
		text += 2;
	for (;;) {
		size_t n = strspn(text, LETTER DIGIT "-");

		if (n == 0)
			return false;
		text += n;
		if (*text != '.')
			return host_port_fits(text);
		text++;
	}
}

bool host_entry_is_address(const char *text)
{
	char end = text[strspn(text, DIGIT ".")];

	return end == '\0' || end == ':';
}

static int refuse(const char *text, const char *what, struct fault *why)
{
	fault_join(why, "'", text, "' ", what, NULL);
	return -EINVAL;
}

int host_entry_read(const char *text, struct host_entry *ret, struct fault *why)
{
	struct host_entry entry = { .port = HOST_PORT };
	char trimmed[HOST_MAX + 1];
	size_t start = strspn(text, " \t");
	size_t len = strlen(text + start);
	const char *host = trimmed;
	const char *colon;
	uint64_t port;

	while (len > 0 && among(text[start + len - 1], " \t"))
		len--;
	if (len > HOST_MAX)
		return refuse(text, "is too long", why);
	memcpy(trimmed, text + start, len);
	trimmed[len] = '\0';
	if (!host_entry_fits(trimmed))
		return refuse(text, "is not host[:port]", why);
	if (host_entry_is_address(trimmed))
		return refuse(text, "is an address, not a host's name", why);
	entry.subdomains = text_starts(host, "*.");
	host += entry.subdomains ? 2 : 0;
	colon = strchr(host, ':');
	if (colon && text_uint(colon + 1, 10, 99999, &port) == 0)
		entry.port = (uint32_t)port;
	/* Labels of more than 63, or 0x7f: no request can name such a host, but the manifest may.
	 */
	len = colon ? (size_t)(colon - host) : strlen(host);
	for (size_t i = 0; i < len; i++)
		entry.name[i] = lower(host[i]);
	*ret = entry;
	return 0;
}

bool host_entry_matches(const struct host_entry *entry, const char *name, uint16_t port)
{
	size_t len = strlen(entry->name);
	size_t whole = strlen(name);

	if (entry->port != port)
		return false;
	if (!entry->subdomains)
		return strcmp(entry->name, name) == 0;
	return whole > len + 1 && name[whole - len - 1] == '.' &&
	       strcmp(name + whole - len, entry->name) == 0;
}
