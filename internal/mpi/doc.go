// Package mpi lets the ranks of a training exchange messages. A rank is one of several equal programs that compute
// one result together: goroutines of one process ([Local], [Run]), or processes that mpirun or srun have started.
//
// A [Comm] sends and receives; what is built on these (Broadcast, Barrier and, in package dpn, the sum of gradients)
// is written once, for both.
//
// Processes need an MPI library, cgo and the build tag mpi. The library's own compiler says which one and where it is:
//
//	CGO_ENABLED=1 CC=mpicc go build -tags mpi ./cmd/dpnbench
package mpi
