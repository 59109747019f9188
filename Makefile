# make help lists the targets.

GO      ?= go
PREFIX  ?= /usr/local
DESTDIR ?=
# Longest time for one package's tests.
TIMEOUT ?= 60m
# Ranks that test-crash kills.
KILLS   ?= 100
# Bytes that test-damage flips in a HDF5 file of each kind, and SEG-Y files that it changes.
FLIPS   ?= 1000
# Processors that dist makes packages for: amd64, arm64 or both.
ARCH    ?= amd64
# What test-arm64 tests.
ARM64_PACKAGES ?= ./kirchhoff/internal/simd
# Time for each fuzz target.
FUZZTIME ?= 10s

# HDF5=/folder names an HDF5 outside the usual places.
HDF5 ?= $(wildcard /opt/homebrew/opt/hdf5)
ifneq ($(HDF5),)
export HDF5
export CGO_CFLAGS  := -g -O2 -I$(HDF5)/include $(CGO_CFLAGS)
export CGO_LDFLAGS := -g -O2 -L$(HDF5)/lib -Wl,-rpath,$(HDF5)/lib $(CGO_LDFLAGS)
endif

export GO
export CGO_ENABLED := 1
# Go's own stamp fails where git refuses a checkout of another owner, as in many
# containers; the version comes from git below, where git answers. Without the folder's
# name in what is compiled, a second checkout finds it in Go's cache. Position-independent as a
# shared library is, program, tests and C library share what is compiled.
export GOFLAGS := $(GOFLAGS) -buildvcs=false -trimpath -buildmode=pie

GIT     := git -c safe.directory=$(CURDIR)
VERSION := $(shell $(GIT) describe --tags --match 'v[0-9]*' --dirty 2>/dev/null)
COMMIT  := $(shell $(GIT) describe --always --exclude '*' --abbrev=12 --dirty 2>/dev/null)
STAMP   := github.com/kirchhoff-lsm/lsm/internal/provenance
LDFLAGS := $(if $(VERSION),-X $(STAMP).version=$(VERSION:v%=%)) $(if $(COMMIT),-X $(STAMP).commit=$(COMMIT))

PYTHON_LDFLAGS := $(if $(VERSION),-X github.com/kirchhoff-lsm/lsm/cmd/liblsm/internal/library.version=$(VERSION:v%=%))

# What depends on the MPI, tested once more with the one that is not the first choice.
MPI_PACKAGES ?= ./comm/mpi ./comm/nccl
# The tests of the program that start ranks, but for long ones about cards and NCCL; the others are the
# same with every MPI.
MPI_TESTS = $(shell grep -l onRanks cmd/lsm/*_test.go | xargs grep -ho '^func Test[A-Za-z0-9]*' | cut -c6- | \
	grep -vE '^(TestBenchBackendsOverMPI|TestBenchCommBackends|TestFaultsOverMPI|TestRanksCompileInChildren)$$' | paste -sd '|')

.PHONY: all build test test-long test-crash test-damage test-gpu test-arm64 vulnerabilities gpu-bundle dist demo bench bench-peers bench-scale bench-forecast bench-wave gallery python python-test site site-check fuzz install uninstall clean bootstrap help

all: build

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

bootstrap: ## install what a build needs (Debian, Ubuntu), or name it
	@scripts/bootstrap.sh

build: bootstrap ## bin/lsm
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/lsm ./cmd/lsm

test: bootstrap ## set-up with MPI, Slurm and more, vet, formatting, all tests, Python's too
	@TIMEOUT='$(TIMEOUT)' MPI_PACKAGES='$(MPI_PACKAGES)' MPI_TESTS='$(MPI_TESTS)' LDFLAGS='$(PYTHON_LDFLAGS)' scripts/test.sh

# Packages with tests that make test runs in part, and the tests.
LONG_PACKAGES ?= ./cmd/lsm ./device/driver/ahead ./device/gpu ./internal/pipeline ./kirchhoff/gpu ./tutorials
LONG_TESTS    ?= TestBundle|TestSignals|TestRealCompilers|TestCUDA|TestHIP|TestSanitized|TestConformance|TestAperture|TestExact|TestDiagonal|TestTablesMade|TestImages|TestOnPTX|TestMutants|TestRemade|TestTutorials

test-long: bootstrap ## what make test has in part, in full (docs/testing.md)
	LSM_TEST_LONG=1 $(GO) test -timeout 120m -count 1 -v -run '^($(LONG_TESTS))$$' $(LONG_PACKAGES)

test-crash: bootstrap ## KILLS (100) ranks killed at random moments, every run resumed
	LSM_TEST_KILLS=$(KILLS) $(GO) test -timeout 60m -count 1 -v -run TestKilledRanks ./cmd/lsm

test-damage: bootstrap ## FLIPS (1000) damaged files of each kind, each run or imported
	LSM_TEST_FLIPS=$(FLIPS) LSM_TEST_DAMAGE=$(FLIPS) $(GO) test -timeout 120m -count 1 -v -run 'TestFlippedBytes|TestMutants' ./cmd/lsm

test-gpu: bootstrap ## the GPU's tests on this machine's own card
	LSM_TEST_GPU=1 $(GO) test -count 1 -v ./device/... ./kirchhoff/gpu ./comm/nccl ./internal/pipeline

test-arm64: ## tests of ARM64_PACKAGES (the kernels), cross-compiled and run by qemu (docs/install.md)
	@scripts/arm64.sh $(ARM64_PACKAGES)

vulnerabilities: ## known faults in what the program calls, by govulncheck
	@scripts/vulnerabilities.sh

gpu-bundle: bootstrap ## gpu-bundle/: proves the GPU engines on a machine with a driver alone
	LDFLAGS='$(LDFLAGS)' scripts/gpu-bundle.sh gpu-bundle

dist: ## packages/: archive, .deb, .rpm, wheel, SBOM and checksums, for Linux on ARCH (amd64; arm64) (docs/install.md)
	ARCH='$(ARCH)' LDFLAGS='$(LDFLAGS)' PYTHON_LDFLAGS='$(PYTHON_LDFLAGS)' VERSION='$(VERSION)' scripts/dist.sh packages

demo: build ## a small migration from nothing to pictures, in demo/
	@scripts/demo.sh demo

bench: build ## Go benchmarks, then lsm bench
	$(GO) test -run '^$$' -bench . -benchtime 1s ./...
	bin/lsm bench kernel
	bin/lsm bench traveltime

bench-scale: build ## cost of a line of 6 to 96 km, with an aperture and without, and on ranks (Python; minutes)
	@python3 bench/scale/scale.py --ranks 1:24,2:48,4:96

bench-forecast: build ## predicted and measured time of three surveys on 1 to 4 ranks (minutes)
	@bench/forecast/run.sh

bench-peers: build ## lsm beside PyLops and others in one run (Python; tens of minutes)
	@bench/peers/run.sh $(CASES)

bench-wave: build ## images of data that a wave equation modelled, against the truth (Python; tens of minutes)
	@bench/wave/run.sh $(CASES)

gallery: bootstrap ## the pictures of docs/gallery.md anew, from all lessons (minutes; LSM_SHARED)
	$(GO) test -timeout 60m -count 1 -run TestTutorials ./tutorials -update

python: bootstrap ## python/dist/: a wheel with the library inside, lsm.Kirchhoff for PyLops
	LDFLAGS='$(PYTHON_LDFLAGS)' VERSION='$(VERSION)' scripts/python.sh wheel

python-test: bootstrap ## tests of the Python package, PyLops' own among them (PYTHON names one with PyLops)
	@LDFLAGS='$(PYTHON_LDFLAGS)' scripts/python.sh test

site: build ## site/: the documentation as web pages, for a browser or a server (Python 3.11)
	VERSION='$(VERSION)' scripts/site.sh site

site-check: site ## every page of site/ in a headless browser: links, anchors, pictures, search
	LSM_TEST_SITE=$(CURDIR)/site $(GO) test -count 1 -v -run TestSite ./internal/house

fuzz: bootstrap ## every fuzz target for FUZZTIME (10s)
	@scripts/fuzz.sh $(FUZZTIME)

install: build ## bin/lsm, its manual pages and completions to PREFIX (/usr/local)
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 bin/lsm '$(DESTDIR)$(PREFIX)/bin/lsm'
	scripts/share.sh install bin/lsm '$(DESTDIR)$(PREFIX)/share'

uninstall: ## remove them again
	@[ ! -x '$(DESTDIR)$(PREFIX)/bin/lsm' ] || scripts/share.sh remove '$(DESTDIR)$(PREFIX)/bin/lsm' '$(DESTDIR)$(PREFIX)/share'
	rm -f '$(DESTDIR)$(PREFIX)/bin/lsm'

clean: ## remove what make has made
	rm -rf bin demo gpu-bundle packages site python/build python/dist
