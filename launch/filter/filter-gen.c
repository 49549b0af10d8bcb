/* filter-gen: write launch/filter/programs.c to standard output. Run by `make filter-programs`. */
#include <stdio.h>
#include <stdlib.h>

#include "launch/filter/compile.h"

#define PER_LINE 4

static int write_arch(const struct filter_arch *arch)
{
	static struct filter_compiled c;
	struct fault why = { 0 };

	if (filter_emit(arch, filter_number, &c, &why) < 0) {
		fprintf(stderr, "filter-gen: %s: %s\n", arch->name, why.text);
		return -1;
	}
	printf("\nstatic const struct sc_insn %s_insns[] = {", arch->name);
	for (int i = 0; i < c.base.len; i++) {
		printf("%s{ 0x%02x, %u, %u, 0x%x },", i % PER_LINE ? " " : "\n\t", c.insns[i].code,
		       c.insns[i].jt, c.insns[i].jf, c.insns[i].k);
	}
	printf("\n};\n\nstatic const struct filter_slot %s_slots[] = {\n", arch->name);
	for (int i = 0; i < c.base.slot_count; i++)
		printf("\t{ %u, %u, 0x%x },\n", c.slots[i].at, c.slots[i].grants,
		       c.slots[i].granted);
	printf("};\n\nconst struct filter_base filter_%s = { %s_insns, %s_slots, %u, %u };\n",
	       arch->name, arch->name, arch->name, c.base.len, c.base.slot_count);
	return 0;
}

int main(void)
{
	printf("/* Compiled from launch/filter/rules.c by `make filter-programs`: change that, not this. */\n"
	       "#include \"launch/filter/build.h\"\n\n"
	       "/* clang-format off */\n");
	for (size_t i = 0; i < FILTER_ARCHES; i++) {
		if (write_arch(&filter_arches[i]) < 0)
			return EXIT_FAILURE;
	}
	return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
