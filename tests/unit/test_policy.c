/* launch: the policy reader, row by row. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/policy.h"

static struct policy policy;

/* Everything a policy says, on one line; only what is not the default. */
static void show(const struct policy *p, char *buf, size_t size)
{
	struct text t = text_start(buf, size);

	if (*p->module) {
		text_add(&t, "module=");
		text_add(&t, p->module);
		text_add(&t, " ");
	}
	if (strcmp(p->kind, "runner") != 0) {
		text_add(&t, "kind=");
		text_add(&t, p->kind);
		text_add(&t, " ");
	}
	text_add(&t, p->net == NET_EGRESS_ALLOWLIST ? "net=allowlist " : "");
	if (p->proxy_port) {
		text_add(&t, "port=");
		text_add_int(&t, p->proxy_port);
		text_add(&t, " ");
	}
	if (p->broker_socket) {
		text_add(&t, "broker=");
		text_add(&t, p->broker_socket);
		text_add(&t, " ");
	}
	text_add(&t, p->gpu ? "gpu " : "");
	text_add(&t, p->exec_rw ? "exec_rw " : "");
	for (size_t i = 0; i < p->root_count; i++) {
		text_add(&t, root_kind_name(p->roots[i].kind));
		text_add(&t, ":");
		text_add(&t, p->roots[i].path);
		text_add(&t, " ");
	}
	assert_false(t.cut);
}

/* Parse an exact copy on the heap, so that a byte read past the end is seen. */
static int parse(const char *json, size_t size, struct fault *why, char **ret_copy)
{
	char *copy = malloc(size + 1);

	assert_non_null(copy);
	memcpy(copy, json, size);
	copy = realloc(copy, size ? size : 1);
	*ret_copy = copy;
	return policy_parse(copy, size, &policy, why);
}

struct row {
	const char *json;
	size_t size;
	const char *expect; /* what show() says, or a part of the refusal */
};
#define ROW(json, expect)                      \
	{                                      \
		json, sizeof(json) - 1, expect \
	}

static const struct row accepted[] = {
	ROW("{}", ""),
	ROW(" \t\r\n{ } \n", ""),
	ROW("{\"module\":\"m\",\"ro\":[\"/a\",\"/b\"],\"rw\":[\"/c\"],\"net\":\"none\",\"proxy_port\":null,"
	    "\"broker_socket\":null,\"gpu\":false,\"exec_rw\":false,\"kind\":\"doctor\",\"exe\":\"/bin/sh\","
	    "\"rd\":[],\"wo\":[]}",
	    "module=m kind=doctor ro:/a ro:/b rw:/c exe:/bin/sh "),
	/* The coordinator's spelling: sorted keys, spaces, no rd and wo. */
	ROW("{\"broker_socket\": null, \"exe\": null, \"exec_rw\": true, \"gpu\": true, \"kind\": \"coordinator\", "
	    "\"module\": \"m\", \"net\": \"egress-allowlist\", \"proxy_port\": 3128, \"ro\": [], \"rw\": [\"/d\"]}",
	    "module=m kind=coordinator net=allowlist port=3128 gpu exec_rw rw:/d "),
	ROW("{\"rd\":[\"/in\"],\"wo\":[\"/out\"]}", "rd:/in wo:/out "),
	ROW("{\"broker_socket\":\"/w/broker/s\"}", "broker=/w/broker/s "),
	ROW("{\"proxy_port\":65535}", "port=65535 "),
	ROW("{\"proxy_port\":0}", ""),
	ROW("{\"net\":\"egress-allowlist\",\"proxy_port\":1}", "net=allowlist port=1 "),
	ROW("{\"proxy_port\":1,\"net\":\"none\"}", "port=1 "),
	/* Unknown keys that ask for nothing. */
	ROW("{\"a\":null,\"b\":false,\"c\":\"\",\"d\":[],\"e\":{},\"f\":[ ],\"g\":{ \n}}", ""),
	ROW("{\"\":null}", ""),
	ROW("{\"MODULE\":\"\"}", ""),
	/* Paths are brought into one form. */
	ROW("{\"ro\":[\"//a///b/\",\"/./a/./b/.\",\"/\",\"//\",\"/.\",\"/..a\",\"/a..\",\"/...\"]}",
	    "ro:/a/b ro:/a/b ro:/ ro:/ ro:/ ro:/..a ro:/a.. ro:/... "),
	/* Escapes. */
	ROW("{\"\\u006do\\u0064ule\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "module=\"\\/\b\f\n\r\t "),
	ROW("{\"ro\":[\"\\/caf\\u00e9\\u4e2d\\ud83d\\uDE00\"]}",
	    "ro:/caf\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80 "),
	ROW("{\"ro\":[\"/caf\xc3\xa9\"]}", "ro:/caf\xc3\xa9 "),
	ROW("{\"module\":\"\x7f\"}", "module=\x7f "),
};

static const struct row refused[] = {
	ROW("", "an object is expected"),
	ROW("null", "an object is expected"),
	ROW("[]", "an object is expected"),
	ROW("\"{}\"", "an object is expected"),
	ROW("\xef\xbb\xbf{}", "an object is expected"),
	ROW("{", "a key is expected"),
	ROW("{,}", "a key is expected"),
	ROW("{\"module\":\"m\",}", "a key is expected"),
	ROW("{module:\"m\"}", "a key is expected"),
	ROW("{'module':\"m\"}", "a key is expected"),
	ROW("{\"module\"}", "':' is expected"),
	ROW("{\"module\":\"m\"", "',' or '}' is expected"),
	ROW("{\"module\":\"m\" \"kind\":\"k\"}", "',' or '}' is expected"),
	ROW("{}{}", "byte 2: something follows"),
	ROW("{} x", "something follows"),
	ROW("{}\0", "something follows"),
	ROW("\0{}", "an object is expected"),
	ROW("{}//", "something follows"),
	ROW("{\"module\":\"m", "does not end"),
	ROW("{\"module\":\"m\\", "does not end"),
	ROW("{\"module\":\"\\u12", "cut short"),
	ROW("{\"module\":\"\\u12g4\"}", "hexadecimal"),
	ROW("{\"module\":\"\\u044\0\"}", "hexadecimal"),
	ROW("{\"module\":\"\\u\0004\"}", "hexadecimal"),
	ROW("{\"module\":\"\\x41\"}", "unknown escape"),
	ROW("{\"module\":\"\\\0\"}", "unknown escape"),
	ROW("{\"module\":\"a\nb\"}", "control character"),
	ROW("{\"module\":\"a\0b\"}", "control character"),
	ROW("{\"module\":\"\\u0000\"}", "NUL"),
	ROW("{\"ro\":[\"/a\\u0000b\"]}", "NUL"),
	ROW("{\"module\":\"\xff\"}", "not UTF-8"),
	ROW("{\"module\":\"\xc3\"}", "not UTF-8"),
	ROW("{\"module\":\"\xc0\xaf\"}", "not UTF-8"),
	ROW("{\"module\":\"\xed\xa0\x80\"}", "not UTF-8"),
	ROW("{\"module\":\"\\ud800\"}", "surrogate"),
	ROW("{\"module\":\"\\ud800\\n\"}", "surrogate"),
	ROW("{\"module\":\"\\ud800\\u0041\"}", "surrogate"),
	ROW("{\"module\":\"\\udc00\\ud800\"}", "surrogate"),
	/* Types. */
	ROW("{\"module\":null}", "key 'module': not a string"),
	ROW("{\"module\":1}", "key 'module': not a string"),
	ROW("{\"kind\":null}", "key 'kind': not a string"),
	ROW("{\"ro\":null}", "key 'ro': not an array"),
	ROW("{\"rw\":\"/a\"}", "key 'rw': not an array"),
	ROW("{\"rd\":{}}", "key 'rd': not an array"),
	ROW("{\"wo\":[null]}", "key 'wo': not a string"),
	ROW("{\"ro\":[[\"/a\"]]}", "key 'ro': not a string"),
	ROW("{\"ro\":[\"/a\",]}", "key 'ro': not a string"),
	ROW("{\"ro\":[\"/a\" \"/b\"]}", "',' or ']' is expected"),
	ROW("{\"ro\":[\"/a\"", "',' or ']' is expected"),
	ROW("{\"gpu\":null}", "key 'gpu': not true or false"),
	ROW("{\"gpu\":1}", "key 'gpu': not true or false"),
	ROW("{\"gpu\":True}", "key 'gpu': not true or false"),
	ROW("{\"gpu\":truely}", "',' or '}' is expected"),
	ROW("{\"exec_rw\":\"false\"}", "key 'exec_rw': not true or false"),
	ROW("{\"net\":null}", "key 'net': not a string"),
	ROW("{\"net\":\"\"}", "key 'net': '' is not"),
	ROW("{\"net\":\"None\"}", "key 'net': 'None' is not"),
	ROW("{\"net\":\"none \"}", "key 'net': 'none ' is not"),
	ROW("{\"net\":\"egress-any\"}", "loopback"),
	ROW("{\"net\":\"egress-allowlist\"}", "key 'proxy_port': missing"),
	ROW("{\"net\":\"egress-allowlist\",\"proxy_port\":null}", "key 'proxy_port': missing"),
	ROW("{\"proxy_port\":0,\"net\":\"egress-allowlist\"}", "key 'proxy_port': 0 is no port"),
	ROW("{\"proxy_port\":65536}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":-1}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":-0}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":1.0}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":1e3}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":080}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":+80}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":\"80\"}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":true}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":18446744073709551696}", "key 'proxy_port': not a whole number"),
	ROW("{\"proxy_port\":000000000000000000000000000000080}",
	    "key 'proxy_port': not a whole number"),
	ROW("{\"broker_socket\":\"\"}", "key 'broker_socket': '': not an absolute path"),
	ROW("{\"broker_socket\":\"unix:/s\"}", "key 'broker_socket': 'unix:/s': not an absolute"),
	ROW("{\"broker_socket\":false}", "key 'broker_socket': not a string"),
	ROW("{\"exe\":\"\"}", "key 'exe': '': not an absolute path"),
	ROW("{\"exe\":\"python3\"}", "key 'exe': 'python3': not an absolute path"),
	ROW("{\"exe\":[]}", "key 'exe': not a string"),
	/* Paths. */
	ROW("{\"rw\":[\"\"]}", "key 'rw': '': not an absolute"),
	ROW("{\"rw\":[\"work\"]}", "key 'rw': 'work': not an absolute"),
	ROW("{\"rw\":[\"~/w\"]}", "key 'rw': '~/w': not an absolute"),
	ROW("{\"ro\":[\"/a/../b\"]}", "key 'ro': '/a/../b': a path with a '..'"),
	ROW("{\"ro\":[\"/..\"]}", "'..' component"),
	ROW("{\"wo\":[\"/a/..\"]}", "'..' component"),
	ROW("{\"rd\":[\"/a\\nb\"]}", "key 'rd': '/a\\x0ab': a control character"),
	ROW("{\"rd\":[\"/a\x7f\"]}", "a control character"),
	/* Keys. */
	ROW("{\"module\":\"a\",\"module\":\"a\"}", "key 'module': given twice"),
	ROW("{\"ro\":[],\"r\\u006f\":[]}", "key 'ro': given twice"),
	ROW("{\"x\":null,\"\\u0078\":null}", "key 'x': given twice"),
	ROW("{\"deny\":[\"/a\"]}", "key 'deny': unknown, and it asks"),
	ROW("{\"max_procs\":1}", "key 'max_procs': unknown"),
	ROW("{\"max_procs\":0}", "key 'max_procs': unknown"),
	ROW("{\"x\":true}", "key 'x': unknown"),
	ROW("{\"x\":\"y\"}", "key 'x': unknown"),
	ROW("{\"x\":{\"a\":null}}", "key 'x': unknown"),
	ROW("{\"x\":[[]]}", "key 'x': unknown"),
	ROW("{\"x\":\"", "key 'x': unknown"),
	ROW("{\"x\":[", "key 'x': unknown"),
	ROW("{\"x\":}", "key 'x': unknown"),
	ROW("{\"x\":nullnull}", "',' or '}' is expected"),
	ROW("{\"Module\":\"m\"}", "key 'Module': unknown"),
};

static void what_agents_write_is_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		const struct row *row = &accepted[i];
		struct fault why = { "" };
		char shown[1024];
		char *text;
		int r = parse(row->json, row->size, &why, &text);

		if (r != 0)
			fail_msg("%s: %d %s", row->json, r, why.text);
		show(&policy, shown, sizeof(shown));
		assert_string_equal(shown, row->expect);
		free(text);
	}
}

static void what_is_not_a_policy_is_refused_and_grants_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct row *row = &refused[i];
		struct fault why = { "" };
		char shown[64];
		char *text;
		int r = parse(row->json, row->size, &why, &text);

		if (r != -EINVAL || !strstr(why.text, row->expect))
			fail_msg("row %zu: %s: %d '%s'", i, row->json, r, why.text);
		/* What is left grants nothing. */
		show(&policy, shown, sizeof(shown));
		assert_string_equal(shown, "");
		free(text);
	}
}

/* A valid policy cut at any byte, or with any byte made a control character, is never half a
 * policy. */
static void no_part_of_a_policy_is_a_policy(void **state)
{
	static const char whole[] =
		"{\"module\":\"m\\u00e9\",\"ro\":[\"/a\"],\"rw\":[\"/c\"],\"net\":\"egress-allowlist\","
		"\"proxy_port\":80,\"broker_socket\":\"/s\",\"gpu\":true,\"exec_rw\":true,\"x\":{},\"exe\":null}";
	char spoilt[sizeof(whole)];
	struct fault why;
	char *text;

	(void)state;
	assert_int_equal(parse(whole, sizeof(whole) - 1, &why, &text), 0);
	free(text);
	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		assert_int_equal(parse(whole, i, &why, &text), -EINVAL);
		free(text);
		memcpy(spoilt, whole, sizeof(whole));
		spoilt[i] = '\x01';
		assert_int_equal(parse(spoilt, sizeof(whole) - 1, &why, &text), -EINVAL);
		free(text);
	}
}

/* `count` numbered items, each between `before` and `after`, in an object. */
static char *many(const char *open, const char *before, int count, const char *after,
		  const char *close)
{
	size_t size = 64 + (size_t)count * 32;
	struct text t = text_start(malloc(size), size);

	text_add(&t, open);
	for (int i = 0; i < count; i++) {
		text_add(&t, i ? "," : "");
		text_add(&t, before);
		text_add_int(&t, i);
		text_add(&t, after);
	}
	text_add(&t, close);
	assert_false(t.cut);
	return t.buf;
}

static void sizes_are_bounded(void **state)
{
	struct fault why;
	char *json;

	(void)state;
	json = many("{\"ro\":[", "\"/r", POLICY_ROOTS_MAX, "\"", "]}");
	assert_int_equal(policy_parse(json, strlen(json), &policy, &why), 0);
	assert_int_equal(policy.root_count, POLICY_ROOTS_MAX);
	free(json);

	json = many("{\"ro\":[", "\"/r", POLICY_ROOTS_MAX + 1, "\"", "]}");
	assert_int_equal(policy_parse(json, strlen(json), &policy, &why), -EINVAL);
	assert_string_equal(why.text, "key 'ro': '/r512': too many paths");
	free(json);

	json = many("{", "\"k", POLICY_KEYS_MAX, "\":null", "}");
	assert_int_equal(policy_parse(json, strlen(json), &policy, &why), 0);
	free(json);

	json = many("{", "\"k", POLICY_KEYS_MAX + 1, "\":null", "}");
	assert_int_equal(policy_parse(json, strlen(json), &policy, &why), -EINVAL);
	assert_string_equal(why.text, "key 'k64': too many keys");
	free(json);

	/* Depth costs nothing: an unknown key's value is not descended into. */
	json = malloc(400000);
	memset(json, '[', 400000);
	memcpy(json, "{\"x\":", 5);
	assert_int_equal(policy_parse(json, 400000, &policy, &why), -EINVAL);
	assert_string_equal(why.text, "key 'x': unknown, and it asks for something");
	free(json);
}

/* ---- from a file ---- */

static int open_result;
static ssize_t read_result;
static const char *content;

static int fake_open(const struct kernel *k, const char *path, int flags)
{
	(void)k, (void)flags;
	assert_string_equal(path, "/p.json");
	return open_result;
}

static ssize_t fake_read(const struct kernel *k, int fd, void *buf, size_t size)
{
	size_t len = strlen(content);

	(void)k, (void)fd;
	if (read_result < 0)
		return read_result;
	len = len < size ? len : size;
	memcpy(buf, content, len);
	content += len;
	return (ssize_t)len;
}

static int fake_close(const struct kernel *k, int fd)
{
	(void)k, (void)fd;
	return 0;
}

static void a_file_is_read_whole_or_not_at_all(void **state)
{
	static const struct kernel k = { .open = fake_open,
					 .read = fake_read,
					 .close = fake_close };
	struct fault why;
	char text[32];

	(void)state;
	open_result = 3;
	content = "{\"ro\":[\"/a\"]}\n";
	assert_int_equal(policy_read(&k, "/p.json", text, sizeof(text), &policy, &why), 0);
	assert_int_equal(policy.root_count, 1);

	content = "{\"ro\":[\"/a\",\"/b\",\"/c\",\"/d\",\"/e\"]}";
	assert_int_equal(policy_read(&k, "/p.json", text, sizeof(text), &policy, &why), -EFBIG);
	assert_string_equal(why.text, "read: EFBIG");

	read_result = -EIO;
	assert_int_equal(policy_read(&k, "/p.json", text, sizeof(text), &policy, &why), -EIO);
	assert_string_equal(why.text, "read: EIO");
	read_result = 0;

	open_result = -ENOENT;
	assert_int_equal(policy_read(&k, "/p.json", text, sizeof(text), &policy, &why), -ENOENT);
	assert_string_equal(why.text, "read: ENOENT");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_agents_write_is_read),
		cmocka_unit_test(what_is_not_a_policy_is_refused_and_grants_nothing),
		cmocka_unit_test(no_part_of_a_policy_is_a_policy),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(a_file_is_read_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
