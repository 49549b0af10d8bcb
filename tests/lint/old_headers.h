/* Included first, this makes headers look as those of Linux 5.10, the oldest kernel we are built
 * beside: what came later is ours to bring along. tests/lint/compilers compiles everything with it.
 */
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#undef SYS_epoll_pwait2
#undef SYS_mount_setattr
#undef SYS_quotactl_fd
#undef SYS_landlock_create_ruleset
#undef SYS_landlock_add_rule
#undef SYS_landlock_restrict_self
#undef SYS_memfd_secret
#undef SYS_process_mrelease
#undef SYS_futex_waitv
#undef SYS_set_mempolicy_home_node
#undef SYS_cachestat
#undef SYS_fchmodat2
#undef SYS_map_shadow_stack
#undef SYS_futex_wake
#undef SYS_futex_wait
#undef SYS_futex_requeue
#undef SYS_statmount
#undef SYS_listmount
#undef SYS_lsm_get_self_attr
#undef SYS_lsm_set_self_attr
#undef SYS_lsm_list_modules
#undef SYS_mseal
#undef SYS_setxattrat
#undef SYS_getxattrat
#undef SYS_listxattrat
#undef SYS_removexattrat
#undef SYS_open_tree_attr

#undef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#undef SECCOMP_ADDFD_FLAG_SEND

#undef PR_SCHED_CORE
#undef PR_SET_VMA
#undef PR_SET_MDWE
#undef PR_GET_MDWE

/* Names in enumerations. */
#define BPF_PROG_TYPE_SYSCALL not_in_linux_5_10
#define BPF_PROG_TYPE_NETFILTER not_in_linux_5_10
