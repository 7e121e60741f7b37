package dpn

import (
	"context"
	"log/slog"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Ways to place the centres before training (Config.Init).
const (
	InitKMeans      = "kmeans"       // k-means on all features (potential.KMeans)
	InitClasswise   = "classwise"    // k-means in each class (potential.ClassKMeans)
	InitSamples     = "samples"      // features drawn at random (potential.DrawCentres)
	InitEM          = "em"           // expectation and maximisation from k-means (potential.Potential.EM)
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

func (c Config) emOptions() potential.EMOptions {
	return potential.EMOptions{Iterations: c.EMIterations, Tolerance: c.EMTolerance, Ridge: c.EMRidge}
}

// InitResult is what Init did.
type InitResult struct {
	Clusters *potential.Clusters // for InitSamples without iterations
	EM       *potential.EMResult // nil unless Config.Init asks for it

	// Small are the clusters that were too small for principal components of their own (form flat).
	Small []potential.SmallCluster
}

// Init places the centres of the potential on the features of s (Config.Init). Precisions
// of the form flat become flat along the principal components of each cluster; with
// InitEM and InitEMClasswise EM then sets centres, weights and precisions, and alpha goes down
// to 1 over the largest eigenvalue of the precisions where it is above: ascents that overshoot
// by far would not train.
func (m *Model) Init(ctx context.Context, e *engine.Engine, s *dataset.Set) (*InitResult, error) {
	return m.place(ctx, e, m.Config.alone(), s, nil)
}

// place is Init by ranks; onEM, unless nil, follows EM.
func (m *Model) place(ctx context.Context, e *engine.Engine, by potential.Division, s *dataset.Set,
	onEM func(done int, logLikelihood float64)) (*InitResult, error) {
	x, err := m.rows(ctx, e, by, s, 0, nil)
	if err != nil {
		return nil, err
	}
	c := m.Config
	r := &InitResult{}
	switch {
	case c.classwise():
		r.Clusters, err = potential.ClassKMeansBy(ctx, e, by, x, s.Labels, c.Components, c.Seed)
	case c.Init == InitSamples:
		r.Clusters, err = potential.DrawCentres(e, x, c.Components, c.Seed)
	default:
		r.Clusters, err = potential.KMeansBy(ctx, e, by, x, c.Components, c.Seed)
	}
	if err != nil {
		return nil, err
	}
	p := m.potential
	p.SetCentres(r.Clusters.Centres)
	if r.Small, err = p.FitClusters(ctx, e, by, x, r.Clusters.Assignment); err != nil {
		return nil, err
	}
	if !c.fitsMixture() {
		return r, nil
	}
	opt := c.emOptions()
	opt.OnIteration, opt.By = onEM, by
	if r.EM, err = p.EM(ctx, e, x, r.Clusters.Assignment, opt); err != nil {
		return nil, err
	}
	if most := float32(1 / r.EM.LambdaMax); p.Alpha() > most {
		p.SetAlpha(most)
	}
	return r, nil
}

// log logs how the centres were placed.
func (r *InitResult) log(log *slog.Logger, c Config) {
	log.Info("centres placed", "init", c.Init, "components", c.Components, "iterations", r.Clusters.Iterations,
		"inertia", r.Clusters.Inertia)
	if !r.Clusters.Converged {
		log.Warn("k-means has not converged", "iterations", r.Clusters.Iterations)
	}
	if r.EM == nil {
		return
	}
	log.Info("mixture fitted by EM", "iterations", r.EM.Iterations, "converged", r.EM.Converged,
		"log_likelihood_first", r.EM.LogLikelihood[0], "log_likelihood", r.EM.Final(), "ridge", r.EM.Ridge,
		"largest_eigenvalue", r.EM.LambdaMax)
	if most := 1 / r.EM.LambdaMax; most < c.Alpha {
		log.Info("alpha lowered to 1 over the largest eigenvalue of the precisions", "alpha", most, "setting", c.Alpha)
	}
}

// NewPotential makes a potential of features without a network around it: that of the
// settings of c with these centres (k x d), c_i = 0 and the precisions that training begins
// with. Components are as many as there are centres.
func NewPotential(c Config, centres engine.Matrix) (*potential.Potential, error) {
	c.Components = centres.Rows
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := c.checkRank(centres.Cols); err != nil {
		return nil, err
	}
	p := potential.New(c.potential(), centres.Cols)
	p.Start(c.Alpha, num.NewRand(c.Seed, stream.Weights))
	p.SetCentres(centres)
	return p, nil
}
