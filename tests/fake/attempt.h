/* Attempts under a seccomp program, each with its control: for tests of this kernel. */
#ifndef TESTS_FAKE_ATTEMPT_H
#define TESTS_FAKE_ATTEMPT_H

#include <stddef.h>

/* Sets of filter choices, one bit for each filter_index(). */
#define ATTEMPT_ANY 0xffU
#define ATTEMPT_NET 0xf0U
#define ATTEMPT_NO_NET 0x0fU
#define ATTEMPT_BROKER 0xccU
#define ATTEMPT_NO_BROKER 0x33U
#define ATTEMPT_EXEC 0xaaU
#define ATTEMPT_NO_EXEC 0x55U

/* An outcome is 0, an errno, or this and the signal that ended the child. */
#define ATTEMPT_KILLED 1000

struct attempt {
	const char *name;
	int (*run)(void); /* in a child of its own; returns the outcome */
	unsigned in;	  /* under these choices */
	int want;
	int control; /* without a filter: shows that the kernel would have done it, or looked at it
		      */
};

/* The outcome of a system call's or a C library function's result. */
int attempt_outcome(long result);

/* Make every attempt without a filter and under its choices, calling fresh() (or NULL) before each,
 * and print a line of TAP for it. Where the control comes out otherwise, this kernel has no such
 * thing: a skip. Returns how many failed.
 */
int attempts_judge(const struct attempt *attempts, size_t count, void (*fresh)(void));

#endif
