#include "launch/supervise/judge.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static const struct in6_addr mapped_loopback = {
	.s6_addr = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 },
};

static struct destination refused(int error)
{
	return (struct destination){ .kind = DESTINATION_REFUSED, .error = error };
}

static struct destination proxy(const struct supervise_rules *rules, const void *address,
				socklen_t len)
{
	struct destination d = { .kind = DESTINATION_PROXY, .len = len };

	if (rules->proxy_gone)
		return refused(ECONNREFUSED);
	memcpy(&d.address, address, len);
	return d;
}

static struct destination judge_v4(const struct supervise_rules *rules, const void *address,
				   size_t len)
{
	const struct sockaddr_in ours = {
		.sin_family = AF_INET,
		.sin_port = htons(rules->proxy_port),
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	struct sockaddr_in asked;

	if (len < sizeof(asked))
		return refused(EINVAL);
	memcpy(&asked, address, sizeof(asked));
	if (asked.sin_port != ours.sin_port || asked.sin_addr.s_addr != ours.sin_addr.s_addr)
		return refused(EACCES);
	return proxy(rules, &ours, sizeof(ours));
}

static struct destination judge_v6(const struct supervise_rules *rules, const void *address,
				   size_t len)
{
	const struct sockaddr_in6 ours = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(rules->proxy_port),
		.sin6_addr = mapped_loopback,
	};
	struct sockaddr_in6 asked;

	/* SIN6_LEN_RFC2133: without the scope. */
	if (len < offsetof(struct sockaddr_in6, sin6_scope_id))
		return refused(EINVAL);
	memset(&asked, 0, sizeof(asked));
	memcpy(&asked, address, len < sizeof(asked) ? len : sizeof(asked));
	if (asked.sin6_port != ours.sin6_port ||
	    memcmp(&asked.sin6_addr, &ours.sin6_addr, sizeof(ours.sin6_addr)) != 0)
		return refused(EACCES);
	return proxy(rules, &ours, sizeof(ours));
}

/* The path ends at a NUL byte, or with the address. */
static struct destination judge_unix(const struct supervise_rules *rules, const void *address,
				     size_t len)
{
	const char *path = (const char *)address + offsetof(struct sockaddr_un, sun_path);
	size_t room = len - offsetof(struct sockaddr_un, sun_path);
	size_t path_len = strnlen(path, room);

	if (len > sizeof(struct sockaddr_un))
		return refused(EINVAL);
	if (path_len == 0 || path_len != strlen(rules->broker) ||
	    memcmp(path, rules->broker, path_len) != 0)
		return refused(EACCES);
	return (struct destination){ .kind = DESTINATION_BROKER };
}

struct destination supervise_judge(const struct supervise_rules *rules,
				   const struct socket_kind *socket, const void *address,
				   size_t len)
{
	bool tcp = socket->type == SOCK_STREAM && socket->protocol == IPPROTO_TCP;
	sa_family_t family;

	if (len < sizeof(family))
		return refused(EINVAL);
	memcpy(&family, address, sizeof(family));
	if (family != socket->domain)
		return refused(EACCES);
	if (family == AF_INET && tcp && rules->proxy_port)
		return judge_v4(rules, address, len);
	if (family == AF_INET6 && tcp && rules->proxy_port)
		return judge_v6(rules, address, len);
	if (family == AF_UNIX && socket->type == SOCK_STREAM && rules->broker)
		return judge_unix(rules, address, len);
	return refused(EACCES);
}
