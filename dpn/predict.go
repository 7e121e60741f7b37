package dpn

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/engine"
)

const (
	evalRows    = 512 // pictures that are evaluated together
	stepsAtOnce = 10  // ascent steps between two looks at the context
)

// Score is how well a model does on labelled pictures.
type Score struct {
	Samples  int     `json:"samples"`
	Loss     float64 `json:"loss"`     // mean cross-entropy
	Accuracy float64 `json:"accuracy"` // share of pictures given their label
}

// Predict returns the class of every picture of s, the lower one among equals.
func (m *Model) Predict(ctx context.Context, e *engine.Engine, s *dataset.Set) ([]byte, error) {
	out := make([]byte, 0, s.Len())
	idx := make([]int32, evalRows)
	err := m.logits(ctx, e, s, func(lo int, logits engine.Matrix) {
		e.ArgMax(idx[:logits.Rows], logits)
		for _, c := range idx[:logits.Rows] {
			out = append(out, byte(c))
		}
	})
	return out, err
}

// Score evaluates the model on s.
func (m *Model) Score(ctx context.Context, e *engine.Engine, s *dataset.Set) (Score, error) {
	var t tally
	err := m.logits(ctx, e, s, func(lo int, logits engine.Matrix) {
		t.add(e, logits, s.Labels[lo:lo+logits.Rows], engine.Matrix{}, 0)
	})
	return t.score(), err
}

// Features returns the features of every picture of s, n x d, before the ascent.
func (m *Model) Features(ctx context.Context, e *engine.Engine, s *dataset.Set) (engine.Matrix, error) {
	return m.rows(ctx, e, s, 0, nil)
}

// Denoised returns x_n of every picture of s, n x d.
func (m *Model) Denoised(ctx context.Context, e *engine.Engine, s *dataset.Set) (engine.Matrix, error) {
	return m.rows(ctx, e, s, m.Config.Steps, nil)
}

// Ascend moves features x (n x d) uphill by so many steps, in place.
func (m *Model) Ascend(e *engine.Engine, x engine.Matrix, steps int) {
	m.prepare(e)
	e.Ascend(m.potential.mixture, m.potential.Alpha(), steps, x, nil, false)
}

// Explain says in a line how the ascents of the model run on e with the pictures of s:
// those of its minibatches when it trains with the exact gradient, and otherwise those of
// the blocks in which pictures are evaluated. With the setting "detached" training is such
// an evaluation too, once for all epochs.
func (m *Model) Explain(e *engine.Engine, s *dataset.Set, training bool) string {
	c := m.Config
	pictures := s.Len()
	if train, _, err := m.split(s); training && err == nil {
		pictures = train.Len()
	}
	if !training || c.Gradient != "exact" {
		rows, steps := min(evalRows, pictures), min(stepsAtOnce, c.Steps)
		once := ""
		if training {
			once = ", once for all epochs"
		}
		return fmt.Sprintf("ascent of %d rows, %d steps at a time%s, %v", rows, steps, once, e.PlanAscent(rows, c.Components, m.Dim(), steps))
	}
	rows := min(c.Batch, pictures)
	p := e.PlanAscent(rows, c.Components, m.Dim(), c.Steps)
	g := "G_i of all steps are kept for the backward pass"
	if !p.KeepsG {
		g = "G_i are computed a second time for the backward pass, because all of them would need too much memory"
	}
	return fmt.Sprintf("ascent of %d rows, %v; %s", rows, p, g)
}

// Logits returns the classifier's output for denoised features x (n x d), n x classes.
func (m *Model) Logits(e *engine.Engine, x engine.Matrix) engine.Matrix {
	y := engine.NewMatrix(x.Rows, m.Classes)
	m.head.forward(e, y, x)
	return y
}

// rows computes features and moves them uphill by so many steps, block by block; progress,
// unless nil, is told how many rows are done.
func (m *Model) rows(ctx context.Context, e *engine.Engine, s *dataset.Set, steps int, progress func(done int)) (engine.Matrix, error) {
	if err := m.fits(s); err != nil {
		return engine.Matrix{}, err
	}
	out := engine.NewMatrix(s.Len(), m.Dim())
	x := engine.NewMatrix(min(evalRows, s.Len()), s.Pixels())
	rstd := make([]float32, evalRows)
	table := m.Norm.Table()
	for lo := 0; lo < s.Len(); lo += evalRows {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		hi := min(lo+evalRows, s.Len())
		xb, yb := x.Slice(0, hi-lo, 0, x.Cols), out.Slice(lo, hi, 0, out.Cols)
		pixels(xb, s.Slice(lo, hi), nil, &table)
		yb.Data = yb.Data[:yb.Rows*yb.Cols]
		xb.Data = xb.Data[:xb.Rows*xb.Cols]
		m.features(e, yb, xb, rstd[:hi-lo])
		for t := 0; t < steps; t += stepsAtOnce {
			if err := ctx.Err(); err != nil {
				return out, err
			}
			m.Ascend(e, yb, min(stepsAtOnce, steps-t))
		}
		if progress != nil {
			progress(hi)
		}
	}
	return out, nil
}

// logits calls f with the logits of block after block of s; lo is the block's first
// picture.
func (m *Model) logits(ctx context.Context, e *engine.Engine, s *dataset.Set, f func(lo int, logits engine.Matrix)) error {
	if err := m.fits(s); err != nil {
		return err
	}
	for lo := 0; lo < s.Len(); lo += evalRows {
		x, err := m.rows(ctx, e, s.Slice(lo, min(lo+evalRows, s.Len())), m.Config.Steps, nil)
		if err != nil {
			return err
		}
		f(lo, m.Logits(e, x))
	}
	return nil
}

// tally adds up losses and right answers.
type tally struct {
	n, right int
	loss     float64
	losses   []float32
	idx      []int32
}

// add evaluates logits against labels; grad, unless empty, receives scale times the
// gradient of the summed loss. It returns the sum of the block's losses.
func (t *tally) add(e *engine.Engine, logits engine.Matrix, labels []byte, grad engine.Matrix, scale float32) float64 {
	n := logits.Rows
	if cap(t.losses) < n {
		t.losses, t.idx = make([]float32, n), make([]int32, n)
	}
	losses, idx := t.losses[:n], t.idx[:n]
	e.ArgMax(idx, logits)
	e.SoftmaxCrossEntropy(grad, losses, logits, labels, scale)
	var sum float64
	for i, y := range labels {
		sum += float64(losses[i])
		if idx[i] == int32(y) {
			t.right++
		}
	}
	t.n += n
	t.loss += sum
	return sum
}

func (t *tally) score() Score {
	if t.n == 0 {
		return Score{}
	}
	return Score{Samples: t.n, Loss: t.loss / float64(t.n), Accuracy: float64(t.right) / float64(t.n)}
}
