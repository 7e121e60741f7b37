//go:build !(mpi && cgo && linux)

package mpi

import (
	"errors"
	"os"
)

// Library names the MPI library of this program; it is empty, because there is none.
func Library() string { return "" }

// Start returns nil: this process is the only one. If a launcher of MPI has started more than one, it is an error,
// because each would do the same work.
func Start() (*World, error) {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} {
		if size := os.Getenv(name); size != "" && size != "1" {
			return nil, errors.New("mpirun starts " + size + " processes of this program, which has no MPI; build it " +
				"with: CGO_ENABLED=1 CC=mpicc go build -tags mpi ./cmd/dpnbench")
		}
	}
	return nil, nil
}
