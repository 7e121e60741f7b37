// Package mpitest starts the ranks of tests.
package mpitest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Launch returns the command that starts n ranks of a command, by mpirun of an MPI library. Without that it skips the
// test.
func Launch(t testing.TB, library string, n int, c *exec.Cmd) *exec.Cmd {
	t.Helper()
	name, options := "mpirun.mpich", []string(nil) // as Debian calls them
	if strings.HasPrefix(library, "Open MPI") {
		name, options = "mpirun.openmpi", []string{"--oversubscribe"}
	}
	launcher, err := exec.LookPath(name)
	if err != nil {
		if launcher, err = exec.LookPath("mpirun"); err != nil {
			t.Skip("needs mpirun: ", err)
		}
	}
	args := append(options, "-n", strconv.Itoa(n), c.Path)
	launched := exec.Command(launcher, append(args, c.Args[1:]...)...)
	launched.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	launched.Env = append(launched.Env, c.Env...)
	return launched
}
