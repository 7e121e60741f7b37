package study

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// Trace is the path of some images through the landscape, x_0 to x_n.
type Trace struct {
	Steps   int     `json:"steps"` // n
	Samples int     `json:"samples"`
	Dim     int     `json:"dim"`        // d
	K       int     `json:"components"` // k
	Alpha   float64 `json:"alpha"`      // step size

	Index  []int `json:"index"`  // samples: which image of the set
	Labels []int `json:"labels"` // samples

	X         []float32            `json:"-"`         // (n+1) x samples x d
	Phi       [][]separation.Float `json:"phi"`       // (n+1) x samples, potential at x_t
	R         [][][]float32        `json:"r"`         // (n+1) x samples x k, responsibilities at x_t
	Predicted [][]int              `json:"predicted"` // (n+1) x samples, the class read from x_t
	Length    [][]separation.Float `json:"length"`    // n x samples, |x_{t+1} - x_t|
}

// XAt returns x_t (samples x d).
func (t *Trace) XAt(step int) engine.Matrix {
	n := t.Samples * t.Dim
	return engine.View(t.X[step*n:(step+1)*n], t.Samples, t.Dim)
}

// maxTrace is the largest number of bytes of a trace.
const maxTrace = 2 << 30

// TraceImages follows the images at[0], at[1], ... of s for the given number of ascent steps, which
// may be more than Config.Steps. The numbers are those that the engine computes: the same bits on
// every machine. An ascent that diverges is recorded as it is (its numbers that are not finite are
// null in JSON).
func TraceImages(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set, at []int,
	steps int) (*Trace, error) {
	if err := m.CheckLabelled(s); err != nil {
		return nil, err
	}
	if steps < 0 || len(at) == 0 {
		return nil, fmt.Errorf("trace of %d images over %d steps, expected one image or more and no steps below 0",
			len(at), steps)
	}
	k, d, n := m.Potential().K, m.Dim(), len(at)
	if size := 4 * (float64(steps) + 1) * float64(n) * float64(2*(d+k)+16); size > maxTrace {
		return nil, fmt.Errorf(
			"trace of %d images over %d steps needs %.1f GB, at most %d GB are allowed: take fewer images or steps",
			n, steps, size/(1<<30), maxTrace>>30)
	}
	chosen := make([]int32, 0, n)
	t := &Trace{
		Steps:   steps,
		Samples: n,
		Dim:     d,
		K:       k,
		Alpha:   float64(m.Potential().Alpha()),
		X:       make([]float32, (steps+1)*n*d),
	}
	for _, i := range at {
		if i < 0 || i >= s.Len() {
			return nil, fmt.Errorf("trace of image %d, expected 0 to %d", i, s.Len()-1)
		}
		chosen = append(chosen, int32(i))
		t.Index, t.Labels = append(t.Index, i), append(t.Labels, int(s.Labels[i]))
	}
	x, err := m.Features(ctx, e, s.Pick(chosen))
	if err != nil {
		return nil, err
	}

	err = m.Potential().Walk(ctx, e, m.Potential().Alpha(), steps, x,
		func(_ int, x engine.Matrix, phi []float32, r engine.Matrix) {
			t.add(m, e, x, phi, r)
		})
	if err != nil {
		return nil, err
	}
	for step := range steps {
		a, b := t.XAt(step), t.XAt(step+1)
		l := make([]separation.Float, n)
		for i := range l {
			l[i] = separation.Float(linalg.Distance(a.Row(i), b.Row(i)))
		}
		t.Length = append(t.Length, l)
	}
	return t, nil
}

// add records one step. r is k x samples.
func (t *Trace) add(m *dpn.Model, e *engine.Engine, x engine.Matrix, phi []float32, r engine.Matrix) {
	step := len(t.Phi)
	copy(t.XAt(step).Data, x.Data)
	f, rs, classes := make([]separation.Float, t.Samples), make([][]float32, t.Samples), make([]int, t.Samples)
	idx := make([]int32, t.Samples)
	e.ArgMax(idx, m.Logits(e, t.XAt(step)))
	for b := range f {
		f[b], classes[b] = separation.Float(phi[b]), int(idx[b])
		rs[b] = make([]float32, t.K)
		for i := range rs[b] {
			if v := r.At(i, b); v == v {
				rs[b][i] = v // those of a point that is not finite are 0
			}
		}
	}
	t.Phi, t.R, t.Predicted = append(t.Phi, f), append(t.R, rs), append(t.Predicted, classes)
}
