// Package longtest marks the tests, and the parts of tests, that take long: without them those of a package take
// less than a minute on two cores. They run where the environment variable DPNBENCH_LONG_TESTS is set, as .ci/run
// does:
//
//	DPNBENCH_LONG_TESTS=1 go test ./...
package longtest

import (
	"os"
	"runtime"
	"testing"
)

const variable = "DPNBENCH_LONG_TESTS"

// Asked reports whether long tests run. They do not with -short.
func Asked() bool { return os.Getenv(variable) != "" && !testing.Short() }

// Need skips a test unless long tests run.
func Need(t testing.TB) {
	t.Helper()
	if !Asked() {
		t.Skip("takes long: " + variable + "=1")
	}
}

// Emulated reports whether tests are short and not of amd64, as where .ci/run emulates a machine.
func Emulated() bool { return testing.Short() && runtime.GOARCH != "amd64" }

// Native skips a test of what no machine changes where tests are emulated.
func Native(t testing.TB) {
	t.Helper()
	if Emulated() {
		t.Skip("takes long under emulation, which changes nothing of it: without -short")
	}
}
