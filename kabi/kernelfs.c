#include "kabi/kernelfs.h"

#include <stddef.h>
#include <string.h>

static const struct kernelfs {
	const char *type;
	uint32_t magic; /* linux/magic.h, or the file system's source; 0: tmpfs's */
} types[] = {
	{ "proc", 0x9fa0 },	      { "sysfs", 0x62656572 },	 { "cgroup", 0x27e0eb },
	{ "cgroup2", 0x63677270 },    { "cpuset", 0x27e0eb },	 { "devtmpfs", 0 },
	{ "devpts", 0x1cd1 },	      { "mqueue", 0x19800202 },	 { "bpf", 0xcafe4a11 },
	{ "debugfs", 0x64626720 },    { "tracefs", 0x74726163 }, { "securityfs", 0x73636673 },
	{ "selinuxfs", 0xf97cff8c },  { "smackfs", 0x43415d53 }, { "configfs", 0x62656570 },
	{ "efivarfs", 0xde5e81e4 },   { "pstore", 0x6165676c },	 { "binfmt_misc", 0x42494e4d },
	{ "binder", 0x6c6f6f70 },     { "fusectl", 0x65735543 }, { "resctrl", 0x7655821 },
	{ "rpc_pipefs", 0x67596969 }, { "nfsd", 0x6e667364 },	 { "functionfs", 0xa647361 },
	{ "xenfs", 0xabba1974 },
};
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

const char *kernelfs_of_magic(uint64_t magic)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (types[i].magic && types[i].magic == magic)
			return types[i].type;
	return NULL;
}

bool kernelfs_is(const char *type)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (strcmp(types[i].type, type) == 0)
			return true;
	return false;
}
