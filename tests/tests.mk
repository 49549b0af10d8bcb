# Every test program prints TAP; tests/run adds them up. A test is a file: drop one in and it runs.

UNIT := $(patsubst tests/unit/%.c,$(B)/dev/tests/unit/%,$(wildcard tests/unit/test_*.c))
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAY := $(FUZZ:%=$(B)/dev/tests/fuzz/replay_%)
LIVE := $(patsubst tests/live/%.c,$(B)/dev/tests/live/%,$(wildcard tests/live/test_*.c))
FAKE_OBJECTS := $(patsubst %,$(B)/dev/%.o,$(wildcard tests/fake/*.c))
SCRIPTS := $(wildcard tests/*/test_*.sh tests/*/test_*.py)
TEST_LIBS = $(PROBE_LIBS) -lcmocka -lstdc++ -Wl,--as-needed -lseccomp

objects_first = $(filter %.o,$^) $(filter %.a,$^)

$(B)/dev/tests/fake.a: $(FAKE_OBJECTS)
	$(call step,AR,$@)
	@rm -f $@
	$(Q)ar rcsD $@ $^

$(UNIT) $(LIVE): $(B)/dev/%: $(B)/dev/%.c.o $(B)/dev/tests/fake.a $(ARCHIVES_dev)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LINK_dev) -o $@ $(objects_first) $(TEST_LIBS) $(LDFLAGS)

# The seccomp rules are compiled once more.
$(B)/dev/tests/unit/test_filter_compile: $(call COMPILER_OBJECTS,dev)

$(REPLAY): $(B)/dev/tests/fuzz/replay_%: $(B)/dev/tests/fuzz/fuzz_%.c.o $(B)/dev/tests/fuzz/replay.c.o $(B)/dev/tests/fake.a $(ARCHIVES_dev)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LINK_dev) -o $@ $^ $(TEST_LIBS) $(LDFLAGS)

# The attack matrix is one static program, so that a bundle with nothing else in it can hold it; and small, for
# it starts itself hundreds of times.
ATTACKER := $(B)/attack/attacker
ATTACKER_OBJECTS := $(patsubst %,$(B)/attack/%.o,$(wildcard tests/attack/*.c) kabi/errno_name.c kabi/text.c)

$(B)/attack/%.c.o: %.c
	$(call step,CC,$(unit))
	@mkdir -p $(@D)
	$(Q)$(LAUNCH_CC) -std=gnu17 $(WARN_C) $(CPPFLAGS) -O1 -g $(KERNEL_HEADERS) -MMD -MP -c -o $@ $<
$(ATTACKER): $(ATTACKER_OBJECTS)
	$(call step,LINK,$@)
	$(Q)$(LAUNCH_CC) $(if $(MUSL_CC)$(call static_lib,libc.a),-static) -o $@ $^ -pthread $(LDFLAGS)

# A filter that refuses, and a module that tells whether it is confined; static, to start with few calls.
REFUSE := $(B)/refuse/refuse $(B)/refuse/module

$(B)/refuse/%.c.o: tests/refuse/%.c
	$(call step,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 $(WARN_C) $(CPPFLAGS) -O1 -g -MMD -MP -c -o $@ $<
$(B)/refuse/refuse: $(B)/refuse/refuse.c.o
	$(call step,LINK,$@)
	$(Q)$(CC) -o $@ $^ -lseccomp $(LDFLAGS)
$(B)/refuse/module: $(B)/refuse/module.c.o
	$(call step,LINK,$@)
	$(Q)$(CC) $(if $(call static_lib,libc.a),-static) -o $@ $^ $(LDFLAGS)

.PHONY: check-refused
check-refused: all $(REFUSE) ## every system call refused, one at a time: nothing hangs, claims more or is left
	@BUILD=$(B) tests/refuse/test_refused.py --all

check: all $(B)/record $(B)/dev/oarbank-probe $(B)/dev/oarbank-egress $(UNIT) $(REPLAY) $(LIVE) $(ATTACKER) $(REFUSE) ## run every test
	@tests/run --build $(B) $(SCRIPTS) $(LIVE) $(UNIT) $(REPLAY)

check-live: all $(B)/dev/oarbank-probe $(LIVE) ## run the tests that ask this kernel
	@tests/run --build $(B) $(LIVE)

# ---- mutants: each measure of the launcher taken away, to see that trials notice --------------------------

MUTANT_OBJECTS := $(patsubst %,$(B)/rel/%.o,$(wildcard tests/mutants/*.c))

$(B)/mutants: $(MUTANT_OBJECTS) $(call COMPILER_OBJECTS,rel) $(ARCHIVES_rel)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LINK_rel) -o $@ $(objects_first) $(PROBE_LIBS) -lseccomp $(LDFLAGS)

.PHONY: check-mutants
check-mutants: $(B)/mutants ## take each measure of the launcher away and see which capability goes with it
	@$< tests/mutants/expected.tsv

# ---- recording a machine: what the probes ask, and what it says ------------------------------------------

$(B)/record: $(patsubst %,$(B)/rel/%.o,$(wildcard tests/record/*.c)) $(ARCHIVES_rel)
	$(call step,LINK,$@)
	$(Q)$(CC) $(LINK_rel) -o $@ $(objects_first) $(PROBE_LIBS) $(LDFLAGS)

# ---- fuzzing: FUZZ_SECONDS each; new inputs stay in build/fuzz/corpus ---------------------------------

FUZZ_SECONDS ?= 60
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
FUZZ_SOURCES := $(foreach l,$(LAYERS),$(call sources,$(l))) $(filter-out %/supervised.c,$(wildcard tests/fake/*.c))

$(B)/fuzz/%.c.o: %.c
	$(call step,CC,$(unit))
	@mkdir -p $(@D)
	$(Q)clang -std=gnu17 $(CPPFLAGS) $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<
$(B)/fuzz/%.cpp.o: %.cpp
	$(call step,CXX,$(unit))
	@mkdir -p $(@D)
	$(Q)clang++ -std=gnu++17 $(CPPFLAGS) $(FUZZ_FLAGS) -MMD -MP -c -o $@ $<
$(B)/fuzz/fuzz_%: $(B)/fuzz/tests/fuzz/fuzz_%.c.o $(FUZZ_SOURCES:%=$(B)/fuzz/%.o)
	$(call step,LINK,$@)
	$(Q)clang++ -fsanitize=fuzzer,address,undefined -o $@ $^ $(PROBE_LIBS) -Wl,--as-needed -lseccomp

fuzz: $(FUZZ:%=$(B)/fuzz/fuzz_%) ## fuzz every parser for FUZZ_SECONDS each
	@for f in $(FUZZ); do \
		mkdir -p $(B)/fuzz/corpus/$$f; \
		echo "fuzz $$f: $(FUZZ_SECONDS) s"; \
		$(B)/fuzz/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -timeout=5 -print_final_stats=1 -verbosity=0 \
			-artifact_prefix=$(B)/fuzz/ $(B)/fuzz/corpus/$$f tests/fuzz/corpus/$$f || exit 1; \
	done

# ---- source checks ------------------------------------------------------------------------------------

C_FILES := $(wildcard $(LAYERS:=/*.[ch]) $(LAYERS:=/*/*.[ch]) tests/*/*.[ch] vm-tests/*.[ch])

lint: all ## layers, headers, warnings of two compilers, cppcheck, format
	@tests/lint/layers $(B) "$(CC)"
	@tests/lint/headers $(CC)
	@tests/lint/compilers
	@cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
		--inline-suppr --suppressions-list=tests/lint/cppcheck.txt -I. $(LAYERS)
	@clang-format --dry-run -Werror $(C_FILES)
	@echo "lint: clean"

format: ## lay the source out as clang-format decides
	@clang-format -i $(C_FILES)

# ---- benchmarks: ratios to a peer in the same run, never absolute figures ----------------------------

BENCH := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))

$(B)/bench/%: $(B)/rel/tests/bench/%.c.o $(ARCHIVES_rel)
	$(call step,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(LINK_rel) -o $@ $(objects_first) $(BENCH_LIBS) $(LDFLAGS)
$(B)/bench/bench_filter: $(call COMPILER_OBJECTS,rel)
$(B)/bench/bench_filter: BENCH_LIBS = -lseccomp

bench: all $(BENCH) ## measure, as ratios to a peer in the same run
	@tests/bench/run $(B)
