#include "report/kernel_json.h"

#include <stddef.h>

#include "report/json.h"

void fact_fill_json(cJSON *item, const struct fact *fact)
{
	json_text(item, "answer", answer_name(fact->answer));
	json_text(item, "basis", basis_name(fact->basis));
	json_text(item, "call", fact->call);
	json_text(item, "got", fact->got);
}

static void fact_json(cJSON *object, const char *key, const struct fact *fact)
{
	fact_fill_json(json_object(object, key), fact);
}

/* ---- landlock ---- */

static const char *landlock_state_name(enum landlock_state state)
{
	switch (state) {
	case LANDLOCK_UNKNOWN:
		return "unknown";
	case LANDLOCK_NOT_BUILT:
		return "not-built";
	case LANDLOCK_OFF_AT_BOOT:
		return "off-at-boot";
	case LANDLOCK_FILTERED:
		return "filtered";
	case LANDLOCK_PRESENT:
		return "present";
	}
	return "unknown";
}

static void errata_json(cJSON *object, const struct fact *errata)
{
	cJSON *fixed = json_array(object, "errata_fixed");

	if (errata->answer != ANSWER_YES)
		return;
	for (size_t i = 0; i < LL_ERRATUM_COUNT; i++)
		if (errata->value & 1LL << ll_errata[i].bit)
			json_add_text(fixed, ll_errata[i].name);
}

static void landlock_json(cJSON *object, const struct landlock_facts *l)
{
	cJSON *rights;

	json_text(object, "state", landlock_state_name(l->state));
	fact_json(object, "abi", &l->abi);
	fact_json(object, "errata", &l->errata);
	errata_json(object, &l->errata);
	rights = json_object(object, "rights");
	for (size_t i = 0; i < LL_RIGHT_COUNT; i++)
		fact_json(rights, ll_rights[i].name, &l->rights[i]);
	fact_json(object, "lsm_list", &l->lsm_list);
	fact_json(object, "config", &l->config);
}

/* ---- seccomp ---- */

static void seccomp_json(cJSON *object, const struct seccomp_facts *s)
{
	cJSON *actions;
	cJSON *flags;

	fact_json(object, "mode", &s->mode);
	fact_json(object, "filters", &s->filters);
	fact_json(object, "no_new_privs", &s->no_new_privs);
	actions = json_object(object, "actions");
	for (size_t i = 0; i < SC_ACTION_COUNT; i++)
		fact_json(actions, sc_actions[i].name, &s->actions[i]);
	flags = json_object(object, "flags");
	for (size_t i = 0; i < SC_FLAG_COUNT; i++)
		fact_json(flags, sc_flags[i].name, &s->flags[i]);
	fact_json(object, "entry_i386", &s->entry_i386);
	fact_json(object, "entry_x32", &s->entry_x32);
}

/* ---- cgroup ---- */

static const char *layout_name(enum cgroup_layout layout)
{
	switch (layout) {
	case CGROUP_UNKNOWN:
		return "unknown";
	case CGROUP_NONE:
		return "none";
	case CGROUP_V1:
		return "v1";
	case CGROUP_HYBRID:
		return "hybrid";
	case CGROUP_UNIFIED:
		return "unified";
	}
	return "unknown";
}

static const char *delegation_name(enum cgroup_delegation delegation)
{
	switch (delegation) {
	case DELEGATION_UNKNOWN:
		return "unknown";
	case DELEGATION_NONE:
		return "none";
	case DELEGATION_WRITABLE:
		return "writable";
	case DELEGATION_DELEGATED:
		return "delegated";
	}
	return "unknown";
}

static void controllers_json(cJSON *object, const struct controller_facts *controllers)
{
	cJSON *all = json_object(object, "controllers");

	for (size_t i = 0; i < CONTROLLER_COUNT; i++) {
		cJSON *one = json_object(all, controller_names[i]);

		fact_json(one, "available", &controllers[i].available);
		fact_json(one, "enabled", &controllers[i].enabled);
		fact_json(one, "enableable", &controllers[i].enableable);
		json_bool(one, "owned_by_v1", controllers[i].owned_by_v1);
	}
}

static void cgroup_json(cJSON *object, const struct cgroup_facts *c)
{
	static const char *const psi[] = { "psi_cpu", "psi_memory", "psi_io" };
	cJSON *obstacles;
	cJSON *missing;

	json_text(object, "layout", layout_name(c->layout));
	json_text(object, "delegation", delegation_name(c->delegation));
	json_text_or_null(object, "mount", c->mount);
	json_text_or_null(object, "own", c->own);
	json_text_or_null(object, "directory", c->dir);
	json_text_or_null(object, "type", c->type);
	json_bool(object, "namespaced", c->namespaced);
	fact_json(object, "mounted", &c->mounted);
	fact_json(object, "dir_writable", &c->dir_writable);
	fact_json(object, "procs_writable", &c->procs_writable);
	fact_json(object, "subtree_writable", &c->subtree_writable);
	fact_json(object, "delegate_xattr", &c->delegate_xattr);
	fact_json(object, "owned", &c->owned);
	controllers_json(object, c->controllers);
	fact_json(object, "kill", &c->kill);
	fact_json(object, "freeze", &c->freeze);
	fact_json(object, "memory_files", &c->memory_files);
	fact_json(object, "cpu_files", &c->cpu_files);
	fact_json(object, "pids_files", &c->pids_files);
	for (size_t i = 0; i < 3; i++)
		fact_json(object, psi[i], &c->psi[i]);
	missing = json_array(object, "missing");
	for (uint32_t i = 0; i < c->missing_count; i++)
		json_add_text(missing, c->missing[i].text);
	obstacles = json_array(object, "obstacles");
	for (uint32_t i = 0; i < c->missing_count; i++)
		json_add_text(obstacles, leaf_obstacle_name(c->missing[i].obstacle));
}

/* ---- gpu ---- */

static const char *node_kind_name(enum gpu_node_kind kind)
{
	switch (kind) {
	case GPU_NODE_OTHER:
		return "other";
	case GPU_NODE_DRM_CARD:
		return "drm-card";
	case GPU_NODE_DRM_RENDER:
		return "drm-render";
	case GPU_NODE_NVIDIA:
		return "nvidia";
	case GPU_NODE_NVIDIA_CONTROL:
		return "nvidia-control";
	case GPU_NODE_NVIDIA_CAPS:
		return "nvidia-caps";
	case GPU_NODE_KFD:
		return "kfd";
	case GPU_NODE_DXG:
		return "dxg";
	}
	return "other";
}

static void gpu_json(cJSON *object, const struct gpu_facts *g)
{
	cJSON *nodes;
	cJSON *gpus;

	fact_json(object, "searched", &g->searched);
	json_bool(object, "truncated", g->truncated);
	nodes = json_array(object, "nodes");
	for (uint32_t i = 0; i < g->node_count; i++) {
		const struct gpu_node *n = &g->nodes[i];
		cJSON *item = json_add_object(nodes);

		json_text(item, "path", n->path);
		json_text(item, "kind", node_kind_name(n->kind));
		json_bool(item, "device", n->device);
		json_number(item, "major", n->node.major);
		json_number(item, "minor", n->node.minor);
		fact_json(item, "openable", &n->openable);
		json_text_or_null(item, "group", n->group);
	}
	gpus = json_array(object, "gpus");
	for (uint32_t i = 0; i < g->gpu_count; i++) {
		const struct gpu *gpu = &g->gpus[i];
		cJSON *item = json_add_object(gpus);

		json_text(item, "vendor", gpu->vendor);
		json_text_or_null(item, "model", gpu->model);
		json_text_or_null(item, "driver", gpu->driver);
		json_text_or_null(item, "address", gpu->address);
		json_text_or_null(item, "node", gpu->node);
		json_text(item, "usable", answer_name(gpu->usable));
	}
}

/* ---- the rest ---- */

static void settings_json(cJSON *object, const struct settings_facts *s)
{
	static const struct {
		const char *name;
		size_t offset;
	} rows[] = {
#define ROW(member) { #member, offsetof(struct settings_facts, member) }
		ROW(user_namespace),
		ROW(userns_max),
		ROW(userns_clone),
		ROW(userns_apparmor),
		ROW(io_uring),
		ROW(io_uring_disabled),
		ROW(yama),
		ROW(tiocsti),
		ROW(dmesg_restrict),
		ROW(kptr_restrict),
		ROW(perf_paranoid),
		ROW(protected_hardlinks),
		ROW(protected_symlinks),
		ROW(protected_fifos),
		ROW(suid_dumpable),
		ROW(core_pattern),
		ROW(modules_disabled),
		ROW(mmap_min_addr),
#undef ROW
	};

	_Static_assert(sizeof(rows) / sizeof(rows[0]) * sizeof(struct fact) == sizeof(*s),
		       "every setting is written");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fact_json(object, rows[i].name,
			  (const struct fact *)((const char *)s + rows[i].offset));
}

static void engine_json(cJSON *object, const struct engine_facts *e)
{
	json_text_or_null(object, "runtime", e->runtime);
	json_text_or_null(object, "path", e->path);
	json_text_or_null(object, "cdi_kind", e->cdi_kind);
	json_text_or_null(object, "cdi_file", e->cdi_file);
}

static const char *scope_name(enum address_scope scope)
{
	switch (scope) {
	case SCOPE_UNKNOWN:
		return "unknown";
	case SCOPE_LOOPBACK:
		return "loopback";
	case SCOPE_LINK_LOCAL:
		return "link-local";
	case SCOPE_GLOBAL:
		return "global";
	}
	return "unknown";
}

static void net_json(cJSON *object, const struct net_facts *n)
{
	cJSON *links;
	cJSON *addresses;

	fact_json(object, "asked", &n->asked);
	fact_json(object, "ipv4", &n->ipv4);
	fact_json(object, "ipv6", &n->ipv6);
	json_bool(object, "truncated", n->truncated);
	links = json_array(object, "links");
	for (uint32_t i = 0; i < n->link_count; i++) {
		cJSON *item = json_add_object(links);

		json_number(item, "index", n->links[i].index);
		json_text(item, "name", n->links[i].name);
		json_bool(item, "up", n->links[i].up);
		json_bool(item, "loopback", n->links[i].loopback);
	}
	addresses = json_array(object, "addresses");
	for (uint32_t i = 0; i < n->address_count; i++) {
		cJSON *item = json_add_object(addresses);

		json_number(item, "link", n->addresses[i].link);
		json_text(item, "address", n->addresses[i].text);
		json_text(item, "scope", scope_name(n->addresses[i].scope));
	}
}

static void bpf_rows_json(cJSON *object, const char *key, const struct bpf_row *rows,
			  uint32_t count)
{
	cJSON *all = json_object(object, key);

	for (uint32_t i = 0; i < count; i++)
		fact_json(all, rows[i].name, &rows[i].usable);
}

static void bpf_json(cJSON *object, const struct bpf_facts *b)
{
	fact_json(object, "may_ask", &b->may_ask);
	fact_json(object, "unprivileged", &b->unprivileged);
	fact_json(object, "btf", &b->btf);
	fact_json(object, "jit", &b->jit);
	bpf_rows_json(object, "programs", b->programs, b->program_count);
	bpf_rows_json(object, "attaches", b->attaches, b->attach_count);
}

static void host_json(cJSON *object, const struct host_facts *h)
{
	cJSON *virtualisation = json_object(object, "virtualisation");
	cJSON *container = json_object(object, "container");

	json_text_or_null(virtualisation, "kind", h->virtualisation);
	json_text(virtualisation, "why", h->virtualisation_why);
	json_text_or_null(container, "kind", h->container);
	json_text(container, "why", h->container_why);
	json_text_or_null(object, "release", h->uts.release);
	json_text_or_null(object, "version", h->uts.version);
	json_text_or_null(object, "machine", h->uts.machine);
	json_text_or_null(object, "os", h->os_pretty);
	json_text_or_null(object, "os_release", h->os_release_path);
	if (h->ids.uid == UINT32_MAX)
		json_null(object, "uid");
	else
		json_number(object, "uid", h->ids.uid);
	fact_json(object, "capabilities", &h->caps_asked);
	fact_json(object, "disk", &h->disk);
	json_text_or_null(object, "disk_path", h->disk_path);
	fact_json(object, "battery", &h->battery);
}

static cJSON *section(cJSON *kernel, const struct facts *facts, enum probe_id id)
{
	if (facts->outcomes[id].outcome == OUTCOME_DONE)
		return json_object(kernel, probe_name(id));
	json_null(kernel, probe_name(id));
	return NULL;
}

void kernel_json(cJSON *object, const struct facts *facts)
{
	cJSON *kernel = json_object(object, "kernel");
	cJSON *s;

	if ((s = section(kernel, facts, PROBE_HOST)))
		host_json(s, &facts->host);
	if ((s = section(kernel, facts, PROBE_LANDLOCK)))
		landlock_json(s, &facts->landlock);
	if ((s = section(kernel, facts, PROBE_SECCOMP)))
		seccomp_json(s, &facts->seccomp);
	if ((s = section(kernel, facts, PROBE_CGROUP)))
		cgroup_json(s, &facts->cgroup);
	if ((s = section(kernel, facts, PROBE_GPU)))
		gpu_json(s, &facts->gpu);
	if ((s = section(kernel, facts, PROBE_SETTINGS)))
		settings_json(s, &facts->settings);
	if ((s = section(kernel, facts, PROBE_ENGINE)))
		engine_json(s, &facts->engine);
	if ((s = section(kernel, facts, PROBE_NET)))
		net_json(s, &facts->net);
	if ((s = section(kernel, facts, PROBE_BPF)))
		bpf_json(s, &facts->bpf);
}
