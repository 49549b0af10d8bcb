#include "probe/trial/tiny_program.h"

/* A little-endian number of 2, 4 or 8 bytes. */
#define U16(n) (n) & 0xff, (n) >> 8
#define U32(n) (n) & 0xff, (n) >> 8 & 0xff, (n) >> 16 & 0xff, (n) >> 24
#define U64(n) U32(n), U32(0)

#define LOAD_ADDRESS 0x400000
#define HEADERS 120 /* the ELF header and one program header */

/* exit_group(0), and a return of 42 (TINY_ANSWER) */
#if defined(__x86_64__)
#define MACHINE 62
#define EXIT_CODE 0x31, 0xff, 0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05, 0x90, 0x90, 0x90
#define EXIT_SIZE 12
#define ANSWER_CODE 0xb8, 0x2a, 0, 0, 0, 0xc3
#elif defined(__aarch64__)
#define MACHINE 183
#define EXIT_CODE U32(0xd2800000U), U32(0xd2800bc8U), U32(0xd4000001U)
#define EXIT_SIZE 12
#define ANSWER_CODE U32(0x52800540U), U32(0xd65f03c0U)
#else
#define MACHINE 243
#define EXIT_CODE U32(0x00000513U), U32(0x05e00893U), U32(0x00000073U)
#define EXIT_SIZE 12
#define ANSWER_CODE U32(0x02a00513U), U32(0x00008067U)
#endif

/* clang-format off */
const unsigned char tiny_program[] = {
	0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	U16(2), U16(MACHINE), U32(1), U64(LOAD_ADDRESS + HEADERS), U64(64), U64(0),
	U32(0), U16(64), U16(56), U16(1), U16(0), U16(0), U16(0),
	/* PT_LOAD, readable and executable */
	U32(1), U32(5), U64(0), U64(LOAD_ADDRESS), U64(LOAD_ADDRESS),
	U64(HEADERS + EXIT_SIZE), U64(HEADERS + EXIT_SIZE), U64(0x1000),
	EXIT_CODE,
};
/* clang-format on */
_Static_assert(sizeof(tiny_program) == HEADERS + EXIT_SIZE, "headers and code");
const size_t tiny_program_size = sizeof(tiny_program);

const unsigned char tiny_function[] = { ANSWER_CODE };
const size_t tiny_function_size = sizeof(tiny_function);
