/* One function per probe. Each asks `k`, fills its member of *ret (which arrives zeroed), and needs
 * no other: it may run alone, crash alone and be tested alone. None allocates, prints or fails:
 * what could not be found out stays unknown, with the reason as evidence.
 */
#ifndef PROBE_PROBES_H
#define PROBE_PROBES_H

#include "kabi/kernel.h"
#include "probe/facts.h"

void probe_seccomp(const struct kernel *k, struct seccomp_facts *ret);
void probe_landlock(const struct kernel *k, struct landlock_facts *ret);
/* `home`: the agent's home directory, for the disk; NULL: the root directory. */
void probe_host(const struct kernel *k, const char *home, struct host_facts *ret);
void probe_cgroup(const struct kernel *k, struct cgroup_facts *ret);
void probe_gpu(const struct kernel *k, struct gpu_facts *ret);
void probe_settings(const struct kernel *k, struct settings_facts *ret);
void probe_engine(const struct kernel *k, struct engine_facts *ret);
void probe_net(const struct kernel *k, struct net_facts *ret);
void probe_bpf(const struct kernel *k, struct bpf_facts *ret);

#endif
