//go:build openblas

// Command openblas times the engine's products against those of OpenBLAS in one run (see
// README.md).
package main

/*
#cgo pkg-config: openblas
#include <cblas.h>

char *openblas_get_corename(void);
char *openblas_get_config(void);
*/
import "C"

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
	"unsafe"

	"dpnbench/bench"
	"dpnbench/engine"
)

// shapes are those of a DPN, and a large square: m, k, n.
var shapes = [][3]int{{128, 784, 784}, {1280, 784, 784}, {128, 784, 15680}, {1024, 1024, 1024}, {128, 64, 64}, {128, 64, 1280}}

func main() {
	rounds := flag.Int("rounds", 21, "rounds in which each product is timed once")
	batch := flag.Duration("batch", 20*time.Millisecond, "least time of one timing")
	tier := flag.String("tier", "auto", "tier of the engine")
	flag.Parse()
	if *rounds < 6 {
		fail(fmt.Errorf("-rounds %d: expected at least 6, for an interval", *rounds))
	}
	t, err := engine.ParseTier(*tier)
	if err != nil {
		fail(err)
	}
	fmt.Printf("%s\n%s (%s)\n", bench.ReadMachine().Brand, C.GoString(C.openblas_get_config()), C.GoString(C.openblas_get_corename()))
	fmt.Printf("medians of %d rounds, in %% of the measured peak; ratio: packed over OpenBLAS, with the 95%% interval of its median\n\n", *rounds)
	fmt.Printf("%-16s %7s %8s %8s %8s %8s  %s\n", "m x k x n", "threads", "tier", "packed", "plain", "OpenBLAS", "ratio")
	for _, threads := range []int{1, 2} {
		e, err := engine.New(engine.WithTier(t), engine.WithThreads(threads))
		if err != nil {
			fail(err)
		}
		C.openblas_set_num_threads(C.int(threads))
		for _, s := range shapes {
			compare(e, s[0], s[1], s[2], *rounds, *batch)
		}
		e.Close()
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "openblas:", err)
	os.Exit(2)
}

// compare times one product three ways, round by round, each against the peak of the
// same round, after their results have been compared.
func compare(e *engine.Engine, m, k, n, rounds int, batch time.Duration) {
	r := engine.NewRand(1, 0)
	a, b := engine.NewMatrix(m, k), engine.NewMatrix(k, n)
	ours, theirs := engine.NewMatrix(m, n), engine.NewMatrix(m, n)
	r.Normal(a.Data)
	r.Normal(b.Data)
	p := e.Pack(nil, b)
	ways := []func(){
		func() { e.MatMulPacked(ours, a, p, false) },
		func() { e.MatMul(ours, a, b, false) },
		func() {
			C.cblas_sgemm(C.CblasRowMajor, C.CblasNoTrans, C.CblasNoTrans, C.blasint(m), C.blasint(n), C.blasint(k), 1,
				pointer(a), C.blasint(k), pointer(b), C.blasint(n), 0, pointer(theirs), C.blasint(n))
		},
	}
	for _, f := range ways {
		f()
	}
	for i, v := range ours.Data { // chains of at most 1024 normal numbers: errors far below this
		if d := math.Abs(float64(v - theirs.Data[i])); !(d < 1e-3) {
			fail(fmt.Errorf("%d x %d x %d: element %d is %v, of OpenBLAS %v", m, k, n, i, v, theirs.Data[i]))
		}
	}
	flop := 2 * float64(m) * float64(k) * float64(n)
	shares := make([][]float64, len(ways))
	var ratios []float64
	for range rounds {
		peak := bench.Peak(e, batch/5)
		for i, f := range ways {
			shares[i] = append(shares[i], 100*flop/seconds(f, batch)/peak)
		}
		ratios = append(ratios, shares[0][len(ratios)]/shares[2][len(ratios)])
	}
	lo, hi := interval(ratios)
	fmt.Printf("%-16s %7d %8v %8.1f %8.1f %8.1f  %.2f (%.2f to %.2f)\n", fmt.Sprintf("%d x %d x %d", m, k, n),
		e.Threads(), e.Tier(), median(shares[0]), median(shares[1]), median(shares[2]), median(ratios), lo, hi)
}

func pointer(m engine.Matrix) *C.float { return (*C.float)(unsafe.Pointer(&m.Data[0])) }

// seconds is the time of one call of f, over a batch of them.
func seconds(f func(), batch time.Duration) float64 {
	f()
	for n := 1; ; n *= 2 {
		start := time.Now()
		for range n {
			f()
		}
		if took := time.Since(start); took >= batch {
			return took.Seconds() / float64(n)
		}
	}
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]/2 + s[(len(s)-1)/2]/2
}

// interval is the 95% interval of the median that needs no distribution: between order
// statistics, by the binomial distribution of the number of values below the median.
func interval(x []float64) (lo, hi float64) {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	p, tail, k := math.Pow(0.5, float64(n)), 0.0, 0
	for ; tail+p <= 0.025; k++ {
		tail += p
		p *= float64(n-k) / float64(k+1)
	}
	return s[k-1], s[n-k]
}
