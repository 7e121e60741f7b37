package dpn

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Ways to place the centres before training (Config.Init).
const (
	InitKMeans      = "kmeans"       // k-means on all features (KMeans)
	InitClasswise   = "classwise"    // k-means in each class (ClassKMeans)
	InitSamples     = "samples"      // features drawn at random (Samples)
	InitEM          = "em"           // expectation and maximisation from k-means (Potential.EM)
	InitEMClasswise = "em-classwise" // the same from k-means in each class
)

// Inits lists the ways to place the centres.
func Inits() []string {
	return []string{InitKMeans, InitClasswise, InitSamples, InitEM, InitEMClasswise}
}

// classwise says whether each class has centres of its own at first.
func (c Config) classwise() bool { return c.Init == InitClasswise || c.Init == InitEMClasswise }

// fitsMixture says whether EM sets the potential.
func (c Config) fitsMixture() bool { return c.Init == InitEM || c.Init == InitEMClasswise }

func (c Config) emOptions() EMOptions {
	return EMOptions{Iterations: c.EMIterations, Tolerance: c.EMTolerance, Ridge: c.EMRidge}
}

// Placement is what Init did.
type Placement struct {
	Clusters *KMeansResult // for InitSamples without iterations
	EM       *EMResult     // nil unless Config.Init asks for it
}

// Init places the centres of the potential on the features of s (Config.Init). Precisions
// of the form flat become flat along the principal components of each cluster; with
// InitEM and InitEMClasswise EM then sets centres, weights and precisions, and alpha goes down
// to 1 over the largest eigenvalue of the precisions where it is above: ascents that overshoot
// by far would not train.
func (m *Model) Init(ctx context.Context, e *engine.Engine, s *dataset.Set) (*Placement, error) {
	return m.place(ctx, e, s, nil)
}

// place is Init; onEM, unless nil, follows EM.
func (m *Model) place(ctx context.Context, e *engine.Engine, s *dataset.Set, onEM func(done int, logLikelihood float64)) (*Placement, error) {
	x, err := m.Features(ctx, e, s)
	if err != nil {
		return nil, err
	}
	c := m.Config
	r := &Placement{}
	switch {
	case c.classwise():
		r.Clusters, err = ClassKMeans(ctx, e, x, s.Labels, c.Components, c.Seed)
	case c.Init == InitSamples:
		r.Clusters, err = Samples(e, x, c.Components, c.Seed)
	default:
		r.Clusters, err = KMeans(ctx, e, x, c.Components, c.Seed)
	}
	if err != nil {
		return nil, err
	}
	p := m.potential
	copy(p.mu.Data, r.Clusters.Centres.Data)
	if f, ok := p.form.(*flatForm); ok {
		if err := f.fit(ctx, e, x, r.Clusters.Assignment); err != nil {
			return nil, err
		}
	}
	m.stale = true
	if !c.fitsMixture() {
		return r, nil
	}
	opt := c.emOptions()
	opt.OnIteration = onEM
	if r.EM, err = p.EM(ctx, e, x, r.Clusters.Assignment, opt); err != nil {
		return nil, err
	}
	if most := float32(1 / r.EM.LambdaMax); p.Alpha() > most {
		p.setAlpha(most)
	}
	return r, nil
}

// log tells what was done.
func (r *Placement) log(log *slog.Logger, c Config) {
	log.Info("centres placed", "init", c.Init, "components", c.Components, "iterations", r.Clusters.Iterations, "inertia", r.Clusters.Inertia)
	if !r.Clusters.Converged {
		log.Warn("k-means has not converged", "iterations", r.Clusters.Iterations)
	}
	if r.EM == nil {
		return
	}
	log.Info("mixture fitted by EM", "iterations", r.EM.Iterations, "converged", r.EM.Converged,
		"log_likelihood_first", r.EM.LogLikelihood[0], "log_likelihood", r.EM.Final(), "ridge", r.EM.Ridge, "largest_eigenvalue", r.EM.LambdaMax)
	if most := 1 / r.EM.LambdaMax; most < c.Alpha {
		log.Info("alpha lowered to 1 over the largest eigenvalue of the precisions", "alpha", most, "setting", c.Alpha)
	}
}

// Samples draws k different rows of x (n x d, rows contiguous) under a seed as centres, in
// the order of the rows: the first k of a random permutation, sorted. Assignment and Inertia
// are those of the nearest centres.
func Samples(e *engine.Engine, x engine.Matrix, k int, seed uint64) (*KMeansResult, error) {
	n := x.Rows
	if k < 1 || n < k {
		return nil, fmt.Errorf("centres from samples: %d centres for %d rows, expected at least one row for each", k, n)
	}
	order := make([]int32, n)
	num.NewRand(seed, streamSamples).Permutation(order)
	drawn := order[:k]
	slices.Sort(drawn)
	r := &KMeansResult{Centres: engine.NewMatrix(k, x.Cols), Assignment: make([]int32, n), Converged: true}
	for i, row := range drawn {
		copy(r.Centres.Row(i), x.Row(int(row)))
	}
	dist := engine.NewMatrix(n, k)
	e.SquaredDistances(dist, x, r.Centres)
	e.ArgMin(r.Assignment, dist)
	for i, c := range r.Assignment {
		r.Inertia += float64(dist.At(i, int(c)))
	}
	if r.Inertia-r.Inertia != 0 {
		return nil, fmt.Errorf("centres from samples: distances are not finite")
	}
	return r, nil
}
