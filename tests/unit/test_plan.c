/* launch: the plan for a policy on kernels of every ABI, and which roots may overlap. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "launch/ask.h"
#include "launch/plan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct policy policy;
static struct plan plan;

static int make_for(const char *json, const struct plan_input *input, struct fault *why)
{
	static char text[4096];

	assert_true(text_copy(text, sizeof(text), json));
	if (policy_parse(text, strlen(text), &policy, why) < 0)
		fail_msg("%s: %s", json, why->text);
	return plan_make(&policy, input, &plan, why);
}

/* Make the plan for a policy given as JSON. */
static int make(const char *json, int abi, const struct gpu_nodes *gpu, struct fault *why)
{
	return make_for(json, &(struct plan_input){ .abi = abi, .gpu = gpu }, why);
}

static const struct rule *rule_on(const char *path)
{
	for (size_t i = 0; i < plan.rule_count; i++)
		if (strcmp(plan.rules[i].path, path) == 0)
			return &plan.rules[i];
	return NULL;
}

static uint64_t rights_on(const char *path)
{
	const struct rule *rule = rule_on(path);

	return rule ? rule->rights : 0;
}

#define READ (LL_FS_READ_FILE | LL_FS_READ_DIR)
#define RUN (READ | LL_FS_EXECUTE)
#define WRITE_ABI_1                                                                        \
	(READ | LL_FS_WRITE_FILE | LL_FS_REMOVE_DIR | LL_FS_REMOVE_FILE | LL_FS_MAKE_DIR | \
	 LL_FS_MAKE_REG | LL_FS_MAKE_FIFO | LL_FS_MAKE_SYM)
#define WRITE (WRITE_ABI_1 | LL_FS_REFER | LL_FS_TRUNCATE)

static void each_list_grants_what_the_wire_says(void **state)
{
	struct fault why;

	(void)state;
	for (int abi = 3; abi <= LL_ABI_KNOWN + 3; abi++) {
		assert_int_equal(
			make("{\"ro\":[\"/b\"],\"rw\":[\"/w\"],\"exe\":\"/e\",\"rd\":[\"/i\"],"
			     "\"wo\":[\"/o\"]}",
			     abi, NULL, &why),
			0);
		assert_int_equal(plan_check(&plan, &why), 0);
		assert_int_equal(rights_on("/b"), RUN);
		assert_int_equal(rights_on("/e"), RUN);
		assert_int_equal(rights_on("/w"), WRITE);
		assert_int_equal(rights_on("/i"), READ);
		assert_int_equal(rights_on("/o"), LL_FS_MAKE_REG | LL_FS_MAKE_DIR |
							  LL_FS_WRITE_FILE | LL_FS_TRUNCATE);
		assert_int_equal(rights_on("/usr"), RUN);
		assert_int_equal(rights_on("/sys/devices/system/cpu"), RUN);
		assert_int_equal(rights_on("/dev/null"), LL_FS_READ_FILE | LL_FS_WRITE_FILE);
		assert_null(rule_on("/dev"));
		assert_null(rule_on("/"));
	}
	assert_int_equal(make("{\"rw\":[\"/w\"],\"exec_rw\":true}", 11, NULL, &why), 0);
	assert_int_equal(rights_on("/w"), WRITE | LL_FS_EXECUTE);
	assert_true(plan.filter.exec_rw);
}

static void everything_of_the_abi_is_handled(void **state)
{
	static const struct {
		int abi;
		uint64_t fs, net, scoped;
		uint32_t flags;
	} rows[] = {
		{ 3, 0x7fff, 0, 0, 0 },	   { 4, 0x7fff, 3, 0, 0 },     { 5, 0xffff, 3, 0, 0 },
		{ 6, 0xffff, 3, 3, 0 },	   { 7, 0xffff, 3, 3, 2 },     { 8, 0xffff, 3, 3, 2 },
		{ 9, 0x1ffff, 3, 3, 2 },   { 10, 0x1ffff, 15, 3, 2 },  { 11, 0x1ffff, 15, 3, 2 },
		{ 12, 0x1ffff, 15, 3, 2 }, { 999, 0x1ffff, 15, 3, 2 },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(make("{}", rows[i].abi, NULL, &why), 0);
		assert_int_equal(plan.handled_fs, rows[i].fs);
		assert_int_equal(plan.handled_net, rows[i].net);
		assert_int_equal(plan.scoped, rows[i].scoped);
		assert_int_equal(plan.restrict_flags, rows[i].flags);
	}
}

static void network_grants_are_one_port(void **state)
{
	static const char allow[] = "{\"net\":\"egress-allowlist\",\"proxy_port\":3128}";
	struct fault why;

	(void)state;
	assert_int_equal(make(allow, 4, NULL, &why), 0);
	assert_int_equal(plan_check(&plan, &why), 0);
	assert_int_equal(plan.port, 3128);
	assert_int_equal(plan.filter.net, FILTER_NET_STREAM);

	assert_int_equal(make("{\"proxy_port\":3128}", 4, NULL, &why), 0);
	assert_int_equal(plan.port, 0);
	assert_int_equal(plan.filter.net, FILTER_NET_NONE);

	assert_int_equal(make(allow, 3, NULL, &why), 0);
	assert_int_equal(plan_check(&plan, &why), -ENOTSUP);
	assert_string_equal(
		why.text, "net 'egress-allowlist' cannot be limited to the proxy's port: Landlock "
			  "ABI 4 (Linux 6.7) is needed, this kernel has ABI 3");
}

static void the_broker_gets_its_socket_alone_where_the_kernel_can(void **state)
{
	static const char broker[] = "{\"broker_socket\":\"/w/s\"}";
	struct fault why;

	(void)state;
	assert_int_equal(make(broker, 8, NULL, &why), 0);
	assert_int_equal(plan_check(&plan, &why), 0);
	assert_null(rule_on("/w/s"));
	assert_true(plan.filter.broker);
	assert_true(plan.shortfalls & 1U << SHORT_BROKER);

	assert_int_equal(make(broker, 9, NULL, &why), 0);
	assert_int_equal(rights_on("/w/s"), LL_FS_RESOLVE_UNIX);
	assert_false(plan.shortfalls & 1U << SHORT_BROKER);

	assert_int_equal(make("{}", 9, NULL, &why), 0);
	assert_false(plan.filter.broker);
	for (size_t i = 0; i < plan.rule_count; i++)
		assert_false(plan.rules[i].rights & LL_FS_RESOLVE_UNIX);
}

static void gpu_nodes_alone_get_ioctl(void **state)
{
	static const struct gpu_nodes gpu = {
		.count = 2,
		.nodes = { { "/dev/dri", true }, { "/dev/dri/renderD128", false } },
	};
	static const struct gpu_nodes none;
	struct fault why;

	(void)state;
	assert_int_equal(make("{\"gpu\":true,\"rw\":[\"/w\"]}", 5, &gpu, &why), 0);
	assert_int_equal(rights_on("/dev/dri"), LL_FS_READ_DIR);
	assert_int_equal(rights_on("/dev/dri/renderD128"),
			 LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_IOCTL_DEV);
	for (size_t i = 0; i < plan.rule_count; i++)
		if (plan.rules[i].source != RULE_GPU)
			assert_false(plan.rules[i].rights & LL_FS_IOCTL_DEV);

	assert_int_equal(make("{\"gpu\":true}", 4, &gpu, &why), 0);
	assert_int_equal(rights_on("/dev/dri/renderD128"), LL_FS_READ_FILE | LL_FS_WRITE_FILE);
	assert_int_equal(make("{}", 5, &gpu, &why), 0);
	assert_null(rule_on("/dev/dri/renderD128"));
	assert_int_equal(make("{\"gpu\":true}", 5, &none, &why), 0);
	assert_true(plan.shortfalls & 1U << SHORT_GPU);
	assert_int_equal(plan_check(&plan, &why), 0);
}

static void an_old_kernel_is_refused_with_what_it_has(void **state)
{
	static const struct {
		int abi;
		const char *found;
	} rows[] = {
		{ 2, "this kernel has ABI 2" },
		{ 1, "this kernel has ABI 1" },
		{ 0, "this kernel has none" },
		{ -ENOSYS, "this kernel has none (ENOSYS)" },
		{ -EOPNOTSUPP, "this kernel has none (EOPNOTSUPP)" },
		{ -EPERM, "this kernel has none (EPERM)" },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(make("{}", rows[i].abi, NULL, &why), 0);
		assert_int_equal(plan_check(&plan, &why), -ENOTSUP);
		assert_true(text_ends(why.text, rows[i].found));
		assert_non_null(strstr(why.text, "Landlock ABI 3 (Linux 6.2) is needed"));
	}
}

static void gaps_are_known_by_abi(void **state)
{
	static const struct {
		int abi;
		unsigned shortfalls;
	} rows[] = {
		{ 3, 1U << SHORT_SIGNALS | 1U << SHORT_ABSTRACT | 1U << SHORT_IOCTL |
			     1U << SHORT_AUDIT },
		{ 5, 1U << SHORT_SIGNALS | 1U << SHORT_ABSTRACT | 1U << SHORT_AUDIT },
		{ 6, 1U << SHORT_AUDIT },
		{ 7, 0 },
		{ 50, 0 },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(make("{}", rows[i].abi, NULL, &why), 0);
		assert_int_equal(plan.shortfalls, rows[i].shortfalls);
		assert_int_equal(plan_check(&plan, &why), 0);
	}
}

static void roots_that_widen_each_other_are_refused(void **state)
{
	static const struct {
		const char *json;
		const char *refusal; /* NULL: allowed */
	} rows[] = {
		/* The same grant twice. */
		{ "{\"ro\":[\"/a\",\"/a\",\"/a/b\"],\"exe\":\"/a/b/c\"}", NULL },
		{ "{\"rw\":[\"/a\",\"/a/b\",\"/a\"]}", NULL },
		{ "{\"rd\":[\"/a\",\"/a/b\"]}", NULL },
		{ "{\"wo\":[\"/a\",\"/a/b\"]}", NULL },
		{ "{\"ro\":[\"/usr/lib/jvm\",\"/opt\",\"/etc\"],\"exe\":\"/usr/bin/python3\"}",
		  NULL },
		/* Neighbours whose names begin alike. */
		{ "{\"ro\":[\"/a/b\"],\"rw\":[\"/a/bc\",\"/a/b-work\"]}", NULL },
		{ "{\"rw\":[\"/option\",\"/usr2\"]}", NULL },
		/* What an agent emits (wire.md §11.2). */
		{ "{\"ro\":[\"/h/releases/r1/bundle\",\"/h/releases/r1/venvs/m\",\"/usr\"],\"rw\":[\"/h/"
		  "work/a1\",\"/h/modules-data/m\"],\"exe\":\"/h/releases/r1/venvs/m/bin/python\",\"rd\":"
		  "[\"/data/in\"],\"wo\":[\"/data/out\"]}",
		  NULL },
		/* A read-only root that would be writable. */
		{ "{\"ro\":[\"/a/b\"],\"rw\":[\"/a\"]}", "ro '/a/b' lies in rw '/a'" },
		{ "{\"rw\":[\"/a\"],\"ro\":[\"/a\"]}", "rw '/a' lies in ro '/a'" },
		{ "{\"ro\":[\"/a/b\"],\"wo\":[\"/a\"]}", "ro '/a/b' lies in wo '/a'" },
		{ "{\"rd\":[\"/a/b\"],\"rw\":[\"/a\"]}", "rd '/a/b' lies in rw '/a'" },
		{ "{\"exe\":\"/a/python\",\"rw\":[\"/a\"]}", "exe '/a/python' lies in rw '/a'" },
		/* A writable root that would be executable, or readable, or widen what holds it. */
		{ "{\"ro\":[\"/a\"],\"rw\":[\"/a/b\"]}", "rw '/a/b' lies in ro '/a'" },
		{ "{\"ro\":[\"/a\"],\"rw\":[\"/a/b\"],\"exec_rw\":true}",
		  "rw '/a/b' lies in ro '/a'" },
		{ "{\"ro\":[\"/a\"],\"wo\":[\"/a/b\"]}", "wo '/a/b' lies in ro '/a'" },
		{ "{\"rd\":[\"/a\"],\"rw\":[\"/a/b\"]}", "rw '/a/b' lies in rd '/a'" },
		{ "{\"rd\":[\"/a\"],\"wo\":[\"/a\"]}", "rd '/a' lies in wo '/a'" },
		{ "{\"rw\":[\"/a\"],\"wo\":[\"/a/b\"]}", "wo '/a/b' lies in rw '/a'" },
		{ "{\"wo\":[\"/a\"],\"rw\":[\"/a/b\"]}", "rw '/a/b' lies in wo '/a'" },
		/* An input folder that would be executable. */
		{ "{\"ro\":[\"/a\"],\"rd\":[\"/a/b\"]}", "rd '/a/b' lies in ro '/a'" },
		{ "{\"rd\":[\"/usr/share/x\"]}", "rd '/usr/share/x' lies in base system '/usr'" },
		{ "{\"rd\":[\"/a\"],\"ro\":[\"/a/b\"]}", "ro '/a/b' lies in rd '/a'" },
		/* The base system. */
		{ "{\"rw\":[\"/opt/agent/work\"]}",
		  "rw '/opt/agent/work' lies in base system '/opt'" },
		{ "{\"rw\":[\"/usr\"],\"exec_rw\":true}", "rw '/usr' holds base system '/usr'" },
		{ "{\"wo\":[\"/etc/x\"]}", "wo '/etc/x' lies in base system '/etc'" },
		{ "{\"rw\":[\"/usr/..x\"]}", "lies in base system '/usr'" },
		/* With exec_rw nothing is widened. */
		{ "{\"rw\":[\"/opt/agent/work\"],\"exec_rw\":true}", NULL },
		{ "{\"exe\":\"/a/python\",\"rw\":[\"/a\"],\"exec_rw\":true}", NULL },
		/* Places of the kernel's. */
		{ "{\"ro\":[\"/\"]}", "ro '/': '/dev' is no folder" },
		{ "{\"rd\":[\"/\"]}", "rd '/': '/dev' is no folder" },
		{ "{\"rw\":[\"/\"],\"exec_rw\":true}", "rw '/': '/dev' is no folder" },
		{ "{\"rw\":[\"/dev\"]}", "rw '/dev': '/dev' is no folder" },
		{ "{\"ro\":[\"/dev/sda\"]}", "ro '/dev/sda': '/dev' is no folder" },
		{ "{\"rw\":[\"/dev/shm\"],\"ro\":[\"/device\"]}", NULL },
		{ "{\"rw\":[\"/dev/shm/x\"]}", NULL },
		{ "{\"rw\":[\"/dev/shmem\"]}", "'/dev' is no folder" },
		{ "{\"rw\":[\"/sys/fs/cgroup\"]}", "'/sys' is no folder" },
		{ "{\"wo\":[\"/sys\"]}", "'/sys' is no folder" },
		{ "{\"ro\":[\"/sys/class/drm\"]}", NULL },
		{ "{\"rw\":[\"/proc/self\"],\"exec_rw\":true}", "'/proc' is no folder" },
	};
	struct fault why;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		int r;

		why.text[0] = '\0';
		r = make(rows[i].json, 7, NULL, &why);
		if (r != (rows[i].refusal ? -EINVAL : 0) ||
		    (rows[i].refusal && !strstr(why.text, rows[i].refusal)))
			fail_msg("%s: %d '%s'", rows[i].json, r, why.text);
	}
}

static void the_real_places_of_roots_count(void **state)
{
	static const char json[] = "{\"ro\":[\"/b\"],\"rw\":[\"/w\",\"/w/sub\"]}";
	const char *paths[PLAN_RULES_MAX];
	struct fault why;
	size_t ro = 0;

	(void)state;
	assert_int_equal(make(json, 7, NULL, &why), 0);
	for (size_t i = 0; i < plan.rule_count; i++) {
		paths[i] = plan.rules[i].path;
		if (plan.rules[i].source == RULE_RO)
			ro = i;
	}
	assert_int_equal(plan_overlap(&plan, paths, &why), 0);

	paths[ro] = "/w/bundle";
	assert_int_equal(plan_overlap(&plan, paths, &why), -EINVAL);
	assert_non_null(strstr(why.text, "ro '/b' lies in rw '/w'"));
	assert_non_null(strstr(why.text, "really they are '/w/bundle' and '/w'"));

	paths[ro] = "/elsewhere";
	paths[ro + 2] = "/home/user/.ssh";
	assert_int_equal(plan_overlap(&plan, paths, &why), -EINVAL);
	assert_non_null(strstr(why.text, "rw '/w/sub' leads out of rw '/w'"));
}

static void too_many_rules_are_refused(void **state)
{
	static struct policy many;
	const struct plan_input input = { .abi = 7 };
	struct fault why;

	(void)state;
	for (size_t i = 0; i < POLICY_ROOTS_MAX; i++)
		many.roots[i] = (struct root){ ROOT_RO, "/r" };
	many.root_count = POLICY_ROOTS_MAX;
	assert_int_equal(plan_make(&many, &input, &plan, &why), 0);
	assert_int_equal(plan.rule_count, POLICY_ROOTS_MAX + 15);
}

/* ---- printing ---- */

struct page {
	char text[64 * 1024];
	size_t len;
};

static void add_line(void *arg, const char *line)
{
	struct page *page = arg;
	size_t len = strlen(line);

	assert_null(strchr(line, '\n'));
	assert_true(page->len + len + 2 < sizeof(page->text));
	memcpy(page->text + page->len, line, len);
	page->len += len;
	page->text[page->len++] = '\n';
	page->text[page->len] = '\0';
}

static void a_plan_is_printed_whole(void **state)
{
	static const char *const expected[] = {
		"landlock: ABI 3, Linux 6.2\n",
		"handled files: EXECUTE WRITE_FILE READ_FILE READ_DIR REMOVE_DIR REMOVE_FILE MAKE_CHAR MAKE_DIR "
		"MAKE_REG MAKE_SOCK MAKE_FIFO MAKE_BLOCK MAKE_SYM REFER TRUNCATE\n",
		"handled network: nothing\n",
		"scoped: nothing\n",
		"rule: base system '/usr', if there: EXECUTE READ_FILE READ_DIR\n",
		"rule: device '/dev/null', if there: WRITE_FILE READ_FILE\n",
		"rule: ro '/b\\xc2\\x85': EXECUTE READ_FILE READ_DIR\n",
		"rule: wo '/o': WRITE_FILE MAKE_DIR MAKE_REG TRUNCATE\n",
		"rule: port 3128, any address: nothing\n",
		"filter: anything else -> allow\n",
		"shortfall: net 'egress-allowlist' cannot be limited to the proxy's port (before Landlock "
		"ABI 4, Linux 6.7)\n",
		"gap: other processes of this user can be signalled (before Landlock ABI 6, Linux 6.12)\n",
	};
	static struct page page;
	struct fault why;

	(void)state;
	assert_int_equal(
		make("{\"ro\":[\"/b\\u0085\"],\"wo\":[\"/o\"],\"net\":\"egress-allowlist\","
		     "\"proxy_port\":3128}",
		     3, NULL, &why),
		0);
	plan_print(&plan, add_line, &page);
	for (size_t i = 0; i < COUNT(expected); i++)
		if (!strstr(page.text, expected[i]))
			fail_msg("'%s' is not in\n%s", expected[i], page.text);

	page.len = 0;
	assert_int_equal(make("{}", 77, NULL, &why), 0);
	plan_print(&plan, add_line, &page);
	assert_non_null(strstr(page.text, "landlock: ABI 77, newer than this build\n"));
	assert_null(strstr(page.text, "gap:"));

	page.len = 0;
	assert_int_equal(make("{}", -EOPNOTSUPP, NULL, &why), 0);
	plan_print(&plan, add_line, &page);
	assert_non_null(strstr(page.text, "landlock: none, EOPNOTSUPP\n"));
	assert_non_null(strstr(page.text, "shortfall: the file system cannot be confined"));
}

static void what_the_parent_does_is_not_the_rulesets(void **state)
{
	static const char json[] =
		"{\"net\":\"egress-allowlist\",\"proxy_port\":3128,"
		"\"broker_socket\":\"/s\\u0085\",\"rw\":[\"/w\"],\"wo\":[\"/o\"]}";
	static const char *const connects[] = {
		"parent: connect: to port 3128 of 127.0.0.1, of IPv6 sockets to ::ffff:127.0.0.1\n",
		"parent: connect: to broker_socket '/s\\xc2\\x85'\n",
		"parent: connect: to anything else EACCES\n",
	};
	static const char *const changes[] = {
		"parent: modes, owners, times: beneath rw '/w'\n",
		"parent: modes, owners, times: beneath wo '/o'\n",
		"parent: modes, owners, times: anywhere else EACCES\n",
	};
	static struct page page;
	struct fault why;

	(void)state;
	for (unsigned asked = 0; asked <= (ASK_CONNECT | ASK_METADATA); asked++) {
		bool connect = asked & ASK_CONNECT;

		/* An ABI that has none of the rights which the parent makes needless. */
		assert_int_equal(
			make_for(json, &(struct plan_input){ .abi = 3, .asked = asked }, &why), 0);
		assert_int_equal(plan_check(&plan, &why), connect ? 0 : -ENOTSUP);
		page.len = 0;
		plan_print(&plan, add_line, &page);
		assert_int_equal(strstr(page.text, "rule: port 3128") != NULL, !connect);
		assert_int_equal(strstr(page.text, "gap: unix sockets") != NULL, !connect);
		for (size_t i = 0; i < COUNT(connects); i++)
			assert_int_equal(strstr(page.text, connects[i]) != NULL, connect);
		for (size_t i = 0; i < COUNT(changes); i++)
			assert_int_equal(strstr(page.text, changes[i]) != NULL,
					 (asked & ASK_METADATA) != 0);
	}
	assert_int_equal(
		make_for("{}", &(struct plan_input){ .abi = 9, .asked = ASK_CONNECT }, &why), 0);
	page.len = 0;
	plan_print(&plan, add_line, &page);
	assert_null(strstr(page.text, "parent: connect: to port"));
	assert_non_null(strstr(page.text, connects[2]));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_list_grants_what_the_wire_says),
		cmocka_unit_test(everything_of_the_abi_is_handled),
		cmocka_unit_test(network_grants_are_one_port),
		cmocka_unit_test(the_broker_gets_its_socket_alone_where_the_kernel_can),
		cmocka_unit_test(gpu_nodes_alone_get_ioctl),
		cmocka_unit_test(an_old_kernel_is_refused_with_what_it_has),
		cmocka_unit_test(gaps_are_known_by_abi),
		cmocka_unit_test(roots_that_widen_each_other_are_refused),
		cmocka_unit_test(the_real_places_of_roots_count),
		cmocka_unit_test(too_many_rules_are_refused),
		cmocka_unit_test(a_plan_is_printed_whole),
		cmocka_unit_test(what_the_parent_does_is_not_the_rulesets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
