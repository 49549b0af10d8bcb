/* The processor: its name, its cores by class, and how many of them this process may use. */
#ifndef PROBE_CPU_H
#define PROBE_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "kabi/kernel.h"
#include "probe/facts.h"

/* What /proc/cpuinfo says of the first processor. */
struct cpuinfo {
	char model[FACTS_LINE_MAX]; /* "model name"; "" where there is none, as on arm64 */
	bool has_flags;		    /* x86 has the line; other architectures do not */
	bool hypervisor;	    /* the flag of that name: x86 under a hypervisor */
};

/* Take one line into *c. Returns false when the first processor's lines are over. The line is
 * written to. */
bool cpuinfo_line(struct cpuinfo *c, char *line);

/* Returns 0, or -errno; *ret is set only on success. */
int cpuinfo_read(const struct kernel *k, struct cpuinfo *ret);

#define CPUS_MAX 8192
struct cpus {
	uint64_t bits[CPUS_MAX / 64];
};

/* Read a list as sysfs writes it, "0-3,8,10-11"; "" is the empty set. Returns 0 or -EINVAL. */
int cpus_parse(const char *text, struct cpus *ret);

/* Count cores and set perf_cores, eff_cores (both -1 when the topology cannot be read) and logical
 * of *ret, by the rules of spec/wire.md §3.1.
 */
void cpu_count_cores(const struct kernel *k, struct host_facts *ret);

#endif
