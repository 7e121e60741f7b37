package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/linalg"
	"dpnbench/internal/parallel"
	"dpnbench/internal/stat"
)

// FixedPoints says where the ascents of a set of images end if they continue until they
// converge.
type FixedPoints struct {
	Samples   int     `json:"samples"`
	Alpha     float64 `json:"alpha"`     // step size
	Tolerance float64 `json:"tolerance"` // an image has converged if |x_{t+1} - x_t| <= Tolerance (1 + |x_t|)
	Merge     float64 `json:"merge"`     // ends within Merge (1 + |x|) of each other count as one
	MaxSteps  int     `json:"max_steps"` // after which an image counts as not converged

	Converged      int     `json:"converged"` // images that stand still
	Diverged       int     `json:"diverged"`  // images whose features have left the range of float32
	ShareConverged float64 `json:"share_converged"`

	// Steps that the converged images needed: median, 90th percentile and largest, the
	// lower one of two in the middle.
	StepsMedian int `json:"steps_median"`
	Steps90     int `json:"steps_90"`
	StepsMost   int `json:"steps_most"`

	// Remaining90 is the 90th percentile, over the converged images, of the distance that
	// they still have to go over 1 + |x|: the last movement times rho / (1 - rho), where rho
	// is its ratio to the one before. Standing still is not being there: where phi is
	// nearly flat in some direction, steps are short far from the top. Above Merge/2, what
	// would become one fixed point may be counted as several. Null if movements grow.
	Remaining90 separation.Float `json:"remaining_90"`

	Points []FixedPoint `json:"points"` // the one that attracts most first, then in the order of their first images
	Purity float64      `json:"purity"` // share of the converged images with the most frequent label of their point

	// The classifier at the ends of all images, and the mean entropy of r in nats at x_0
	// and at the ends. Those that diverged count as wrong, and not for the entropies.
	Accuracy     float64 `json:"accuracy"`
	EntropyStart float64 `json:"entropy_start"`
	EntropyEnd   float64 `json:"entropy_end"`
	MeanDistance float64 `json:"mean_distance"` // from x_0 to the end, over the converged images

	Steps      []int32       `json:"-"` // samples: t of each image, or StillMoving or HasDiverged
	Assignment []int32       `json:"-"` // samples: its index in Points, -1 if it has not converged
	Ends       engine.Matrix `json:"-"` // samples x d: where each was last

	remaining []float64 // of the converged images
}

// Values instead of a number of steps: the image still moves after the last step allowed, or has
// left the range of float32.
const (
	StillMoving = -1
	HasDiverged = -2
)

// FixedPoint is a place where phi has its maximum over a basin, and the images that end
// there.
type FixedPoint struct {
	X     []float32 `json:"-"`     // d: the end of the first image that came here
	First int       `json:"first"` // that image

	Images    int     `json:"images"`    // that end here
	Share     float64 `json:"share"`     // of the converged ones
	Class     int     `json:"class"`     // most frequent label among them, the lower one among equals
	Purity    float64 `json:"purity"`    // its share
	Predicted int     `json:"predicted"` // class that the classifier reads here

	Phi            float64 `json:"phi"`
	Component      int     `json:"component"` // the most responsible one
	Responsibility float64 `json:"responsibility"`
	Entropy        float64 `json:"entropy"`         // of r, in nats
	CentreDistance float64 `json:"centre_distance"` // to the centre of that component
}

// FixedPointOptions say when an ascent stands still. The zero value is ready to use.
type FixedPointOptions struct {
	// Tolerance of a standstill; 0: 1e-5. Where the ascent contracts by 1 - c a step (c =
	// alpha times the smallest eigenvalue of P_i), an image that stands still is within
	// Tolerance/c of its fixed point.
	Tolerance float64
	// Merge is the distance within which ends are one fixed point; 0: 1e-2. It should be
	// well above 2 Tolerance/c.
	Merge    float64
	MaxSteps int // 0: 2000
}

func (o FixedPointOptions) complete() (FixedPointOptions, error) {
	if o.Tolerance == 0 {
		o.Tolerance = 1e-5
	}
	if o.Merge == 0 {
		o.Merge = 1e-2
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = 2000
	}
	for _, v := range []struct {
		name  string
		value float64
	}{{"tolerance", o.Tolerance}, {"merge", o.Merge}} {
		if !(v.value > 0) || math.IsInf(v.value, 0) {
			return o, fmt.Errorf("fixed points: %s %v, expected a number above 0", v.name, v.value)
		}
	}
	if o.MaxSteps < 0 {
		return o, fmt.Errorf("fixed points: %d steps at most, expected at least 1", o.MaxSteps)
	}
	return o, nil
}

// FindFixedPoints follows the images of s until they stand still, and gathers the ends: in
// the order of the images, each joins the nearest fixed point found so far within Merge,
// the earlier one among equals, or begins a new one. The result has the same bits on every machine
// and for any number of threads.
func FindFixedPoints(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	opt FixedPointOptions) (*FixedPoints, error) {
	opt, err := opt.complete()
	if err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		return nil, fmt.Errorf("fixed points of no images")
	}
	if err := m.CheckLabelled(s); err != nil {
		return nil, err
	}
	x0, err := m.Features(ctx, e, s)
	if err != nil {
		return nil, err
	}
	n, d := x0.Rows, x0.Cols
	f := &FixedPoints{
		Samples:    n,
		Alpha:      float64(m.Potential().Alpha()),
		Tolerance:  opt.Tolerance,
		Merge:      opt.Merge,
		MaxSteps:   opt.MaxSteps,
		Steps:      make([]int32, n),
		Assignment: make([]int32, n),
		Ends:       engine.NewMatrix(n, d),
	}
	copy(f.Ends.Data, x0.Data)
	if f.EntropyStart, err = meanEntropy(ctx, e, m, f.Ends, f.Steps); err != nil {
		return nil, err
	}
	if err := follow(ctx, e, m, f); err != nil {
		return nil, err
	}
	if f.EntropyEnd, err = meanEntropy(ctx, e, m, f.Ends, f.Steps); err != nil {
		return nil, err
	}
	var steps []int32
	for i, t := range f.Steps {
		if t >= 0 {
			steps = append(steps, t)
			f.MeanDistance += linalg.Distance(x0.Row(i), f.Ends.Row(i))
		}
	}
	f.Converged = len(steps)
	f.ShareConverged = float64(f.Converged) / float64(n)
	if f.Converged > 0 {
		f.MeanDistance /= float64(f.Converged)
		slices.Sort(steps)
		slices.Sort(f.remaining)
		rank := func(q float64) int { return int(math.Ceil(q*float64(len(steps)))) - 1 }
		f.StepsMedian, f.Steps90, f.StepsMost = int(steps[rank(0.5)]), int(steps[rank(0.9)]), int(steps[rank(1)])
		f.Remaining90 = separation.Float(f.remaining[rank(0.9)])
	}
	if err := f.gather(ctx); err != nil {
		return nil, err
	}
	describe(e, m, f, s.Labels)
	return f, nil
}

// follow moves f.Ends until they stand still. Those that do are taken out of the batch:
// no bit of a row depends on the others.
func follow(ctx context.Context, e *engine.Engine, m *dpn.Model, f *FixedPoints) error {
	n, d := f.Ends.Rows, f.Ends.Cols
	x, last := engine.NewMatrix(n, d), engine.NewMatrix(n, d)
	copy(x.Data, f.Ends.Data)
	moving := make([]int32, n)
	for i := range moving {
		moving[i] = int32(i)
	}
	moved, size := make([]float64, n), make([]float64, n)
	before := make([]float64, n) // the movement of each image in the last step
	zero := make([]float32, d)
	for t := 0; t < f.MaxSteps && len(moving) > 0; t++ {
		rows := len(moving)
		copy(last.Data, x.Data[:rows*d])
		for lo := 0; lo < rows; lo += potential.BlockRows {
			if err := ctx.Err(); err != nil {
				return err
			}
			hi := min(lo+potential.BlockRows, rows)
			m.Potential().Ascend(e, engine.View(x.Data[lo*d:hi*d], hi-lo, d), 1)
		}
		err := parallel.ForEach(ctx, rows, e.Threads(), func(b int) error {
			moved[b], size[b] = linalg.Distance(x.Row(b), last.Row(b)), linalg.Distance(last.Row(b), zero)
			return nil
		})
		if err != nil {
			return err
		}
		keep := 0
		for b, i := range moving {
			switch {
			case !linalg.IsFinite(moved[b]):
				f.Steps[i] = HasDiverged
				f.Diverged++
			case moved[b] <= f.Tolerance*(1+size[b]):
				f.Steps[i] = int32(t)
				f.remaining = append(f.remaining, remaining(before[i], moved[b])/(1+size[b]))
			case t+1 == f.MaxSteps:
				f.Steps[i] = StillMoving
			default:
				copy(x.Row(keep), x.Row(b))
				moving[keep] = i
				before[i] = moved[b]
				keep++
				continue
			}
			copy(f.Ends.Row(int(i)), x.Row(b))
		}
		moving = moving[:keep]
	}
	return nil
}

// remaining returns the sum of the movements to come after two that were before and last
// long, if they go on to shrink in that ratio; that of a first step is taken to halve.
func remaining(before, last float64) float64 {
	switch {
	case last == 0:
		return 0
	case before == 0:
		return last
	case last >= before:
		return math.Inf(1)
	}
	return last * last / (before - last)
}

// gather makes the fixed points out of the ends of the converged images.
func (f *FixedPoints) gather(ctx context.Context) error {
	zero := make([]float32, f.Ends.Cols)
	var sizes []float64
	for i := range f.Samples {
		if f.Assignment[i] = -1; f.Steps[i] < 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		x := f.Ends.Row(i)
		size := linalg.Distance(x, zero)
		best, at := f.Merge*(1+size), -1
		for j := range f.Points {
			if math.Abs(sizes[j]-size) > best { // no nearer than their lengths differ
				continue
			}
			if v := distanceWithin(x, f.Points[j].X, best); v < best || at < 0 && v == best {
				best, at = v, j
			}
		}
		if at < 0 {
			at = len(f.Points)
			f.Points = append(f.Points, FixedPoint{X: x, First: i})
			sizes = append(sizes, size)
		}
		f.Points[at].Images++
		f.Assignment[i] = int32(at)
	}
	order := stat.Order(len(f.Points), func(a, b int) bool { return f.Points[a].Images > f.Points[b].Images })
	sorted, place := make([]FixedPoint, len(order)), make([]int32, len(order))
	for to, from := range order {
		sorted[to], place[from] = f.Points[from], int32(to)
	}
	f.Points = sorted
	for i, a := range f.Assignment {
		if a >= 0 {
			f.Assignment[i] = place[a]
		}
	}
	return nil
}

// distanceWithin returns the distance of a and b, or +Inf as soon as it is above limit.
func distanceWithin(a, b []float32, limit float64) float64 {
	const piece = 64
	var sum float64
	for lo := 0; lo < len(a); lo += piece {
		hi := min(lo+piece, len(a))
		v := linalg.Distance(a[lo:hi], b[lo:hi])
		if sum += float64(v * v); math.Sqrt(sum) > limit {
			return math.Inf(1)
		}
	}
	return math.Sqrt(sum)
}

// describe fills in what labels, classifier and potential say about the fixed points.
func describe(e *engine.Engine, m *dpn.Model, f *FixedPoints, labels []uint16) {
	d, k := m.Dim(), m.Potential().K
	votes := make([]int, len(f.Points)*len(m.Classes))
	for i, a := range f.Assignment {
		if a >= 0 {
			votes[int(a)*len(m.Classes)+int(labels[i])]++
		}
	}
	right, most := 0, 0
	block := make([]int32, potential.BlockRows)
	for lo := 0; lo < f.Samples; lo += potential.BlockRows {
		hi := min(lo+potential.BlockRows, f.Samples)
		e.ArgMax(block[:hi-lo], m.Logits(e, engine.View(f.Ends.Data[lo*d:hi*d], hi-lo, d)))
		for i := lo; i < hi; i++ {
			if f.Steps[i] != HasDiverged && block[i-lo] == int32(labels[i]) {
				right++
			}
		}
	}
	f.Accuracy = float64(right) / float64(f.Samples)

	x, phi, r, first := engine.NewMatrix(1, d), make([]float32, 1), engine.NewMatrix(k, 1), make([]int32, 1)
	for j := range f.Points {
		p := &f.Points[j]
		mine := votes[j*len(m.Classes) : (j+1)*len(m.Classes)]
		for c, v := range mine {
			if v > mine[p.Class] {
				p.Class = c
			}
		}
		most += mine[p.Class]
		p.Purity = float64(mine[p.Class]) / float64(p.Images)
		p.Share = float64(p.Images) / float64(f.Converged)

		copy(x.Data, p.X)
		m.Potential().Evaluate(e, x, phi, r)
		e.ArgMax(first, m.Logits(e, x))
		p.Predicted, p.Phi = int(first[0]), float64(phi[0])
		e.ArgMax(first, r.T())
		p.Component = int(first[0])
		p.Responsibility = float64(r.Data[p.Component])
		p.Entropy = potential.Entropy(r, 0)
		p.CentreDistance = linalg.Distance(p.X, m.Potential().Centres().Row(p.Component))
	}
	if f.Converged > 0 {
		f.Purity = float64(most) / float64(f.Converged)
	}
}

// meanEntropy returns the mean entropy of r at the rows of x, without those that have
// diverged and those where it is not a number.
func meanEntropy(ctx context.Context, e *engine.Engine, m *dpn.Model, x engine.Matrix,
	steps []int32) (float64, error) {
	phi := make([]float32, potential.BlockRows)
	var sum float64
	n := 0
	for lo := 0; lo < x.Rows; lo += potential.BlockRows {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		rows := min(potential.BlockRows, x.Rows-lo)
		r := engine.NewMatrix(m.Potential().K, rows)
		m.Potential().Evaluate(e, x.SliceRows(lo, lo+rows), phi[:rows], r)
		for b := range rows {
			if h := potential.Entropy(r, b); steps[lo+b] != HasDiverged && h == h {
				sum += h
				n++
			}
		}
	}
	return sum / float64(max(n, 1)), nil
}
