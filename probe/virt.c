#include "probe/virt.h"

#include <errno.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kabi/file.h"
#include "kabi/lines.h"
#include "kabi/text.h"
#include "probe/ask.h"

/* ---- virtual machines ---- */

struct name_row {
	const char *text;
	const char *name;
};

/* The first four letters of what cpuid leaf 0x40000000 answers. */
static const struct name_row signatures[] = {
	{ "KVMK", "kvm" },			      /* KVMKVMKVM */
	{ "Linu", "kvm" },			      /* Linux KVM Hv: KVM in Hyper-V's clothes */
	{ "TCGT", "qemu" },			      /* TCGTCGTCGTCG */
	{ "VMwa", "vmware" },			      /* VMwareVMware */
	{ "Micr", "microsoft" },		      /* Microsoft Hv */
	{ "XenV", "xen" },			      /* XenVMMXenVMM */
	{ "VBox", "oracle" },			      /* VBoxVBoxVBox */
	{ " lrp", "parallels" },		      /* " lrpepyh  vr" */
	{ "prl ", "parallels" }, { "bhyv", "bhyve" }, /* "bhyve bhyve " */
	{ "ACRN", "acrn" },	 { "QNXQ", "qnx" },   { "SRES", "sre" }, { "Appl", "apple" },
};

/* What a DMI field starts with. */
static const struct name_row firmware[] = {
	{ "KVM", "kvm" },
	{ "OpenStack", "kvm" },
	{ "KubeVirt", "kvm" },
	{ "Amazon EC2", "amazon" },
	{ "QEMU", "qemu" },
	{ "VMware", "vmware" },
	{ "VMW", "vmware" },
	{ "innotek GmbH", "oracle" },
	{ "VirtualBox", "oracle" },
	{ "Xen", "xen" },
	{ "Bochs", "bochs" },
	{ "Parallels", "parallels" },
	{ "BHYVE", "bhyve" },
	{ "Hyper-V", "microsoft" },
	{ "Virtual Machine", "microsoft" },
	{ "Apple Virtualization", "apple" },
	{ "Google Compute Engine", "google" },
};

static const char *name_of(const struct name_row *rows, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (text_starts(text, rows[i].text))
			return rows[i].name;
	return NULL;
}

#define NAME_OF(rows, text) name_of((rows), sizeof(rows) / sizeof((rows)[0]), (text))

static void say_vm(struct host_facts *ret, const char *name, const char *source, const char *said)
{
	struct text why = TEXT_BUF(ret->virtualisation_why);

	text_copy(ret->virtualisation, sizeof(ret->virtualisation), name);
	text_add(&why, source);
	if (said) {
		text_add(&why, " '");
		text_add(&why, said);
		text_add(&why, "'");
	}
}

static bool ask_wsl(struct host_facts *ret)
{
	if (!strstr(ret->uts.release, "microsoft") && !strstr(ret->uts.release, "Microsoft"))
		return false;
	say_vm(ret, "wsl", "kernel release", ret->uts.release);
	return true;
}

static long cpuid_hypervisor(void *arg)
{
	(void)arg;
#if defined(__x86_64__)
	unsigned eax;
	unsigned ebx;
	unsigned ecx;
	unsigned edx;

	__cpuid(1, eax, ebx, ecx, edx);
	if (!(ecx >> 31 & 1))
		return -ENOENT;
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	return (long)ebx;
#else
	return -ENOSYS;
#endif
}

static bool ask_cpuid(const struct kernel *k, struct host_facts *ret)
{
	long r = k->library(k, "cpuid hypervisor", cpuid_hypervisor, NULL);
	const char *name;
	char letters[5];

	if (r <= 0)
		return false;
	for (int i = 0; i < 4; i++)
		letters[i] = (char)((unsigned long)r >> (8 * i) & 0xff);
	letters[4] = '\0';
	name = NAME_OF(signatures, letters);
	if (name)
		say_vm(ret, name, "cpuid hypervisor", letters);
	return name != NULL;
}

/* Amazon's machines without a hypervisor are named like those with one, but for the type. */
static enum answer is_metal(const struct kernel *k)
{
	char type[FACTS_WORD_MAX];
	ssize_t n = file_read_line(k, "/sys/class/dmi/id/product_name", type, sizeof(type));

	if (ask_is_passing(n))
		return ANSWER_UNKNOWN;
	return n > 0 && text_ends(type, ".metal") ? ANSWER_YES : ANSWER_NO;
}

/* Returns how many fields could be read; ret->virtualisation is set when one tells. */
static int ask_firmware(const struct kernel *k, struct host_facts *ret)
{
	static const char *const fields[] = { "product_name", "sys_vendor", "board_vendor",
					      "bios_vendor", "product_version" };
	int readable = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		char path[FACTS_WORD_MAX];
		char said[FACTS_WORD_MAX];
		struct text t = TEXT_BUF(path);
		const char *name;

		text_add(&t, "/sys/class/dmi/id/");
		text_add(&t, fields[i]);
		if (file_read_line(k, path, said, sizeof(said)) < 0)
			continue;
		readable++;
		name = NAME_OF(firmware, said);
		if (!name || is_metal(k) != ANSWER_NO)
			continue;
		t = TEXT_BUF(path);
		text_add(&t, "DMI ");
		text_add(&t, fields[i]);
		say_vm(ret, name, path, said);
		break;
	}
	return readable;
}

static bool ask_xen(const struct kernel *k, struct host_facts *ret)
{
	char text[FACTS_WORD_MAX];

	ssize_t n = file_read(k, "/proc/xen/capabilities", text, sizeof(text));

	if (ask_is_passing(n)) {
		say_vm(ret, "", "/proc/xen/capabilities could not be read", NULL);
		return true;
	}
	if (n > 0 && strstr(text, "control_d")) {
		say_vm(ret, "none",
		       "/proc/xen/capabilities has control_d: the machine's own system", NULL);
		return true;
	}
	n = file_read_line(k, "/sys/hypervisor/type", text, sizeof(text));
	if (ask_is_passing(n)) {
		say_vm(ret, "", "/sys/hypervisor/type could not be read", NULL);
		return true;
	}
	if (n <= 0)
		return false;
	say_vm(ret, text, "/sys/hypervisor/type", text);
	return true;
}

static bool first_string(void *arg, char *string)
{
	text_copy(arg, FACTS_WORD_MAX, string);
	return false;
}

static bool ask_device_tree(const struct kernel *k, struct host_facts *ret)
{
	static const struct name_row compatible[] = {
		{ "linux,kvm", "kvm" },
		{ "xen", "xen" },
		{ "vmware", "vmware" },
	};
	char said[FACTS_WORD_MAX] = "";

	if (lines_read(k, "/proc/device-tree/hypervisor/compatible", '\0', first_string, said) ==
	    0) {
		const char *name = NAME_OF(compatible, said);

		say_vm(ret, name ? name : "vm-other", "device tree hypervisor", said);
		return true;
	}
	if (lines_read(k, "/proc/device-tree/compatible", '\0', first_string, said) == 0 &&
	    strcmp(said, "linux,dummy-virt") == 0) {
		say_vm(ret, "qemu", "device tree compatible", said);
		return true;
	}
	return false;
}

void virt_ask(const struct kernel *k, const struct cpuinfo *cpuinfo, struct host_facts *ret)
{
	bool told = cpuinfo && cpuinfo->has_flags;
	int readable;

	if (ask_wsl(ret) || ask_xen(k, ret))
		return;
	if (told && !cpuinfo->hypervisor) {
		say_vm(ret, "none", "/proc/cpuinfo has no flag 'hypervisor'", NULL);
		return;
	}
	if (ask_cpuid(k, ret))
		return;
	readable = ask_firmware(k, ret);
	if (ret->virtualisation[0] || ask_device_tree(k, ret))
		return;
	if (told)
		say_vm(ret, "vm-other", "/proc/cpuinfo has the flag 'hypervisor'", NULL);
	else if (readable > 0 && is_metal(k) == ANSWER_YES)
		say_vm(ret, "none", "DMI product_name is that of a machine without a hypervisor",
		       NULL);
	else if (readable > 0)
		say_vm(ret, "", "DMI names no hypervisor that is known here", NULL);
}

/* ---- containers ---- */

#define CONTAINER_ID_MIN 12 /* hexadecimal digits of its short form */

static void say_container(struct host_facts *ret, const char *name, const char *why)
{
	text_copy(ret->container, sizeof(ret->container), name);
	text_copy(ret->container_why, sizeof(ret->container_why), why);
}

/* OpenVZ's host has both directories, its containers the first alone. *ret_sure becomes false when
 * they could not be looked for. */
static bool ask_openvz(const struct kernel *k, struct host_facts *ret, bool *ret_sure)
{
	struct node node;
	int vz = k->stat(k, "/proc/vz", &node);
	int bc = vz == 0 ? k->stat(k, "/proc/bc", &node) : 0;

	if (vz == 0 && bc == -ENOENT) {
		say_container(ret, "openvz", "/proc/vz without /proc/bc");
		return true;
	}
	if ((vz < 0 && vz != -ENOENT) || bc < 0)
		*ret_sure = false;
	return false;
}

/* Files that an engine puts there, whose presence tells. *ret_sure becomes false when one could not
 * be looked for. */
static bool ask_marks(const struct kernel *k, struct host_facts *ret, bool *ret_sure)
{
	static const struct name_row marks[] = {
		{ "/run/.containerenv", "podman" },
		{ "/.dockerenv", "docker" },
		{ "/run/secrets/kubernetes.io", "kubernetes" },
	};
	struct node node;

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		int r = k->stat(k, marks[i].text, &node);

		if (r == 0) {
			say_container(ret, marks[i].name, marks[i].text);
			return true;
		}
		if (r != -ENOENT && r != -ENOTDIR)
			*ret_sure = false;
	}
	return ask_openvz(k, ret, ret_sure);
}

/* Files in which a manager writes its name. *ret_sure as above. */
static bool ask_managers(const struct kernel *k, struct host_facts *ret, bool *ret_sure)
{
	static const char *const paths[] = { "/run/systemd/container",
					     "/run/host/container-manager" };
	char name[FACTS_WORD_MAX];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ssize_t n = file_read_line(k, paths[i], name, sizeof(name));

		if (n < 0 && n != -ENOENT && n != -ENOTDIR)
			*ret_sure = false;
		if (n <= 0)
			continue;
		say_container(ret, name, paths[i]);
		return true;
	}
	return false;
}

static bool container_variable(void *arg, char *variable)
{
	if (!text_starts(variable, "container=") || !variable[strlen("container=")])
		return true;
	text_copy(arg, FACTS_WORD_MAX, variable + strlen("container="));
	return false;
}

/* The first process's environment: for root alone, as a rule, and that says nothing. *ret_sure as
 * above.
 */
static bool ask_first_process(const struct kernel *k, struct host_facts *ret, bool *ret_sure)
{
	char name[FACTS_WORD_MAX] = "";
	int r = lines_read(k, "/proc/1/environ", '\0', container_variable, name);

	if (r < 0 && r != -EACCES && r != -EPERM && r != -ENOENT)
		*ret_sure = false;
	if (name[0])
		say_container(ret, name, "/proc/1/environ has 'container'");
	return name[0];
}

/* A directory, or the start of a name that goes on with a container's id: a unit may well be called
 * docker-registry.service. */
static bool is_hinted(const char *line, const char *hint)
{
	const char *at = strstr(line, hint);

	while (at) {
		at += strlen(hint);
		if (!text_ends(hint, "-") || strspn(at, "0123456789abcdef") >= CONTAINER_ID_MIN)
			return true;
		at = strstr(at, hint);
	}
	return false;
}

static bool cgroup_hint(void *arg, char *line)
{
	static const struct name_row hints[] = {
		{ "/kubepods", "kubernetes" }, { "/docker/", "docker" }, { "/docker-", "docker" },
		{ "/libpod-", "podman" },      { "/crio-", "cri-o" },	 { "/lxc/", "lxc" },
		{ "/lxc.payload", "lxc" },     { "/garden/", "garden" },
	};
	const char **name = arg;

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (!is_hinted(line, hints[i].text))
			continue;
		*name = hints[i].name;
		return false;
	}
	return true;
}

static bool ask_cgroups(const struct kernel *k, struct host_facts *ret, bool *ret_sure)
{
	static const char *const paths[] = { "/proc/1/cgroup", "/proc/self/cgroup" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const char *name = NULL;
		int r = lines_read(k, paths[i], '\n', cgroup_hint, &name);

		if (r < 0 && r != -EACCES && r != -EPERM && r != -ENOENT)
			*ret_sure = false;
		if (!name)
			continue;
		say_container(ret, name, paths[i]);
		return true;
	}
	return false;
}

/* The first namespaces have fixed numbers (include/uapi/linux/nsfs.h, PROC_PID_INIT_INO and
 * PROC_CGROUP_INIT_INO). */
static void ask_namespaces(const struct kernel *k, bool sure, struct host_facts *ret)
{
	static const char *const links[][2] = {
		{ "/proc/self/ns/pid", "pid:[4026531836]" },
		{ "/proc/self/ns/cgroup", "cgroup:[4026531835]" },
	};
	size_t first = 0;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		char target[64];
		char why[FACTS_WORD_MAX];
		struct text t = TEXT_BUF(why);

		if (k->readlink(k, links[i][0], target, sizeof(target)) < 0)
			continue;
		if (strcmp(target, links[i][1]) == 0) {
			first++;
			continue;
		}
		text_add(&t, links[i][0]);
		text_add(&t, " is ");
		text_add(&t, target);
		text_add(&t, ", not the first");
		say_container(ret, "container-other", why);
		return;
	}
	if (sure && first == sizeof(links) / sizeof(links[0]))
		say_container(ret, "none",
			      "no engine's mark, and the first pid and cgroup namespace");
}

void container_ask(const struct kernel *k, struct host_facts *ret)
{
	bool sure = true;

	if (ask_marks(k, ret, &sure) || ask_managers(k, ret, &sure) ||
	    ask_first_process(k, ret, &sure) || ask_cgroups(k, ret, &sure))
		return;
	ask_namespaces(k, sure, ret);
}
