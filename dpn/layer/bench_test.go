package layer

import (
	"fmt"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// BenchmarkBatches times forward passes of the convolutions of the small CNN for few images on one thread.
func BenchmarkBatches(b *testing.B) {
	e := newEngine(b, engine.WithThreads(1))
	for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 128} {
		b.Run(fmt.Sprintf("images=%d", n), func(b *testing.B) {
			r := num.NewRand(1, 0)
			x := normal(r, n, 28*28)
			layers := Convolutions("", ImageShape{1, 28, 28}, Channels1, Channels2)
			for _, l := range layers {
				for _, p := range l.Params() {
					p.Prepare()
					r.Normal(p.Data)
				}
			}
			_, out := layers[0].Sizes()
			_, pooled := layers[1].Sizes()
			h, y := engine.NewMatrix(n, out), engine.NewMatrix(n, pooled)
			for b.Loop() {
				layers[0].Forward(e, h, x, Training)
				layers[1].Forward(e, y, h, Training)
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(b.N*n), "us/image")
		})
	}
}

// BenchmarkLayers times passes of the layers of the small CNN on 128 images.
func BenchmarkLayers(b *testing.B) {
	for _, l := range []Layer{
		NewConvPool("conv1", ImageShape{1, 28, 28}, 8, 5, 2), NewConvPool("conv2", ImageShape{8, 14, 14}, 16, 5, 2),
		NewConv("conv3x3", ImageShape{1, 28, 28}, 32, 3, 0), NewConvPool("conv3x3", ImageShape{32, 26, 26}, 64, 3, 0),
		NewBatchNorm("b", 100), NewDropout(640, 0.5, 1),
	} {
		for threads := 1; threads <= 2; threads++ {
			e := newEngine(b, engine.WithThreads(threads))
			in, out := l.Sizes()
			r := num.NewRand(1, 0)
			for _, p := range l.Params() {
				p.Prepare()
				r.Normal(p.Data)
			}
			x, dy := normal(r, 128, in), normal(r, 128, out)
			y, dx := engine.NewMatrix(128, out), engine.NewMatrix(128, in)
			name := fmt.Sprintf("%T-%d/threads=%d", l, in, threads)
			b.Run("forward/"+name, func(b *testing.B) {
				for b.Loop() {
					l.Forward(e, y, x, Training)
				}
			})
			b.Run("backward/"+name, func(b *testing.B) {
				for b.Loop() {
					l.Backward(e, dx, x, y, dy)
				}
			})
		}
	}
}
