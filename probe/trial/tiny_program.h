/* A program of a few instructions, to see whether it may run. Inside this folder only. */
#ifndef PROBE_TRIAL_TINY_PROGRAM_H
#define PROBE_TRIAL_TINY_PROGRAM_H

#include <stddef.h>

/* A static ELF file that exits with 0. */
extern const unsigned char tiny_program[];
extern const size_t tiny_program_size;

/* A function `int f(void)` that returns TINY_ANSWER, as machine code. */
#define TINY_ANSWER 42
extern const unsigned char tiny_function[];
extern const size_t tiny_function_size;

#endif
