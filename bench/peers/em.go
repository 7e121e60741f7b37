package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// mixture is data for EM and its initial values: the k-means centres, equal weights, and
// precisions s0^2 I.
type mixture struct {
	d, k, rows, iterations int

	x, centres engine.Matrix
	config     dpn.Config
	opt        potential.EMOptions
}

// emTolerance is the largest difference of the final log-likelihoods, relative to their size.
// scikit-learn adds reg_covar, 1e-6 of the mean variance, to all variances; ours raises variances
// below that bound, and rounds its parameters to float32 after each iteration.
const emTolerance = 1e-5

// fitting times some iterations of EM with full covariances against scikit-learn's
// GaussianMixture.fit (em_peer.py) from the same start.
func fitting(ctx context.Context, s *settings, dir string) error {
	peers, err := startAll(s, dir, "em_peer.py")
	if err != nil {
		return err
	}
	defer stopAll(peers)
	fmt.Printf("\nEM against scikit-learn's GaussianMixture.fit\n")
	for _, size := range []mixture{{d: 16, k: 10, rows: 20000, iterations: 10},
		{d: 64, k: 10, rows: 8000, iterations: 10}} {
		m, err := newMixture(ctx, size)
		if err != nil {
			return err
		}
		if err := m.time(ctx, s, dir, peers); err != nil {
			return err
		}
	}
	return nil
}

// newMixture draws rows around k centres that overlap, so that EM does not end early.
func newMixture(ctx context.Context, m mixture) (*mixture, error) {
	m.x = engine.NewMatrix(m.rows, m.d)
	r, around := num.NewRand(1, 0), make([]float32, m.k*m.d)
	r.Normal(around)
	r.Normal(m.x.Data)
	for i := range m.rows {
		for j := range m.d {
			m.x.Data[i*m.d+j] += 4 / float32(math.Sqrt(float64(m.d))) * around[i%m.k*m.d+j]
		}
	}
	e, err := engine.New()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	found, err := potential.KMeans(ctx, e, m.x, m.k, 1)
	if err != nil {
		return nil, err
	}
	m.centres = found.Centres
	if m.config, err = dpn.Preset("compact"); err != nil {
		return nil, err
	}
	m.config.Form, m.config.Scale = potential.FormFull, 1
	m.opt = potential.EMOptions{Iterations: m.iterations, Ridge: 1e-6}
	return &m, nil
}

// fit runs our EM.
func (m *mixture) fit(ctx context.Context, e *engine.Engine) (*potential.EMResult, error) {
	p, err := dpn.NewPotential(m.config, m.centres)
	if err != nil {
		return nil, err
	}
	return p.EM(ctx, e, m.x, nil, m.opt)
}

// time compares the log-likelihoods at the end, then times both.
func (m *mixture) time(ctx context.Context, s *settings, dir string, peers []*child) error {
	fmt.Printf("\nd %d, k %d, rows %d, iterations %d\n", m.d, m.k, m.rows, m.iterations)
	kinds := []string{"float32", "float64"}
	var contend []contender
	for i, threads := range s.threads {
		e, err := engine.New(engine.WithTier(s.tier), engine.WithThreads(threads))
		if err != nil {
			return err
		}
		defer e.Close()
		ours, err := m.fit(ctx, e)
		if err != nil {
			return err
		}
		if ours.Iterations != m.iterations {
			return fmt.Errorf("EM ended after %d iterations, expected %d", ours.Iterations, m.iterations)
		}
		all := append([]float32{float32(ours.Ridge), float32(m.config.Scale)}, m.centres.Data...)
		if err := os.WriteFile(filepath.Join(dir, "inputs"), bytesOf(append(all, m.x.Data...)), 0o600); err != nil {
			return err
		}
		r := peers[i]
		if _, err := r.ask("load", m.d, m.k, m.iterations, m.rows); err != nil {
			return err
		}
		for _, kind := range kinds {
			score, err := r.results("score-" + kind)
			if err != nil {
				return err
			}
			if err := near(r.name+": log-likelihood in "+kind, score, []float32{float32(ours.Final())},
				emTolerance); err != nil {
				return err
			}
			if i == 0 {
				fmt.Printf("log-likelihood a row: from %.6f to %.6f, sklearn in %s %.6f\n", ours.LogLikelihood[0],
					ours.Final(), kind, score[0])
			}
		}
		contend = append(contend, func() (took float64, err error) {
			took = seconds(func() { _, err = m.fit(ctx, e) }, s.least)
			return took, err
		})
		for _, kind := range kinds {
			contend = append(contend, r.time(kind, s.least))
		}
	}
	times, err := inTurn(ctx, s, contend)
	if err != nil {
		return err
	}
	fmt.Println()
	header()
	for i, kind := range kinds {
		var ours, theirs [][]float64
		for t := range s.threads {
			ours, theirs = append(ours, times[3*t]), append(theirs, times[3*t+1+i])
		}
		rows(s, "sklearn's EM in "+kind, ours, theirs)
	}
	return nil
}
