/* Every recorded machine is asked again with its first, second, third … call failing. Nothing may
 * leak, no "no" may become a "yes", and no "yes" a "no": what was lost is unknown.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/recorded.h"
#include "probe/probes.h"
#include "tests/fake/failing.h"

#define TREES "tests/fake/trees"

static const int errors[] = { EINTR, EMFILE, ENFILE, ENOMEM, EIO };

/* The facts of one probe, and how they compare with those of the whole machine. */
struct subject {
	void (*probe)(const struct kernel *k, void *ret);
	size_t size;
	void (*compare)(const void *whole, const void *failed);
};

static void not_turned(const struct fact *whole, const struct fact *failed)
{
	if (failed->answer == ANSWER_UNKNOWN || failed->answer == whole->answer)
		return;
	/* Another way may find out what the first could not. */
	if (whole->answer == ANSWER_UNKNOWN)
		return;
	fail_msg("'%s' was %s '%s', became %s by '%s' '%s'", whole->call,
		 answer_name(whole->answer), whole->got, answer_name(failed->answer), failed->call,
		 failed->got);
}

/* An enum whose zero is "unknown". */
static void same_or_unknown(unsigned whole, unsigned failed)
{
	if (failed != 0)
		assert_int_equal(failed, whole);
}

static void ask_cgroup(const struct kernel *k, void *ret)
{
	probe_cgroup(k, ret);
}

static void compare_cgroup(const void *a, const void *b)
{
	const struct cgroup_facts *whole = a;
	const struct cgroup_facts *failed = b;
	const struct fact *const pairs[][2] = {
		{ &whole->mounted, &failed->mounted },
		{ &whole->dir_writable, &failed->dir_writable },
		{ &whole->procs_writable, &failed->procs_writable },
		{ &whole->subtree_writable, &failed->subtree_writable },
		{ &whole->delegate_xattr, &failed->delegate_xattr },
		{ &whole->owned, &failed->owned },
		{ &whole->kill, &failed->kill },
		{ &whole->freeze, &failed->freeze },
		{ &whole->memory_files, &failed->memory_files },
		{ &whole->cpu_files, &failed->cpu_files },
		{ &whole->pids_files, &failed->pids_files },
		{ &whole->psi[0], &failed->psi[0] },
		{ &whole->psi[1], &failed->psi[1] },
		{ &whole->psi[2], &failed->psi[2] },
	};

	same_or_unknown(whole->layout, failed->layout);
	/* That root may write is still true when whose it is cannot be found out. */
	if (failed->delegation != DELEGATION_WRITABLE || whole->delegation == DELEGATION_NONE)
		same_or_unknown(whole->delegation, failed->delegation);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		not_turned(pairs[i][0], pairs[i][1]);
	for (size_t c = 0; c < CONTROLLER_COUNT; c++) {
		not_turned(&whole->controllers[c].available, &failed->controllers[c].available);
		not_turned(&whole->controllers[c].enabled, &failed->controllers[c].enabled);
		not_turned(&whole->controllers[c].enableable, &failed->controllers[c].enableable);
	}
}

static void ask_gpu(const struct kernel *k, void *ret)
{
	probe_gpu(k, ret);
}

static const struct gpu *same_gpu(const struct gpu_facts *f, const struct gpu *wanted)
{
	for (uint32_t i = 0; i < f->gpu_count; i++)
		if (strcmp(f->gpus[i].address, wanted->address) == 0)
			return &f->gpus[i];
	return NULL;
}

/* What was found to be no GPU must not become one. */
static void no_gpu_more(const struct gpu_facts *whole, const struct gpu_facts *failed)
{
	for (uint32_t i = 0; i < failed->gpu_count; i++) {
		bool known = same_gpu(whole, &failed->gpus[i]);

		for (uint32_t j = 0; j < whole->gpu_count; j++)
			known = known || (whole->gpus[j].node[0] &&
					  strcmp(whole->gpus[j].node, failed->gpus[i].node) == 0);
		if (!known)
			fail_msg("'%s' at '%s' became a GPU", failed->gpus[i].node,
				 failed->gpus[i].address);
	}
}

static void compare_gpu(const void *a, const void *b)
{
	const struct gpu_facts *whole = a;
	const struct gpu_facts *failed = b;

	for (uint32_t i = 0; i < failed->node_count; i++)
		for (uint32_t j = 0; j < whole->node_count; j++)
			if (strcmp(failed->nodes[i].path, whole->nodes[j].path) == 0)
				not_turned(&whole->nodes[j].openable, &failed->nodes[i].openable);
	for (uint32_t i = 0; i < failed->gpu_count; i++) {
		const struct gpu *g = same_gpu(whole, &failed->gpus[i]);

		if (g)
			same_or_unknown(g->usable, failed->gpus[i].usable);
	}
	no_gpu_more(whole, failed);
}

static void ask_engine(const struct kernel *k, void *ret)
{
	probe_engine(k, ret);
}

static void compare_engine(const void *a, const void *b)
{
	const struct engine_facts *whole = a;
	const struct engine_facts *failed = b;

	same_or_unknown(whole->state, failed->state);
}

static void ask_host(const struct kernel *k, void *ret)
{
	probe_host(k, NULL, ret);
}

/* What is said of them is right, or nothing is. */
static void compare_host(const void *a, const void *b)
{
	const struct host_facts *whole = a;
	const struct host_facts *failed = b;

	not_turned(&whole->battery, &failed->battery);
	not_turned(&whole->disk, &failed->disk);
	not_turned(&whole->caps_asked, &failed->caps_asked);
	if (failed->hostname[0])
		assert_string_equal(failed->hostname, whole->hostname);
	if (strcmp(failed->container, "none") == 0)
		assert_string_equal(whole->container, "none");
	if (strcmp(failed->virtualisation, "none") == 0)
		assert_string_equal(whole->virtualisation, "none");
	if (failed->logical != -1)
		assert_int_equal(failed->logical, whole->logical);
	if (failed->perf_cores != -1)
		assert_int_equal(failed->perf_cores + failed->eff_cores,
				 whole->perf_cores + whole->eff_cores);
	if (failed->memory_bytes)
		assert_true(failed->memory_bytes == whole->memory_bytes);
}

static void ask_settings(const struct kernel *k, void *ret)
{
	probe_settings(k, ret);
}

static void compare_settings(const void *a, const void *b)
{
	const struct fact *whole = a;
	const struct fact *failed = b;

	_Static_assert(sizeof(struct settings_facts) % sizeof(struct fact) == 0, "facts alone");
	for (size_t i = 0; i < sizeof(struct settings_facts) / sizeof(struct fact); i++)
		not_turned(&whole[i], &failed[i]);
}

static const struct subject subjects[] = {
	{ ask_cgroup, sizeof(struct cgroup_facts), compare_cgroup },
	{ ask_gpu, sizeof(struct gpu_facts), compare_gpu },
	{ ask_engine, sizeof(struct engine_facts), compare_engine },
	{ ask_host, sizeof(struct host_facts), compare_host },
	{ ask_settings, sizeof(struct settings_facts), compare_settings },
};

/* Returns how many calls the probe made. */
static unsigned run(const struct subject *s, const struct kernel *machine, unsigned fail_at,
		    int error, void *facts)
{
	struct failing f;

	memset(facts, 0, s->size);
	failing_start(&f, machine, fail_at, error);
	s->probe(&f.kernel, facts);
	assert_int_equal(f.open, 0);
	return f.calls;
}

static void fail_one_after_another(const struct subject *s, const struct kernel *machine)
{
	void *whole = calloc(1, s->size);
	void *failed = calloc(1, s->size);
	unsigned calls;

	assert_non_null(whole);
	assert_non_null(failed);
	calls = run(s, machine, 0, 0, whole);
	assert_true(calls > 0);
	for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++)
		for (unsigned n = 1; n <= calls; n++) {
			run(s, machine, n, errors[e], failed);
			s->compare(whole, failed);
		}
	free(whole);
	free(failed);
}

static void a_failing_call_is_not_an_answer(void **state)
{
	struct dirent **names;
	int count = scandir(TREES, &names, NULL, alphasort);

	(void)state;
	assert_true(count > 2);
	for (int i = 0; i < count; i++) {
		char path[512];
		struct kernel machine;
		struct fault why;

		snprintf(path, sizeof(path), "%s/%s", TREES, names[i]->d_name);
		if (names[i]->d_name[0] != '.') {
			print_message("# %s\n", path);
			assert_int_equal(recorded_open(path, &machine, &why), 0);
			for (size_t s = 0; s < sizeof(subjects) / sizeof(subjects[0]); s++)
				fail_one_after_another(&subjects[s], &machine);
			recorded_close(&machine);
		}
		free(names[i]);
	}
	free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failing_call_is_not_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
