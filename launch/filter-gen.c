/* filter-gen: write launch/filter_programs.c to standard output. Run by `make filter-programs`. */
#include <stdio.h>
#include <stdlib.h>

#include "launch/filter_compile.h"

#define PER_LINE 4

/* Returns the length of the program. */
static int write_insns(const struct filter_arch *arch, unsigned index)
{
	struct sc_insn insns[FILTER_INSNS_MAX];
	struct fault why = { 0 };
	int len = filter_emit(arch, filter_choice_at(index), filter_number, insns, &why);

	if (len < 0) {
		fprintf(stderr, "filter-gen: %s\n", why.text);
		return len;
	}
	printf("\nstatic const struct sc_insn %s_%u[] = {", arch->name, index);
	for (int i = 0; i < len; i++) {
		printf("%s{ 0x%02x, %u, %u, 0x%x },", i % PER_LINE ? " " : "\n\t", insns[i].code,
		       insns[i].jt, insns[i].jf, insns[i].k);
	}
	printf("\n};\n");
	return len;
}

static int write_arch(const struct filter_arch *arch)
{
	int len[FILTER_CHOICES];

	for (unsigned i = 0; i < FILTER_CHOICES; i++) {
		len[i] = write_insns(arch, i);
		if (len[i] < 0)
			return len[i];
	}
	printf("\nconst struct sc_program filter_%s[FILTER_CHOICES] = {\n", arch->name);
	for (unsigned i = 0; i < FILTER_CHOICES; i++)
		printf("\t{ %d, %s_%u },\n", len[i], arch->name, i);
	printf("};\n");
	return 0;
}

int main(void)
{
	printf("/* Compiled from launch/filter_rules.c by `make filter-programs`: change that, not this. The\n"
	       " * number in a name is filter_index() of the choice.\n"
	       " */\n"
	       "#include \"launch/filter.h\"\n\n"
	       "/* clang-format off */\n");
	for (size_t i = 0; i < FILTER_ARCHES; i++) {
		if (write_arch(&filter_arches[i]) < 0)
			return EXIT_FAILURE;
	}
	return fflush(stdout) || ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
