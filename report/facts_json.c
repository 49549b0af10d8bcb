#include "report/facts_json.h"

#include <math.h>
#include <string.h>

#include "kabi/text.h"
#include "report/json.h"

const char *wire_arch(const char *machine)
{
	if (strcmp(machine, "x86_64") == 0)
		return "amd64";
	return strcmp(machine, "aarch64") == 0 ? "arm64" : "unknown";
}

static void platform_json(cJSON *object, const struct host_facts *host)
{
	cJSON *platform = json_object(object, "platform");

	json_text(platform, "os", "linux");
	json_text(platform, "arch", wire_arch(host->uts.machine));
	json_text_or_null(platform, "os_version", host->os_version);
	json_null(platform, "os_build");
	json_text_or_null(platform, "kernel", host->uts.release);
	json_text_or_null(platform, "distro", host->os_id);
	json_text_or_null(platform, "libc", host->libc);
	json_text_or_null(platform, "libc_version", host->libc_version);
}

/* A count, or null when it is negative: unknown. */
static void count_json(cJSON *object, const char *key, int32_t count)
{
	if (count < 0)
		json_null(object, key);
	else
		json_number(object, key, count);
}

static void cpu_json(cJSON *object, const struct facts *facts)
{
	bool known = facts->outcomes[PROBE_HOST].outcome == OUTCOME_DONE;
	cJSON *cpu = json_object(object, "cpu");

	json_text_or_null(cpu, "model", facts->host.cpu_model);
	count_json(cpu, "perf_cores", known ? facts->host.perf_cores : -1);
	count_json(cpu, "eff_cores", known ? facts->host.eff_cores : -1);
	count_json(cpu, "logical", known ? facts->host.logical : -1);
}

/* Bytes as GiB to one decimal, or null for 0: unknown. */
static void gib_json(cJSON *object, const char *key, uint64_t bytes)
{
	if (bytes == 0)
		json_null(object, key);
	else
		json_number(object, key, round((double)bytes / (1 << 30) * 10) / 10);
}

static void gpus_json(cJSON *object, const struct gpu_facts *gpus)
{
	cJSON *array = json_array(object, "gpus");

	for (uint32_t i = 0; i < gpus->gpu_count; i++) {
		const struct gpu *gpu = &gpus->gpus[i];
		cJSON *item = json_add_object(array);

		json_text(item, "vendor", gpu->vendor);
		json_text_or_null(item, "model", gpu->model);
		gib_json(item, "vram_gb", gpu->vram_bytes);
		json_bool(item, "unified", gpu->unified);
	}
}

void sandbox_fill_json(cJSON *sandbox, const struct capabilities *capabilities)
{
	const struct backend *backend = &capabilities->backend;
	cJSON *enforcement;

	json_text_or_null(sandbox, "backend", backend->present ? "landlock" : NULL);
	json_number(sandbox, "landlock_abi", backend->abi);
	enforcement = json_object(sandbox, "enforcement");
	for (int i = 0; backend->present && i < CAPABILITY_COUNT; i++)
		if (capability_rows[i].on_wire)
			json_text(enforcement, capability_rows[i].name,
				  status_name(capabilities->of[i].status));
}

static void containers_json(cJSON *object, const struct engine_facts *engine)
{
	cJSON *containers = json_object(object, "containers");
	bool installed = engine->state == ENGINE_INSTALLED;
	char gpu[FACTS_WORD_MAX + 8];
	struct text t = TEXT_BUF(gpu);

	json_text_or_null(containers, "runtime", installed ? engine->runtime : NULL);
	json_text(containers, "state", installed ? "installed" : "absent");
	json_text(containers, "detail",
		  engine->detail[0] ? engine->detail : "unknown: the engine probe gave no answer");
	text_add(&t, engine->cdi_kind[0] ? "cdi:" : "undetected");
	text_add(&t, engine->cdi_kind);
	json_text(containers, "gpu", gpu);
}

void facts_json(cJSON *object, const struct facts *facts, const struct capabilities *capabilities)
{
	const struct host_facts *host = &facts->host;

	json_number(object, "facts", 2);
	json_text(object, "hostname", host->hostname);
	platform_json(object, host);
	cpu_json(object, facts);
	gib_json(object, "memory_gb", host->memory_bytes);
	gpus_json(object, &facts->gpu);
	sandbox_fill_json(json_object(object, "sandbox"), capabilities);
	containers_json(object, &facts->engine);
	if (host->disk.answer == ANSWER_YES)
		json_number(object, "disk_free_gb", (double)host->disk.value / 1e9);
	else
		json_null(object, "disk_free_gb");
	json_bool(json_object(object, "power"), "battery", host->battery.answer == ANSWER_YES);
}
