package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// sklearn times the potential against the scores of scikit-learn's GaussianMixture with
// full covariances (sklearn_peer.py), in float32, as ours, and in float64, its usual form,
// and then EM (em.go).
func sklearn(ctx context.Context, s *settings) error {
	if !s.wants("sklearn") {
		return nil
	}
	dir, remove, err := workspace()
	if err != nil {
		return err
	}
	defer remove()
	peers, err := startAll(s, dir, "sklearn_peer.py")
	if errors.Is(err, errMissing) {
		fmt.Println("\nsklearn: skipped: no Python with scikit-learn (Debian: apt-get install python3-sklearn)")
		return nil
	}
	if err != nil {
		return err
	}
	defer stopAll(peers)
	fmt.Printf("\nThe potential against scikit-learn's GaussianMixture.score_samples\n")
	fmt.Println(peers[0].about)
	for _, in := range []*inputs{softInputs(64, 0, 1024), softInputs(784, 0, 128)} {
		if err := sklearnShape(ctx, s, dir, peers, in); err != nil {
			return err
		}
	}
	return fitting(ctx, s, dir)
}

func sklearnShape(ctx context.Context, s *settings, dir string, peers []*child, in *inputs) error {
	fmt.Printf("\nd %d, k %d, batch %d\n\n", in.d, in.k, in.rows)
	if err := in.write(filepath.Join(dir, "inputs")); err != nil {
		return err
	}
	var contend []contender
	for i, threads := range s.threads {
		e, err := engine.New(engine.WithTier(s.tier), engine.WithThreads(threads))
		if err != nil {
			return err
		}
		defer e.Close()
		r := peers[i]
		if _, err := r.ask("load", in.d, in.k, in.n, in.rows, classes); err != nil {
			return err
		}
		// Theirs are log densities: ours with c_i = log w_i + log det L_i - d/2 log 2 pi.
		c, err := r.results("c")
		if err != nil {
			return err
		}
		m := ascent.NewMixture(in.k, in.d, in.mu, c)
		m.SetFactors(e, in.a)
		x, phi := engine.View(in.x, in.rows, in.d), make([]float32, in.rows)
		m.Potential(e, x, phi, engine.Matrix{})
		for _, kind := range []string{"float32", "float64"} {
			scores, err := r.results(kind)
			if err != nil {
				return err
			}
			// c_i and phi are rounded to 2^-24, 6e-8, and q, a sum of d terms, adds little.
			if err := near(r.name+": "+kind, scores, phi, 1e-5); err != nil {
				return err
			}
		}
		contend = append(contend,
			func() (float64, error) {
				return seconds(func() { m.Potential(e, x, phi, engine.Matrix{}) }, s.least), nil
			},
			r.time("float32", s.least), r.time("float64", s.least))
	}
	times, err := inTurn(ctx, s, contend)
	if err != nil {
		return err
	}
	header()
	for i, kind := range []string{"float32", "float64"} {
		var ours, theirs [][]float64
		for t := range s.threads {
			ours, theirs = append(ours, times[3*t]), append(theirs, times[3*t+1+i])
		}
		rows(s, "sklearn in "+kind, ours, theirs)
	}
	return nil
}
