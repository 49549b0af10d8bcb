# oarbank-probe: `make help` lists the targets. Everything generated goes under build/.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
CXX ?= g++
B := build

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all report check check-live lint format fuzz bench install uninstall clean help

all: $(B)/oarbank-probe $(B)/oarbank-sandbox $(B)/oarbank-plan $(B)/oarbank-run $(B)/oarbank-egress ## build the programs

# ---- what it is built with -------------------------------------------------------------------------

# Packages come first: make runs these rules, then reads itself again and finds what was installed.
CHECK_GOALS := check check-live lint format fuzz bench
ifneq ($(filter $(CHECK_GOALS),$(MAKECMDGOALS)),)
include $(B)/deps-check.mk
else ifneq ($(filter deb check-package,$(MAKECMDGOALS)),)
include $(B)/deps-package.mk
else ifneq ($(filter-out clean help uninstall,$(or $(MAKECMDGOALS),all)),)
include $(B)/deps-build.mk
endif

$(B)/deps-%.mk: .ci/deps
	@mkdir -p $(@D)
	@.ci/deps $*
	@touch $@

# ---- what is said ------------------------------------------------------------------------------------

# A line for each step; V=1 shows the commands instead, and make -s says nothing.
Q := $(if $(V),,@)
step = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,$(info $()  $(1)	$(2)))
unit = $(@:$(B)/%.o=%)

# ---- what is built from what ---------------------------------------------------------------------

# A folder is an archive; a file named after a program holds its main() and stays out of it, and so
# do those that only run to compile the seccomp rules.
PROGRAMS := report/oarbank-probe launch/oarbank-sandbox launch/oarbank-plan \
	launch/run/oarbank-run launch/egress/oarbank-egress launch/filter/filter-gen
COMPILER := launch/filter/filter launch/filter/emit
# The egress proxy's own: what libuv drives.
EGRESS := launch/egress/loop launch/egress/connection launch/egress/serve
LAYERS := report probe launch kabi
sources = $(filter-out $(PROGRAMS:=.c) $(COMPILER:=.c) $(EGRESS:=.c),$(wildcard $(1)/*.c $(1)/*/*.c)) $(wildcard $(1)/*.cpp)
objects = $(patsubst %,$(B)/$(2)/%.o,$(call sources,$(1)))

WARN := -Wall -Wextra -Wshadow -Wformat=2 -Wvla -Wundef -Wswitch-enum
WARN_C = $(WARN) -Wmissing-prototypes -Wstrict-prototypes
ifdef WERROR
WARN += -Werror
endif
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2
CPPFLAGS += -I. -D_GNU_SOURCE -DOARBANK_VERSION='"$(VERSION)"'

# Two flavours: rel is what is installed, dev is what the unit tests run, with sanitizers.
SANITIZE ?= -fsanitize=address,undefined -fno-sanitize-recover=all
FLAGS_rel := -O2 -g -fPIE -ffunction-sections -fdata-sections $(HARDEN)
FLAGS_dev := -O1 -g -fno-omit-frame-pointer $(SANITIZE)
LINK_rel := -pie -Wl,--gc-sections -Wl,-z,relro,-z,now
LINK_dev := $(SANITIZE)

# The page of an audit is in the program as it is.
$(foreach f,rel dev fuzz,$(B)/$(f)/report/audit/html.c.o): report/audit/page.html

# The optimiser takes long over what the sanitizers add to the TOML library.
$(B)/dev/report/toml.cpp.o: FLAGS_dev += -O0

define flavour
$(B)/$(1)/%.c.o: %.c
	$$(call step,CC,$$(unit))
	@mkdir -p $$(@D)
	$$(Q)$$(CC) -std=gnu17 $$(WARN_C) $$(CPPFLAGS) $$(FLAGS_$(1)) $$(CFLAGS) -MMD -MP -c -o $$@ $$<
$(B)/$(1)/%.cpp.o: %.cpp
	$$(call step,CXX,$$(unit))
	@mkdir -p $$(@D)
	$$(Q)$$(CXX) -std=gnu++17 $$(WARN) $$(CPPFLAGS) $$(FLAGS_$(1)) $$(CXXFLAGS) -MMD -MP -c -o $$@ $$<
$(foreach l,$(LAYERS),
$(B)/$(1)/$(l).a: $(call objects,$(l),$(1))
	$$(call step,AR,$$@)
	@rm -f $$@
	$$(Q)ar qcsD $$@ $$^)
ARCHIVES_$(1) := $(foreach l,$(LAYERS),$(B)/$(1)/$(l).a)
endef
$(eval $(call flavour,rel))
$(eval $(call flavour,dev))

-include $(shell find $(B) -path $(B)/deb -prune -o -name '*.d' -type f -print 2>/dev/null)

# libbpf, libelf, zlib and the C++ runtime go into the program: loading them costs more than the report.
# SHARED_LIBS=yes is for distributions, which want the machine's own.
static_lib = $(if $(SHARED_LIBS),,$(shell $(CC) -print-file-name=$(1) | grep /))
# Having the archives is not enough: Debian 13's libelf.a lacks a part of itself. Tried once, when first needed.
BPF_STATIC := -Wl,-Bstatic -lbpf -lelf -lz -Wl,-Bdynamic
elf_links = $(shell mkdir -p $(B); echo 'int elf_begin(void); int main(void) { return elf_begin(); }' | \
	$(CC) -x c -o $(B)/elf-links - $(1) 2>/dev/null && echo yes)
BPF_LIBS = $(eval BPF_LIBS := $(if $(and $(call static_lib,libbpf.a),$(call elf_links,$(BPF_STATIC))),$(BPF_STATIC),-lbpf -lelf -lz))$(BPF_LIBS)
PROBE_LIBS = $(BPF_LIBS) -lmnl -lcjson

$(B)/oarbank-probe: $(B)/rel/report/oarbank-probe.c.o $(ARCHIVES_rel)
	$(call step,LINK,$@)
	$(Q)$(CXX) $(LINK_rel) -static-libstdc++ -static-libgcc -o $@ $^ $(PROBE_LIBS) $(LDFLAGS)
$(B)/dev/oarbank-probe: $(B)/dev/report/oarbank-probe.c.o $(ARCHIVES_dev)
	$(call step,LINK,$@)
	$(Q)$(CXX) $(LINK_dev) -o $@ $^ $(PROBE_LIBS) $(LDFLAGS)

include launch/build.mk

# ---- using it --------------------------------------------------------------------------------------

report: all ## build, then print what this node can enforce
	@$(B)/oarbank-probe

# ---- tests -------------------------------------------------------------------------------------------

include tests/tests.mk
include vm-tests/vm.mk
include docs/package.mk

# ---- installing --------------------------------------------------------------------------------------

install: all install-launch install-docs ## install below $(DESTDIR)$(PREFIX)
	install -D -m 0755 $(B)/oarbank-probe $(DESTDIR)$(PREFIX)/bin/oarbank-probe
	install -D -m 0755 $(B)/oarbank-sandbox $(DESTDIR)$(PREFIX)/bin/oarbank-sandbox
	install -D -m 0755 $(B)/oarbank-plan $(DESTDIR)$(PREFIX)/bin/oarbank-plan
	install -D -m 0644 docs/report.schema.json $(DESTDIR)$(PREFIX)/share/oarbank-probe/report.schema.json

uninstall: uninstall-launch uninstall-docs ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/oarbank-probe $(DESTDIR)$(PREFIX)/bin/oarbank-sandbox $(DESTDIR)$(PREFIX)/bin/oarbank-plan
	rm -rf $(DESTDIR)$(PREFIX)/share/oarbank-probe

clean: ## remove build/
	rm -rf $(B)

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16
