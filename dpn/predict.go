package dpn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/mpi"
)

const (
	evalRows    = potential.BlockRows // images that are evaluated together
	extractRows = 128                 // of them, go through the extractor together, whose layers need memory
)

// Score is how well a model does on labelled images.
type Score = layer.Score

// OutputError reports a number that the network computed and that is infinite or NaN: there is no
// prediction.
type OutputError = layer.OutputError

// CheckOutput returns a *OutputError about the first number of x that is infinite or NaN, or nil. what
// names a number of x, of what its rows stand for, and first the number of the first row.
func (m *Model) CheckOutput(x engine.Matrix, what, of string, first int) error {
	return m.blame(layer.CheckOutput(x, what, of, first))
}

// blame adds to a *OutputError which tensor is at fault, if one is not finite.
func (m *Model) blame(err error) error {
	if bad, ok := errors.AsType[*OutputError](err); ok {
		bad.Tensor = layer.NotFiniteTensor(m.Params())
	}
	return err
}

// Predict returns the class of every image of s; of equal logits the lower class. Like all that
// evaluates logits, it returns a *OutputError if one is not finite.
func (m *Model) Predict(ctx context.Context, e *engine.Engine, s *dataset.Set) ([]uint16, error) {
	return Ensemble{m}.Predict(ctx, e, s)
}

// Score evaluates the model on s.
func (m *Model) Score(ctx context.Context, e *engine.Engine, s *dataset.Set) (Score, error) {
	return Ensemble{m}.Score(ctx, e, s)
}

// ScoreClasses is Score with the accuracy of every class.
func (m *Model) ScoreClasses(ctx context.Context, e *engine.Engine, s *dataset.Set) (Score, layer.ByClass, error) {
	return Ensemble{m}.ScoreClasses(ctx, e, s)
}

// ScoreCorrupted evaluates the model on the images of s as c corrupts them under a seed.
// Their grey levels are normalised as they are, without being rounded to bytes.
func (m *Model) ScoreCorrupted(ctx context.Context, e *engine.Engine, s *dataset.Set, c dataset.Corruption,
	seed uint64) (Score, error) {
	return Ensemble{m}.ScoreCorrupted(ctx, e, s, c, seed)
}

// Features returns the features of every image of s, n x d, before the ascent.
func (m *Model) Features(ctx context.Context, e *engine.Engine, s *dataset.Set) (engine.Matrix, error) {
	return m.rows(ctx, e, potential.Alone, s, 0, nil)
}

// Denoised returns x_n of every image of s, n x d.
func (m *Model) Denoised(ctx context.Context, e *engine.Engine, s *dataset.Set) (engine.Matrix, error) {
	return m.rows(ctx, e, potential.Alone, s, m.Config.Steps, nil)
}

// Explain describes in one line how the ascents of the model run on e, and by which route: for
// training with the exact gradient those of a minibatch of s, otherwise those of a block of images
// that are evaluated together. Training with the gradient "detached" evaluates, too: once for all
// epochs.
func (m *Model) Explain(e *engine.Engine, s *dataset.Set, training bool) string {
	m.turn.Lock()
	defer m.turn.Unlock()
	c := m.Config
	images := s.Len()
	if train, _, err := m.split(s); training && err == nil {
		images = train.Len()
	}
	if !training || c.Gradient != GradientExact {
		rows, once := min(evalRows, images), ""
		switch {
		case training && c.denoisesOnce():
			once = ", once for all epochs"
		case training:
			rows = c.pieceRows(min(c.Batch, images))
		}
		return m.explain(e, rows, once)
	}
	rows := c.climbing(min(c.Batch, images))
	text := m.explain(e, rows, "")
	if c.potential().LowRank() >= 0 {
		return text
	}
	if kept := m.potential.Mixture(e).Plan(e, rows, c.Steps).KeptRows; kept < rows {
		return text + fmt.Sprintf("; on the dense route G_i of %d of the rows are kept for the backward pass, and the "+
			"others computed a second time, because they would need too much memory", kept)
	}
	return text + "; on the dense route G_i of all steps are kept for the backward pass"
}

func (m *Model) explain(e *engine.Engine, rows int, once string) string {
	mix, steps := m.potential.Mixture(e), m.Config.Steps
	return fmt.Sprintf("ascent of %d rows%s, %v; %s", rows, once, mix.Plan(e, rows, steps),
		mix.ExplainRoute(e, rows, steps))
}

// Logits returns the classifier's output for denoised features x (n x d), n x classes. It is not finite
// where x is not, and where the weights are too large: see CheckOutput.
func (m *Model) Logits(e *engine.Engine, x engine.Matrix) engine.Matrix {
	y := engine.NewMatrix(x.Rows, len(m.Classes))
	m.turn.Lock()
	defer m.turn.Unlock()
	m.head.Forward(e, y, x, layer.Evaluation)
	return y
}

// rows computes the features of all images of s and moves them uphill by steps steps; the ranks of by divide them.
// progress, unless nil, is called with the number of finished rows.
func (m *Model) rows(ctx context.Context, e *engine.Engine, by potential.Division, s *dataset.Set, steps int,
	progress func(done int)) (engine.Matrix, error) {
	if err := m.CheckSet(s); err != nil {
		return engine.Matrix{}, err
	}
	n := s.Len()
	lo, hi := by.Own(n)
	if lo == 0 && hi == n {
		x, err := m.blocks(ctx, e, m.Input(s), imageRange{0, n}, steps, progress)
		return x, by.Gather(ctx, err, n, mpi.Bytes(x.Data))
	}
	own, err := m.blocks(ctx, e, m.Input(s), imageRange{lo, hi}, steps, func(done int) {
		if progress != nil {
			progress(done * n / (hi - lo)) // others are as far
		}
	})
	x := engine.NewMatrix(n, m.Dim())
	copy(x.SliceRows(lo, hi).Data, own.Data)
	return x, by.Gather(ctx, err, n, mpi.Bytes(x.Data))
}

// Ascended computes the features of images first to last-1 of an input and moves them uphill by
// steps steps.
func (m *Model) Ascended(ctx context.Context, e *engine.Engine, in Input,
	first, last, steps int) (engine.Matrix, error) {
	return m.blocks(ctx, e, in, imageRange{first, last}, steps, nil)
}

// imageRange are the images first to last-1 of an input.
type imageRange struct{ first, last int }

// blocks is Ascended, block by block; progress, unless nil, is told how many rows are done.
func (m *Model) blocks(ctx context.Context, e *engine.Engine, in Input, images imageRange, steps int,
	progress func(done int)) (engine.Matrix, error) {
	n := images.last - images.first
	out := engine.NewMatrix(n, m.Dim())
	x := engine.NewMatrix(min(evalRows, n), m.Shape.Len())
	at := make([]int32, x.Rows)
	var tape layer.Tape
	for lo := 0; lo < n; lo += evalRows {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		hi := min(lo+evalRows, n)
		xb, yb := x.SliceRows(0, hi-lo), out.SliceRows(lo, hi)
		for b := range xb.Rows {
			at[b] = int32(images.first + lo + b)
		}
		in(e, xb, at[:xb.Rows])
		m.extract(e, &tape, yb, xb)
		if steps > 0 { // what is known of the last ascent stays
			if err := m.ascend(ctx, e, yb, steps); err != nil {
				return out, err
			}
		}
		if progress != nil {
			progress(hi)
		}
	}
	return out, nil
}

// extract sets y to the features of the samples x as the network takes them in.
func (m *Model) extract(e *engine.Engine, tape *layer.Tape, y, x engine.Matrix) {
	m.turn.Lock()
	defer m.turn.Unlock()
	for lo := 0; lo < x.Rows; lo += extractRows {
		hi := min(lo+extractRows, x.Rows)
		f := m.extractor.Forward(e, tape, x.SliceRows(lo, hi), layer.Evaluation)
		copy(y.SliceRows(lo, hi).Data, f.Data)
	}
}

// ascend moves the features x uphill.
func (m *Model) ascend(ctx context.Context, e *engine.Engine, x engine.Matrix, steps int) error {
	m.turn.Lock()
	defer m.turn.Unlock()
	return m.potential.AscendUntil(ctx, e, x, steps)
}

// Predictions are what a model makes of samples, or of features.
type Predictions struct {
	Phi     []separation.Float `json:"phi"`     // n, potential at x_0
	Classes []int              `json:"classes"` // n, class of x_n; of equal logits the lower one
	X       engine.Matrix      `json:"-"`       // n x d, x_n; empty for samples, of which Denoised returns it

	Probabilities engine.Matrix `json:"-"` // n x classes, softmax of the logits
	Unknown       []bool        `json:"-"` // n, whether Phi is below Model.UnknownBelow; nil if that is
}

// Predictions returns what the model makes of every sample of s, which needs no labels. The bits depend on the sample
// only: not on those beside it, nor on the threads of e.
func (m *Model) Predictions(ctx context.Context, e *engine.Engine, s *dataset.Set) (*Predictions, error) {
	return Ensemble{m}.Predictions(ctx, e, s)
}

func (m *Model) predictions(ctx context.Context, e *engine.Engine, s *dataset.Set) (*Predictions, error) {
	if err := m.CheckSet(s); err != nil {
		return nil, err
	}
	r, in := m.newPredictions(s.Len()), m.Input(s)
	for lo := 0; lo < s.Len(); lo += evalRows {
		x, err := m.blocks(ctx, e, in, imageRange{lo, min(lo+evalRows, s.Len())}, 0, nil)
		if err != nil {
			return nil, err
		}
		if err := m.predict(ctx, e, x, r, lo, s.Sample()); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// PredictFeatures moves the features x (n x d, left alone) uphill by Config.Steps steps and
// classifies them.
func (m *Model) PredictFeatures(ctx context.Context, e *engine.Engine, x engine.Matrix) (*Predictions, error) {
	if x.Cols != m.Dim() {
		return nil, fmt.Errorf("points of %d features, expected %d", x.Cols, m.Dim())
	}
	r := m.newPredictions(x.Rows)
	r.X = engine.NewMatrix(x.Rows, x.Cols)
	engine.CopyMatrix(r.X, x)
	if err := m.predict(ctx, e, r.X, r, 0, "row"); err != nil {
		return nil, err
	}
	return r, nil
}

func (m *Model) newPredictions(n int) *Predictions {
	r := &Predictions{Phi: make([]separation.Float, n), Classes: make([]int, n),
		Probabilities: engine.NewMatrix(n, len(m.Classes))}
	if m.UnknownBelow != nil {
		r.Unknown = make([]bool, n)
	}
	return r
}

// predict sets the predictions from number first on to those of the features x, which it moves uphill. of says what a
// row of x is.
func (m *Model) predict(ctx context.Context, e *engine.Engine, x engine.Matrix, r *Predictions, first int,
	of string) error {
	phi, err := m.potentials(e, x, first, of)
	if err != nil {
		return err
	}
	if err := m.ascend(ctx, e, x, m.Config.Steps); err != nil {
		return err
	}
	logits, at := m.Logits(e, x), make([]int32, x.Rows)
	if err := m.CheckOutput(logits, "logit", of, first); err != nil {
		return err
	}
	e.ArgMax(at, logits)
	for b, c := range at {
		r.Phi[first+b], r.Classes[first+b] = separation.Float(phi[b]), int(c)
		softmax(r.Probabilities.Row(first+b), logits.Row(b))
		if r.Unknown != nil {
			r.Unknown[first+b] = phi[b] < *m.UnknownBelow
		}
	}
	return nil
}

// potentials returns the potential at the rows of x, which stand for number first and so on of what of says.
func (m *Model) potentials(e *engine.Engine, x engine.Matrix, first int, of string) ([]float32, error) {
	if err := m.CheckOutput(x, "feature", of, first); err != nil {
		return nil, err
	}
	phi := make([]float32, x.Rows)
	m.turn.Lock()
	defer m.turn.Unlock()
	m.potential.Evaluate(e, x, phi, engine.Matrix{})
	return phi, m.CheckOutput(engine.View(phi, len(phi), 1), "potential", of, first)
}

// softmax sets p to the softmax of finite logits, with the same bits on every machine. What is below 2^-126 is 0.
func softmax(p, logits []float32) {
	most, sum := slices.Max(logits), 0.0
	for i, v := range logits {
		p[i] = num.Exp32(v - most)
		sum += float64(p[i])
	}
	for i, v := range p {
		p[i] = float32(float64(v) / sum)
	}
}

// InputFeatures says whether the features are the input, preprocessed and normalised by Norm only.
func (m *Model) InputFeatures() bool { return len(m.Extractor()) == 0 }

// PixelFeatures says whether the features are the pixels (InputFeatures), so that a point in feature space is an image.
func (m *Model) PixelFeatures() bool { return m.Shape.IsImage() && m.InputFeatures() }
