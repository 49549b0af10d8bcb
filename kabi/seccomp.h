/* seccomp(2) as data: operations, actions, filter flags and architecture tokens, with our own
 * numbers so that old headers do not hide what a new kernel has. Source:
 * include/uapi/linux/seccomp.h and include/uapi/linux/audit.h.
 */
#ifndef KABI_SECCOMP_H
#define KABI_SECCOMP_H

#include <stdint.h>

#define SC_SET_MODE_FILTER 1
#define SC_GET_ACTION_AVAIL 2

#define SC_RET_KILL_PROCESS 0x80000000U
#define SC_RET_KILL_THREAD 0x00000000U
#define SC_RET_TRAP 0x00030000U
#define SC_RET_ERRNO 0x00050000U
#define SC_RET_USER_NOTIF 0x7fc00000U
#define SC_RET_TRACE 0x7ff00000U
#define SC_RET_LOG 0x7ffc0000U
#define SC_RET_ALLOW 0x7fff0000U

#define SC_FLAG_TSYNC (1U << 0)
#define SC_FLAG_LOG (1U << 1)
#define SC_FLAG_SPEC_ALLOW (1U << 2)
#define SC_FLAG_NEW_LISTENER (1U << 3)
#define SC_FLAG_TSYNC_ESRCH (1U << 4)
#define SC_FLAG_WAIT_KILLABLE_RECV (1U << 5)

#define SC_ARCH_X86_64 0xc000003eU
#define SC_ARCH_I386 0x40000003U
#define SC_ARCH_AARCH64 0xc00000b7U
#define SC_ARCH_ARM 0x40000028U
#define SC_ARCH_RISCV64 0xc00000f3U

/* Set in the system call number of an x32 program, whose arch token is that of x86-64. */
#define SC_X32_BIT 0x40000000U

/* struct seccomp_data, what a filter sees. */
struct sc_data {
	int32_t nr;
	uint32_t arch;
	uint64_t instruction_pointer;
	uint64_t args[6];
};
_Static_assert(sizeof(struct sc_data) == 64, "seccomp_data");

/* struct sock_filter and struct sock_fprog (classic BPF). */
struct sc_insn {
	uint16_t code;
	uint8_t jt;
	uint8_t jf;
	uint32_t k;
};
_Static_assert(sizeof(struct sc_insn) == 8, "sock_filter");

struct sc_program {
	uint16_t len;
	const struct sc_insn *insns;
};

struct sc_word {
	uint32_t value;
	const char *name;
	const char *help;
};

#define SC_ACTION_COUNT 8
extern const struct sc_word sc_actions[SC_ACTION_COUNT];

#define SC_FLAG_COUNT 6
extern const struct sc_word sc_flags[SC_FLAG_COUNT];

/* The token of the architecture this was compiled for, and its name as uname(2) gives it. */
#if defined(__x86_64__)
#define SC_ARCH_NATIVE SC_ARCH_X86_64
#define SC_ARCH_NATIVE_NAME "x86_64"
#elif defined(__aarch64__)
#define SC_ARCH_NATIVE SC_ARCH_AARCH64
#define SC_ARCH_NATIVE_NAME "aarch64"
#elif defined(__riscv) && __riscv_xlen == 64
#define SC_ARCH_NATIVE SC_ARCH_RISCV64
#define SC_ARCH_NATIVE_NAME "riscv64"
#else
#error "supported: x86-64, aarch64, riscv64"
#endif

#endif
