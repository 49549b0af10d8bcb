# The launcher: static and small. musl starts in a tenth of glibc's time and has no loader.

MUSL_CC := $(shell command -v musl-gcc 2>/dev/null)
LAUNCH_CC := $(or $(MUSL_CC),$(CC))
# musl brings no kernel headers: to a test's program those beside the C library of $(CC) serve, after its own.
KERNEL_HEADERS := -idirafter /usr/include -idirafter /usr/include/$(shell $(CC) -print-multiarch)
# Not position-independent: a static program gains nothing by it and would relocate itself at every
# start. One segment for code and constants, and none that is made read-only later: fewer pages to map.
LAUNCH_FLAGS := -Os -g -fno-pie -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables $(HARDEN)
LAUNCH_LINK := -static -no-pie -Wl,--gc-sections -Wl,--build-id=none -Wl,-z,noseparate-code -Wl,-z,norelro
LAUNCH_OBJECTS := $(patsubst %,$(B)/static/%.o,$(call sources,launch) $(call sources,kabi))

$(B)/static/%.c.o: %.c
	$(call step,CC,$(unit))
	@mkdir -p $(@D)
	$(Q)$(LAUNCH_CC) -std=gnu17 $(WARN_C) $(CPPFLAGS) $(LAUNCH_FLAGS) -MMD -MP -c -o $@ $<

$(B)/oarbank-sandbox $(B)/oarbank-plan: $(B)/%: $(B)/static/launch/%.c.o
$(B)/oarbank-run: $(B)/static/launch/run/oarbank-run.c.o
$(B)/oarbank-sandbox $(B)/oarbank-plan $(B)/oarbank-run: $(LAUNCH_OBJECTS)
	$(call step,LINK,$@$(if $(MUSL_CC),, with the C library of $(CC): musl-tools makes it smaller))
	$(Q)$(LAUNCH_CC) $(LAUNCH_LINK) -o $@ $^
	@cp $@ $@.debug && strip $@

# The egress proxy looks names up as the machine does, so it has the machine's C library.
EGRESS_OBJECTS = $(EGRESS:%=$(B)/$(1)/%.c.o) $(B)/$(1)/launch/egress/oarbank-egress.c.o $(B)/$(1)/launch.a $(B)/$(1)/kabi.a
UV_LIBS := $(or $(call static_lib,libuv_a.a),-luv) -pthread -ldl

$(B)/oarbank-egress: $(call EGRESS_OBJECTS,rel)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LINK_rel) -o $@ $^ $(UV_LIBS) $(LDFLAGS)
$(B)/dev/oarbank-egress: $(call EGRESS_OBJECTS,dev)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LINK_dev) -o $@ $^ $(UV_LIBS) $(LDFLAGS)

# The seccomp programs are checked in, so that building and cross building need no libseccomp. A test
# compiles them again and compares.
COMPILER_OBJECTS = $(COMPILER:%=$(B)/$(1)/%.c.o)

$(B)/gen/filter-gen: $(B)/rel/launch/filter/filter-gen.c.o $(call COMPILER_OBJECTS,rel) $(B)/rel/launch/filter/rules.c.o $(B)/rel/kabi.a
	$(call step,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK_rel) -o $@ $^ -lseccomp $(LDFLAGS)

.PHONY: filter-programs
filter-programs: $(B)/gen/filter-gen ## compile the seccomp rules into launch/filter/programs.c
	$(call step,GEN,launch/filter/programs.c)
	$(Q)$< >$(B)/gen/filter_programs.c
	$(Q)cp $(B)/gen/filter_programs.c launch/filter/programs.c

# liboarbank-launch: the parent's part. One object whose only names are those of oarbank-launch.h, so
# that it meets nothing of the program it goes into.
LIB_SOURCES := $(addprefix launch/,check.c json.c policy.c policy_print.c resolve.c supervise_choice.c) \
	$(filter-out launch/run/oarbank-run.c launch/run/command.c launch/run/remote.c,$(wildcard launch/run/*.c launch/supervise/*.c))
LIB_OBJECTS := $(patsubst %,$(B)/pic/%.o,$(LIB_SOURCES) $(call sources,kabi))
LIB_SONAME := liboarbank-launch.so.0
LIBRARY := $(B)/liboarbank-launch.a $(B)/$(LIB_SONAME)
OBJCOPY ?= objcopy

$(B)/pic/%.c.o: %.c
	$(call step,CC,$(unit))
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(WARN_C) $(CPPFLAGS) -O2 -g -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections $(HARDEN) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/pic/liboarbank-launch.o: $(LIB_OBJECTS)
	$(call step,LINK,$@)
	$(Q)$(CC) -r -nostdlib -o $@ $^
	$(Q)$(OBJCOPY) --localize-hidden $@
$(B)/liboarbank-launch.a: $(B)/pic/liboarbank-launch.o
	$(call step,AR,$@)
	@rm -f $@
	$(Q)ar rcsD $@ $^
$(B)/$(LIB_SONAME): $(LIB_OBJECTS)
	$(call step,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(LIB_SONAME) -Wl,--gc-sections -Wl,-z,relro,-z,now -Wl,-z,defs -o $@ $^ $(LDFLAGS)

all: $(LIBRARY)

.PHONY: install-launch uninstall-launch
# The loader finds a new library by its cache, which is the machine's own and for root to write.
install-launch: $(B)/oarbank-run $(B)/oarbank-egress $(LIBRARY)
	install -D -m 0755 $(B)/oarbank-egress $(DESTDIR)$(PREFIX)/bin/oarbank-egress
	install -D -m 0755 $(B)/oarbank-run $(DESTDIR)$(PREFIX)/bin/oarbank-run
	install -D -m 0644 $(B)/liboarbank-launch.a $(DESTDIR)$(PREFIX)/lib/liboarbank-launch.a
	install -D -m 0755 $(B)/$(LIB_SONAME) $(DESTDIR)$(PREFIX)/lib/$(LIB_SONAME)
	ln -sf $(LIB_SONAME) $(DESTDIR)$(PREFIX)/lib/liboarbank-launch.so
	install -D -m 0644 launch/run/oarbank-launch.h $(DESTDIR)$(PREFIX)/include/oarbank-launch.h
	@mkdir -p $(DESTDIR)$(PREFIX)/lib/pkgconfig
	sed 's#@PREFIX@#$(PREFIX)#; s#@VERSION@#$(VERSION)#' launch/run/oarbank-launch.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/oarbank-launch.pc
	$(if $(DESTDIR),,-@[ "$$(id -u)" -ne 0 ] || ldconfig)

uninstall-launch:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/oarbank-run bin/oarbank-egress lib/liboarbank-launch.a lib/$(LIB_SONAME) lib/liboarbank-launch.so include/oarbank-launch.h lib/pkgconfig/oarbank-launch.pc)
