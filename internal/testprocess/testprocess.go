// Package testprocess runs tests in processes of their own, which may be killed.
package testprocess

import (
	"os"
	"os/exec"
	"testing"
)

// New returns a process that runs one test of the calling test binary, with settings NAME=VALUE added to the
// environment. With -short it skips the calling test: an emulated one may be unable to start its own program, or hang
// after it.
func New(t testing.TB, test string, env ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a process, which an emulator may not be able to: without -short")
	}
	c := exec.Command(os.Args[0], "-test.run", "^"+test+"$")
	c.Env = append(os.Environ(), env...)
	return c
}
