#include "report/services.h"

#include <string.h>

static const struct at at_services = { .key = "services" };
static const struct at at_runner = { .key = "runner" };
static const struct at at_stages = { .key = "stages" };

/* What the rules for stages ask of the other two sections. */
struct parts {
	const char *pools[LIST_MAX]; /* that services provide */
	size_t pool_count;
	bool gpu_in_container; /* the runner uses a GPU from inside a container */
};

static int read_env(const struct reading *r, const cJSON *from, const struct at *at)
{
	const struct at env_at = { .up = at, .key = "env" };
	const cJSON *env = NULL;
	const cJSON *value;
	int err;

	err = field_table(r, from, at, "env", &env);
	if (err < 0)
		return err;
	cJSON_ArrayForEach(value, env)
	{
		const char *unused;

		if (strlen(value->string) > rule_env_name.max || !rule_env_name.fits(value->string))
			return refuse(r, &env_at, value->string,
				      "is not a variable a module may set");
		err = field_text(r, env, &env_at, value->string, &rule_env_value, &unused);
		if (err < 0)
			return err;
	}
	return 0;
}

/* *ret_use: "none" when silent. */
static int read_gpu(const struct reading *r, const cJSON *from, const struct at *at,
		    const char **ret_use, bool *ret_in_container)
{
	const struct at gpu_at = { .up = at, .key = "gpu" };
	const cJSON *gpu = NULL;
	const cJSON *unused;
	int err;

	*ret_use = "none";
	err = field_table(r, from, at, "gpu", &gpu);
	if (err == 0)
		err = field_text(r, gpu, &gpu_at, "use", &rule_gpu_use, ret_use);
	if (err == 0)
		err = field_texts(r, gpu, &gpu_at, "apis_any", &rule_gpu_api, &unused);
	if (err == 0)
		err = field_bool(r, gpu, &gpu_at, "in_container", ret_in_container);
	return err;
}

/* *ret_any: the service provides a pool. */
static int read_provides(const struct reading *r, const cJSON *service, const struct at *at,
			 struct parts *p, bool *ret_any)
{
	const struct at provides_at = { .up = at, .key = "provides" };
	const cJSON *provides = NULL;
	const cJSON *pools = NULL;
	const cJSON *unused;
	const cJSON *pool;
	int err;

	err = field_table(r, service, at, "provides", &provides);
	if (err == 0)
		err = field_texts(r, provides, &provides_at, "pools", &rule_name, &pools);
	if (err == 0)
		err = field_texts(r, provides, &provides_at, "capabilities", &rule_capability,
				  &unused);
	if (err < 0)
		return err;
	cJSON_ArrayForEach(pool, pools)
	{
		if (p->pool_count == LIST_MAX)
			return refuse_key(r, &provides_at, "pools", NULL,
					  "makes it more than 1024 pools of all services");
		p->pools[p->pool_count++] = pool->valuestring;
		*ret_any = true;
	}
	return 0;
}

static int read_timing(const struct reading *r, const cJSON *service, const struct at *at)
{
	static const char *const backoff[] = { "backoff_initial_s", "backoff_max_s",
					       "max_failures" };
	const struct at restart_at = { .up = at, .key = "restart" };
	const cJSON *restart = NULL;
	int err;

	err = field_number(r, service, at, "idle_timeout_s", false);
	if (err == 0)
		err = field_number(r, service, at, "start_timeout_s", true);
	if (err == 0)
		err = field_number(r, service, at, "stop_timeout_s", true);
	if (err == 0)
		err = field_table(r, service, at, "restart", &restart);
	for (size_t i = 0; err == 0 && i < sizeof(backoff) / sizeof(backoff[0]); i++)
		err = field_number(r, restart, &restart_at, backoff[i], true);
	return err;
}

static int read_endpoint(const struct reading *r, const cJSON *service, const struct at *at,
			 bool has_pool, bool *ret_endpoint)
{
	const char *lifecycle = "on_demand";
	const cJSON *listeners = NULL;
	bool endpoint = false;
	int err;

	err = field_text(r, service, at, "lifecycle", &rule_lifecycle, &lifecycle);
	if (err == 0)
		err = field_texts(r, service, at, "listeners", &rule_name, &listeners);
	if (err == 0)
		err = field_bool(r, service, at, "endpoint", &endpoint);
	if (err < 0 || !endpoint)
		return err;
	if (!has_pool && cJSON_GetArraySize(listeners) == 0)
		return refuse_key(
			r, at, "endpoint", NULL,
			"needs a pool in provides.pools, through which jobs reach the service");
	if (strcmp(lifecycle, "manual") == 0)
		return refuse_key(r, at, "lifecycle", lifecycle,
				  "does not go with an endpoint: nobody would start the service");
	*ret_endpoint = true;
	return 0;
}

static int read_service(const struct reading *r, const cJSON *service, const struct at *at,
			const struct grants *grants, struct parts *p, bool *ret_endpoint)
{
	static const char *const flags[] = { "reserves_host_memory", "yieldable", "freeze_ok" };
	static const char *const known[] = { "name",
					     "exec",
					     "platforms",
					     "lifecycle",
					     "idle_timeout_s",
					     "start_timeout_s",
					     "restart",
					     "provides",
					     "reserves_host_memory",
					     "yieldable",
					     "stop_timeout_s",
					     "freeze_ok",
					     "endpoint",
					     "listeners",
					     "gpu",
					     "env",
					     NULL };
	const cJSON *unused;
	const char *text;
	bool has_pool = false;
	bool flag = false;
	int err;

	err = field_needed(r, service, at, "name");
	if (err == 0)
		err = field_text(r, service, at, "name", &rule_name, &text);
	if (err == 0)
		err = field_texts(r, service, at, "exec", &rule_any, &unused);
	if (err == 0)
		err = field_texts(r, service, at, "platforms", &rule_platform, &unused);
	if (err == 0)
		err = read_timing(r, service, at);
	if (err == 0)
		err = read_env(r, service, at);
	for (size_t i = 0; err == 0 && i < sizeof(flags) / sizeof(flags[0]); i++)
		err = field_bool(r, service, at, flags[i], &flag);
	if (err == 0)
		err = read_provides(r, service, at, p, &has_pool);
	if (err == 0)
		err = read_endpoint(r, service, at, has_pool, ret_endpoint);
	if (err == 0)
		err = read_gpu(r, service, at, &text, &flag);
	if (err < 0)
		return err;
	if (strcmp(text, "none") != 0 && strcmp(grants->gpu, "compute") != 0)
		return refuse_key(r, &(struct at){ .up = at, .key = "gpu" }, "use", text,
				  "needs sandbox.devices.gpu = 'compute'");
	field_unknown(r, service, at, known);
	return 0;
}

static int read_services(const struct reading *r, const cJSON *document, struct parts *p,
			 const struct grants *grants, bool *ret_endpoint)
{
	struct at at = { .up = &at_services };
	const cJSON *services = NULL;
	const cJSON *service;
	int err;

	err = field_list(r, document, NULL, "services", &services);
	if (err < 0)
		return err;
	cJSON_ArrayForEach(service, services)
	{
		if (!cJSON_IsObject(service))
			return refuse(r, &at, NULL, "is not a table");
		err = read_service(r, service, &at, grants, p, ret_endpoint);
		if (err < 0)
			return err;
		at.index++;
	}
	return field_unique(r, document, NULL, "services", "name");
}

static int read_runner(const struct reading *r, const cJSON *document, struct parts *p)
{
	const struct at variants_at = { .up = &at_runner, .key = "variants" };
	const cJSON *runner = NULL;
	const cJSON *variants = NULL;
	const cJSON *variant;
	const char *use = "none";
	bool in_container = false;
	int err;

	err = field_table(r, document, NULL, "runner", &runner);
	if (err == 0)
		err = read_env(r, runner, &at_runner);
	if (err == 0)
		err = read_gpu(r, runner, &at_runner, &use, &in_container);
	if (err == 0)
		err = field_table(r, runner, &at_runner, "variants", &variants);
	if (err < 0)
		return err;
	p->gpu_in_container = in_container && strcmp(use, "none") != 0;

	cJSON_ArrayForEach(variant, variants)
	{
		const struct at at = { .up = &variants_at, .key = variant->string };

		if (!cJSON_IsObject(variant))
			return refuse(r, &at, NULL, "is not a table");
		err = read_env(r, unless_null(variant, "env"), &at);
		if (err == 0)
			err = read_gpu(r, unless_null(variant, "gpu"), &at, &use, &in_container);
		if (err < 0)
			return err;
	}
	return 0;
}

static bool is_provided(const char *pool, const struct parts *p, const struct grants *grants)
{
	if (grants->containers && (strcmp(pool, "containers") == 0 || strcmp(pool, "gpu") == 0))
		return true;
	for (size_t i = 0; i < p->pool_count; i++)
		if (strcmp(p->pools[i], pool) == 0)
			return true;
	return false;
}

/* `requires.pools` of a manifest's stage: a table from a pool's name to how many of its tokens. */
static int read_pools(const struct reading *r, const cJSON *requires, const struct at *at,
		      const struct parts *p, const struct grants *grants)
{
	const struct at pools_at = { .up = at, .key = "pools" };
	const struct at needs_at = { .up = at, .key = "needs_pools" };
	static const char provider[] = "is a pool nothing here provides";
	struct at entry_at = { .up = &needs_at };
	const cJSON *pools = NULL;
	const cJSON *needs = NULL;
	const cJSON *pool;
	int err;

	err = field_table(r, requires, at, "pools", &pools);
	if (err == 0)
		err = field_texts(r, requires, at, "needs_pools", &rule_name, &needs);
	if (err < 0)
		return err;
	cJSON_ArrayForEach(pool, pools)
	{
		err = field_number(r, pools, &pools_at, pool->string, true);
		if (err < 0)
			return err;
		if (!is_provided(pool->string, p, grants))
			return refuse(r, &pools_at, pool->string, provider);
	}
	cJSON_ArrayForEach(pool, needs)
	{
		if (!is_provided(pool->valuestring, p, grants))
			return refuse(r, &entry_at, pool->valuestring, provider);
		entry_at.index++;
	}
	if (!pools || !cJSON_GetObjectItemCaseSensitive(pools, "gpu"))
		return 0;
	if (!cJSON_GetObjectItemCaseSensitive(pools, "containers"))
		return refuse(r, &pools_at, "gpu", "needs the containers pool too");
	if (!p->gpu_in_container)
		return refuse(
			r, &pools_at, "gpu",
			"needs runner.gpu.in_container and a runner.gpu.use that is not none");
	return 0;
}

static int read_stage(const struct reading *r, const cJSON *stage, const struct at *at,
		      enum module_form form, const struct parts *p, const struct grants *grants)
{
	const struct at requires_at = { .up = at, .key = "requires" };
	const cJSON *requires = NULL;
	const cJSON *unused;
	const char *name;
	bool bootstrap = false;
	int err;

	err = field_needed(r, stage, at, "name");
	if (err == 0)
		err = field_text(r, stage, at, "name", &rule_name, &name);
	if (err == 0)
		err = field_bool(r, stage, at, "bootstrap", &bootstrap);
	if (err < 0)
		return err;
	if (bootstrap && strcmp(grants->net_mode, "egress-any") == 0)
		return refuse_key(r, at, "bootstrap", NULL,
				  "does not go with sandbox.net.mode = 'egress-any'");
	if (form == FORM_ENTRY)
		return field_texts(r, stage, at, "pools", &rule_name, &unused);
	err = field_table(r, stage, at, "requires", &requires);
	if (err == 0)
		err = read_pools(r, requires, &requires_at, p, grants);
	return err;
}

static int read_stages(const struct reading *r, const cJSON *document, enum module_form form,
		       const struct parts *p, const struct grants *grants)
{
	struct at at = { .up = &at_stages };
	const cJSON *stages = NULL;
	const cJSON *stage;
	int err;

	err = field_list(r, document, NULL, "stages", &stages);
	if (err < 0)
		return err;
	cJSON_ArrayForEach(stage, stages)
	{
		if (!cJSON_IsObject(stage))
			return refuse(r, &at, NULL, "is not a table");
		err = read_stage(r, stage, &at, form, p, grants);
		if (err < 0)
			return err;
		at.index++;
	}
	return field_unique(r, document, NULL, "stages", "name");
}

int services_read(const struct reading *r, const cJSON *document, enum module_form form,
		  const struct grants *grants, bool *ret_endpoint)
{
	struct parts p = { .pool_count = 0 };
	bool endpoint = false;
	int err;

	err = read_services(r, document, &p, grants, &endpoint);
	if (err == 0)
		err = read_runner(r, document, &p);
	if (err == 0)
		err = read_stages(r, document, form, &p, grants);
	if (err == 0)
		*ret_endpoint = endpoint;
	return err;
}
