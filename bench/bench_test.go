package bench

import (
	"context"
	"flag"
	"runtime"
	"runtime/pprof"
	"testing"

	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
)

// The suites as Go benchmarks, named kernel/tier/shape/threads. Rates are shares of the
// peak of the same tier and threads, measured before and after.
func BenchmarkPeak(b *testing.B)         { runSuite(b, "peak") }
func BenchmarkGemm(b *testing.B)         { runSuite(b, "gemm") }
func BenchmarkQuad(b *testing.B)         { runSuite(b, "quad") }
func BenchmarkAscent(b *testing.B)       { runSuite(b, "ascent") }
func BenchmarkBackward(b *testing.B)     { runSuite(b, "backward") }
func BenchmarkAscentSparse(b *testing.B) { runSuite(b, "ascent-sparse") }
func BenchmarkReduce(b *testing.B)       { runSuite(b, "reduce") }
func BenchmarkOptim(b *testing.B)        { runSuite(b, "optim") }
func BenchmarkKmeans(b *testing.B)       { runSuite(b, "kmeans") }
func BenchmarkSeparation(b *testing.B)   { runSuite(b, "separation") }
func BenchmarkTrain(b *testing.B)        { runSuite(b, "train") }
func BenchmarkLoad(b *testing.B)         { runSuite(b, "load") }

func runSuite(b *testing.B, suite string) {
	m := sysinfo.ReadMachine()
	p := &plan{tiers: engine.Available(), threads: threads(Usual, runtime.GOMAXPROCS(0)), memory: memoryOf(&m, 0)}
	for _, g := range append(peakSuite(p.memory), benchmarks(Usual)...) {
		if g.suite != suite || g.cold { // a loop of calls is never cold
			continue
		}
		var setup setupFunc
		p.rows(&g, func(tier engine.Tier, threads int) {
			res := (&instance{g: &g, s: &config{tier: tier, threads: threads}}).result()
			// One name, because groups of the same name would get numbers.
			b.Run(res.benchmark(), func(b *testing.B) {
				if setup == nil { // only when the pattern chooses it
					var err error
					if setup, err = g.setup(); err != nil {
						b.Fatal(err)
					}
				}
				timeBenchmark(b, &g, setup, tier, threads)
			})
		})
	}
}

func timeBenchmark(b *testing.B, g *benchmark, setup setupFunc, tier engine.Tier, threads int) {
	e, err := engine.New(engine.WithTier(tier), engine.WithThreads(threads))
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	w, err := setup(e)
	if err != nil {
		b.Fatal(err)
	}
	if f := flag.Lookup("test.cpuprofile"); w.profile != nil && f != nil && f.Value.String() != "" {
		w.profile(func(name string) {
			ctx := context.Background()
			if name != "" {
				ctx = pprof.WithLabels(ctx, pprof.Labels("phase", name))
			}
			pprof.SetGoroutineLabels(ctx)
		})
	}
	if w.close != nil {
		defer w.close()
	}
	if err := w.op(); err != nil { // scratch memory, caches, clock
		b.Fatal(err)
	}
	if _, err := w.check(); err != nil {
		b.Fatal(err)
	}
	before := peakOnce(e, 20e-3)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.op(); err != nil {
			b.Fatal(err)
		}
	}
	calls := float64(b.N) / b.Elapsed().Seconds()
	if flop := max(g.flop, w.flop); flop > 0 {
		b.ReportMetric(flop*calls/1e9, "GFLOP/s")
		if !g.host {
			b.ReportMetric(100*flop*calls/max(before, peakOnce(e, 20e-3)), "%peak")
		}
	}
	if bytes := max(g.bytes, w.bytes); bytes > 0 {
		b.ReportMetric(bytes*calls/1e9, "GB/s")
	}
	if g.items > 0 {
		b.ReportMetric(g.items*calls, "items/s")
	}
}
