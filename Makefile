# Tompion: `make run` measures this machine, `make test` checks the project.
# Both install what they need on Debian and Ubuntu when run as root.

SHELL := /bin/bash
CARGO ?= cargo
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
# Downloads and the Python environment of the tests; safe to delete.
CACHE := .cache
VENV := $(CACHE)/venv
# What `make run` passes on: make run ARGS='--quick'
ARGS ?=

# Everything is Rust; a C compiler is needed only as its linker.
RUN_PACKAGES := gcc libc6-dev
TEST_PACKAGES := $(RUN_PACKAGES) chromium cmake e2fsprogs faketime fonts-dejavu-core g++ \
	iperf3 iproute2 libfaketime libjemalloc2 lz4 man-db mount openssh-server perl pkg-config \
	python3 python3-venv qemu-system-x86 r-base-core rt-tests runc strace stress-ng util-linux

# Static programs that run in the test guests: examples of tompion-guest, so that what others
# wrote is compiled once for them.
GUEST_PAYLOADS := guest_probe guest_clock
# C programs and a library in tests/programs that know nothing of Tompion.
GUEST_PROGRAMS := clock_reads time_steps
GUEST_LIBRARIES := meddle
GUEST_CFLAGS := -O2 -Wall -Wextra -Werror
GUEST := $(CACHE)/guest

# By this name `make -n` only shows what would be done.
ANOTHER_MAKE := $(MAKE) --no-print-directory

# What is built is looked for in target/.
unexport CARGO_TARGET_DIR

.PHONY: run build preload-library static lib install test test-full lint unit cross guest \
	guest-kernel acceptance clean require-rust run-packages test-packages

run: run-said build
	target/release/tompion check $(ARGS)

# At once, since what follows is silent or long.
.PHONY: run-said
run-said:
	@[ -e target/release/tompion ] || echo "Building Tompion: some four minutes on two CPUs the first time, seconds later."
	@echo "Then '$(strip tompion check $(ARGS))' measures this machine: 75 seconds by default, 20 with ARGS=--quick." \
		"The answer comes last, on one screen."

# The lab's plan for a first look, platforms side by side in less than five minutes; those
# that cannot be had here are listed as absent: make lab ARGS='--out quick'
.PHONY: lab
lab: build lab-guest
	TOMPION_GUEST="$(abspath $(GUEST))" PATH="$$PATH:$(abspath $(CACHE))/bin" \
		target/release/tompion lab run plans/quick.toml $(ARGS)

# Linked with the C library inside: one file that runs on any Linux of this
# architecture, without Rust. Only the last step knows; what else is built is shared.
STATIC := -- -C target-feature=+crt-static
# What enters a lab's instances, as small as it gets: it is copied into each of them.
SMALL := -C strip=symbols -C link-arg=-Wl,-z,pack-relative-relocs
build: require-rust run-packages preload-library
	$(CARGO) rustc --release --locked -p tompion --bin tompion $(STATIC)
	$(CARGO) rustc --release --locked -p tompion --bin tompion-worker $(STATIC) $(SMALL)
	@.ci/strip-apart target/release/tompion

# Beside the program, where `tompion preload` looks for it.
preload-library: require-rust run-packages
	$(CARGO) build --profile linked --locked -p tompion-preload
	.ci/link-shared target/linked/libtompion_preload.a crates/tompion-preload/exports.map \
		libtompion_preload.so target/release/libtompion_preload.so

static: build
	install -D target/release/tompion dist/tompion
	install -D target/release/tompion-worker dist/tompion-worker
	@echo "static binary: dist/tompion"

# The program on machines that are planted, in virtual time: what hundreds of tests run.
.PHONY: planted
planted: build
	$(CARGO) build --release --locked -p tompion --example planted_time
	install -D target/release/examples/planted_time dist/planted_time

# The C library, laid out in dist/ as it will lie in PREFIX.
VERSION := $(shell sed -n '/^version/ { s/.*"\(.*\)"/\1/p; q }' Cargo.toml)
C_LIBRARY := libtompion.so.$(VERSION)
C_LINK = target/linked/libtompion.a crates/tompion-c/tompion.map
lib: require-rust run-packages
	$(CARGO) build --profile linked --locked -p tompion-c
	install -Dm644 -t dist/include crates/tompion-c/include/*
	@mkdir -p dist/lib/pkgconfig
	.ci/link-static $(C_LINK) dist/lib/libtompion.a
	.ci/link-shared $(C_LINK) libtompion.so.0 dist/lib/$(C_LIBRARY)
	ln -sf $(C_LIBRARY) dist/lib/libtompion.so.0
	ln -sf libtompion.so.0 dist/lib/libtompion.so
	sed 's/@VERSION@/$(VERSION)/' crates/tompion-c/tompion.pc.in >dist/lib/pkgconfig/tompion.pc

# Copies what `make build lib` made, and builds nothing: root may have no Rust.
PREFIX ?= /usr/local
INTO = $(DESTDIR)$(PREFIX)
install:
	@case "$(PREFIX)" in /*) ;; *) \
		echo "PREFIX=$(PREFIX): an absolute path is wanted"; exit 1 ;; esac
	@[ -e target/release/tompion ] && [ -e dist/lib/libtompion.so ] || { \
		echo "nothing to install yet: run make build lib first"; exit 1; }
	install -Ds -t "$(INTO)"/bin target/release/tompion
	install -D -t "$(INTO)"/bin target/release/tompion-worker
	install -Dm644 -t "$(INTO)"/include dist/include/*
	install -Dm644 -t "$(INTO)"/lib dist/lib/libtompion.a dist/lib/$(C_LIBRARY) \
		$(wildcard target/release/libtompion_preload.so)
	cp -d dist/lib/libtompion.so dist/lib/libtompion.so.0 "$(INTO)"/lib
	install -d "$(INTO)"/lib/pkgconfig
	sed 's|^prefix=.*|prefix=$(PREFIX)|' dist/lib/pkgconfig/tompion.pc \
		>"$(INTO)"/lib/pkgconfig/tompion.pc

# .ci/test says what is done when.
test: require-rust run-packages test-packages
	@.ci/test

# What changed since the last commit, its tests and clippy: for the minute between two
# commits. `make check ARGS=REVISION` for more than that.
.PHONY: check
check: require-rust run-packages
	@.ci/check $(ARGS)

# All programs of the tests, so that nothing is compiled while they run.
.PHONY: tests-built
tests-built: require-rust test-packages guest-programs planted
	.ci/cargo-tests --no-run

# What is long and seldom says something new too: all of the
# documentation and the aarch64 check, ten minutes beside the kernel's clock, 10^9 reads by
# all CPUs, 10^8 mutated packets, the tests marked `full`, and what observing costs.
test-full: require-rust run-packages test-packages
	@.ci/test --full

.PHONY: full-run
full-run: lint-full
	@.ci/stamp-suite $(CACHE)/bin
	TOMPION_LONG=1 $(CARGO) test --release --locked -p tompion-time \
		--test never_backwards --test follows_the_kernel -- --nocapture
	TOMPION_LONG=1 .ci/cargo-tests --built stats store stamp assess
	.ci/sanitize asan tsan miri loom
	@.ci/deny $(CACHE)/bin
	TOMPION_LONG=1 .ci/acceptance-tests full
	TOMPION_LONG=1 $(VENV)/bin/pytest -q tests/acceptance/test_lab_platforms.py \
		tests/acceptance/test_default_run.py tests/acceptance/test_placements.py
	@TOMPION_LONG=1 $(ANOTHER_MAKE) guest-run
	TOMPION_LONG=1 $(VENV)/bin/pytest -q -k "kill_9 or millions" \
		tests/acceptance/test_known_truth.py tests/acceptance/test_other_writers.py
	TOMPION_LONG=1 .ci/acceptance-tests leftovers
	$(VENV)/bin/python benches/observer.py --check

# Tests under tools that see what a test alone does not; .ci/sanitize has which tests, and which
# not. Memory that is not ours, and threads that do not wait for one another.
.PHONY: sanitize miri loom
sanitize: require-rust test-packages
	.ci/sanitize asan tsan

# What the language forbids.
miri: require-rust test-packages
	.ci/sanitize miri

# Every order in which threads can take turns.
loom: require-rust test-packages
	.ci/sanitize loom

# Licences, sources and versions of what others wrote; known defects, where their list can be had.
.PHONY: deny
deny: require-rust run-packages
	@.ci/deny $(CACHE)/bin

# Sleeps with the observer and without, in about eight minutes; best on a machine
# that does nothing else.
.PHONY: bench-observer
bench-observer: build $(VENV)/ready
	$(VENV)/bin/python benches/observer.py $(ARGS)

# The clock and the sleeps of tompion-time beside their peers, about 11 minutes;
# best on a machine that does nothing else: make bench-time ARGS='--only read'
.PHONY: bench-time
bench-time: require-rust run-packages
	$(CARGO) build --release --locked -p tompion-time-bench
	target/release/tompion-time-bench $(ARGS)

# The preload library beside plain runs, in about a minute.
.PHONY: bench-preload
bench-preload: build $(VENV)/ready
	$(VENV)/bin/python benches/preload.py $(ARGS)

# Round trips beside those of others and what a tap on the path saw, marks, and clocks, in half an hour or more; best
# on a machine that does nothing else: make bench-net ARGS=--quick
.PHONY: bench-net
bench-net: build $(VENV)/ready lab-guest
	@.ci/packages fping iproute2 iputils-ping irtt sockperf
	@.ci/stamp-suite $(CACHE)/bin
	$(CARGO) build --release --locked -p tompion-packets -p tompion-path -p tompion-guest \
		--example round_trips --example clocks --example guest_round_trips
	@export TOMPION_GUEST="$(abspath $(GUEST))"; status=0; for bench in marks clocks net; do $(VENV)/bin/python benches/$$bench.py $(ARGS) || status=$$?; done; \
		$(VENV)/bin/python benches/bandwidth.py $(filter --quick,$(ARGS)) || status=$$?; exit $$status

# The README's picture and the printed report, of runs made for it in some minutes, or of
# those that are there: make pictures ARGS='RUN QUICK'
.PHONY: pictures
pictures: build $(VENV)/ready
	$(VENV)/bin/python benches/report_pictures.py $(ARGS)

# The fuzz targets under libFuzzer, two at a time, and so long each; docs/fuzzing.md has more:
# make fuzz TIME=1m TARGET=elf
TIME ?= 10m
TARGET ?=
.PHONY: fuzz
fuzz: require-rust run-packages
	@.ci/packages g++
	fuzz/run --time $(TIME) $(TARGET)

# Lines of each target's parser that its corpus reaches.
.PHONY: fuzz-coverage
fuzz-coverage: require-rust run-packages
	@rustup component add llvm-tools
	fuzz/run --coverage $(TARGET)

# Whether each target finds the defect that is kept for it.
.PHONY: fuzz-planted
fuzz-planted: require-rust run-packages
	@.ci/packages g++ patch
	fuzz/run --planted --time $(TIME) $(TARGET)

# Statistics of raw samples beside SciPy and scikit-posthocs, in about three minutes.
.PHONY: bench-stats
bench-stats: require-rust run-packages $(VENV)/ready
	$(CARGO) build --release --locked -p tompion-stats --example bench_stats
	$(VENV)/bin/python benches/stats.py --check $(ARGS)

# How often intervals, verdicts, comparisons and change points are right, over series whose truth is known; takes
# long, and exits with 1 where a bound is missed. `make bench-validity ARGS='--draws 100 --shapes 8x4000'` for less.
.PHONY: bench-validity
bench-validity: require-rust
	$(CARGO) run --release --locked -p tompion-validity -- $(ARGS)

# In the profile of the tests, whose macros and build scripts serve here too; clippy lints
# while they are compiled. Documents, and the check for aarch64, of what others use alone;
# `make lint-full` for all.
LINT := --profile bench --locked
OTHERS_USE := -p tompion-time -p tompion-c -p tompion-preload
DOCUMENTED := -p tompion-time -p tompion-c
lint: require-rust run-packages
	@.ci/format --check
	@.ci/circles
	.ci/cargo-tests --lint
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc $(LINT) $(DOCUMENTED) --no-deps
	@$(ANOTHER_MAKE) cross

# The examples in the docs of public items.
.PHONY: doc-tests
doc-tests: require-rust
	.ci/cargo-tests --doc

.PHONY: lint-full
lint-full: DOCUMENTED := --workspace
lint-full: OTHERS_USE := --workspace
lint-full: lint

# aarch64 is compiled, never run by us.
cross: require-rust
	@if command -v rustup >/dev/null && rustup target add aarch64-unknown-linux-gnu; then \
		$(CARGO) check $(LINT) $(OTHERS_USE) --target aarch64-unknown-linux-gnu; \
	else \
		echo "cross: skipped, rustup cannot add aarch64-unknown-linux-gnu here"; \
	fi

unit: require-rust test-packages
	.ci/cargo-tests
	.ci/cargo-tests --doc

# Boots disposable QEMU guests. Emulated, so any x86-64 machine can do it.
ifneq ($(filter x86_64-%,$(HOST)),)
guest: guest-programs
	.ci/cargo-tests --no-run
	@$(ANOTHER_MAKE) guest-run

.PHONY: guest-programs guest-run
guest-programs: require-rust test-packages guest-kernel static preload-library
	$(CARGO) rustc --release --locked -p tompion-guest --bin tompion-guest-init $(STATIC)
	set -e; for payload in $(GUEST_PAYLOADS); do $(CARGO) rustc --release --locked \
		-p tompion-guest --example $$payload $(STATIC); done
	@mkdir -p $(GUEST)/bin
	install -s -t $(GUEST)/bin target/release/tompion-guest-init \
		$(GUEST_PAYLOADS:%=target/release/examples/%)
	install -t $(GUEST)/bin dist/tompion
	.ci/chrony $(GUEST)/chrony
	install -t $(GUEST)/bin $(GUEST)/chrony/chronyd
	set -e; for name in $(GUEST_PROGRAMS); do \
		cc $(GUEST_CFLAGS) -o $(GUEST)/bin/$$name tests/programs/$$name.c; done
	set -e; for name in $(GUEST_LIBRARIES); do cc $(GUEST_CFLAGS) -shared -fPIC \
		-o $(GUEST)/bin/$$name.so tests/programs/$$name.c; done

guest-run:
	TOMPION_GUEST=$(abspath $(GUEST)) .ci/cargo-tests --built --ignored guest
else
guest guest-run: require-rust
	@echo "guest: skipped, there are test guests for x86-64 only, this is $(HOST)"

.PHONY: guest-programs
guest-programs:
endif

# What the lab's virtual machines are made of, as far as it can be had.
.PHONY: lab-guest
lab-guest: require-rust run-packages
	-@.ci/packages lz4 qemu-system-x86 runc
	-@.ci/gvisor $(CACHE)/bin
ifneq ($(filter x86_64-%,$(HOST)),)
	-@$(MAKE) --no-print-directory guest-kernel GUEST_KERNELS=cloud
	$(CARGO) rustc --release --locked -p tompion-guest --bin tompion-guest-init $(STATIC)
	install -Ds -t $(GUEST)/bin target/release/tompion-guest-init
endif

# There is `standard`, too.
GUEST_KERNELS ?= cloud rt
guest-kernel:
	@.ci/guest-kernel $(GUEST)/kernel $(GUEST_KERNELS)

# By themselves; all of it runs, whatever fails.
acceptance: static lib tests-built $(VENV)/ready test-packages
	@status=0; \
	.ci/acceptance-tests leftovers || status=1; \
	.ci/acceptance-tests concurrent || status=1; \
	.ci/acceptance-tests sleeping || status=1; \
	.ci/acceptance-tests alone || status=1; \
	exit $$status

$(VENV)/ready: tests/acceptance/requirements.txt | test-packages
	@.ci/venv $(VENV) $<

require-rust:
	@command -v $(CARGO) >/dev/null || { \
		echo "Rust is missing: install it from https://rustup.rs, then run make again"; exit 1; }

run-packages:
	@.ci/packages $(RUN_PACKAGES)

test-packages:
	@.ci/packages $(TEST_PACKAGES)

clean:
	$(CARGO) clean
	rm -rf $(CACHE) dist
