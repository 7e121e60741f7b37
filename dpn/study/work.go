package study

import (
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
)

// work tells how far a study is.
type work struct {
	costs    []int // of its parts, in order
	begun    int   // of them
	progress func(done, next, all int)
}

// next begins the next part, or ends the last one.
func (w *work) next() {
	done, all, next := 0, 0, 0
	for i, cost := range w.costs {
		switch {
		case i < w.begun:
			done += cost
		case i == w.begun:
			next = cost
		}
		all += cost
	}
	w.begun++
	if w.progress != nil {
		w.progress(done, next, all)
	}
}

// The costs below are in about the milliseconds of two cores with AVX-512. Only their proportions matter, for a bar
// that moves evenly and a time left.

// measuring is the cost of the statistics of a layer of n samples of d features, with all principal components or two.
func measuring(n, d, draws int, full bool) int {
	rows := float64(n) * float64(d)
	ms := 1 + 1.3e-4*rows
	if full {
		ms += 3.5e-7 * rows * float64(d)
	}
	if draws > 0 {
		ms += 9e-5*rows + float64(draws)*(2e-7*rows+4e-6*float64(n))
	}
	return int(ms)
}

// analysisCosts are those of the parts of Analyze.
func analysisCosts(m *dpn.Model, s *dataset.Set, opt AnalyzeOptions) (costs []int) {
	n := s.Len()
	add := func(name string, d int, full bool) {
		costs = append(costs, measuring(n, d, opt.Draws, full))
		if opt.Subsets > 0 && slices.Contains(curved, name) {
			costs = append(costs, 1+int(1.2e-4*float64(n)*float64(d)*(1+0.46*float64(opt.Subsets))))
		}
	}
	add("input", s.Shape.Len(), true)
	if !m.InputFeatures() {
		add("features", m.Dim(), true)
	}
	for range m.Config.Steps - 1 {
		add("step", m.Dim(), false)
	}
	add("denoised", m.Dim(), true)
	add("logits", len(m.Classes), true)
	return costs
}

// studyCosts are those of the parts of Run after Analyze: paths, landscape, fixed points and moves.
func studyCosts(m *dpn.Model, s *dataset.Set, opt StudyOptions) []int {
	d := float64(m.Dim())
	paths, landscape, fixed, moves := 1+1.2e-4*float64(s.Len())*d, 1+d/10, 1+0.3*d, 1.0
	if potential.FormOf(m.Config.Form).Dense {
		landscape += 1e-6 * d * d * d * float64(m.Potential().Distinct())
	}
	if opt.Train != nil {
		moves += 6e-7 * float64(opt.Train.Len()) * d * float64(m.Config.Components)
	}
	return []int{int(paths), int(landscape), int(fixed), int(moves)}
}
