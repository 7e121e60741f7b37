package study

import (
	"context"
	"errors"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
)

// Prototypes classify an image without the classifier, and without a kernel: its class
// is the label of the component that is most responsible for the image's features,
// where they are at first or after some ascent steps.
type Prototypes struct {
	Steps  int      // before the responsibilities are looked at
	Labels []uint16 // k, of the components

	m *dpn.Model
}

// NewPrototypes labels the components of the model by the majority of the images of s, its training
// images, by the component with the largest responsibility after steps steps (the lower one among
// equals).
func NewPrototypes(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	steps int) (*Prototypes, error) {
	if steps < 0 {
		return nil, fmt.Errorf("prototypes after %d steps, expected 0 or more", steps)
	}
	p := &Prototypes{Steps: steps, m: m}
	if err := m.CheckLabelled(s); err != nil {
		return nil, err
	}
	winners, err := p.winners(ctx, e, s, m.Input(s))
	if err != nil {
		return nil, err
	}
	p.Labels, err = MajorityLabels(winners, s.Labels, m.Potential().K)
	return p, err
}

// Accuracy returns the share of the images of s, as c corrupts them under a seed, that are
// classified correctly.
func (p *Prototypes) Accuracy(ctx context.Context, e *engine.Engine, s *dataset.Set, c dataset.Corruption,
	seed uint64) (float64, error) {
	if err := p.m.CheckLabelled(s); err != nil {
		return 0, err
	}
	in, err := p.m.CorruptedInput(s, c, seed)
	if err != nil {
		return 0, err
	}
	winners, err := p.winners(ctx, e, s, in)
	if err != nil {
		return 0, err
	}
	right := 0
	for i, w := range winners {
		if p.Labels[w] == s.Labels[i] {
			right++
		}
	}
	return float64(right) / float64(s.Len()), nil
}

// Cost counts what the rule takes for one image.
func (p *Prototypes) Cost() layer.Cost {
	return layer.CostOf(p.m.Extractor(), potential.Layer{Potential: p.m.Potential(), Steps: p.Steps, Read: true})
}

// winners returns the component that is most responsible for each image of s.
func (p *Prototypes) winners(ctx context.Context, e *engine.Engine, s *dataset.Set, in dpn.Input) ([]int32, error) {
	if err := p.m.CheckSet(s); err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		return nil, errors.New("prototypes of no images, expected one or more")
	}
	out := make([]int32, s.Len())
	for lo := 0; lo < s.Len(); lo += potential.BlockRows {
		hi := min(lo+potential.BlockRows, s.Len())
		x, err := p.m.Ascended(ctx, e, in, lo, hi, p.Steps)
		if err != nil {
			return nil, err
		}
		phi, r := make([]float32, x.Rows), engine.NewMatrix(p.m.Potential().K, x.Rows)
		p.m.Potential().Evaluate(e, x, phi, r)
		e.ArgMax(out[lo:hi], r.T())
	}
	return out, nil
}

// MajorityLabels returns the most frequent label, the lower one among equals, of the rows
// that are assigned to each of k centres; 0 for a centre without rows.
func MajorityLabels(assignment []int32, labels []uint16, k int) ([]uint16, error) {
	if len(assignment) != len(labels) {
		return nil, fmt.Errorf("%d labels for %d assigned rows, expected one for each", len(labels), len(assignment))
	}
	for row, i := range assignment {
		if i < 0 || int(i) >= k {
			return nil, fmt.Errorf("row %d is assigned to centre %d, expected 0 to %d", row, i, k-1)
		}
	}
	votes := make([]map[uint16]int, k)
	for i := range votes {
		votes[i] = map[uint16]int{}
	}
	for row, i := range assignment {
		votes[i][labels[row]]++
	}
	out := make([]uint16, k)
	for i := range out {
		most := 0
		for y, n := range votes[i] {
			if n > most || n == most && y < out[i] {
				out[i], most = y, n
			}
		}
	}
	return out, nil
}
