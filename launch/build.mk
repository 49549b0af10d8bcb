# The launcher: static and small. musl starts in a tenth of glibc's time and has no loader.

MUSL_CC := $(shell command -v musl-gcc 2>/dev/null)
LAUNCH_CC := $(or $(MUSL_CC),$(CC))
LAUNCH_FLAGS := -Os -g -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables $(HARDEN)
LAUNCH_OBJECTS := $(patsubst %,$(B)/static/%.o,launch/oarbank-sandbox.c $(call sources,launch) $(call sources,kabi))

$(B)/static/%.c.o: %.c
	@mkdir -p $(@D)
	$(LAUNCH_CC) -std=gnu17 $(WARN_C) $(CPPFLAGS) $(LAUNCH_FLAGS) -MMD -MP -c -o $@ $<

$(B)/oarbank-sandbox: $(LAUNCH_OBJECTS)
	@echo "oarbank-sandbox: static, with $(if $(MUSL_CC),musl,the C library of $(CC): install musl-tools for a smaller one)"
	$(LAUNCH_CC) -static -Wl,--gc-sections -Wl,-z,relro,-z,now -o $@ $^
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
