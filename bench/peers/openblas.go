//go:build openblas && cgo

package main

/*
#cgo pkg-config: openblas
#include <cblas.h>

char *openblas_get_corename(void);
char *openblas_get_config(void);
int openblas_get_num_threads(void);
*/
import "C"

import (
	"fmt"
	"unsafe"

	"dpnbench/engine"
)

var openblas = &blasPeer{
	title: "OpenBLAS",
	about: fmt.Sprintf("%s (%s)", C.GoString(C.openblas_get_config()), C.GoString(C.openblas_get_corename())),
	limit: func(threads int) func() {
		before := C.openblas_get_num_threads()
		C.openblas_set_num_threads(C.int(threads))
		return func() { C.openblas_set_num_threads(before) }
	},
	matMul: func(c, a, b engine.Matrix) {
		C.cblas_sgemm(C.CblasRowMajor, C.CblasNoTrans, C.CblasNoTrans, C.blasint(c.Rows), C.blasint(c.Cols),
			C.blasint(a.Cols), 1,
			pointer(a), C.blasint(a.RS), pointer(b), C.blasint(b.RS), 0, pointer(c), C.blasint(c.RS))
	},
}

func pointer(m engine.Matrix) *C.float { return (*C.float)(unsafe.Pointer(&m.Data[0])) }
