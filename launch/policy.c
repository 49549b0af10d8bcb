#include "launch/policy.h"

#include <errno.h>
#include <string.h>

#include "kabi/file.h"
#include "kabi/text.h"
#include "launch/json.h"

struct reader {
	struct json json;
	struct policy *policy;
	const char *key; /* whose value comes next */
	const char *seen[POLICY_KEYS_MAX];
	size_t seen_count;
	bool has_port;	   /* proxy_port is a number */
	uint16_t own_port; /* takes its place; 0: none does */
};

static const char *const kind_names[] = {
	[ROOT_RD] = "rd", [ROOT_WO] = "wo", [ROOT_RO] = "ro", [ROOT_EXE] = "exe", [ROOT_RW] = "rw",
};
_Static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == ROOT_KIND_COUNT, "one name per list");

/* ---- values ---- */

static int refuse(const struct reader *r, const char *what)
{
	fault_join(r->json.why, "key '", r->key, "': ", what, NULL);
	return -EINVAL;
}

static int refuse_path(const struct reader *r, const char *path, const char *what)
{
	fault_join(r->json.why, "key '", r->key, "': '", path, "': ", what, NULL);
	return -EINVAL;
}

static int read_string(struct reader *r, char **ret)
{
	if (json_peek(&r->json) != '"')
		return refuse(r, "not a string");
	return json_string(&r->json, ret);
}

static int read_bool(struct reader *r, bool *ret)
{
	bool yes = json_word(&r->json, "true");

	if (!yes && !json_word(&r->json, "false"))
		return refuse(r, "not true or false");
	*ret = yes;
	return 0;
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

/* Take out what does not change an absolute path's meaning. Returns false at a ".." component,
 * which only the kernel can resolve.
 */
static bool normalise(char *path)
{
	char *out = path;
	char *in = path;

	while (*in) {
		size_t len;

		in += strspn(in, "/");
		len = strcspn(in, "/");
		if (len == 2 && in[0] == '.' && in[1] == '.')
			return false;
		if (len > 0 && !(len == 1 && in[0] == '.')) {
			*out++ = '/';
			memmove(out, in, len);
			out += len;
		}
		in += len;
	}
	if (out == path)
		*out++ = '/';
	*out = '\0';
	return true;
}

static int read_path(struct reader *r, const char **ret)
{
	char *path;
	int err;

	err = read_string(r, &path);
	if (err < 0)
		return err;
	if (path[0] != '/')
		return refuse_path(r, path, "not an absolute path");
	if (has_control(path))
		return refuse_path(r, path, "a control character in a path");
	if (!normalise(path))
		return refuse_path(r, path, "a path with a '..' component");
	*ret = path;
	return 0;
}

static int read_root(struct reader *r, enum root_kind kind)
{
	struct policy *p = r->policy;
	const char *path;
	int err;

	err = read_path(r, &path);
	if (err < 0)
		return err;
	if (p->root_count == POLICY_ROOTS_MAX)
		return refuse_path(r, path, "too many paths");
	p->roots[p->root_count++] = (struct root){ .kind = kind, .path = path };
	return 0;
}

static int read_roots(struct reader *r, enum root_kind kind)
{
	if (!json_take(&r->json, '['))
		return refuse(r, "not an array of paths");
	if (json_take(&r->json, ']'))
		return 0;
	for (;;) {
		int err = read_root(r, kind);

		if (err < 0)
			return err;
		if (json_take(&r->json, ']'))
			return 0;
		if (!json_take(&r->json, ','))
			return json_syntax(&r->json, "',' or ']' is expected");
	}
}

/* ---- keys ---- */

static int read_label(struct reader *r, const char **ret)
{
	char *text;
	int err;

	err = read_string(r, &text);
	if (err == 0)
		*ret = text;
	return err;
}

static int read_module(struct reader *r)
{
	return read_label(r, &r->policy->module);
}

static int read_kind(struct reader *r)
{
	return read_label(r, &r->policy->kind);
}

static int read_ro(struct reader *r)
{
	return read_roots(r, ROOT_RO);
}

static int read_rw(struct reader *r)
{
	return read_roots(r, ROOT_RW);
}

static int read_rd(struct reader *r)
{
	return read_roots(r, ROOT_RD);
}

static int read_wo(struct reader *r)
{
	return read_roots(r, ROOT_WO);
}

static int read_exe(struct reader *r)
{
	if (json_word(&r->json, "null"))
		return 0;
	return read_root(r, ROOT_EXE);
}

static int read_net(struct reader *r)
{
	char *word;
	int err;

	err = read_string(r, &word);
	if (err < 0)
		return err;
	if (strcmp(word, "none") == 0) {
		r->policy->net = NET_NONE;
		return 0;
	}
	if (strcmp(word, "egress-allowlist") == 0) {
		r->policy->net = NET_EGRESS_ALLOWLIST;
		return 0;
	}
	if (strcmp(word, "egress-any") == 0)
		return refuse(r,
			      "'egress-any' cannot be enforced on Linux: Landlock knows ports, not "
			      "addresses, so loopback and link-local would be reachable");
	fault_join(r->json.why, "key 'net': '", word,
		   "' is not none, egress-allowlist or egress-any", NULL);
	return -EINVAL;
}

static int read_proxy_port(struct reader *r)
{
	uint64_t port;

	if (json_word(&r->json, "null"))
		return 0;
	if (json_uint(&r->json, UINT16_MAX, &port) < 0)
		return refuse(r, "not a whole number from 0 to 65535");
	r->policy->proxy_port = (uint16_t)port;
	r->has_port = true;
	return 0;
}

static int read_broker_socket(struct reader *r)
{
	if (json_word(&r->json, "null"))
		return 0;
	return read_path(r, &r->policy->broker_socket);
}

static int read_gpu(struct reader *r)
{
	return read_bool(r, &r->policy->gpu);
}

static int read_exec_rw(struct reader *r)
{
	return read_bool(r, &r->policy->exec_rw);
}

static const struct {
	const char *name;
	int (*read)(struct reader *r);
} keys[] = {
	{ "module", read_module },
	{ "ro", read_ro },
	{ "rw", read_rw },
	{ "net", read_net },
	{ "proxy_port", read_proxy_port },
	{ "broker_socket", read_broker_socket },
	{ "gpu", read_gpu },
	{ "exec_rw", read_exec_rw },
	{ "kind", read_kind },
	{ "exe", read_exe },
	{ "rd", read_rd },
	{ "wo", read_wo },
};

static int note_key(struct reader *r)
{
	for (size_t i = 0; i < r->seen_count; i++)
		if (strcmp(r->seen[i], r->key) == 0)
			return refuse(r, "given twice");
	if (r->seen_count == POLICY_KEYS_MAX)
		return refuse(r, "too many keys");
	r->seen[r->seen_count++] = r->key;
	return 0;
}

static int read_value(struct reader *r)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].name, r->key) == 0)
			return keys[i].read(r);
	if (!json_nothing(&r->json))
		return refuse(r, "unknown, and it asks for something");
	return 0;
}

static int read_member(struct reader *r)
{
	char *key;
	int err;

	if (json_peek(&r->json) != '"')
		return json_syntax(&r->json, "a key is expected");
	err = json_string(&r->json, &key);
	if (err < 0)
		return err;
	r->key = key;
	if (!json_take(&r->json, ':'))
		return json_syntax(&r->json, "':' is expected");
	err = note_key(r);
	if (err < 0)
		return err;
	return read_value(r);
}

static int read_object(struct reader *r)
{
	if (!json_take(&r->json, '{'))
		return json_syntax(&r->json, "an object is expected");
	if (json_take(&r->json, '}'))
		return 0;
	for (;;) {
		int err = read_member(r);

		if (err < 0)
			return err;
		if (json_take(&r->json, '}'))
			return 0;
		if (!json_take(&r->json, ','))
			return json_syntax(&r->json, "',' or '}' is expected");
	}
}

static int check_whole(struct reader *r)
{
	if (json_peek(&r->json) != '\0' || r->json.at != r->json.end)
		return json_syntax(&r->json, "something follows the object");
	if (r->policy->net != NET_EGRESS_ALLOWLIST)
		return 0;
	r->key = "proxy_port";
	if (r->own_port) {
		r->policy->proxy_port = r->own_port;
		return 0;
	}
	if (!r->has_port)
		return refuse(r, "missing, and net 'egress-allowlist' needs one: the job's proxy "
				 "(oarbank-run --egress-allow brings its own)");
	if (r->policy->proxy_port == 0)
		return refuse(r, "0 is no port, and net 'egress-allowlist' needs one");
	return 0;
}

/* All but `roots`: touching its pages costs more than the rest of the reader. */
static void grant_nothing(struct policy *p)
{
	p->module = "";
	p->kind = "runner";
	p->net = NET_NONE;
	p->proxy_port = 0;
	p->broker_socket = NULL;
	p->gpu = false;
	p->exec_rw = false;
	p->root_count = 0;
}

/* ---- public ---- */

const char *root_kind_name(enum root_kind kind)
{
	return kind_names[kind];
}

static int parse(char *text, size_t size, uint16_t own_port, struct policy *ret, struct fault *why)
{
	struct reader r = {
		.json = { .start = text, .at = text, .end = text + size, .why = why },
		.policy = ret,
		.own_port = own_port,
	};
	int err;

	grant_nothing(ret);
	err = read_object(&r);
	if (err == 0)
		err = check_whole(&r);
	if (err < 0)
		grant_nothing(ret);
	return err;
}

int policy_parse(char *text, size_t size, struct policy *ret, struct fault *why)
{
	return parse(text, size, 0, ret, why);
}

int policy_read_for_proxy(const struct kernel *k, const char *path, uint16_t port, char *text,
			  size_t text_size, struct policy *ret, struct fault *why)
{
	ssize_t len = file_read(k, path, text, text_size);

	if (len == -EINVAL) {
		fault_join(why, "not text: a NUL byte in it", NULL);
		return -EINVAL;
	}
	if (len < 0)
		return fault_errno(why, "read", NULL, (int)-len);
	return parse(text, (size_t)len, port, ret, why);
}

int policy_read(const struct kernel *k, const char *path, char *text, size_t text_size,
		struct policy *ret, struct fault *why)
{
	return policy_read_for_proxy(k, path, 0, text, text_size, ret, why);
}
