package reproduce

import (
	"fmt"
	"strings"

	"dpnbench/dpn"
)

const (
	robustProtocol = "a DPN of a million multiply-adds compared with a linear classifier, MLP, MLP with " +
		"dropout, CNN and " +
		"nearest class means of at most the same cost: same images, same noise, same seeds; all test images"

	outperformsSOTA = "it outperforms SOTA models at equivalent computational resources"
	testedWith      = "the same, trained on clean images, tested with "
	section43       = paper + ", section 4.3"
)

// costStatements are the claims about accuracy at equal cost.
var costStatements = []statement{
	{"sota", overview, outperformsSOTA, "test accuracy compared with a linear classifier on the same pixels",
		"outperforms",
		onPoster(judgeLinear)},
	{"sota-clean", overview, outperformsSOTA + ": trained and tested on clean images", robustProtocol, "outperforms",
		outperforms(false, 0)},
	{"sota-gaussian-0.3", overview, testedWith + "Gaussian noise of 0.3", robustProtocol, "outperforms",
		outperforms(false, 1)},
	{"sota-gaussian-0.5", overview, testedWith + "Gaussian noise of 0.5", robustProtocol, "outperforms",
		outperforms(false, 2)},
	{"sota-saltpepper-0.3", overview, testedWith + "salt-and-pepper noise on 30% of the pixels", robustProtocol,
		"outperforms",
		outperforms(false, 3)},
	{"sota-noisy-training", overview, "the same, trained with noise on half of each minibatch", robustProtocol,
		"outperforms",
		outperforms(true, 0, 1, 2, 3)},
}

// otherStatements are the remaining claims, most of them without an experiment.
var otherStatements = []statement{
	{"low-dimension", poster + " and overview", "a low-dimensional feature space reduces cost and memory significantly",
		"multiply-adds per image of presets, counted", "significantly", judgeDimension},
	{"definite", overview + "; paper, section 2.1", "the factorisation A^T A guarantees positive definite precisions",
		"by argument", "guaranteed", func(Results) judged {
			return judged{measured: "A = 0 gives P = 0", verdict: NotReproduced,
				why: "A^T A is only positive semidefinite; nothing prevents A from becoming singular."}
		}},
	{"langevin", overview, "gradient ascent is a discretised version of Langevin dynamics",
		"unadjusted Langevin chains from test images, at the step size of the ascent, untrained potential",
		"interpretation", onField(judgeLangevin)},
	{"k-means", overview + "; paper, section 2.2", "k-means is crucial for stability and faster convergence", "",
		"crucial",
		untested("These experiments do not include training from other initial centres.")},
	{"robustness", section43 + "; overview; poster", "DPNs may be more robust to noise",
		"published network, 10 steps, and a linear classifier, trained on clean images; noisy test images", "may be",
		onPoster(judgeRobustness)},
	{"uncertainty", section43, "the landscape quantifies uncertainty",
		"published network, 10 steps, seed 1: does phi where the ascent ends detect noise, inverted, rotated and " +
			"misclassified images?", "may be", onPoster(judgeUncertainty)},
	{"generation", section43, "samples could be drawn by Langevin dynamics",
		"Metropolis-adjusted Langevin chains from test images, untrained potential", "could be",
		onField(judgeSampling)},
	{"industry", posterResults, "with more resources, results comparable to models like ImageNet's", "", "anticipated",
		untested("It is a forecast.")},
}

// judgeLinear compares the published network with a linear classifier.
func judgeLinear(p *Poster) judged {
	d, l := over(p.DPN, testPercent), over(p.Linear, testPercent)
	j := judged{verdict: NotReproduced,
		numbers: []float64{float64(d.Median), float64(p.DPN[0].MACs), float64(l.Median), float64(p.Linear[0].MACs)},
		why: fmt.Sprintf("Every seed compared with every seed of a linear classifier, it is %s; that takes %.3g%% of "+
			"the "+
			"multiply-adds.", compared(d, l), 100*float64(p.Linear[0].MACs)/float64(p.DPN[0].MACs)),
		measured: fmt.Sprintf("%.1f%% at %d multiply-adds per image; a linear classifier %.1f%% at %d",
			float64(d.Median), p.DPN[0].MACs, float64(l.Median), p.Linear[0].MACs)}
	if d.Least > l.Greatest {
		j.verdict, j.why = Untested, "It is better than a linear classifier; networks of equal cost were not compared."
	}
	return j
}

// judgeDimension counts multiply-adds of two presets.
func judgeDimension(Results) judged {
	raw, _ := dpn.Preset("published")
	small, _ := dpn.Preset("compact")
	a := raw.Components * 784 * 784 * raw.Steps
	b := small.Components*small.Dim*small.Dim*small.Steps + 784*small.Dim
	return judged{measured: fmt.Sprintf("%d on 784 pixels, %d on 64 features", a, b), numbers: numbers(a, b),
		verdict: Reproduced,
		why:     "The ascent takes k d² n multiply-adds: quadratic in d."}
}

// judgeRobustness compares the published network with a linear classifier under noise.
func judgeRobustness(p *Poster) judged {
	at := func(runs []PosterRun, i int) Spread {
		return over(runs, func(r PosterRun) float64 { return 100 * r.Noisy[i].Accuracy })
	}
	var text []string
	var medians []float64
	ahead := 0
	for i, n := range noises {
		d, l := at(p.DPN, i), at(p.Linear, i)
		text = append(text, fmt.Sprintf("%v %.1f%%, linear %.1f%%", n, float64(d.Median), float64(l.Median)))
		medians = append(medians, numbers(d.Median, l.Median)...)
		if d.Least > l.Greatest {
			ahead++
		}
	}
	j := judged{measured: strings.Join(text, "; "), numbers: medians, verdict: NotReproduced,
		why: "Under no noise is every seed better than every seed of a linear classifier."}
	switch {
	case ahead == len(noises):
		j.verdict, j.why = Reproduced, fmt.Sprintf("Under every noise it is better than a linear classifier; on clean "+
			"images it is %s. Networks of equal cost were not compared here.",
			compared(over(p.DPN, testPercent), over(p.Linear, testPercent)))
	case ahead > 0:
		j.verdict, j.why = OnlyByTheirs,
			fmt.Sprintf("It is better than a linear classifier for %d of %d kinds of noise.", ahead, len(noises))
	}
	return j
}
