/* Time as it passes. Inside this folder only. */
#ifndef PROBE_CLOCK_H
#define PROBE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_micros(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

#endif
