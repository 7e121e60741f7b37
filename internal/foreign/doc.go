// Package foreign calls kernels in shared libraries, in processes of their own, for package check and for the
// benchmark. It needs cgo, a C compiler and the build tag foreign:
//
//	CGO_ENABLED=1 go build -tags foreign ./cmd/dpnbench
//
// library.go opens a library and binds a symbol to what it should compute (kernels.h has the signatures that are not
// those of BLAS); process.go runs cases in child processes, so that a crash or an endless loop of the library is
// a failed case.
package foreign
