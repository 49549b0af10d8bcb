# The launcher: static and small. musl starts in a tenth of glibc's time and has no loader.

MUSL_CC := $(shell command -v musl-gcc 2>/dev/null)
LAUNCH_CC := $(or $(MUSL_CC),$(CC))
# Not position-independent: a static program gains nothing by it and would relocate itself at every
# start. One segment for code and constants, and none that is made read-only later: fewer pages to map.
LAUNCH_FLAGS := -Os -g -fno-pie -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables $(HARDEN)
LAUNCH_LINK := -static -no-pie -Wl,--gc-sections -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,norelro
LAUNCH_OBJECTS := $(patsubst %,$(B)/static/%.o,$(call sources,launch) $(call sources,kabi))

$(B)/static/%.c.o: %.c
	@mkdir -p $(@D)
	$(LAUNCH_CC) -std=gnu17 $(WARN_C) $(CPPFLAGS) $(LAUNCH_FLAGS) -MMD -MP -c -o $@ $<

$(B)/oarbank-sandbox $(B)/oarbank-plan $(B)/oarbank-run: $(B)/%: $(B)/static/launch/%.c.o $(LAUNCH_OBJECTS)
	@echo "$(@F): static, with $(if $(MUSL_CC),musl,the C library of $(CC): install musl-tools for a smaller one)"
	$(LAUNCH_CC) $(LAUNCH_LINK) -o $@ $^
	@cp $@ $@.debug && strip $@

# The seccomp programs are checked in, so that building and cross building need no libseccomp. A test
# compiles them again and compares.
COMPILER_OBJECTS = $(COMPILER:%=$(B)/$(1)/%.c.o)

$(B)/gen/filter-gen: $(B)/rel/launch/filter-gen.c.o $(call COMPILER_OBJECTS,rel) $(B)/rel/launch/filter_rules.c.o $(B)/rel/kabi.a
	@mkdir -p $(@D)
	$(CC) $(LINK_rel) -o $@ $^ -lseccomp $(LDFLAGS)

.PHONY: filter-programs
filter-programs: $(B)/gen/filter-gen ## compile the seccomp rules into launch/filter_programs.c
	$< >$(B)/gen/filter_programs.c
	cp $(B)/gen/filter_programs.c launch/filter_programs.c
