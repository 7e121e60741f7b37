# Everything here is a short form of go commands, and Go is all that is needed. Only test-arm64,
# test-machines and test-avx512 need emulators, too, and test-race a C compiler.

.DEFAULT_GOAL := help
.PHONY: help build demo test test-race test-arm64 test-machines test-nehalem test-haswell test-s390x test-avx512 check bench peers lint vet-all clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./dpnbench
	CGO_ENABLED=0 go build -o dpnbench ./cmd/dpnbench

demo: build ## check, train and analyse on the built-in digits, under two minutes
	./dpnbench demo

test: ## all tests, then those of the engine and the network without assembly
	go test ./...
	go test -short -vet=off -tags purego ./engine/... ./dpn

# What lint has vetted need not be vetted again.
test-race: ## the short tests with the race detector, which needs a C compiler
	CGO_ENABLED=1 go vet -race ./engine/check # which has a file for this alone
	CGO_ENABLED=1 go test -short -vet=off -race ./engine/... ./dpn/... ./bench/... ./cmd/...

test-machines: test-arm64 test-nehalem test-haswell test-s390x ## arm64, lesser amd64 machines and a big-endian one, emulated: right tier, same bits

emulator = @command -v $(1) >/dev/null || { echo "$(1) is missing (Debian: apt-get install qemu-user)"; exit 1; }

test-arm64: ## the tests on arm64, under qemu-aarch64
	$(call emulator,qemu-aarch64)
	CGO_ENABLED=0 GOARCH=arm64 go test -short -vet=off -exec qemu-aarch64 ./...

test-nehalem: build # without AVX
	$(call emulator,qemu-x86_64)
	qemu-x86_64 -cpu Nehalem ./dpnbench info 2>/dev/null | grep 'generic *active'
	CGO_ENABLED=0 go test -short -vet=off -exec 'qemu-x86_64 -cpu Nehalem' ./engine
	qemu-x86_64 -cpu Nehalem ./dpnbench check --kernel ascend --quiet # make test has all kernels in pure Go

test-haswell: build # AVX2 with and without FMA
	$(call emulator,qemu-x86_64)
	qemu-x86_64 -cpu Haswell,-fma ./dpnbench info 2>/dev/null | grep 'generic *active'
	qemu-x86_64 -cpu Haswell ./dpnbench info 2>/dev/null | grep 'avx2 *active'
	qemu-x86_64 -cpu Haswell ./dpnbench check --tier avx512 --quiet 2>&1 | grep 'not available'
	CGO_ENABLED=0 go test -short -vet=off -exec 'qemu-x86_64 -cpu Haswell' ./engine

test-s390x: # big-endian
	$(call emulator,qemu-s390x)
	CGO_ENABLED=0 GOARCH=s390x go test -short -vet=off -exec qemu-s390x ./engine/... ./dataset ./dpn/safetensors

test-avx512: build ## the engine with AVX-512 where the processor has none, emulated (Debian: bochs): most of an hour
	internal/emulate/avx512 ./dpnbench info | grep 'avx512 *active'
	CGO_ENABLED=0 go test -short -vet=off -timeout 0 -exec $(CURDIR)/internal/emulate/avx512 ./engine ./engine/check

check: build ## every kernel on every tier against the reference
	./dpnbench check

bench: build ## how fast this machine is: some minutes, figures in bench.html
	./dpnbench bench --json bench.json --html bench.html

peers: ## OpenBLAS, gonum, PyTorch and scikit-learn against us, in one run (bench/peers); ARGS=-quick
	go run $$(pkg-config --exists openblas 2>/dev/null && echo -tags openblas) ./bench/peers $(ARGS)

systems = linux/arm64 windows/amd64 darwin/arm64 linux/riscv64 linux/s390x linux/386 freebsd/amd64 js/wasm
lint: ## formatting, vet on many systems, a build without assembly
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	go vet -tags noasm ./engine/...
	go run ./internal/crossvet $(systems)

vet-all: ## builds and vet of everything for those systems: a minute or two for each when run first
	for s in $(systems); do \
		export GOOS=$${s%/*} GOARCH=$${s#*/}; echo $$s; go build ./... && go vet ./... || exit 1; \
	done
	go vet -tags noasm ./...

clean: ## remove what build, demo and bench made
	rm -rf dpnbench demo bench.json bench.html
