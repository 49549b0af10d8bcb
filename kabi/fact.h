/* A fact: one question put to the kernel, and exactly what came back. */
#ifndef KABI_FACT_H
#define KABI_FACT_H

#include <stdint.h>

/* UNKNOWN is the zero value: a fact nobody filled in says so by itself, and is never a "no". */
enum answer {
	ANSWER_UNKNOWN,
	ANSWER_NO,
	ANSWER_YES,
};

enum basis {
	BASIS_NONE,
	BASIS_CLAIMED,	/* kernel config, a sysctl, the LSM list: somebody says so */
	BASIS_OBSERVED, /* we made the call, or saw the denial */
	BASIS_ASSUMED,	/* nobody says so: a kernel that is not here would */
};

/* No pointers: facts are gathered in a child and come back through shared memory. */
struct fact {
	enum answer answer;
	enum basis basis;
	int64_t value; /* when the kernel answered with a number */
	int error;     /* when it answered with an error: the errno */
	char call[96]; /* the attempt, as a person would write it */
	char got[96];  /* what came back: a number, a word, an errno name */
};

/* Record an observed call. `r` is what struct kernel returned: a value >= 0 is kept in `value` and
 * written as a number; a negative one is kept in `error` and written as its name, or "not
 * recorded". `answer` is the caller's judgement of it.
 */
void fact_call(struct fact *f, enum answer answer, const char *call, int64_t r);

/* Record text that was read somewhere. */
void fact_text(struct fact *f, enum answer answer, enum basis basis, const char *call,
	       const char *got);

/* "unknown", "no", "yes"; "none", "claimed", "observed",
 * "assumed". */
const char *answer_name(enum answer answer);
const char *basis_name(enum basis basis);

#endif
