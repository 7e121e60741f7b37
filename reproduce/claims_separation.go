package reproduce

import (
	"fmt"
	"math"

	"dpnbench/dpn/separation"
	"dpnbench/internal/stat"
)

const classifiers = "all test images after 0, 10, 20 and 30 steps, untrained potential, several seeds of k-means; " +
	"classifiers of the first 10,000 training images"

// separationStatements are the claims about D as a measure, and about what the ascent does to classes.
var separationStatements = []statement{
	{"d-as-printed", paper + ", sections 1.1 and 2.3", "D is Tr(SSw SSb)", first32 + ", by the printed formula", "2.14",
		onTable1(judgePrinted)},
	{"table1-denoised", row2 + ", and sections 3.1 and 3.2", "the six figures of the denoised features are those of " +
		"one run: D, mean distance, ratio, displacement, explained variances", first32,
		"2.81 / 18.24 / 2.10 / 69.6 / 0.28 / 0.18", onTable1(judgeDenoisedJointly)},
	{"table1-logits", row3 + ", and section 3.2", "the five figures of the logits are those of one run: D, mean " +
		"distance, ratio, explained variances", first32Trained, "9.53 / 17.17 / 8.21 / 0.55 / 0.18",
		onTable1(judgeLogitsJointly)},
	{"table1-setup", paper + ", section 2.2", "Table 1 is measured after 30 steps",
		"first 32 test images, 30 steps, untrained potential (the listing trains none)", "30 steps",
		onTable1(judgeSetup)},
	{"last-layers-lowest", section31, "in traditional networks the final layers have the lowest D",
		"an MLP with BatchNorm and a CNN, all test images, D at every layer", "typically", onTrained(judgeLastLayers)},
	{"improves-discrimination", section31 + "; " + section32, "denoising improves class discrimination, and its " +
		"features are more useful for classification", classifiers, "improves", onTable1(judgeDiscrimination)},
	{"efficient-embedding", section32, "denoising concentrates relevant information in fewer dimensions",
		classifiers + " on the two leading principal components", "more efficient", onTable1(judgeEmbedding)},
	{"global-statistics", section41, "denoising maintains global statistics",
		"total variance of all test images, untrained potential, several seeds of k-means", "maintains",
		onTable1(judgeStatistics)},
	{"new-metrics", section42 + ", points 2 and 4", "D does not measure how good the features of an energy-based " +
		"model are, so new metrics are needed", classifiers, "may be needed", onTable1(judgeMetric)},
}

// judgePrinted judges the printed formula of D.
func judgePrinted(t *Table1) judged {
	l := t.Few[0].Analysis.Layers[layerInput]
	return printed(l.FuzzinessProduct, 2.14, 0.01, fmt.Sprintf("He and Su's Tr(SSw SSb⁺), with the pseudoinverse of "+
		"SSb, gives %.2f for the same images.", fuzziness(l)))
}

// Published figures of a run.
var (
	denoisedFigures = []figure{{2.81, 0.01}, {18.24, 0.01}, {2.10, 0.01}, {69.6, 0.1}, {0.28, 0.01}, {0.18, 0.01}}
	logitsFigures   = []figure{{9.53, 0.01}, {17.17, 0.01}, {8.21, 0.01}, {0.55, 0.01}, {0.18, 0.01}}
)

// figuresOf returns those of a layer, in the order of denoisedFigures without the displacement.
func figuresOf(l separation.Layer) []float64 {
	return []float64{fuzziness(l), distance(l), ratio(l), component(0)(l), component(1)(l)}
}

// denoisedProbability is that of the figures of the denoised features, if they come from one run of places.
func denoisedProbability(places []Placement) float64 {
	var runs [][]float64
	for _, p := range places {
		f := figuresOf(p.Analysis.Layers[layerDenoised])
		runs = append(runs, append(f[:3:3], p.Analysis.DisplacementL2, f[3], f[4]))
	}
	return jointly(runs, denoisedFigures)
}

// together judges the probability of published figures together.
func together(p float64, seeds int) judged {
	if math.IsNaN(p) {
		return judged{why: fmt.Sprintf("%d seeds are too few to judge the figures together.", seeds)}
	}
	j := judged{numbers: []float64{p, float64(seeds)}, verdict: NotReproduced,
		measured: fmt.Sprintf("probability %.2g over %d seeds (Hotelling's T² of the logarithms)", p, seeds),
		why:      "Each alone may come out, but no run of the seeds' kind has all of them together."}
	if p >= significance {
		j.verdict, j.why = OnlyByTheirs, "One more seed could have all of them together."
	}
	return j
}

func judgeDenoisedJointly(t *Table1) judged { return together(denoisedProbability(t.Few), len(t.Few)) }

func judgeLogitsJointly(t *Table1) judged {
	var runs [][]float64
	for _, p := range t.Few {
		if p.Trained {
			runs = append(runs, figuresOf(p.Analysis.Layers[layerLogits]))
		}
	}
	return together(jointly(runs, logitsFigures), len(runs))
}

// judgeSetup judges after how many steps Table 1 was measured.
func judgeSetup(t *Table1) judged {
	ten, thirty := denoisedProbability(t.Few), denoisedProbability(t.Long)
	if math.IsNaN(ten) || math.IsNaN(thirty) {
		return judged{why: fmt.Sprintf("%d seeds are too few to judge the figures together.", len(t.Long))}
	}
	d := layerOf(t.Long, false, layerDenoised, fuzziness)
	j := judged{numbers: []float64{thirty, ten, float64(d.Median)}, ci: oneMore(d), verdict: NotReproduced,
		measured: fmt.Sprintf("probability of its six figures %.2g after 30 steps, %.2g after 10; D after 30 steps %s",
			thirty, ten, d.text("%.3g")),
		why: "Its figures fit neither 30 steps nor 10."}
	switch {
	case thirty >= significance:
		j.verdict, j.why = OnlyByTheirs, "Its figures fit 30 steps."
	case ten >= significance:
		j.why = "Its figures fit 10 steps, not 30."
	}
	return j
}

// judgeLastLayers judges where D is lowest in feed-forward networks.
func judgeLastLayers(t *Trained) judged {
	if len(t.Forward) == 0 {
		return judged{}
	}
	logits, late := 0, 0
	for _, run := range t.Forward {
		at := 0
		for i, d := range run.D {
			if d < run.D[at] {
				at = i
			}
		}
		if at == len(run.D)-1 {
			logits++
		}
		if at >= len(run.D)-2 {
			late++
		}
	}
	all := len(t.Forward)
	j := judged{numbers: numbers(late, logits, all), verdict: inAll(late, all),
		measured: fmt.Sprintf("D is lowest at the last hidden layer or the logits in %d of %d trainings, at the "+
			"logits in %d", late, all, logits),
		why: fmt.Sprintf("D is lowest in an earlier layer in %d of %d trainings.", all-late, all)}
	if late == all {
		j.why = "It holds in every training."
	}
	return j
}

// classifiedOver is the spread of an accuracy in percent over the seeds, after the step with index i.
func classifiedOver(t *Table1, i int, accuracy func(Classified) float64) Spread {
	return over(t.Whole, func(p Placement) float64 { return 100 * accuracy(p.Classified[i]) })
}

// hasClassified reports whether classes were told.
func hasClassified(t *Table1) bool {
	return len(t.Whole) > 0 && len(t.Whole[0].Classified) == len(classifiedSteps)
}

// judgeAccuracies compares accuracies after 10 and 30 steps with those at x_0, over the same seeds.
func judgeAccuracies(t *Table1, what string, accuracy func(Classified) float64) judged {
	if !hasClassified(t) {
		return judged{}
	}
	zero, ten, thirty := classifiedOver(t, 0, accuracy), classifiedOver(t, 1, accuracy), classifiedOver(t, 3, accuracy)
	// Twice the standard error of the difference of two shares of the test images counts as none.
	p := float64(zero.Median) / 100
	error95 := separation.Float(100 * stat.Normal95 * math.Sqrt(2*p*(1-p)/float64(max(t.Images, 1))))
	against := func(s Spread) string {
		if d := s.Median - zero.Median; d <= error95 && -d <= error95 {
			return level
		}
		return compared(s, zero)
	}
	improved := 0
	for _, s := range []Spread{ten, thirty} {
		if against(s) == better {
			improved++
		}
	}
	return judged{numbers: numbers(zero.Median, ten.Median, thirty.Median), ci: rangeOf(ten),
		verdict: inAll(improved, 2),
		measured: fmt.Sprintf("%s has %s at x_0, %s after 10 steps, %s after 30", what, zero.text("%.1f%%"),
			ten.text("%.1f%%"), thirty.text("%.1f%%")),
		why: fmt.Sprintf("Compared with x_0, for every seed, it is %s after 10 steps and %s after 30 (level: the "+
			"seeds disagree, or the median is within %.1f points, the error of the test images).", against(ten),
			against(thirty), float64(error95))}
}

func judgeDiscrimination(t *Table1) judged {
	j := judgeAccuracies(t, "a linear classifier", func(c Classified) float64 { return c.Linear })
	if j.verdict != "" {
		nearest := func(c Classified) float64 { return c.Nearest }
		zero, thirty := classifiedOver(t, 0, nearest), classifiedOver(t, 3, nearest)
		j.measured += fmt.Sprintf("; the nearest class mean %s and %s", zero.text("%.1f%%"), thirty.text("%.1f%%"))
		j.numbers = append(j.numbers, numbers(zero.Median, thirty.Median)...)
	}
	return j
}

func judgeEmbedding(t *Table1) judged {
	return judgeAccuracies(t, "a linear classifier of two components", func(c Classified) float64 { return c.Plane })
}

// mostChange is the relative change of a statistic that still counts as maintained.
const mostChange = 0.1

// judgeStatistics judges the total variance along the ascent.
func judgeStatistics(t *Table1) judged {
	if len(t.Whole) == 0 {
		return judged{}
	}
	variance := func(step int) Spread {
		return over(t.Whole, func(p Placement) float64 {
			l := p.Analysis.Steps[step]
			return l.BetweenTrace + l.WithinTrace
		})
	}
	zero, ten, thirty := variance(0), variance(table1Steps), variance(paperSteps)
	share := func(s Spread) float64 { return float64(s.Median / zero.Median) }
	j := judged{numbers: numbers(zero.Median, ten.Median, thirty.Median), ci: rangeOf(thirty), verdict: NotReproduced,
		measured: fmt.Sprintf("total variance %s at x_0, %s after 10 steps, %s after 30", zero.text("%.1f"),
			ten.text("%.1f"), thirty.text("%.1f")),
		why: fmt.Sprintf("%.0f%% of the variance is left after 10 steps, %.0f%% after 30.", 100*share(ten),
			100*share(thirty))}
	if math.Abs(share(ten)-1) <= mostChange && math.Abs(share(thirty)-1) <= mostChange {
		j.verdict = Reproduced
	}
	return j
}

// judgeMetric judges whether D ranks features as a classifier does, over seeds and steps.
func judgeMetric(t *Table1) judged {
	if !hasClassified(t) {
		return judged{}
	}
	if len(t.Whole) < leastSeeds {
		return judged{why: fmt.Sprintf("It takes at least %d seeds.", leastSeeds)}
	}
	var d, accuracy []float64
	for s, p := range t.Whole {
		for _, c := range p.Classified {
			if c.Step > 0 || s == 0 { // x_0 is the same for every seed
				d = append(d, fuzziness(p.Analysis.Steps[c.Step]))
				accuracy = append(accuracy, c.Linear)
			}
		}
	}
	rank := stat.Spearman(d, accuracy)
	j := judged{numbers: []float64{rank, float64(len(d))}, verdict: NotReproduced,
		measured: fmt.Sprintf("rank correlation of D with the accuracy of a linear classifier %.2f, over %d features",
			rank, len(d)),
		why: "D ranks these features nearly as the classifier does: where D is higher, it is worse."}
	switch {
	case !(rank <= -0.5):
		j.verdict, j.why = Reproduced, "D says little about how well a linear classifier reads these features."
	case rank > -0.9:
		j.verdict, j.why = InPart, "D ranks these features only roughly as the classifier does."
	}
	return j
}
