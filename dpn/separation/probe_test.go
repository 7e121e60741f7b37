package separation

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// minimise finds the minimum of an ill-conditioned quadratic and of Rosenbrock's valley, and tells what ended it.
func TestMinimise(t *testing.T) {
	bowl := func(x, g []float64) (float64, bool) {
		var value float64
		for i, v := range x {
			c := math.Pow(10, float64(i)/8)
			g[i] = c * (v - 1)
			value += c * (v - 1) * (v - 1) / 2
		}
		return value, true
	}
	valley := func(x, g []float64) (float64, bool) {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		g[0], g[1] = -2*a-400*b*x[0], 200*b
		return a*a + 100*b*b, true
	}
	for name, c := range map[string]struct {
		f func(x, g []float64) (float64, bool)
		x []float64
	}{"bowl": {bowl, make([]float64, 20)}, "valley": {valley, []float64{-1.2, 1}}} {
		value, converged := minimise(c.x, 500, 1e-6, c.f)
		if !converged || !(value <= 1e-9) {
			t.Errorf("%s: %v after all, converged: %v", name, value, converged)
		}
		for i, v := range c.x {
			near(t, name, v, 1, 1e-4)
			c.x[i] = -3
		}
		if _, converged := minimise(c.x, 2, 1e-6, c.f); converged {
			t.Errorf("%s: converged after 2 steps", name)
		}
		if _, converged := minimise(c.x, 500, 1e-6, func(x, g []float64) (float64, bool) {
			value, _ := c.f(x, g)
			return value, false
		}); converged {
			t.Errorf("%s: converged though it was stopped", name)
		}
	}
}

// The probe is where the gradient of its loss, in float64 by its definition, is 0; a constant feature, the
// place and the scale of the others, and labels that are not 0 to K-1 make no difference to its accuracy.
func TestProbe(t *testing.T) {
	e := newEngine(t)
	c := newNormalClasses(3, 4, 5, 1.2)
	s := c.draw(rand.New(rand.NewPCG(1, 2)), 200)
	probeOf := func(s Set) (*logistic, *Probe) {
		t.Helper()
		samples, err := checked(s)
		if err != nil {
			t.Fatal(err)
		}
		sc, err := newScatter(context.Background(), samples, 2)
		if err != nil {
			t.Fatal(err)
		}
		p, err := newLogistic(sc, e, samples)
		if err != nil {
			t.Fatal(err)
		}
		if _, converged, err := p.fit(context.Background()); err != nil || !converged {
			t.Fatal(converged, err)
		}
		probe, err := sc.probe(e, &samples, bootstrapRows(s.Dim))
		if err != nil {
			t.Fatal(err)
		}
		return p, probe
	}
	p, want := probeOf(s)
	n, dim := p.z.Rows, p.z.Cols
	gradient := make([]float64, len(p.x))
	var loss float64
	for i := range n {
		z := linalg.Widen(p.z.Row(i))
		logits := make([]float64, p.classes)
		var sum float64
		for k := range logits {
			logits[k] = p.x[p.classes*dim+k] + linalg.Dot(p.x[k*dim:(k+1)*dim], z)
			sum += math.Exp(logits[k])
		}
		own := int(p.class[i])
		loss += (math.Log(sum) - logits[own]) / float64(n)
		for k, v := range logits {
			r := math.Exp(v) / sum
			if k == own {
				r--
			}
			gradient[p.classes*dim+k] += r / float64(n)
			linalg.Axpy(r/float64(n), z, gradient[k*dim:(k+1)*dim])
		}
	}
	w := p.x[:p.classes*dim]
	linalg.Axpy(1/float64(n), w, gradient[:len(w)])
	near(t, "loss", float64(want.ProbeLoss), loss+linalg.Dot(w, w)/2/float64(n), 1e-6)
	if most := largestOf(gradient); !(most <= 1.1*probeGradient) {
		t.Errorf("an element of the gradient is %v where the probe ends", most)
	}
	if !(want.ProbeAccuracy > 0.5) || want.ProbeSamples != n || want.ProbeTrained != n {
		t.Errorf("%+v", want)
	}

	other := Set{Dim: 6}
	for i := range n {
		for j, v := range s.X[i*5 : (i+1)*5] {
			other.X = append(other.X, float32(1000*float64(j)+math.Pow(4, float64(j))*float64(v)))
		}
		other.X = append(other.X, 7)
		other.Labels = append(other.Labels, 11*s.Labels[i]+3)
	}
	if _, got := probeOf(other); !(math.Abs(got.ProbeAccuracy-want.ProbeAccuracy) <= 0.003) {
		t.Errorf("accuracy %v of moved and scaled features, %v before", got.ProbeAccuracy, want.ProbeAccuracy)
	}
}

// formula is a source of samples that are in no memory: classes apart by their first feature.
type formula struct{ rows, width int }

func (f formula) Len() int   { return f.rows }
func (f formula) Width() int { return f.width }

func (f formula) ReadRows(dst []float64, from int) error {
	for at := 0; at < len(dst); at += f.width {
		row := from + at/f.width
		r := num.NewRand(1, uint64(row))
		for j := range f.width {
			dst[at+j] = r.Float64()
		}
		dst[at] += float64(row % 10)
	}
	return nil
}

// All statistics of a layer need memory for its width and classes, not for its number of samples: 200,000 samples
// of 128 features, 205 MB in float64, take less than half of this (400,000 take as much).
func TestMemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 seconds; not with -short")
	}
	e := newEngine(t)
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // so that the heap is about what is in use
	src := formula{200_000, 128}
	labels := make([]int, src.rows)
	for i := range labels {
		labels[i] = i % 10
	}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	before := heap[0].Value.Uint64()
	most := before
	end, done := make(chan bool), sync.WaitGroup{}
	done.Go(func() {
		for {
			select {
			case <-end:
				return
			case <-time.After(2 * time.Millisecond):
				metrics.Read(heap)
				most = max(most, heap[0].Value.Uint64())
			}
		}
	})
	s := Samples{Source: src, Labels: labels}
	d, err := MeasureDepth(context.Background(), []LayerInput{{Name: "x", Input: s, Test: s}}, Options{Engine: e,
		Draws: 20, Subsets: 2, Spread: true, Probe: true, heldRows: 20_000}, nil)
	close(end)
	done.Wait()
	if err != nil {
		t.Fatal(err)
	}
	l := d.Layers[0]
	if l.Samples != src.rows || l.Sampling.Samples != 20_000 || l.ProbeTrained != 20_000 || l.ProbeAccuracy < 0.9 {
		t.Errorf("%d samples, draws from %d, probe %+v", l.Samples, l.Sampling.Samples, l.Probe)
	}
	t.Logf("%.0f MB of heap at most", float64(most-before)/1e6)
	if float64(most-before) > 90e6 {
		t.Errorf("%.0f MB of heap, want at most 90", float64(most-before)/1e6)
	}
}
