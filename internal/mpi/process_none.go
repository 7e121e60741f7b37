//go:build !(mpi && cgo && linux)

package mpi

import "fmt"

// Library names the MPI library of this program; it is empty, because there is none.
func Library() string { return "" }

// Start returns nil: this process is the only one. If a launcher of MPI has started more than one, it is an error,
// because each would do the same work.
func Start() (*World, error) {
	if size := number(sizeVariables); size > 1 {
		return nil, fmt.Errorf("mpirun has started %d processes of a program without MPI; build one with MPI: %s", size,
			"CGO_ENABLED=1 CC=mpicc go build -tags mpi ./cmd/dpnbench")
	}
	return nil, nil
}
