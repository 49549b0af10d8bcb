/* The policy reader beside cJSON: what it accepts is JSON to cJSON too, and says the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "launch/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

/* The next component of a path that is not empty and not "."; its length, 0 at the end. */
static size_t component(const char **path)
{
	for (;;) {
		size_t len;

		while (**path == '/')
			(*path)++;
		len = strcspn(*path, "/");
		if (len != 1 || **path != '.')
			return len;
		*path += 1;
	}
}

/* Two spellings of one path. */
static int same_path(const char *a, const char *b)
{
	if (*a != '/' || *b != '/')
		return 0;
	for (;;) {
		size_t a_len = component(&a);
		size_t b_len = component(&b);

		if (a_len != b_len || memcmp(a, b, a_len) != 0)
			return 0;
		if (a_len == 0)
			return 1;
		if (a_len == 2 && memcmp(a, "..", 2) == 0)
			return 0;
		a += a_len;
		b += b_len;
	}
}

static void check_list(const cJSON *json, const struct policy *p, enum root_kind kind)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, root_kind_name(kind));
	const cJSON *item = list ? list->child : NULL;

	require(!list || cJSON_IsArray(list));
	for (size_t i = 0; i < p->root_count; i++) {
		if (p->roots[i].kind != kind)
			continue;
		require(item && cJSON_IsString(item));
		require(same_path(p->roots[i].path, item->valuestring));
		item = item->next;
	}
	require(!item);
}

static void check_exe(const cJSON *json, const struct policy *p)
{
	const cJSON *exe = cJSON_GetObjectItemCaseSensitive(json, "exe");
	size_t count = 0;

	for (size_t i = 0; i < p->root_count; i++) {
		if (p->roots[i].kind != ROOT_EXE)
			continue;
		require(cJSON_IsString(exe) && same_path(p->roots[i].path, exe->valuestring));
		count++;
	}
	require(count == (cJSON_IsString(exe) ? 1 : 0));
}

static void check_text(const cJSON *json, const char *key, const char *value, const char *otherwise)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);

	require(!item || cJSON_IsString(item));
	require(strcmp(value, item ? item->valuestring : otherwise) == 0);
}

static void check_bool(const cJSON *json, const char *key, bool value)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);

	require(!item || cJSON_IsBool(item));
	require(value == (item && cJSON_IsTrue(item)));
}

static void check_port(const cJSON *json, const struct policy *p)
{
	const cJSON *port = cJSON_GetObjectItemCaseSensitive(json, "proxy_port");

	require(!port || cJSON_IsNull(port) || cJSON_IsNumber(port));
	require(p->proxy_port == (cJSON_IsNumber(port) ? port->valuedouble : 0));
	require(p->net != NET_EGRESS_ALLOWLIST || p->proxy_port > 0);
}

static void check_broker(const cJSON *json, const struct policy *p)
{
	const cJSON *broker = cJSON_GetObjectItemCaseSensitive(json, "broker_socket");

	if (!p->broker_socket)
		require(!broker || cJSON_IsNull(broker));
	else
		require(cJSON_IsString(broker) && same_path(p->broker_socket, broker->valuestring));
}

static int is_known(const char *key)
{
	static const char *const keys[] = {
		"module", "ro",	     "rw",   "net", "proxy_port", "broker_socket",
		"gpu",	  "exec_rw", "kind", "exe", "rd",	  "wo",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i], key) == 0)
			return 1;
	return 0;
}

/* Each key once, and what is not known asks for nothing. */
static void check_keys(const cJSON *json)
{
	for (const cJSON *a = json->child; a; a = a->next) {
		for (const cJSON *b = json->child; b != a; b = b->next)
			require(strcmp(a->string, b->string) != 0);
		if (is_known(a->string))
			continue;
		require(!cJSON_IsTrue(a) && !cJSON_IsNumber(a));
		require(!cJSON_IsString(a) || a->valuestring[0] == '\0');
		require(!a->child);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct policy p;
	struct fault why = { "" };
	char *text = malloc(size ? size : 1);
	cJSON *json;
	int r;

	require(text != NULL);
	memcpy(text, data, size);
	r = policy_parse(text, size, &p, &why);
	if (r < 0) {
		require(why.text[0] != '\0' && p.root_count == 0 && !p.broker_socket && !p.exec_rw);
		free(text);
		return 0;
	}

	json = cJSON_ParseWithLength((const char *)data, size);
	require(json && cJSON_IsObject(json));
	check_keys(json);
	check_list(json, &p, ROOT_RO);
	check_list(json, &p, ROOT_RW);
	check_list(json, &p, ROOT_RD);
	check_list(json, &p, ROOT_WO);
	check_exe(json, &p);
	check_text(json, "module", p.module, "");
	check_text(json, "kind", p.kind, "runner");
	check_text(json, "net", p.net == NET_NONE ? "none" : "egress-allowlist", "none");
	check_bool(json, "gpu", p.gpu);
	check_bool(json, "exec_rw", p.exec_rw);
	check_port(json, &p);
	check_broker(json, &p);
	cJSON_Delete(json);
	free(text);
	return 0;
}
