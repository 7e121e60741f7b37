# Everything here is a short form of go commands; Go is all that is needed, and for
# test-arm64 an emulator (Debian: qemu-user).

.DEFAULT_GOAL := help
.PHONY: help build demo test test-arm64 check bench lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./dpnbench
	CGO_ENABLED=0 go build -o dpnbench ./cmd/dpnbench

demo: build ## check, train and analyse on the built-in digits, under two minutes
	./dpnbench demo

test: ## all tests, then those of the engine and the network without assembly
	go test ./...
	go test -short -tags purego ./engine/... ./dpn

test-arm64: ## the tests on arm64, under qemu-aarch64
	@command -v qemu-aarch64 >/dev/null || { echo "qemu-aarch64 is missing (Debian: apt-get install qemu-user)"; exit 1; }
	CGO_ENABLED=0 GOARCH=arm64 go test -short -exec qemu-aarch64 ./...

check: build ## every kernel on every tier against the reference
	./dpnbench check

bench: ## products, ascent and training steps, with their share of the measured peak
	go test -run NONE -bench . ./bench/

lint: ## formatting, vet on several systems, builds without assembly
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	GOARCH=arm64 go vet ./...
	GOOS=windows go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	go vet -tags noasm ./...
	CGO_ENABLED=0 GOARCH=riscv64 go build -o /dev/null ./cmd/dpnbench
	CGO_ENABLED=0 GOARCH=s390x go build -o /dev/null ./cmd/dpnbench

clean: ## remove what build and demo made
	rm -rf dpnbench demo
