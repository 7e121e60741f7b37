package study

import (
	"context"
	"math"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// CentreMoves says how far training has moved the centres of the potential.
type CentreMoves struct {
	Initial engine.Matrix `json:"-"` // k x d, where Init placed them
	Final   engine.Matrix `json:"-"` // k x d, where they are

	Moved   []float64 `json:"moved"`   // k: |mu_i - its first place|
	Nearest float64   `json:"nearest"` // the smallest distance between two initial centres; 0 for one centre
}

// InitialCentres returns the centres that training began with, k x d, without changing the
// model: it places those of a new model of the same settings and seed on the images of
// s, which must be the training images that Fit was given, those for validation
// included.
func InitialCentres(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set) (engine.Matrix, error) {
	if err := m.Check(s); err != nil {
		return engine.Matrix{}, err
	}
	first, err := dpn.New(m.Config, &dataset.Data{Train: s, Test: s, Classes: m.Classes, Norm: m.Norm})
	if err != nil {
		return engine.Matrix{}, err
	}
	train, _, err := m.Split(s)
	if err != nil {
		return engine.Matrix{}, err
	}
	if _, err := first.Init(ctx, e, train); err != nil {
		return engine.Matrix{}, err
	}
	return first.Potential().Centres(), nil
}

// MeasureCentreMoves compares the initial centres with those of the model. s is as in
// InitialCentres.
func MeasureCentreMoves(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set) (*CentreMoves, error) {
	initial, err := InitialCentres(ctx, e, m, s)
	if err != nil {
		return nil, err
	}
	c := &CentreMoves{Initial: initial, Final: engine.NewMatrix(initial.Rows, initial.Cols)}
	copy(c.Final.Data, m.Potential().Centres().Data)
	nearest := math.Inf(1)
	for i := range initial.Rows {
		c.Moved = append(c.Moved, linalg.Distance(initial.Row(i), c.Final.Row(i)))
		for j := range i {
			nearest = min(nearest, linalg.Distance(initial.Row(i), initial.Row(j)))
		}
	}
	if initial.Rows > 1 {
		c.Nearest = nearest
	}
	return c, nil
}
