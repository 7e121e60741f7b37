# Short forms of go commands. They need only Go, unless they say what else: emulators, MPI, a C
# compiler, Chromium or Python.

.DEFAULT_GOAL := help
.PHONY: help build demo test test-mpi test-foreign test-parquet test-race test-arm64 test-machines test-noavx test-avx2 test-s390x test-386 test-avx512 soak fuzz check bench peers data-table lint lint-cgo man gallery recording release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./dpnbench
	CGO_ENABLED=0 go build -o dpnbench ./cmd/dpnbench

demo: build ## check the engine, train and analyse on the built-in digits, under two minutes
	./dpnbench demo

test: ## the tests, then the short tests of the engine and the network in pure Go
	go test ./...
	go test -short -vet=off -tags purego ./engine ./engine/ascent ./dpn

# Tests that are short start no browser: with the tag nobrowser its driver is not compiled for other systems and for the
# race detector. Without DWARF (-w) their many programs are linked faster.
short = -short -vet=off -tags nobrowser -ldflags=-w

# -vet=off, because lint and lint-cgo run the checks of go vet.
test-race: ## the short tests with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test $(short) -race ./engine/... ./dataset/source ./dpn/... ./bench/... ./cmd/...

test-mpi: ## ranks in processes of their own: messages with Open MPI and MPICH, training with Open MPI (Debian: libopenmpi-dev, libmpich-dev)
	for cc in mpicc.openmpi mpicc.mpich; do \
		CGO_ENABLED=1 CC=$$cc go test -vet=off -tags mpi ./internal/mpi || exit 1; \
	done
	CGO_ENABLED=1 CC=mpicc.openmpi go test -vet=off -tags mpi ./cmd/dpnbench -run TestMPI

test-foreign: ## kernels in shared libraries: broken ones are found, correct ones pass (needs gcc)
	CGO_ENABLED=1 go test -vet=off -tags foreign ./internal/foreign

test-parquet: ## the reader of Parquet files, which is compiled with its tag only
	CGO_ENABLED=0 go test -vet=off -ldflags=-w -tags parquet ./dataset/source -run Parquet

test-machines: test-arm64 test-noavx test-avx2 test-s390x ## emulated: the short tests on arm64 and big-endian s390x; kernels on amd64 without AVX; the choice of tier on amd64

emulator = @command -v $(1) >/dev/null || { echo "$(1) is missing (Debian: apt-get install qemu-user)"; exit 1; }

# Package bench measures time, which an emulator does not have. What no architecture changes is left out: texts, files
# of the program, commands that are killed, and tests of the project itself. Tests that a machine does not change call
# longtest.Native.
native = docs examples bench bench/peers dataset/fetch $(addprefix internal/,datatable folderlock fuzzlimit gallery howto \
	output prose quote recording regular release soak template vet webtest)
test-arm64: ## the short tests on arm64 (qemu-aarch64)
	$(call emulator,qemu-aarch64)
	CGO_ENABLED=0 GOARCH=arm64 go test $(short) -timeout 30m -exec qemu-aarch64 $$(go list ./... | grep -vxF $(native:%=-e dpnbench/%))

# make test checks the generic tier in all cases; here no instruction of AVX may be left in what runs.
test-noavx: build # Nehalem: the generic tier
	$(call emulator,qemu-x86_64)
	qemu-x86_64 -cpu Nehalem ./dpnbench info 2>/dev/null | grep 'generic *active'
	for k in matmul exp ascend-backward low-rank-backward; do \
		qemu-x86_64 -cpu Nehalem ./dpnbench check --quick --quiet --kernel $$k || exit 1; \
	done

# make test runs the kernels of AVX2 on all machines that have it; the emulator is for what the program makes of the CPU.
test-avx2: build # Haswell: the AVX2 tier, or generic without FMA
	$(call emulator,qemu-x86_64)
	qemu-x86_64 -cpu Haswell,-fma ./dpnbench info 2>/dev/null | grep 'generic *active'
	qemu-x86_64 -cpu Haswell ./dpnbench info 2>/dev/null | grep 'avx2 *active'
	qemu-x86_64 -cpu Haswell ./dpnbench check --tier avx512 --quiet 2>&1 | grep 'not available'

# What big-endian could change: files, and views of memory in engine. The ascents read no bytes. Bits of kernels without
# assembly, also by a compiler that fuses x*y + z, are compared on arm64.
test-s390x: # big-endian, without assembly
	$(call emulator,qemu-s390x)
	CGO_ENABLED=0 GOARCH=s390x go test -short -vet=off -exec qemu-s390x ./engine ./engine/num ./dataset ./dpn/safetensors
	CGO_ENABLED=0 GOARCH=s390x go test -short -vet=off -exec qemu-s390x -run Files ./engine/check

test-386: ## the short tests with an int of 32 bits, which amd64 runs, too (some minutes)
	CGO_ENABLED=0 GOARCH=386 go test $(short) ./dataset/... ./dpn/... ./engine/... ./internal/... ./report ./reproduce

test-avx512: build ## the short tests of the engine, emulated with AVX-512 (Debian: bochs), about an hour
	internal/emulate/avx512 ./dpnbench info | grep 'avx512 *active'
	CGO_ENABLED=0 go test -short -vet=off -timeout 0 -exec $(CURDIR)/internal/emulate/avx512 ./engine ./engine/ascent ./engine/check

FOR = 5m
soak: ## kill the program at random moments and resume it, 5 minutes or FOR=3h (Linux; as root also on full disks)
	go test ./internal/soak -v -timeout 0 -soak $(FOR)

fuzz: ## run every fuzz target for N executions (N=100000), with limits of memory and time
	internal/fuzzlimit/campaign $(or $(N),100000)

check: build ## check every kernel on every tier against the float64 reference
	./dpnbench check

bench: build ## run all benchmarks (some minutes), write bench.json and bench.html
	./dpnbench bench --json bench.json --html bench.html

peers: ## compare with OpenBLAS, gonum, PyTorch and scikit-learn (bench/peers); ARGS=-quick for a short run
	go run $$(pkg-config --exists openblas 2>/dev/null && echo -tags openblas) ./bench/peers $(ARGS)

data-table: build ## train on MNIST, Fashion-MNIST (DATA=FOLDER) and small tables in all formats, write docs/data.md (needs python3 with scikit-learn)
	go run ./internal/datatable $(if $(DATA),-data $(DATA)) $(ARGS)

# Systems and tags that differ: other assembly, none, no Linux, no Unix, no processes, 32-bit int, the reader of
# Parquet, the race detector.
systems = linux/amd64 darwin/arm64 freebsd/amd64 windows/386 js/wasm linux/amd64,noasm,parquet,race
lint: ## check formatting; vet for several systems, without assembly, and with Parquet
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go run ./internal/vet $(systems)

lint-cgo: ## vet what needs a C compiler: MPI, kernels in shared libraries, OpenBLAS (Debian: libopenmpi-dev, libopenblas-dev)
	CC=mpicc.openmpi go run ./internal/vet linux/amd64,cgo,foreign,mpi,openblas

man: ## manual pages and shell completions, in out/manual
	rm -rf out/manual
	go test ./cmd/dpnbench -run TestManual -count=1 -manual $(CURDIR)/out/manual

gallery: build ## docs/gallery.md: its figures, from real runs, in light and dark (needs chromium)
	go test ./internal/gallery -run TestGallery -count=1 -v -timeout 1h -program $(CURDIR)/dpnbench

recording: build ## docs/terminal.svg: a training as a terminal shows it (Linux)
	go run ./internal/recording -out docs/terminal.svg ./dpnbench train --out runs/first

release: man ## archives for Linux, macOS and Windows with their SHA-256, in out/release
	rm -rf out/release
	go run ./internal/release -manual out/manual -out out/release

clean: ## remove the results of build, demo, bench, man and release
	rm -rf dpnbench demo bench.json bench.html out/manual out/release
