package main

import (
	"context"
	"fmt"
	"runtime"

	"dpnbench/bench"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/stat"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// shapes are those of a DPN, and a large square: m, k, n.
var shapes = [][3]int{{128, 784, 784}, {1280, 784, 784}, {128, 784, 15680}, {1024, 1024, 1024}, {128, 64, 64},
	{128, 64, 1280}}

// A blasPeer multiplies row-major matrices.
type blasPeer struct {
	title  string
	about  string
	limit  func(threads int) (restore func())
	matMul func(c, a, b engine.Matrix)
}

var gonum = &blasPeer{
	title: "gonum", about: "gonum blas32, pure Go with some assembly",
	limit: func(threads int) func() { // gonum starts as many goroutines
		before := runtime.GOMAXPROCS(threads)
		return func() { runtime.GOMAXPROCS(before) }
	},
	matMul: func(c, a, b engine.Matrix) {
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, general(a), general(b), 0, general(c))
	},
}

func general(m engine.Matrix) blas32.General {
	return blas32.General{Rows: m.Rows, Cols: m.Cols, Data: m.Data, Stride: m.RS}
}

// products times matrix products against OpenBLAS and gonum.
func products(ctx context.Context, s *settings) error {
	var all []*blasPeer
	if s.wants("openblas") {
		if openblas == nil {
			fmt.Println("openblas: skipped: not built with -tags openblas (Debian: apt-get install gcc pkg-config " +
				"libopenblas-dev)")
		} else {
			all = append(all, openblas)
		}
	}
	if s.wants("gonum") {
		all = append(all, gonum)
	}
	if len(all) == 0 {
		return nil
	}
	fmt.Printf("\nProducts, in %% of the measured peak; ratio: packed over the peer\n")
	for _, r := range all {
		fmt.Println(r.about)
	}
	fmt.Printf("\n%-18s %7s %8s %8s", "m x k x n", "threads", "packed", "plain")
	for _, r := range all {
		fmt.Printf(" %8s  %-22s", r.title, "ratio")
	}
	fmt.Println()
	for _, threads := range s.threads {
		e, err := engine.New(engine.WithTier(s.tier), engine.WithThreads(threads))
		if err != nil {
			return err
		}
		for _, shape := range shapes {
			if err = product(ctx, s, e, all, shape); err != nil {
				break
			}
		}
		e.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// product times one product of a shape m x k x n, B packed once and at each call, and those of the peers,
// each against the peak of the same round.
func product(ctx context.Context, s *settings, e *engine.Engine, all []*blasPeer, shape [3]int) error {
	m, k, n := shape[0], shape[1], shape[2]
	r := num.NewRand(1, 0)
	a, b := engine.NewMatrix(m, k), engine.NewMatrix(k, n)
	ours, theirs := engine.NewMatrix(m, n), engine.NewMatrix(m, n)
	r.Normal(a.Data)
	r.Normal(b.Data)
	p := e.Pack(nil, b)
	size := fmt.Sprintf("%d x %d x %d", m, k, n)
	flop := 2 * float64(m) * float64(k) * float64(n)

	packed := func() { e.MatMulPacked(ours, a, p, false) }
	plain := func() { e.MatMul(ours, a, b, false) }
	contend := []contender{
		func() (float64, error) { return flop / bench.Peak(e, s.least/5), nil }, // the time at the peak
		func() (float64, error) { return seconds(packed, s.least), nil },
		func() (float64, error) { return seconds(plain, s.least), nil },
	}
	packed()
	for _, peer := range all {
		f := func() { peer.matMul(theirs, a, b) }
		f()
		// The peer sums at most 1024 products of normal numbers in a different order: elements up
		// to about 150, errors below 1e-4.
		if err := near(peer.title+", "+size, theirs.Data, ours.Data, 1e-5); err != nil {
			return err
		}
		contend = append(contend, func() (float64, error) {
			defer peer.limit(e.Threads())()
			return seconds(f, s.least), nil
		})
	}
	times, err := inTurn(ctx, s, contend)
	if err != nil {
		return err
	}
	share := func(i int) float64 { return 100 * stat.Median(ratios(times[0], times[i])) }
	fmt.Printf("%-18s %7d %8.1f %8.1f", size, e.Threads(), share(1), share(2))
	for i := range all {
		fmt.Printf(" %8.1f  %-22s", share(3+i), ratio(times[3+i], times[1]))
	}
	fmt.Println()
	return nil
}
