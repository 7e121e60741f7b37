package ascent

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"dpnbench/engine"
)

// BenchmarkCollection times runtime.GC during long products and ascents: how long a garbage
// collection waits for the threads of an engine to stop. ns/op is the mean, which other virtual
// machines on the same host may increase.
func BenchmarkCollection(b *testing.B) {
	for threads := range runtime.GOMAXPROCS(0) + 1 {
		if threads != 1 && threads != runtime.GOMAXPROCS(0) {
			continue
		}
		e := newTestEngine(b, engine.WithThreads(threads))
		const m, n = 1280, 784
		x, w, y := engine.NewMatrix(m, n), engine.NewMatrix(n, n), engine.NewMatrix(m, n)
		packed := e.Pack(nil, w)
		l := newFullLandscape(e, 20, 64, 0.3)
		l.m.Route = DenseRoute
		rows := points(512, 64)
		for _, c := range []struct {
			what string
			run  func()
		}{
			{fmt.Sprintf("product/m=%d,k=%d,n=%d", m, n, n), func() { e.MatMulPacked(y, x, packed, false) }},
			{"ascent/d=64,k=20,n=30,batch=512", func() { l.m.Ascend(e, l.alpha, 30, rows, nil, false) }},
		} {
			b.Run(fmt.Sprintf("%s/threads=%d", c.what, threads), func(b *testing.B) {
				var stop atomic.Bool
				done := make(chan bool)
				go func() {
					defer close(done)
					for !stop.Load() {
						c.run()
					}
				}()
				var took []time.Duration
				for b.Loop() {
					b.StopTimer()
					time.Sleep(3 * time.Millisecond)
					b.StartTimer()
					begin := time.Now()
					runtime.GC()
					took = append(took, time.Since(begin))
				}
				stop.Store(true)
				<-done
				slices.Sort(took)
				b.ReportMetric(took[len(took)/2].Seconds()*1e3, "ms-median")
				b.ReportMetric(took[len(took)*9/10].Seconds()*1e3, "ms-nine-of-ten")
			})
		}
	}
}
