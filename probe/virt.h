/* Is this a virtual machine, and do we run in a container? */
#ifndef PROBE_VIRT_H
#define PROBE_VIRT_H

#include "kabi/kernel.h"
#include "probe/cpu.h"
#include "probe/facts.h"

/* Set virtualisation and virtualisation_why of *ret: the hypervisor's name, "vm-other" for one that
 * does not give it, "none" on hardware, "" when nothing here tells. `cpuinfo` is NULL when it could
 * not be read. ret->uts is read.
 *
 * The processor's own word comes first (cpuid leaf 0x40000000; in a recording the row "library
 * cpuid hypervisor = N", N the first four letters of the name as a little-endian number), then the
 * firmware's. Firmware names its maker on real machines too, so on x86 it is believed only where
 * the processor says that there is a hypervisor.
 */
void virt_ask(const struct kernel *k, const struct cpuinfo *cpuinfo, struct host_facts *ret);

/* Set container and container_why of *ret: the marks that engines leave, then the namespaces this
 * process is in. "none" needs the first pid and cgroup namespaces; "" when /proc does not tell.
 */
void container_ask(const struct kernel *k, struct host_facts *ret);

#endif
