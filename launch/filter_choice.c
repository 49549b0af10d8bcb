#include "launch/filter.h"

const struct sc_program *filter_program(struct filter_choice choice)
{
#if defined(__x86_64__)
	return &filter_x86_64[filter_index(choice)];
#elif defined(__aarch64__)
	return &filter_aarch64[filter_index(choice)];
#else
	return &filter_riscv64[filter_index(choice)];
#endif
}
