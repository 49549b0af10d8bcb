/* probe/virt.c: virtual machines and containers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kabi/text.h"
#include "probe/virt.h"
#include "tests/fake/failing.h"
#include "tests/fake/tree.h"

#define DMI(field) "/sys/class/dmi/id/" field
/* The first four letters as the little-endian number that cpuid answers. */
#define LETTERS(a, b, c, d) ((a) | (b) << 8 | (c) << 16 | (long)(d) << 24)

static const struct cpuinfo hardware = { .has_flags = true };
static const struct cpuinfo guest = { .has_flags = true, .hypervisor = true };
static const struct cpuinfo arm = { .has_flags = false };

/* Each request fails once: hardware stays hardware, and a virtual machine one, or it is unknown. */
static void check_failing(const struct kernel *machine, const struct cpuinfo *cpuinfo,
			  const struct host_facts *whole)
{
	bool hardware_it_is = strcmp(whole->virtualisation, "none") == 0;
	struct failing failing;
	unsigned at = 0;

	do {
		struct host_facts f = { .libc = "" };

		f.uts = whole->uts;
		failing_start(&failing, machine, ++at, EMFILE);
		virt_ask(&failing.kernel, cpuinfo, &f);
		if (f.virtualisation[0] && whole->virtualisation[0])
			assert_int_equal(strcmp(f.virtualisation, "none") == 0, hardware_it_is);
	} while (failing.calls >= at);
}

static void virtual_machines(void **state)
{
	static const struct {
		const struct cpuinfo *cpuinfo;
		struct tree_file files[4];
		const char *release;
		long cpuid; /* 0: no row */
		const char *name;
		const char *why;
	} rows[] = {
		{ &hardware,
		  { { DMI("sys_vendor"), "LENOVO\n" } },
		  "6.1",
		  0,
		  "none",
		  "/proc/cpuinfo has no flag 'hypervisor'" },
		/* Amazon's hardware is named like its virtual machines. */
		{ &hardware,
		  { { DMI("sys_vendor"), "Amazon EC2\n" } },
		  "6.1",
		  0,
		  "none",
		  "/proc/cpuinfo has no flag 'hypervisor'" },
		{ &guest,
		  { { DMI("sys_vendor"), "QEMU\n" } },
		  "6.1",
		  LETTERS('K', 'V', 'M', 'K'),
		  "kvm",
		  "cpuid hypervisor 'KVMK'" },
		{ &guest,
		  { { DMI("sys_vendor"), "QEMU\n" } },
		  "6.1",
		  0,
		  "qemu",
		  "DMI sys_vendor 'QEMU'" },
		{ &guest,
		  { { DMI("product_name"), "VirtualBox\n" } },
		  "6.1",
		  0,
		  "oracle",
		  "DMI product_name 'VirtualBox'" },
		{ &guest,
		  { { "/x", "" } },
		  "6.1",
		  LETTERS('V', 'M', 'w', 'a'),
		  "vmware",
		  "cpuid hypervisor 'VMwa'" },
		{ &guest,
		  { { "/x", "" } },
		  "6.1",
		  LETTERS('?', '?', '?', '?'),
		  "vm-other",
		  "/proc/cpuinfo has the flag 'hypervisor'" },
		{ &guest,
		  { { "/x", "" } },
		  "6.1",
		  0,
		  "vm-other",
		  "/proc/cpuinfo has the flag 'hypervisor'" },
		{ &guest,
		  { { "/x", "" } },
		  "5.15.90.1-microsoft-standard-WSL2",
		  0,
		  "wsl",
		  "kernel release '5.15.90.1-microsoft-standard-WSL2'" },
		{ &arm,
		  { { DMI("sys_vendor"), "Amazon EC2\n" }, { DMI("product_name"), "m6g.large\n" } },
		  "6.1",
		  0,
		  "amazon",
		  "DMI sys_vendor 'Amazon EC2'" },
		{ &arm,
		  { { DMI("sys_vendor"), "Amazon EC2\n" }, { DMI("product_name"), "m6g.metal\n" } },
		  "6.1",
		  0,
		  "none",
		  "DMI product_name is that of a machine without a hypervisor" },
		/* Not every maker of virtual machines is known here. */
		{ &arm,
		  { { DMI("sys_vendor"), "Ampere\n" } },
		  "6.1",
		  0,
		  "",
		  "DMI names no hypervisor that is known here" },
		{ &arm,
		  { { "/proc/device-tree/compatible", "linux,dummy-virt" } },
		  "6.1",
		  0,
		  "qemu",
		  "device tree compatible 'linux,dummy-virt'" },
		{ &arm,
		  { { "/proc/device-tree/hypervisor/compatible", "linux,kvm" } },
		  "6.1",
		  0,
		  "kvm",
		  "device tree hypervisor 'linux,kvm'" },
		{ &arm,
		  { { "/proc/device-tree/hypervisor/compatible", "acme,hv" } },
		  "6.1",
		  0,
		  "vm-other",
		  "device tree hypervisor 'acme,hv'" },
		{ &arm, { { "/x", "" } }, "6.1", 0, "", "" },
		{ NULL, { { "/x", "" } }, "6.1", 0, "", "" },
		{ &hardware,
		  { { "/sys/hypervisor/type", "xen\n" } },
		  "6.1",
		  0,
		  "xen",
		  "/sys/hypervisor/type 'xen'" },
		{ &hardware,
		  { { "/sys/hypervisor/type", "xen\n" },
		    { "/proc/xen/capabilities", "control_d\n" } },
		  "6.1",
		  0,
		  "none",
		  "/proc/xen/capabilities has control_d: the machine's own system" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts f = { .libc = "" };
		char text[96] = "";
		struct text t = TEXT_BUF(text);
		struct tree tree;

		if (rows[i].cpuid) {
			text_add(&t, "library cpuid hypervisor = ");
			text_add_int(&t, rows[i].cpuid);
			text_add(&t, "\n");
		}
		text_copy(f.uts.release, sizeof(f.uts.release), rows[i].release);
		tree_make(&tree, rows[i].files, text);
		virt_ask(&tree.kernel, rows[i].cpuinfo, &f);
		assert_string_equal(f.virtualisation, rows[i].name);
		assert_string_equal(f.virtualisation_why, rows[i].why);
		check_failing(&tree.kernel, rows[i].cpuinfo, &f);
		tree_remove(&tree);
	}
}

#define FIRST                                             \
	"readlink /proc/self/ns/pid = pid:[4026531836]\n" \
	"readlink /proc/self/ns/cgroup = cgroup:[4026531835]\n"

static void containers(void **state)
{
	static const struct {
		struct tree_file files[4];
		const char *rows;
		const char *name;
		const char *why;
	} rows[] = {
		{ { { "/proc/1/cgroup", "0::/init.scope\n" } },
		  FIRST,
		  "none",
		  "no engine's mark, and the first pid and cgroup namespace" },
		{ { { "/.dockerenv", "" } }, FIRST, "docker", "/.dockerenv" },
		{ { { "/run/.containerenv", "engine=\"podman-4.3.1\"\n" } },
		  FIRST,
		  "podman",
		  "/run/.containerenv" },
		{ { { "/run/systemd/container", "systemd-nspawn\n" } },
		  FIRST,
		  "systemd-nspawn",
		  "/run/systemd/container" },
		{ { { "/proc/1/cgroup", "12:pids:/docker/0123\n0::/docker/0123\n" } },
		  FIRST,
		  "docker",
		  "/proc/1/cgroup" },
		{ { { "/proc/self/cgroup", "0::/kubepods.slice/x\n" } },
		  FIRST,
		  "kubernetes",
		  "/proc/self/cgroup" },
		/* The engine's own service is no container. */
		{ { { "/proc/self/cgroup", "0::/system.slice/docker.service\n" } },
		  FIRST,
		  "none",
		  "no engine's mark, and the first pid and cgroup namespace" },
		/* Nor is a service that is only called like one. */
		{ { { "/proc/self/cgroup", "0::/system.slice/docker-registry.service\n" } },
		  FIRST,
		  "none",
		  "no engine's mark, and the first pid and cgroup namespace" },
		{ { { "/proc/self/cgroup",
		      "0::/machine.slice/libpod-conmon-0123456789ab.scope\n" } },
		  FIRST,
		  "none",
		  "no engine's mark, and the first pid and cgroup namespace" },
		{ { { "/proc/self/cgroup",
		      "0::/system.slice/docker-a.slice/docker-0123456789abcdef.scope\n" } },
		  FIRST,
		  "docker",
		  "/proc/self/cgroup" },
		{ { { "/proc/1/environ", "container=lxc" } },
		  FIRST,
		  "lxc",
		  "/proc/1/environ has 'container'" },
		{ { { "/proc/1/environ", "container=" } },
		  FIRST,
		  "none",
		  "no engine's mark, and the first pid and cgroup namespace" },
		{ { { "/proc/1/environ", "xcontainer=lxc" } },
		  FIRST,
		  "none",
		  "no engine's mark, and the first pid and cgroup namespace" },
		{ { { "/proc/vz/x", "" } }, FIRST, "openvz", "/proc/vz without /proc/bc" },
		{ { { "/proc/vz/x", "" }, { "/proc/bc/x", "" } },
		  FIRST,
		  "none",
		  "no engine's mark, and the first pid and cgroup namespace" },
		{ { { "/x", "" } },
		  "readlink /proc/self/ns/pid = pid:[4026532501]\n"
		  "readlink /proc/self/ns/cgroup = cgroup:[4026531835]\n",
		  "container-other",
		  "/proc/self/ns/pid is pid:[4026532501], not the first" },
		{ { { "/x", "" } },
		  "readlink /proc/self/ns/pid = pid:[4026531836]\n"
		  "readlink /proc/self/ns/cgroup = cgroup:[4026532501]\n",
		  "container-other",
		  "/proc/self/ns/cgroup is cgroup:[4026532501], not the first" },
		/* A mark that cannot be looked for may be there. */
		{ { { "/x", "" } }, FIRST "stat /.dockerenv = EACCES\n", "", "" },
		{ { { "/x", "" } }, FIRST "stat /proc/vz = EACCES\n", "", "" },
		{ { { "/x", "" } }, FIRST "open /run/systemd/container r = EACCES\n", "", "" },
		{ { { "/x", "" } }, FIRST "open /proc/self/cgroup r = ENOMEM\n", "", "" },
		{ { { "/x", "" } }, FIRST "open /proc/1/environ r = EMFILE\n", "", "" },
		/* The first process's environment is root's, as a rule. */
		{ { { "/x", "" } },
		  FIRST "open /proc/1/environ r = EACCES\n",
		  "none",
		  "no engine's mark, and the first pid and cgroup namespace" },
		/* One link alone proves nothing absent. */
		{ { { "/x", "" } }, "readlink /proc/self/ns/pid = pid:[4026531836]\n", "", "" },
		{ { { "/x", "" } }, "", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct host_facts f = { .libc = "" };
		struct tree tree;

		tree_make(&tree, rows[i].files, rows[i].rows);
		container_ask(&tree.kernel, &f);
		tree_remove(&tree);
		assert_string_equal(f.container, rows[i].name);
		assert_string_equal(f.container_why, rows[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(virtual_machines),
		cmocka_unit_test(containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
