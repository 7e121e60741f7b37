package dpn

import (
	"context"
	"math"

	"dpnbench/dataset"
	"dpnbench/engine"
)

// CentreMoves is how far training has moved the centres of the potential.
type CentreMoves struct {
	Initial engine.Matrix `json:"-"` // k x d, where Init placed them
	Final   engine.Matrix `json:"-"` // k x d, where they are

	Moved   []float64 `json:"moved"`   // k: |mu_i - its first place|
	Nearest float64   `json:"nearest"` // the smallest distance between two initial centres; 0 for one centre
}

// InitialCentres returns the centres that training began with, k x d, without changing the
// model: it places those of a new model of the same settings and seed on the pictures of
// s, which must be the training pictures that Fit was given, those for validation
// included.
func (m *Model) InitialCentres(ctx context.Context, e *engine.Engine, s *dataset.Set) (engine.Matrix, error) {
	if err := m.Check(s); err != nil {
		return engine.Matrix{}, err
	}
	first, err := New(m.Config, &dataset.Data{Train: s, Test: s, Classes: m.Classes, Norm: m.Norm})
	if err != nil {
		return engine.Matrix{}, err
	}
	train, _, err := first.split(s)
	if err != nil {
		return engine.Matrix{}, err
	}
	if _, err := first.Init(ctx, e, train); err != nil {
		return engine.Matrix{}, err
	}
	return first.potential.Centres(), nil
}

// CentreMoves compares the initial centres with those of the model. s is as in
// InitialCentres.
func (m *Model) CentreMoves(ctx context.Context, e *engine.Engine, s *dataset.Set) (*CentreMoves, error) {
	initial, err := m.InitialCentres(ctx, e, s)
	if err != nil {
		return nil, err
	}
	c := &CentreMoves{Initial: initial, Final: engine.NewMatrix(initial.Rows, initial.Cols)}
	copy(c.Final.Data, m.potential.mu.Data)
	nearest := math.Inf(1)
	for i := range initial.Rows {
		c.Moved = append(c.Moved, distance(initial.Row(i), c.Final.Row(i)))
		for j := range i {
			nearest = min(nearest, distance(initial.Row(i), initial.Row(j)))
		}
	}
	if initial.Rows > 1 {
		c.Nearest = nearest
	}
	return c, nil
}

// distance returns |a - b| in float64.
func distance(a, b []float32) float64 { return math.Sqrt(squaredDistance(a, b)) }

// squaredDistance returns |a - b|^2 in float64.
func squaredDistance(a, b []float32) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	j := 0
	for ; j+4 <= len(a); j += 4 {
		e0, e1 := float64(a[j])-float64(b[j]), float64(a[j+1])-float64(b[j+1])
		e2, e3 := float64(a[j+2])-float64(b[j+2]), float64(a[j+3])-float64(b[j+3])
		s0 += float64(e0 * e0)
		s1 += float64(e1 * e1)
		s2 += float64(e2 * e2)
		s3 += float64(e3 * e3)
	}
	for ; j < len(a); j++ {
		e := float64(a[j]) - float64(b[j])
		s0 += float64(e * e)
	}
	return (s0 + s2) + (s1 + s3)
}
