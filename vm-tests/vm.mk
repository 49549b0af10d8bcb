# Real kernels in QEMU: the same binaries on every row of vm-tests/rows.tsv.

VM_PROGRAMS := $(B)/vm/bin/init $(B)/vm/bin/contain $(B)/vm/bin/gpu-try $(B)/vm/bin/answers
VM_FLAGS := -Os -g $(HARDEN) $(KERNEL_HEADERS)

$(B)/vm/obj/%.c.o: vm-tests/%.c
	$(call step,CC,$(unit))
	@mkdir -p $(@D)
	$(Q)$(LAUNCH_CC) -std=gnu17 $(WARN_C) -D_GNU_SOURCE $(VM_FLAGS) -MMD -MP -c -o $@ $<

$(B)/vm/bin/init: $(B)/vm/obj/init.c.o $(B)/vm/obj/child.c.o $(B)/vm/obj/channel.c.o
$(B)/vm/bin/contain: $(B)/vm/obj/contain.c.o
$(B)/vm/bin/gpu-try: $(B)/vm/obj/gpu-try.c.o
$(B)/vm/bin/answers: $(B)/vm/obj/answers.c.o
$(VM_PROGRAMS):
	$(call step,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LAUNCH_CC) -static -o $@ $^

# The live tests without sanitizers: under emulation those cost more than the tests.
VM_LIVE := $(patsubst tests/live/%.c,$(B)/vm/live/%,$(wildcard tests/live/test_*.c))
VM_FAKE := $(patsubst %,$(B)/rel/%.o,$(wildcard tests/fake/*.c))

$(VM_LIVE): $(B)/vm/live/%: $(B)/rel/tests/live/%.c.o $(VM_FAKE) $(ARCHIVES_rel)
	$(call step,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK_rel) -o $@ $^ $(TEST_LIBS) $(LDFLAGS)

.PHONY: vm-check vm-shell vm-mutants vm-record vm-fetch vm-build
vm-build: all $(VM_PROGRAMS) $(VM_LIVE) $(ATTACKER) $(B)/record

# The same for another architecture, with Debian's cross compiler out of the private apt root.
VM_CROSS := $(patsubst %,vm-build-%,$(filter-out $(shell dpkg --print-architecture 2>/dev/null),$(ARCH)))
.PHONY: $(VM_CROSS)
$(VM_CROSS): vm-build-%:
	@triplet=$$(vm-tests/vm cross --arch $* --build $(B)) && PATH=$(CURDIR)/$(B)/vm/cross/$*:$$PATH \
		$(MAKE) --no-print-directory vm-build B=$(B)/cross/$* ARCH= CC=$$triplet-gcc CXX=$$triplet-g++ MUSL_CC=

# By the environment, for names with spaces.
vm-check: export KERNEL_DIR := $(value KERNEL_DIR)
vm-check: vm-build $(VM_CROSS) ## boot every kernel of the matrix; ROW=name one, ARCH=arm64 of others, FULL=1 at length, KERNEL_DIR=dir what is there too
	@vm-tests/vm check --build $(B) $(ROW:%=--row %) $(ARCH:%=--arch %) $(if $(KERNEL_DIR),--kernel-dir "$$KERNEL_DIR") $(FULL:%=--full) $(if $(JOBS),--jobs $(JOBS))

vm-shell: vm-build $(VM_CROSS) ## a prompt on the kernel of ROW=name
	@vm-tests/vm shell --build $(B) $(ROW:%=--row %)

vm-mutants: vm-build ## does the matrix notice? One thing wrong at a time, and the row that must turn red; MUTANT=word for some
	@vm-tests/mutants --build $(B) $(MUTANT)

vm-record: vm-build $(VM_CROSS) ## the machines of ROW="name …" as recorded ones, into tests/fake/trees
	@vm-tests/vm record --build $(B) $(foreach row,$(ROW),--row $(row))

vm-fetch: ## fetch the newest kernels into the cache
	@vm-tests/vm fetch --build $(B)
