package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
)

// engines runs f for each tier and for one and two threads, with a way to report flop:
// as GFLOP/s and as a share of the peak of the same tier and threads, which is measured
// before and after in the same run.
func engines(b *testing.B, f func(b *testing.B, e *engine.Engine)) {
	for _, tier := range engine.Available() {
		for _, threads := range []int{1, 2} {
			e, err := engine.New(engine.WithTier(tier), engine.WithThreads(threads))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%v/threads=%d", tier, threads), func(b *testing.B) { f(b, e) })
			e.Close()
		}
	}
}

// report measures op, which does so many flop, against the peak.
func report(b *testing.B, e *engine.Engine, flop float64, op func()) {
	op() // scratch memory, caches, clock
	before := Peak(e, 20*time.Millisecond)
	for b.Loop() {
		op()
	}
	rate := flop * float64(b.N) / b.Elapsed().Seconds()
	peak := max(before, Peak(e, 20*time.Millisecond))
	b.ReportMetric(rate/1e9, "GFLOP/s")
	b.ReportMetric(100*rate/peak, "%peak")
	b.ReportMetric(0, "ns/op") // the rates say it
}

func BenchmarkPeak(b *testing.B) {
	engines(b, func(b *testing.B, e *engine.Engine) {
		var rate float64
		for b.Loop() {
			rate = Peak(e, 20*time.Millisecond)
		}
		b.ReportMetric(rate/1e9, "GFLOP/s")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkProduct multiplies with B packed once, as P_i and the weights are.
func BenchmarkProduct(b *testing.B) {
	for _, s := range [][3]int{{128, 784, 784}, {1280, 784, 784}, {128, 784, 15680}, {1024, 1024, 1024}, {128, 64, 64}, {128, 64, 1280}} {
		m, k, n := s[0], s[1], s[2]
		b.Run(fmt.Sprintf("%dx%dx%d", m, k, n), func(b *testing.B) {
			engines(b, func(b *testing.B, e *engine.Engine) {
				flop := 2 * float64(m) * float64(k) * float64(n)
				if e.Tier() == engine.Generic && flop > 2e8 {
					b.Skip("seconds for each product without assembly")
				}
				r := engine.NewRand(1, 0)
				x, y, z := engine.NewMatrix(m, k), engine.NewMatrix(k, n), engine.NewMatrix(m, n)
				r.Normal(x.Data)
				r.Normal(y.Data)
				p := e.Pack(nil, y)
				report(b, e, flop, func() { e.MatMulPacked(z, x, p, false) })
			})
		})
	}
}

// BenchmarkAscent runs whole ascents of a minibatch.
func BenchmarkAscent(b *testing.B) {
	for _, s := range [][4]int{{64, 20, 30, 128}, {784, 20, 10, 128}} {
		d, k, n, rows := s[0], s[1], s[2], s[3]
		b.Run(fmt.Sprintf("d=%d,k=%d,n=%d,batch=%d", d, k, n, rows), func(b *testing.B) {
			engines(b, func(b *testing.B, e *engine.Engine) {
				if e.Tier() == engine.Generic {
					b.Skip("seconds for each ascent without assembly")
				}
				r := engine.NewRand(1, 0)
				mu, a := make([]float32, k*d), make([]float32, k*d*d)
				r.Normal(mu)
				for i := range a {
					if i/d%d == i%d {
						a[i] = 0.3
					}
				}
				m := engine.NewMixture(k, d, mu, make([]float32, k))
				e.SetFactors(m, a)
				first, x := engine.NewMatrix(rows, d), engine.NewMatrix(rows, d)
				r.Normal(first.Data)
				flop := 2 * float64(d) * float64(d) * float64(k) * float64(n) * float64(rows)
				report(b, e, flop, func() {
					copy(x.Data, first.Data)
					e.Ascend(m, 0.5, n, x, nil, false)
				})
			})
		})
	}
}

// BenchmarkTrainStep makes whole updates with the exact gradient: ascent, loss, backward
// pass, Adam. The flop are those of the dense products, 2 k d^2 B (3 n) + k d^2 (d+1) +
// 2 k d^3.
func BenchmarkTrainStep(b *testing.B) {
	data, err := dataset.Open("digits", dataset.Options{TrainSize: 2000, TestSize: 10, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	small, err := dpn.Preset("compact")
	if err != nil {
		b.Fatal(err)
	}
	small.Components, small.Steps = 20, 30
	paper, err := dpn.Preset("paper")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []dpn.Config{small, paper} {
		b.Run(c.Preset, func(b *testing.B) {
			engines(b, func(b *testing.B, e *engine.Engine) {
				if e.Tier() == engine.Generic {
					b.Skip("minutes for each update without assembly")
				}
				m, err := dpn.New(c, data)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := m.Init(context.Background(), e, data.Train); err != nil {
					b.Fatal(err)
				}
				t := dpn.NewTrainer(m, e)
				at := make([]int32, c.Batch)
				for i := range at {
					at[i] = int32(i)
				}
				d, k := float64(m.Dim()), float64(c.Components)
				flop := 2*k*d*d*float64(c.Batch)*3*float64(c.Steps) + k*d*d*(d+1) + 2*k*d*d*d
				report(b, e, flop, func() {
					if _, err := t.Update(data.Train, at, 1); err != nil {
						b.Fatal(err)
					}
				})
			})
		})
	}
}
