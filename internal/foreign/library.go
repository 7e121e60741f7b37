//go:build foreign && cgo && unix

package foreign

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include "kernels.h"

// Arguments of sgemm of BLAS.
typedef struct {
	int row_major, ta, tb;
	int64_t m, n, k, lda, ldb, ldc;
	float alpha, beta;
} gemm_args;

enum { ROW_MAJOR = 101, COL_MAJOR = 102, NO_TRANS = 111, TRANS = 112 };

#define CBLAS_SGEMM(name, integer) \
	static void name(void *f, const gemm_args *g, const float *a, const float *b, float *c) { \
		((void (*)(int, int, int, integer, integer, integer, float, const float *, integer, const float *, integer, \
			float, float *, integer))f)(g->row_major ? ROW_MAJOR : COL_MAJOR, g->ta ? TRANS : NO_TRANS, \
			g->tb ? TRANS : NO_TRANS, (integer)g->m, (integer)g->n, (integer)g->k, g->alpha, a, (integer)g->lda, b, \
			(integer)g->ldb, g->beta, c, (integer)g->ldc); \
	}
CBLAS_SGEMM(cblas_sgemm32, int32_t)
CBLAS_SGEMM(cblas_sgemm64, int64_t)

// The lengths of the two strings follow, as gfortran passes them.
#define FORTRAN_SGEMM(name, integer) \
	static void name(void *f, const gemm_args *g, const float *a, const float *b, float *c) { \
		char ta = g->ta ? 'T' : 'N', tb = g->tb ? 'T' : 'N'; \
		integer m = (integer)g->m, n = (integer)g->n, k = (integer)g->k; \
		integer lda = (integer)g->lda, ldb = (integer)g->ldb, ldc = (integer)g->ldc; \
		((void (*)(const char *, const char *, const integer *, const integer *, const integer *, const float *, \
			const float *, const integer *, const float *, const integer *, const float *, float *, const integer *, \
			size_t, size_t))f)(&ta, &tb, &m, &n, &k, &g->alpha, a, &lda, b, &ldb, &g->beta, c, &ldc, 1, 1); \
	}
FORTRAN_SGEMM(fortran_sgemm32, int32_t)
FORTRAN_SGEMM(fortran_sgemm64, int64_t)

static float cblas_sdot32(void *f, int64_t n, const float *x, const float *y) {
	return ((float (*)(int32_t, const float *, int32_t, const float *, int32_t))f)((int32_t)n, x, 1, y, 1);
}
static float cblas_sdot64(void *f, int64_t n, const float *x, const float *y) {
	return ((float (*)(int64_t, const float *, int64_t, const float *, int64_t))f)(n, x, 1, y, 1);
}
static float fortran_sdot(void *f, int64_t n, const float *x, const float *y) { // little-endian 32-bit integers, too
	int64_t one = 1;
	return ((float (*)(const int64_t *, const float *, const int64_t *, const float *, const int64_t *))f)(&n, x, &one,
		y, &one);
}

// The functions of kernels.h.
#define AS(name, f) ((__typeof__(&name))f)
static void matmul(void *f, const gemm_args *g, const float *a, const float *b, float *c) {
	AS(dpn_matmul, f)(g->m, g->n, g->k, a, g->lda, b, g->ldb, c, g->ldc);
}
static float dot(void *f, int64_t n, const float *x, const float *y) { return AS(dpn_dot, f)(n, x, y); }
static void pointwise(void *f, int64_t n, const float *x, float *y) { AS(dpn_exp, f)(n, x, y); }
static void softmax(void *f, int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy) {
	AS(dpn_softmax, f)(rows, n, x, ldx, y, ldy);
}
static void log_sum_exp(void *f, int64_t rows, int64_t n, const float *x, int64_t ldx, float *y) {
	AS(dpn_log_sum_exp, f)(rows, n, x, ldx, y);
}
static void layer_norm(void *f, int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy,
	float eps) {
	AS(dpn_layer_norm, f)(rows, n, x, ldx, y, ldy, eps);
}
static void quad_form(void *f, int64_t rows, int64_t n, const float *x, int64_t ldx, const float *mu, const float *p,
	int64_t ldp, float *y) {
	AS(dpn_quad_form, f)(rows, n, x, ldx, mu, p, ldp, y);
}
static void set_threads(void *f, long n) { ((void (*)(long))f)(n); } // int is in the same register
*/
import "C"

import (
	"fmt"
	"strings"
	"unsafe"

	"dpnbench/engine"
	"dpnbench/engine/check"
)

// Kernels are the values of --kernel: what a symbol may compute.
var Kernels = []string{"cblas_sgemm", "sgemm_", "cblas_sdot", "sdot_", "matmul", "dot", "exp", "log", "softmax",
	"log-sum-exp", "layer-norm", "quad-form"}

// Symbol is a function of a shared library.
type Symbol struct {
	Library string // a file, or a name that the dynamic linker finds
	Name    string
	Kernel  string // one of Kernels
	Bits    int    // of the integers of BLAS: 32 or 64

	address    unsafe.Pointer
	setThreads unsafe.Pointer // of its library, which takes an int or a long
	threads    int            // set last
}

// NewSymbol completes what is empty or 0: the kernel by the name, where that is one of BLAS or of kernels.h;
// 64-bit integers where the name ends with 64_, as usual.
func NewSymbol(library, name, kernel string, bits int) (*Symbol, error) {
	short, is64 := strings.CutSuffix(name, "64_")
	if bits == 0 {
		bits = 32
		if is64 {
			bits = 64
		}
	}
	if kernel == "" {
		for _, k := range Kernels {
			if name == k || is64 && (short == k || short+"_" == k) || name == "dpn_"+strings.ReplaceAll(k, "-", "_") {
				kernel = k
			}
		}
	}
	s := &Symbol{Library: library, Name: name, Kernel: kernel, Bits: bits}
	if kernel == "" {
		return nil, fmt.Errorf("--symbol %s: say with --kernel what it computes: one of %s", name,
			strings.Join(Kernels, ", "))
	}
	if s.Function() == nil {
		return nil, fmt.Errorf("--kernel %q: of a library expected one of %s", kernel, strings.Join(Kernels, ", "))
	}
	if bits != 32 && bits != 64 {
		return nil, fmt.Errorf("--int %d: expected 32 or 64", bits)
	}
	return s, nil
}

// Flags are those of check for the symbol.
func (s *Symbol) Flags() []string {
	flags := []string{"--library", s.Library, "--symbol", s.Name, "--kernel", s.Kernel}
	if (s.Bits == 64) != strings.HasSuffix(s.Name, "64_") {
		flags = append(flags, "--int", fmt.Sprint(s.Bits))
	}
	return flags
}

// Open loads the library into this process.
func (s *Symbol) Open() error {
	file, name := C.CString(s.Library), C.CString(s.Name)
	defer C.free(unsafe.Pointer(file))
	defer C.free(unsafe.Pointer(name))
	handle := C.dlopen(file, C.RTLD_NOW|C.RTLD_LOCAL)
	if handle == nil {
		return fmt.Errorf("--library %s: %s", s.Library, C.GoString(C.dlerror()))
	}
	if s.address = C.dlsym(handle, name); s.address == nil {
		return fmt.Errorf("--symbol %s: %s", s.Name, C.GoString(C.dlerror()))
	}
	for _, setter := range threadSetters {
		name := C.CString(setter)
		defer C.free(unsafe.Pointer(name))
		if s.setThreads = C.dlsym(handle, name); s.setThreads != nil {
			break
		}
	}
	return nil
}

// threadSetters are functions of libraries that set their number of threads, the last one of OpenMP.
var threadSetters = []string{"openblas_set_num_threads", "bli_thread_set_num_threads", "MKL_Set_Num_Threads",
	"omp_set_num_threads"}

// SetsThreads reports whether the open library has a function that sets its number of threads.
func (s *Symbol) SetsThreads() bool { return s.setThreads != nil }

// IsProduct reports whether the symbol is a matrix product.
func (s *Symbol) IsProduct() bool {
	return s.Kernel == "cblas_sgemm" || s.Kernel == "sgemm_" || s.Kernel == "matmul"
}

// MatMul computes C = A B by the symbol, which must be a product. All are row-major.
func (s *Symbol) MatMul(c, a, b engine.Matrix, threads int) {
	if s.threads != threads && s.setThreads != nil {
		C.set_threads(s.setThreads, C.long(threads))
		s.threads = threads
	}
	g := check.GemmCall{M: c.Rows, N: c.Cols, K: a.Cols, Alpha: 1, A: a.Data, B: b.Data, C: c.Data, LDA: max(a.RS, 1),
		LDB: max(b.RS, 1), LDC: max(c.RS, 1)}
	if s.Kernel == "sgemm_" { // column-major: the transpose of C is the product of the transposes
		g.ColMajor, g.M, g.N = true, c.Cols, c.Rows
		g.A, g.LDA, g.B, g.LDB = b.Data, max(b.RS, 1), a.Data, max(a.RS, 1)
	}
	s.Gemm(&g)
}

func floats(x []float32) *C.float { return (*C.float)(unsafe.Pointer(unsafe.SliceData(x))) }

// Gemm calls the symbol, which must be a product.
func (s *Symbol) Gemm(g *check.GemmCall) {
	c := C.gemm_args{m: C.int64_t(g.M), n: C.int64_t(g.N), k: C.int64_t(g.K), alpha: C.float(g.Alpha),
		beta: C.float(g.Beta), lda: C.int64_t(g.LDA), ldb: C.int64_t(g.LDB), ldc: C.int64_t(g.LDC)}
	flag := map[bool]C.int{true: 1}
	c.row_major, c.ta, c.tb = flag[!g.ColMajor], flag[g.TransA], flag[g.TransB]
	matrixA, matrixB, matrixC := floats(g.A), floats(g.B), floats(g.C)
	switch {
	case s.Kernel == "matmul":
		C.matmul(s.address, &c, matrixA, matrixB, matrixC)
	case s.Kernel == "sgemm_" && s.Bits == 64:
		C.fortran_sgemm64(s.address, &c, matrixA, matrixB, matrixC)
	case s.Kernel == "sgemm_":
		C.fortran_sgemm32(s.address, &c, matrixA, matrixB, matrixC)
	case s.Bits == 64:
		C.cblas_sgemm64(s.address, &c, matrixA, matrixB, matrixC)
	default:
		C.cblas_sgemm32(s.address, &c, matrixA, matrixB, matrixC)
	}
}

// Function returns the check of the symbol, which calls it if it is open; nil if there is no such kernel.
func (s *Symbol) Function() *check.Function {
	title := s.Name
	switch s.Kernel {
	case "cblas_sgemm":
		return check.Gemm(title, true, s.Gemm)
	case "sgemm_":
		return check.Gemm(title, false, s.Gemm)
	case "matmul":
		return check.MatMul(title, func(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
			s.Gemm(&check.GemmCall{M: m, N: n, K: k, A: a, LDA: lda, B: b, LDB: ldb, C: c, LDC: ldc})
		})
	case "cblas_sdot", "sdot_", "dot":
		return check.Dot(title, s.Dot)
	case "exp":
		return check.Exp(title, s.pointwise)
	case "log":
		return check.Log(title, s.pointwise)
	case "softmax":
		return check.Softmax(title, func(r *check.RowsCall) {
			C.softmax(s.address, C.int64_t(r.Rows), C.int64_t(r.N), floats(r.X), C.int64_t(r.LDX), floats(r.Y),
				C.int64_t(r.LDY))
		})
	case "log-sum-exp":
		return check.LogSumExp(title, func(r *check.RowsCall) {
			C.log_sum_exp(s.address, C.int64_t(r.Rows), C.int64_t(r.N), floats(r.X), C.int64_t(r.LDX), floats(r.Y))
		})
	case "layer-norm":
		return check.LayerNorm(title, func(r *check.RowsCall, eps float32) {
			C.layer_norm(s.address, C.int64_t(r.Rows), C.int64_t(r.N), floats(r.X), C.int64_t(r.LDX), floats(r.Y),
				C.int64_t(r.LDY), C.float(eps))
		})
	case "quad-form":
		return check.QuadForm(title, func(r *check.RowsCall, mu, p []float32, ldp int) {
			C.quad_form(s.address, C.int64_t(r.Rows), C.int64_t(r.N), floats(r.X), C.int64_t(r.LDX), floats(mu),
				floats(p), C.int64_t(ldp), floats(r.Y))
		})
	}
	return nil
}

// Dot calls the symbol, which must be a dot product.
func (s *Symbol) Dot(x, y []float32) float32 {
	n := C.int64_t(len(x))
	switch {
	case s.Kernel == "dot":
		return float32(C.dot(s.address, n, floats(x), floats(y)))
	case s.Kernel == "sdot_":
		return float32(C.fortran_sdot(s.address, n, floats(x), floats(y)))
	case s.Bits == 64:
		return float32(C.cblas_sdot64(s.address, n, floats(x), floats(y)))
	}
	return float32(C.cblas_sdot32(s.address, n, floats(x), floats(y)))
}

func (s *Symbol) pointwise(y, x []float32) {
	C.pointwise(s.address, C.int64_t(len(x)), floats(x), floats(y))
}
